"""Which examples take part: those with given values at given fields, or with given ids.

A value is compared as text: a text as it is, all else as JSON writes it. What nothing has is refused, with
what there is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.data.example import Example

ID = "id"

_SHOWN = 10
_LONGEST = 40
_NOTHING = object()


class Filter(NamedTuple):
    """A field's dotted path, and the text that its value has to be."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}={self.text}"

    def takes(self, example: Example) -> bool:
        return _text_at(example.value, self.path) == self.text


@frozen
class Selection:
    """What examples have to have: all of the filters, and one of the ids if there are any."""

    filters: tuple[Filter, ...] = ()
    ids: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.filters or self.ids)

    def __str__(self) -> str:
        return ", ".join([*map(str, self.filters), *([f"{ID} {' or '.join(self.ids)}"] if self.ids else [])])

    def of(self, splits: Mapping[str, Sequence[Example]]) -> dict[str, tuple[Example, ...]]:
        """Choose of each split, whose own order stays; raises UsageError where nothing is left."""
        chosen = {name: tuple(filter(self._takes, examples)) for name, examples in splits.items()}
        if self:
            self._check([example for examples in splits.values() for example in examples], chosen)
        return chosen

    def notes(
        self,
        files: Mapping[str, str],
        every: Mapping[str, Sequence[Example]],
        chosen: Mapping[str, Sequence[Example]],
    ) -> Iterator[str]:
        """Say how many examples of each file take part; a file with none left is not a split any more."""
        for name, examples in every.items() if self else ():
            if chosen[name]:
                yield f"{files[name]}: {len(chosen[name]):,} of {len(examples):,} examples take part: {self}"
            elif examples:
                yield f"{files[name]}: no example has {self}, so there is no {name} split"

    def to_dict(self) -> dict[str, list[str]]:
        """Make what run.json keeps of it; nothing where everything takes part."""
        options = {"filter": [str(condition) for condition in self.filters], "ids": list(self.ids)}
        return {key: texts for key, texts in options.items() if texts}

    def _takes(self, example: Example) -> bool:
        is_named = not self.ids or _text_at(example.value, ID) in self.ids
        return is_named and all(condition.takes(example) for condition in self.filters)

    def _check(self, examples: Sequence[Example], chosen: Mapping[str, Sequence[Example]]) -> None:
        if not examples:
            raise UsageError("--filter and --id choose examples, and the run has none", hint="give --dataset")
        for path in (*(condition.path for condition in self.filters), *([ID] if self.ids else [])):
            if all(_text_at(example.value, path) is None for example in examples):
                raise UsageError(f"no example has the field {path!r}", hint=_fields(path, examples))
        ids = Counter(text for example in examples if (text := _text_at(example.value, ID)) is not None)
        if unknown := [identity for identity in self.ids if identity not in ids]:
            raise UsageError(f"no example has the id {unknown[0]!r}", hint=_near(unknown[0], ids, "ids"))
        if not any(chosen.values()):
            paths = dict.fromkeys(condition.path for condition in self.filters)
            raise UsageError(f"no example has {self}", hint=_values(paths, examples))


EVERYTHING = Selection()


def parse_selection(filters: Iterable[str] | None, ids: Iterable[str] | None) -> Selection:
    """Read --filter and --id."""
    return Selection(
        filters=tuple(map(parse_filter, filters or ())),
        ids=tuple(dict.fromkeys(ids or ())),
    )


def value_at(value: object, path: str, missing: object = None) -> Any:
    """Look up a dotted path; a key that itself has dots is found too."""
    if not isinstance(value, Mapping):
        return missing
    if path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    return value_at(value.get(head), rest, missing) if dot else missing


def parse_filter(text: str) -> Filter:
    """Read one --filter."""
    path, equals, wanted = text.partition("=")
    if not (path and equals):
        raise UsageError(
            f"--filter {text!r} is not FIELD=VALUE", hint="write one, such as metadata.difficulty=hard"
        )
    return Filter(path, wanted)


def _text_at(value: JsonMapping, path: str) -> str | None:
    item = value_at(value, path, _NOTHING)
    if item is _NOTHING:
        return None
    return item if isinstance(item, str) else strict_json.dumps(item).decode()


def _fields(path: str, examples: Iterable[Example]) -> str:
    fields = Counter(field for example in examples for field in _paths(example.value))
    return _near(path, fields, "fields")


def _paths(value: JsonMapping, before: str = "") -> Iterator[str]:
    for key, inner in value.items():
        yield f"{before}{key}"
        if isinstance(inner, dict):
            yield from _paths(inner, f"{before}{key}.")


def _values(paths: Iterable[str], examples: Sequence[Example]) -> str:
    """List the values that there are at fields, the most frequent first."""
    lines = []
    for path in paths:
        texts = [text for example in examples if (text := _text_at(example.value, path)) is not None]
        lines.append(f"{path} is {_list_texts(Counter(texts), with_counts=True)}")
    return "; ".join(lines)


def _near(word: str, candidates: Counter[str], what: str) -> str:
    close = get_close_matches(word, candidates, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{what}: {_list_texts(candidates)}"


def _list_texts(texts: Counter[str], *, with_counts: bool = False) -> str:
    starts = [
        f"{text[:_LONGEST]}{'…' * (len(text) > _LONGEST)}{f' ({many:,})' * with_counts}"
        for text, many in texts.most_common(_SHOWN)
    ]
    more = f" and {len(texts) - _SHOWN:,} more" if len(texts) > _SHOWN else ""
    return ", ".join(starts) + more
