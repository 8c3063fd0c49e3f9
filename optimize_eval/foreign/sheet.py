"""One table of the rows of all files: systems, evaluators, examples by what they say.

Rows come in any order, from files of any size, so they wait on disk until all systems and examples are
known. An example that stands in several files is one example; how often a test was tried is counted, unless
its file says so.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

import orjson

from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import distinct
from optimize_eval.foreign.rows import Example, Failure, Result, Row, Score, Skip, System, shorten

_ONCE = 0, 1  # the occurrence of a test in a file, and its repeat
_IN_MEMORY = 1 << 24  # bytes of rows
_LONGEST_NAME = 60
_BATCH = 256  # rows
_KINDS: Mapping[type, str] = {Score: "score", Failure: "failure", Skip: "skip"}
_MADE: JsonMapping = {"score": Score, "failure": Failure, "skip": Skip}


def _as_json(result: Result) -> Any:
    """Write a result down; a number, which most are, as it is."""
    return result[0] if type(result) is Score and result[0] is not None else (_KINDS[type(result)], *result)


def _from_json(value: Any) -> Result:
    return Score(value) if type(value) is float else _MADE[value[0]](*value[1:])


def _waiting_room() -> Any:
    return SpooledTemporaryFile(max_size=_IN_MEMORY, buffering=1 << 20)


class Column(NamedTuple):
    """A system of a file."""

    file: int
    number: int  # in the file
    system: System


class Key(NamedTuple):
    """An example of a table: the same content may stand in it several times."""

    content: str
    occurrence: int


class Placed(NamedTuple):
    """A row at its position in the table."""

    column: int
    example: Key
    repeat: int
    results: Mapping[str, Result]
    side_info: JsonMapping | None
    seconds: float | None
    usage: JsonMapping | None


@dataclass(slots=True)
class Tally:
    """What a tool counts of a system and an evaluator, and what is counted here."""

    scored: int = 0
    total: float = 0.0
    failed: int = 0
    unknown: int = 0  # failures that the tool counts in no way
    counted_as: float = 0.0  # the tool's numbers for failures, summed up

    @property
    def by_tool(self) -> float:
        return (self.total + self.counted_as) / (self.scored + self.failed)


@frozen
class OriginFile:
    """A file that results came from."""

    name: str
    sha256: str
    bytes: int


@dataclass(slots=True, eq=False, repr=False)
class Sheet:
    """The rows of files as they come in, and what their readers say of them."""

    id_column: str | None = None  # of tables, where somebody named it
    skips_empty: bool = False
    tool: str = ""
    version: str = ""
    task: str = ""
    files: list[OriginFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # of what readers notice
    says_errors: str = ""  # what the tool makes of failures
    first: tuple[str, ...] = ()  # evaluators, in the order of their worth
    shadows: dict[str, bool] = field(default_factory=dict)  # evaluators that may say what another says, too
    columns: dict[Column, int] = field(default_factory=dict)
    tallies: dict[tuple[int, str], Tally] = field(default_factory=dict)
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)  # of evaluators, in their order
    rows: int = 0
    _numbers: list[int] = field(default_factory=list)  # of files, as they were named
    _names: list[str] = field(default_factory=list)  # of files, as systems are told apart by them
    _examples: dict[str, Example] = field(default_factory=dict)
    _places: dict[tuple[str, int], None] = field(default_factory=dict)  # content and position, of this file
    _occurrences: list[dict[tuple[str, int], tuple[int, int]]] = field(default_factory=list)
    _order: dict[Key, None] = field(default_factory=dict)
    repeats: int = 1
    _batch: list[Any] = field(default_factory=list)
    _spool: Any = field(default_factory=_waiting_room)

    def begin_file(self, name: str, number: int) -> None:
        """Begin the file that was named at this place."""
        self._names.append(name)
        self._numbers.append(number)
        self._places = {}

    def add(self, row: Row) -> None:
        """Take a row; what its tool made of failures is summed up beside."""
        file, content = len(self._names) - 1, row.example.content
        column = self.columns.setdefault(Column(file, row.column, row.system), len(self.columns))
        self._examples.setdefault(content, row.example)
        position = row.position if row.repeat is None else 0
        self._places[content, position] = None  # where it is there, it keeps its place
        if row.repeat is not None and row.repeat > self.repeats:
            self.repeats = row.repeat
        for evaluator, result in row.results.items():
            self._count(column, evaluator, result)
        self.rows += 1
        results = {name: _as_json(result) for name, result in row.results.items()}
        rest = row.side_info, row.seconds, row.usage
        self._batch.append((column, file, content, position, row.repeat, results, rest))
        if len(self._batch) == _BATCH:
            self._write_batch()

    def _write_batch(self) -> None:
        self._spool.write(orjson.dumps(self._batch, option=orjson.OPT_APPEND_NEWLINE))
        self._batch.clear()

    def _count(self, column: int, evaluator: str, result: Result) -> None:
        low, high = self.ranges.get(evaluator) or self.ranges.setdefault(evaluator, (math.inf, -math.inf))
        if isinstance(result, Skip):
            return
        tally = self.tallies.get((column, evaluator))
        if tally is None:
            tally = self.tallies[column, evaluator] = Tally()
        if isinstance(result, Failure):
            tally.failed += 1
            tally.unknown += result.counted_as is None
            tally.counted_as += result.counted_as or 0.0
        elif (value := result.value) is not None:
            tally.scored += 1
            tally.total += value
            if not low <= value <= high:
                self.ranges[evaluator] = min(low, value), max(high, value)

    def end_file(self, file: OriginFile) -> None:
        """Tell repeats from copies: where each test stands equally often in a file, it was repeated."""
        self.files.append(file)
        occurrences = _occurrences(self._places)
        self.repeats = max(self.repeats, *(repeat for _, repeat in occurrences.values()), 1)
        for content, position in sorted(self._places, key=itemgetter(1)):
            self._order.setdefault(Key(content, occurrences.get((content, position), _ONCE)[0]))
        self._occurrences.append(occurrences)
        self._places = {}

    @property
    def evaluators(self) -> list[str]:
        """Name the evaluators in an order that no order of rows changes."""
        names = [*self.first, *sorted(self.ranges.keys() - self.first)]
        return [name for name in names if name in self.ranges and not self.shadows.get(name)]

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    @property
    def examples(self) -> Iterable[Key]:
        return self._order

    def example(self, key: Key) -> Example:
        return self._examples[key.content]

    def rows_in_place(self) -> Iterator[Placed]:
        """Read the rows once more, each at its place."""
        self._write_batch()
        self._spool.seek(0)
        for row in chain.from_iterable(map(orjson.loads, self._spool)):
            column, file, content, position, repeat, results, rest = row
            several = self._occurrences[file]
            occurrence, counted = several.get((content, position), _ONCE) if several else _ONCE
            kept = {name: _from_json(result) for name, result in results.items()}
            yield Placed(column, Key(content, occurrence), repeat or counted, kept, *rest)

    def systems(self, named: Mapping[int, str]) -> "Systems":
        """Name the systems; `named` are names that were given to files, by their numbers."""
        ordered = sorted(self.columns, key=lambda column: (column.file, column.number))
        given = {index: named[number] for index, number in enumerate(self._numbers) if number in named}
        systems = name_systems(ordered, self._names, given)
        places = dict(zip(ordered, systems.places, strict=True))
        return replace(systems, places=tuple(places[column] for column in self.columns))

    def close(self) -> None:
        self._spool.close()


def _occurrences(places: Collection[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int]]:
    """Say of what stands in a file several times whether it was repeated, or is a copy; the rest is once."""
    positions: dict[str, list[int]] = {}
    if len({content for content, _ in places}) == len(places):
        return {}
    for content, position in places:
        positions.setdefault(content, []).append(position)
    is_repeated = len({*map(len, positions.values())}) == 1
    return {
        (content, position): (0, index + 1) if is_repeated else (index, 1)
        for content, several in positions.items()
        for index, position in enumerate(sorted(several))
    }


@frozen
class Systems:
    """The names of systems: one axis, or prompts and models where each prompt has each model."""

    candidates: tuple[str, ...]
    models: tuple[str | None, ...]
    places: tuple[tuple[int, int], ...]  # of columns: the candidate and the model
    texts: tuple[str, ...]  # of candidates: what makes them new

    def choose(self, wanted: Sequence[str]) -> "Systems":
        """Keep some candidates, or models; the columns of others have no place."""
        if unknown := [name for name in wanted if name not in {*self.candidates, *self.models}]:
            known = ", ".join(filter(None, [*self.candidates, *self.models][:12]))
            raise UsageError(f"there is no system {unknown[0]!r}", hint=f"--system takes one of {known}")
        kept = [index for index, name in enumerate(self.candidates) if name in wanted]
        models = [index for index, name in enumerate(self.models) if name in wanted]
        kept, models = kept or [*range(len(self.candidates))], models or [*range(len(self.models))]
        return Systems(
            candidates=tuple(self.candidates[index] for index in kept),
            models=tuple(self.models[index] for index in models),
            places=tuple(
                (kept.index(candidate), models.index(model))
                if candidate in kept and model in models
                else (-1, -1)
                for candidate, model in self.places
            ),
            texts=tuple(self.texts[index] for index in kept),
        )

    def rename(self, names: Mapping[str, str]) -> "Systems":
        """Give systems other names."""
        every = {*self.candidates, *self.models}
        if unknown := [name for name in names if name not in every]:
            known = ", ".join(filter(None, [*self.candidates, *self.models][:12]))
            raise UsageError(f"--map: there is no system {unknown[0]!r}", hint=f"it has {known}")
        candidates = tuple(names.get(name, name) for name in self.candidates)
        models = tuple(name and names.get(name, name) for name in self.models)
        if len({*candidates}) < len(candidates) or len({*models}) < len(models):
            raise UsageError("--map gives two systems one name", hint="map one system to another name")
        return replace(self, candidates=candidates, models=models)


def name_systems(columns: Sequence[Column], files: Sequence[str], named: Mapping[int, str]) -> Systems:
    """Give columns names by what differs among them."""
    prompts = [*dict.fromkeys((column.system.prompt, column.system.text) for column in columns)]
    models = [*dict.fromkeys(column.system.model for column in columns)]
    pairs = [((column.system.prompt, column.system.text), column.system.model) for column in columns]
    has_all = len({*pairs}) == len(pairs) == len(prompts) * len(models)
    if len(prompts) > 1 and len(models) > 1 and has_all and not named:
        return Systems(
            candidates=tuple(
                distinct(_short(prompt, f"prompt {n}") for n, (prompt, _) in enumerate(prompts, 1))
            ),
            models=tuple(distinct(_short(model, f"model {n}") for n, model in enumerate(models, 1))),
            places=tuple((prompts.index(prompt), models.index(model)) for prompt, model in pairs),
            texts=tuple(text for _, text in prompts),
        )
    names = [_name_of(column, len(prompts) > 1, len(models) > 1) for column in columns]
    names = distinct(_with_files(columns, names, files, named))
    return Systems(
        candidates=tuple(names),
        models=(None,),
        places=tuple((index, 0) for index in range(len(columns))),
        texts=tuple(f"{column.system.text}\0{column.system.model}" for column in columns),
    )


def _name_of(column: Column, has_prompts: bool, has_models: bool) -> str:  # noqa: FBT001  two of a kind
    prompt, model = _short(column.system.prompt, ""), _short(column.system.model, "")
    if has_prompts and has_models:
        return " · ".join(filter(None, [model, prompt])) or f"system {column.number + 1}"
    either = (model or prompt) if has_models else (prompt or model)
    return either or f"system {column.number + 1}"


def _with_files(
    columns: Sequence[Column], names: Sequence[str], files: Sequence[str], named: Mapping[int, str]
) -> Iterator[str]:
    """Tell apart by their files what has the same name in several."""
    alike = Counter(names)
    in_file = Counter(column.file for column in columns)
    for column, name in zip(columns, names, strict=True):
        if column.file in named:
            own = named[column.file]
            yield own if in_file[column.file] == 1 else f"{own} · {name}"
        elif alike[name] > 1 and len(in_file) > 1:
            yield f"{name} ({files[column.file]})"
        else:
            yield name


def _short(name: str, default: str) -> str:
    return shorten(" ".join(name.split()), _LONGEST_NAME) or default
