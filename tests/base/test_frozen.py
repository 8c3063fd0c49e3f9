"""What @frozen makes is what @dataclass(frozen=True, slots=True, kw_only=True) makes."""

import copy
import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

import pytest

from optimize_eval.base.frozen import Remembers, change, frozen

SLOW = dataclass(frozen=True, slots=True, kw_only=True)


def made_by(decorator: Any) -> Any:
    @decorator
    class Thing:
        """A thing."""

        kind: ClassVar[str] = "thing"
        name: str
        size: int = 1
        notes: Mapping[str, Any] = field(default_factory=dict)
        seen: int = field(default=0, compare=False)
        key: str = field(default="", repr=False)

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ValueError(self.size)

        @property
        def doubled(self) -> int:
            return 2 * self.size

    return Thing


@frozen
class Kept:
    """At the top of a module, where pickle finds it."""

    name: str
    sizes: tuple[int, ...] = ()


@frozen
class Larger(Kept):
    """One that has a field more."""

    weight: float = 1.0


@frozen
class Bare:
    name: str


@frozen
class Counted(Remembers):
    """One with a property that is computed once."""

    texts: tuple[str, ...]

    @cached_property
    def count(self) -> int:
        return len(self.texts)


MADE = pytest.mark.parametrize("thing", [made_by(frozen), made_by(SLOW)], ids=["frozen", "dataclass"])


@MADE
def test_it_has_its_fields_and_their_defaults(thing: Any) -> None:
    one = thing(name="a")
    assert asdict(one) == {"name": "a", "size": 1, "notes": {}, "seen": 0, "key": ""}
    assert [one.name for one in fields(thing)] == ["name", "size", "notes", "seen", "key"]
    assert (thing.kind, one.doubled, replace(one, size=4).doubled) == ("thing", 2, 8)
    assert one.notes is not thing(name="a").notes
    assert repr(one).endswith("Thing(name='a', size=1, notes={}, seen=0)")


@MADE
def test_it_equals_one_of_its_class_with_equal_fields_that_are_compared(thing: Any) -> None:
    one, same = thing(name="a", notes=()), thing(name="a", notes=(), seen=7)
    assert (one == same, hash(one) == hash(same)) == (True, True)
    assert one != thing(name="b", notes=())
    assert one != made_by(frozen)(name="a", notes=())
    with pytest.raises(TypeError, match="unhashable"):
        hash(thing(name="a"))


@MADE
def test_nobody_changes_it(thing: Any) -> None:
    one = thing(name="a")
    assert not hasattr(one, "__dict__")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'size'"):
        one.size = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'size'"):
        del one.size


@MADE
@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda thing: thing("a"), TypeError, r"__init__\(\) takes 1 positional argument but 2 were given"),
        (lambda thing: thing(), TypeError, r"__init__\(\) missing 1 required keyword-only argument: 'name'"),
        (lambda thing: thing(name="a", nmae="b"), TypeError, "unexpected keyword argument 'nmae'"),
        (lambda thing: thing(name="a", size=-1), ValueError, "-1"),
    ],
)
def test_it_is_not_made_of_what_is_wrong(
    thing: Any, make: Callable[[Any], Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        make(thing)


def test_its_signature_is_that_of_a_dataclass() -> None:
    quick, slow = (inspect.signature(made_by(decorator)).parameters for decorator in (frozen, SLOW))
    assert [(one.name, one.kind, one.annotation) for one in quick.values()] == [
        (one.name, one.kind, one.annotation) for one in slow.values()
    ]
    assert [one.name for one in quick.values() if one.default is inspect.Parameter.empty] == ["name"]
    assert (quick["size"].default, quick["key"].default) == (1, "")


def test_nothing_is_compiled_for_a_class_of_which_none_is_made() -> None:
    thing = made_by(frozen)
    before = thing.__init__
    inspect.signature(thing)
    assert thing.__init__ is before
    thing(name="a")
    assert thing.__init__ is not before
    assert thing.__doc__ == "A thing."
    assert Bare.__doc__ == "Bare"


def test_one_that_remembers_is_as_it_would_be_without_what_it_remembers() -> None:
    one, other = Counted(texts=("a", "b")), Counted(texts=("a", "b"))
    assert one.count == 2
    assert (vars(one), vars(other)) == ({"count": 2}, {})
    assert one == other == pickle.loads(pickle.dumps(one))
    assert hash(one) == hash(other)
    with pytest.raises(FrozenInstanceError):
        one.count = 3


def test_it_is_copied_and_pickled_and_extended() -> None:
    for one in (Kept(name="a", sizes=(1, 2)), Larger(name="a", weight=2.0)):
        assert pickle.loads(pickle.dumps(one)) == copy.copy(one) == copy.deepcopy(one) == one
    assert repr(Larger(name="a")) == "Larger(name='a', sizes=(), weight=1.0)"
    assert Larger(name="a") != Kept(name="a")


def test_one_within_itself_is_shown() -> None:
    notes: dict[str, Any] = {}
    one = made_by(frozen)(name="a", notes=notes)
    notes["me"] = one
    assert "notes={'me': ...}" in repr(one)


def test_a_changed_one_is_what_replace_makes() -> None:
    one = Larger(name="a", sizes=(1,))
    assert change(one, weight=2.0) == replace(one, weight=2.0) != one
    assert change(one) == one
    with pytest.raises(TypeError, match="wait"):
        change(one, wait=2.0)
