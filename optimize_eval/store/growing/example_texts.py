"""What run.json has of examples besides their digests, made only where it is not known already.

Names and starts of inputs are for people; the digests of candidates that are fields of examples are for keys.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.store.document import Document

Entry = Mapping[str, Any]


@frozen
class ExampleTexts:
    """What run.json has of examples besides their digests, by split; `texts` are digests of candidates."""

    names: Mapping[str, Sequence[str]]
    inputs: Mapping[str, Sequence[str]]
    texts: Mapping[str, Mapping[str, Sequence[str]]]  # by candidate that is a field, then by split


def with_texts(
    document: Document, known: Document | None, describe: Callable[[], ExampleTexts] | None
) -> Document:
    """Put into a document what it has of examples besides digests, made only where that is not known."""
    chosen = document["selection"]
    if describe is None or all("names" in split for split in chosen["splits"]):
        return document
    if known and _has_all_texts(known, document):
        pairs = zip(chosen["splits"], known["selection"]["splits"], strict=True)
        splits = [{**one, "names": old["names"], "inputs": old["inputs"]} for one, old in pairs]
        return {**document, "selection": {**chosen, "splits": splits}}
    texts = describe()
    splits = [
        {**split, "names": list(texts.names[split["name"]]), "inputs": list(texts.inputs[split["name"]])}
        for split in chosen["splits"]
    ]
    lines = {split["name"]: split["lines"] for split in chosen["splits"]}
    candidates = [
        {
            **candidate,
            "texts": _texts(candidate, texts.texts[candidate["name"]], lines, document["splits"], known),
        }
        if candidate["name"] in texts.texts and not candidate.get("superseded")
        else candidate
        for candidate in document["candidates"]
    ]
    return {**document, "candidates": candidates, "selection": {**chosen, "splits": splits}}


def _has_all_texts(known: Document, document: Document) -> bool:
    """Return True if all that a document has of examples is what was known of them already."""
    before, now = (
        [(split["name"], split["lines"]) for split in each["selection"]["splits"]]
        for each in (known, document)
    )
    return (
        before == now
        and known["splits"] == document["splits"]
        and all("names" in split for split in known["selection"]["splits"])
        and all(
            candidate in known["candidates"] for candidate in document["candidates"] if candidate.get("field")
        )
        and all(
            _has_texts(candidate, document) for candidate in document["candidates"] if candidate.get("field")
        )
    )


def _has_texts(one: Entry, document: Document) -> bool:
    texts = one.get("texts") or {}
    sizes = {split["name"]: len(split["lines"]) for split in document["splits"]}
    return all(len(texts.get(name, ())) == size for name, size in sizes.items())


def _texts(
    one: Entry,
    new: Mapping[str, Sequence[str]],
    lines: Mapping[str, Sequence[int | None]],
    splits: Sequence[Entry],
    known: Document | None,
) -> dict[str, list[str]]:
    """Give the digests of a candidate's texts by the lines of each split, new ones over those of before."""
    before = {split["name"]: split["lines"] for split in (known["splits"] if known else ())}
    texts: dict[str, list[str]] = {}
    for split in splits:
        name = split["name"]
        by_line = dict(zip(before.get(name, ()), (one.get("texts") or {}).get(name, ()), strict=False))
        by_line |= dict(zip(lines.get(name, ()), new.get(name, ()), strict=True))
        texts[name] = [by_line.get(line, "") for line in split["lines"]]
    return texts
