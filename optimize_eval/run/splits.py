"""A split's examples, and what a run looks up in them: labels for clusters and groups, candidates, names.

What cannot be found is refused with its line, before anything is called.
"""

import hashlib
import heapq
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Sighted
from optimize_eval.base.frozen import frozen
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.datasets import is_table
from optimize_eval.data.example import Example
from optimize_eval.data.selection import value_at
from optimize_eval.store.growth import ExampleTexts
from optimize_eval.store.layout import NO_VALUE, SINGLE

MOST_GROUPS = 100
LONGEST_NAME = 40
LONGEST_INPUT = 160

_ROOM = 1_000_000  # letters of inputs that run.json keeps of one split
_LEAST = 20
_MOST_READ = 1_000
_NAMES = ("id", "name")
_INPUTS = ("input", "question", "prompt", "query", "message", "text")


@frozen
class SplitSource:
    """A split's file, and the examples of it that take part."""

    name: str
    file: str
    examples: tuple[Example, ...]


class PlanExamples:
    """The examples of a plan, until run.json is written, which is rarely, or they are let go.

    They are decoded, which a run does not need; so they are let go once the run is open.
    """

    def __init__(self, sources: Sequence[SplitSource], candidates: Sequence[Candidate]) -> None:
        self._sources = tuple(sources)
        self._fields = {candidate.name: candidate.field for candidate in candidates if candidate.field}

    @property
    def has_candidates(self) -> bool:
        """Return True if candidates are in the examples, so that keys need their texts."""
        return bool(self._fields)

    def describe(self) -> ExampleTexts:
        """Name the examples, give the starts of their inputs, and digest the candidates that are in them."""
        hidden = {part for field in self._fields.values() for part in (field, field.partition(".")[0])}
        if not self._sources:
            return ExampleTexts(names={SINGLE: ()}, inputs={SINGLE: ()}, texts={})
        return ExampleTexts(
            names={
                source.name: [name_of(example.value, hidden) for example in source.examples]
                for source in self._sources
            },
            inputs={source.name: list(inputs_of(source, hidden)) for source in self._sources},
            texts={
                name: {source.name: _digests(source, field) for source in self._sources}
                for name, field in self._fields.items()
            },
        )

    def forget(self) -> None:
        """Let the examples go."""
        self._sources = ()


def check_fields(source: SplitSource, fields: Sequence[str]) -> None:
    problems = [
        Problem(
            path=source.file,
            rule="no_candidate",
            line=example.line,
            column=1,
            reason=f"no text in the field {field!r}, which is to be the candidate; "
            f"it has {', '.join(map(repr, example.value)) or 'no field'}",
        )
        for example in source.examples
        for field in fields
        if not _is_output(source, value_at(example.value, field))
    ]
    if problems:
        raise DataError(problems)


def _is_output(source: SplitSource, value: object) -> bool:
    """Return True for a text, and in a table for a whole number: its digits are what stands there."""
    return isinstance(value, str) or (type(value) is int and is_table(source.file))


def output_of(example: Example, field: str) -> str:
    """Give the recorded output in a field that was checked."""
    return str(value_at(example.value, field))


def check_labels(sources: Sequence[SplitSource], cluster_by: str | None, group_by: Sequence[str]) -> None:
    """Refuse what cannot label examples, before anything is called."""
    for path in [*([cluster_by] if cluster_by else []), *group_by]:
        if not sources:
            raise UsageError(f"there are no examples that could have {path}", hint="give --dataset")
        labels = [(s, e, label_at(e.value, path)) for s in sources for e in s.examples]
        problems = [
            Problem(
                path=s.file, rule="no_label", line=e.line, column=1, reason=f"no text or number at {path}"
            )
            for s, e, label in labels
            if label == NO_VALUE
        ]
        if len(problems) == len(labels):
            raise UsageError(f"no example has a text or number at {path!r}", hint=_paths_of(sources))
        if problems and path == cluster_by:
            raise DataError(problems)
        if path in group_by and (many := len({label for *_, label in labels})) > MOST_GROUPS:
            raise UsageError(
                f"{path} has {many:,} different values", hint=f"group by a field with at most {MOST_GROUPS}"
            )


def check_sight(sources: Sequence[SplitSource], specs: Sequence[EvaluatorSpec]) -> None:
    """Refuse fields that a judge is to see, or not to see, and that no example has."""
    for spec in specs if sources else ():
        for key, path in _fields_named(spec):
            if not any(has_path(e.value, path) for s in sources for e in s.examples):
                raise UsageError(
                    f"no example has {path!r}, which the judge {spec.name} names in {key}",
                    hint=_paths_of(sources),
                )


def hide_from_judges(
    specs: Sequence[EvaluatorSpec],
    candidates: Sequence[Candidate],
    sources: Sequence[SplitSource],
    *,
    has_models: bool = False,
) -> tuple[EvaluatorSpec, ...]:
    """Hide from judges the fields that are candidates, those in which people judged, and models' names."""
    check_sight(sources, specs)
    hidden = [*(candidate.field for candidate in candidates if candidate.field), *humans_of(specs)]
    return tuple(spec.hiding(hidden, models=has_models) for spec in specs)


def humans_of(specs: Iterable[EvaluatorSpec]) -> list[str]:
    """Give the fields in which people judged, by what any of the judges says."""
    return [path for spec in specs for key, path in _fields_named(spec) if key == "human"]


def _fields_named(spec: EvaluatorSpec) -> Iterator[tuple[str, str]]:
    """List the fields of examples that a judge names, each with the key in which it does."""
    target = spec.target
    if isinstance(target, Sighted):
        named = {"shows": target.shows, "hides": target.hides, "human": target.human}
        named |= {"against": target.rival_fields, "its objective": target.objective_fields}
        yield from ((key, path) for key, paths in named.items() for path in paths)


def _paths_of(sources: Sequence[SplitSource]) -> str:
    value = sources[0].examples[0].value
    inner = {
        f"{key}.{deeper}": field
        for key, item in value.items()
        if isinstance(item, dict)
        for deeper, field in item.items()
    }
    fields = {**value, **inner}
    paths = [path for path, field in fields.items() if isinstance(field, str | bool | int | float)]
    return f"the first example has {', '.join(paths[:20]) or 'no such field'}"


def has_path(value: object, path: str) -> bool:
    """Return True if something stands at a dotted path, be it null."""
    if not isinstance(value, Mapping):
        return False
    head, dot, rest = path.partition(".")
    return path in value or bool(dot and has_path(value.get(head), rest))


def label_at(value: object, path: str) -> str:
    label = value_at(value, path)
    if isinstance(label, str):
        return label
    return strict_json.dumps(label).decode() if isinstance(label, bool | int | float) else NO_VALUE


def name_of(example: JsonMapping, fields: Container[str]) -> str:
    """Find what people call an example: its id or name, else its first short field that is not its input.

    >>> name_of({"id": "t-7", "input": "Ada"}, ())
    't-7'
    >>> name_of({"input": "Ada", "team": "billing"}, ())
    'team=billing'
    """
    for key in _NAMES:
        if text := _short(example.get(key)):
            return text
    chosen = _input_key(example, fields)
    others = (key for key in example if key not in fields and key != chosen)
    named = (f"{key}={text}" for key in others if (text := _short(example[key])))
    return next((name for name in named if len(name) <= LONGEST_NAME), "")


def inputs_of(source: SplitSource, fields: Container[str]) -> Iterator[str]:
    """Give the start of each example's input; of many examples so much that all of them have room."""
    most = max(_LEAST, min(LONGEST_INPUT, _ROOM // max(1, len(source.examples))))
    for example in source.examples:
        key = _input_key(example.value, fields)
        yield "" if key is None else _start(example.value[key], most)


def _input_key(example: JsonMapping, fields: Container[str]) -> str | None:
    """Choose the field that is the input: one with such a name, else the first that is not an id or name."""
    for key in (*_INPUTS, *example):
        if key in example and key not in fields and key not in _NAMES:
            return key
    return None


def _short(value: object) -> str:
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    text = _start(value, LONGEST_NAME + 1)
    return text if len(text) <= LONGEST_NAME else ""


def _start(value: object, most: int) -> str:
    """Write the start of a value on one line."""
    text = value if isinstance(value, str) else strict_json.dumps(value).decode()
    line = " ".join(text[:_MOST_READ].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _digests(source: SplitSource, field: str) -> list[str]:
    return [hashlib.sha256(output_of(example, field).encode()).hexdigest() for example in source.examples]


def choose(
    examples: Sequence[Example],
    *,
    split: str,
    limit: int | None,
    sample: int | None,
    seed: int,
) -> tuple[Example, ...]:
    """Take the first `limit` examples, then `sample` of them by a seed, in the file's order.

    A smaller sample is a part of a larger one, so a run that grows calls no example twice.
    """
    taken = examples[:limit]
    if sample is None or sample >= len(taken):
        return tuple(taken)
    texts = {example.line: f"{seed} {split} {example.line}" for example in taken}
    drawn = {line: hashlib.sha256(text.encode()).hexdigest() for line, text in texts.items()}
    least = set(heapq.nsmallest(sample, drawn, key=drawn.__getitem__))
    return tuple(example for example in taken if example.line in least)
