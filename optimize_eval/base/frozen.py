"""`@frozen`: dataclasses that nobody changes, with slots and with arguments by name, that are quick to make.

They are what `@dataclass(frozen=True, slots=True, kw_only=True)` makes, which compiles six methods for each
class: that took two fifths of the time of a command that loads a hundred of them. Here one is compiled,
`__init__`, when the first of a class is made, which a command does with few; all classes share the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from functools import cache
from inspect import signature
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, Never, TypeVar, dataclass_transform

Made = TypeVar("Made")


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[Made]) -> type[Made]:
    """Make a frozen dataclass of a class, whose own methods stay."""
    cls.__doc__ = cls.__doc__ or cls.__name__  # or dataclass() writes one, slowly
    made: Any = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=True)(cls)
    for name, method in {"__init__": _init_in_time(made), "__signature__": _Signature(), **_METHODS}.items():
        if name not in vars(made):
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _init_in_time(made: Any) -> Callable[..., None]:
    """Stand in for `__init__` until the first call writes it."""

    def __init__(self: Any, *values: Any, **named: Any) -> None:  # noqa: N807  its name in messages
        made.__init__ = written = _init_of(made)
        written(self, *values, **named)

    return __init__


class _Signature:
    """What `inspect.signature` looks for first: that of the `__init__` which is not written yet."""

    def __get__(self, _: object, made: Any) -> Any:
        of_init = signature(_init_of(made))
        return of_init.replace(parameters=[*of_init.parameters.values()][1:])


def _init_of(made: Any) -> Callable[..., None]:
    """Write what takes the values of the fields and puts them into their slots."""
    given = [slot for slot in fields(made) if slot.init]
    known: dict[str, Any] = {"MISSING": MISSING}
    lines = ["self.__post_init__()" if hasattr(made, "__post_init__") else "pass"]
    # By the slots' own descriptors, since __setattr__ refuses. What is inserted at 0 comes in reverse: so
    # fields are set in their order, and __post_init__ sees them all.
    for slot in reversed(given):
        known |= {
            f"set_{slot.name}": getattr(made, slot.name).__set__,
            f"make_{slot.name}": slot.default_factory,
        }
        is_made = slot.default_factory is not MISSING
        value = f"make_{slot.name}() if {slot.name} is MISSING else {slot.name}" if is_made else slot.name
        lines.insert(0, f"set_{slot.name}(self, {value})")
    names = ", ".join(["self", *(["*"] if given else []), *(slot.name for slot in given)])
    written: dict[str, Any] = {}
    exec(f"def __init__({names}):\n " + "\n ".join(lines), known, written)  # noqa: S102  of names alone
    init: Any = written["__init__"]
    init.__qualname__ = f"{made.__qualname__}.__init__"
    init.__annotations__ = {**{slot.name: slot.type for slot in given}, "return": None}
    has_default = (
        slot for slot in given if slot.default is not MISSING or slot.default_factory is not MISSING
    )
    init.__kwdefaults__ = {slot.name: slot.default for slot in has_default}
    return init  # type: ignore[no-any-return]


def change(one: Made, **values: Any) -> Made:
    """Do what dataclasses.replace does, in a third of its time, for what is made many times."""
    return extend(type(one), one, **values)


def extend(kind: type[Made], one: Any, /, **values: Any) -> Made:
    """Make one of a class that extends another, of one of these and what it has not."""
    made: Any = type(one)
    names, read = _parts(made)
    return kind(**{**dict(zip(names, read(one), strict=True)), **values})


class _Shared:
    """The methods that all have."""

    @recursive_repr()
    def __repr__(self: Any) -> str:
        shown = (f"{slot.name}={getattr(self, slot.name)!r}" for slot in fields(self) if slot.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return bool(_key_of(self) == _key_of(other)) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_key_of(self))

    def __setattr__(self, name: str, _value: object) -> Never:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> Never:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self: Any) -> list[Any]:
        return [getattr(self, slot.name) for slot in fields(self)]

    def __setstate__(self: Any, state: list[Any]) -> None:
        for slot, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, slot.name, value)


_METHODS = {name: method for name, method in vars(_Shared).items() if callable(method)}


def _key_of(instance: object) -> Any:
    """Read the fields that two are compared by."""
    made: Any = type(instance)
    return _reader(made)(instance)


class Remembers:
    """What a frozen class extends that has cached properties, which need a place to be kept."""

    __slots__ = ("__dict__", "__weakref__")


@cache
def _reader(made: Any) -> Callable[[Any], Any]:
    names = [slot.name for slot in fields(made) if slot.compare]
    return attrgetter(*names) if names else type


@cache
def _parts(made: Any) -> tuple[Sequence[str], Callable[[Any], Any]]:
    """Name the fields of a class that has several, and read them all."""
    names = [slot.name for slot in fields(made)]
    return names, attrgetter(*names)
