"""How many steps a regular expression takes: counted, so that no machine and no clock is in it.

A matcher that goes back as `re` does, over the parsed pattern. It is slow, and knows what the package's
patterns have in them; the tests hold what it finds against `re` itself.
"""

import re
from collections.abc import Callable, Iterator
from re import _compiler as compiler  # type: ignore[attr-defined]  # the only way to a parsed pattern
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Text = str | bytes
Rest = Callable[[int], int | None]  # goes on from a place; where the whole match ends, or None
Step = Callable[[int, Rest], int | None]

_MANY = 16  # a bound beyond it is taken for this: it is a bound either way
MOST = 20_000
_ONE = frozenset({sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY})
_LOOPS = frozenset({sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT})


class Pattern:
    """A pattern, and the steps of its searches."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.pattern = pattern
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        self._flags = pattern.flags
        self._text: Text = ""
        self._groups: dict[int, tuple[int, int]] = {}
        self._left = 0
        self._made: dict[tuple[str, int], re.Pattern[Any]] = {}
        self._start = self._sequence(list(self.tree), self._flags)

    def steps(self, text: Text, method: str) -> int:
        """Count what one call takes; not further than some 20,000."""
        self._text, self._left = text, MOST
        try:
            self.spans(method)
        except _Enough:
            return MOST
        return MOST - self._left

    def found(self, text: Text, method: str) -> list[tuple[int, int]]:
        self._text, self._left = text, 100 * MOST
        return self.spans(method)

    def spans(self, method: str) -> list[tuple[int, int]]:
        end = len(self._text)
        if method in {"match", "fullmatch"}:
            spans = [(0, self._at(0, whole=method == "fullmatch"))]
        elif method == "search":
            every = ((start, self._at(start)) for start in range(end + 1))
            spans = [next((span for span in every if span[1] is not None), (0, None))]
        else:
            spans = [*self._all()]
        return [(start, stop) for start, stop in spans if stop is not None]

    def _all(self) -> Iterator[tuple[int, int | None]]:
        start = 0
        while start <= len(self._text):
            stop = self._at(start)
            yield start, stop
            start = stop if stop is not None and stop > start else start + 1

    def _at(self, start: int, *, whole: bool = False) -> int | None:
        self._groups = {}
        self._count()
        end = len(self._text)
        return self._start(start, lambda at: at if not whole or at == end else None)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise _Enough

    def is_one(self, node: Any, flags: int, char: Any) -> bool:
        """Return True if a part for one character takes this one."""
        return bool(self._compiled([node], flags).match(char))

    def _compiled(self, nodes: list[Any], flags: int) -> re.Pattern[Any]:
        named = repr(nodes), flags
        if named not in self._made:
            self._made[named] = self._compile(nodes, flags)
        return self._made[named]

    def _compile(self, nodes: list[Any], flags: int) -> re.Pattern[Any]:
        state = parser.State()
        state.flags = flags
        state.str = self.pattern.pattern
        made: re.Pattern[Any] = compiler.compile(parser.SubPattern(state, nodes), flags)
        return made

    def _sequence(self, nodes: list[Any], flags: int) -> Step:
        steps = [self._step(node, flags) for node in nodes]

        def run(at: int, rest: Rest, number: int = 0) -> int | None:
            if number == len(steps):
                return rest(at)
            return steps[number](at, lambda then: run(then, rest, number + 1))

        return steps[0] if len(steps) == 1 else run

    def _step(self, node: Any, flags: int) -> Step:  # noqa: PLR0911  a row for each kind of part
        kind, value = node
        if kind in _ONE:
            return self._one(node, flags)
        if kind is sre.AT:
            return self._look(self._compiled([node], flags))
        if kind in _LOOPS:
            return self._loop(kind, value, flags)
        if kind is sre.BRANCH:
            return self._branch([self._sequence(list(part), flags) for part in value[1]])
        if kind is sre.SUBPATTERN:
            group, added, taken, inside = value
            return self._group(group, self._sequence(list(inside), (flags | added) & ~taken))
        if kind is sre.ATOMIC_GROUP:
            return self._atomic(self._sequence(list(value), flags))
        if kind in {sre.ASSERT, sre.ASSERT_NOT}:
            return self._assertion(value, flags, is_wanted=kind is sre.ASSERT)
        if kind is sre.GROUPREF:
            return self._reference(value)
        raise NotImplementedError(kind)

    def _one(self, node: Any, flags: int) -> Step:
        takes = self._taking(node, flags)

        def run(at: int, rest: Rest) -> int | None:
            self._count()
            return rest(at + 1) if takes(at) else None

        return run

    def _taking(self, node: Any, flags: int) -> Callable[[int], bool]:
        pattern, known = self._compiled([node], flags), dict[Any, bool]()

        def takes(at: int) -> bool:
            char = self._text[at : at + 1]
            if not char:
                return False
            if char not in known:
                known[char] = pattern.match(char) is not None
            return known[char]

        return takes

    def _look(self, pattern: re.Pattern[Any]) -> Step:
        def run(at: int, rest: Rest) -> int | None:
            self._count()
            return rest(at) if pattern.match(self._text, at) else None

        return run

    def _branch(self, parts: list[Step]) -> Step:
        def run(at: int, rest: Rest) -> int | None:
            return next((end for part in parts if (end := part(at, rest)) is not None), None)

        return run

    def _group(self, group: int | None, inside: Step) -> Step:
        if group is None:
            return inside

        def run(at: int, rest: Rest) -> int | None:
            before = self._groups.get(group)

            def then(end: int) -> int | None:
                self._groups[group] = at, end
                return rest(end)

            found = inside(at, then)
            if found is None and before is not None:
                self._groups[group] = before
            return found

        return run

    def _atomic(self, inside: Step) -> Step:
        def run(at: int, rest: Rest) -> int | None:
            end = inside(at, lambda there: there)
            return None if end is None else rest(end)

        return run

    def _assertion(self, value: Any, flags: int, *, is_wanted: bool) -> Step:
        direction, tree = value
        inside, back = self._sequence(list(tree), flags), tree.getwidth()[0] if direction < 0 else 0

        def run(at: int, rest: Rest) -> int | None:
            is_there = at >= back and inside(at - back, lambda there: there) is not None
            return rest(at) if is_there is is_wanted else None

        return run

    def _reference(self, group: int) -> Step:
        def run(at: int, rest: Rest) -> int | None:
            self._count()
            if group not in self._groups:
                return None
            start, end = self._groups[group]
            is_there = self._text[at : at + end - start] == self._text[start:end]
            return rest(at + end - start) if is_there else None

        return run

    def _loop(self, kind: Any, value: Any, flags: int) -> Step:
        least, most, tree = value
        least, most = min(least, _MANY), most if most is sre.MAXREPEAT else min(most, _MANY)
        if len(tree) == 1 and tree[0][0] in _ONE:
            takes = self._taking(tree[0], flags)
            run = (
                self._lazy_run(takes, least, most)
                if kind is sre.MIN_REPEAT
                else self._run(takes, least, most)
            )
        else:
            run = self._repeat(self._sequence(list(tree), flags), least, most, is_lazy=kind is sre.MIN_REPEAT)
        return self._atomic(run) if kind is sre.POSSESSIVE_REPEAT else run

    def _run(self, takes: Callable[[int], bool], least: int, most: Any) -> Step:
        def run(at: int, rest: Rest) -> int | None:
            end = at
            while end - at < most and takes(end):
                self._count()
                end += 1
            while end - at >= least:
                self._count()
                if (found := rest(end)) is not None:
                    return found
                end -= 1
            return None

        return run

    def _lazy_run(self, takes: Callable[[int], bool], least: int, most: Any) -> Step:
        def run(at: int, rest: Rest) -> int | None:
            end = at
            while True:
                self._count()
                if end - at >= least and (found := rest(end)) is not None:
                    return found
                if end - at >= most or not takes(end):
                    return None
                end += 1

        return run

    def _repeat(self, inside: Step, least: int, most: Any, *, is_lazy: bool) -> Step:
        def more(at: int, rest: Rest, times: int) -> int | None:
            self._count()
            if times >= most:
                return None
            return inside(at, lambda end: None if end == at and times >= least else run(end, rest, times + 1))

        def run(at: int, rest: Rest, times: int = 0) -> int | None:
            if times < least:
                return more(at, rest, times)
            if is_lazy:
                found = rest(at)
                return more(at, rest, times) if found is None else found
            found = more(at, rest, times)
            return rest(at) if found is None else found

        return run


class _Enough(Exception):
    """So many steps say enough."""
