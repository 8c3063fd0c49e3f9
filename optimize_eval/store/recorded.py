"""Versions of candidates that are fields of examples, where their texts may be edited.

What is current goes by the field's name, also when examples come to it. What an earlier session scored is
another version where a text of an example that says the same was another; it goes by the digest of its texts.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.store.keys import digest_of

TEXTS = "texts"  # of an entry of tried.json: by version the texts of each of its examples, as digests

_MOST_TEXTS = 256  # of examples that say the same
_SHORT = 16  # letters of a digest
_LISTED = "candidates", "steps", "baselines", "confirmed"

Texts = Mapping[str, Collection[str]]  # by what an example says


def texts_in(
    document: Mapping[str, Any], split: str, lines: Sequence[int | None], values: Sequence[str]
) -> dict[str, Texts]:
    """Give by candidate what some examples of a split have in its field."""
    every = next((one["lines"] for one in document["splits"] if one["name"] == split), ())
    value_of = dict(zip(lines, values, strict=True))
    found: dict[str, Texts] = {}
    for one in document["candidates"]:
        digests = (one.get("texts") or {}).get(split, ()) if one.get("field") else ()
        texts: dict[str, set[str]] = {}
        for line, digest in zip(every, digests, strict=False):
            if digest and line in value_of:
                texts.setdefault(value_of[line], set()).add(str(digest)[:_SHORT])
        if texts:
            found[digest_of(one)[:_SHORT]] = texts
    return found


def joined(parts: Iterable[Mapping[str, Texts]]) -> dict[str, Texts]:
    """Put together what splits have."""
    whole: dict[str, dict[str, set[str]]] = {}
    for part in parts:
        for name, texts in part.items():
            for value, digests in texts.items():
                whole.setdefault(name, {}).setdefault(value, set()).update(digests)
    return dict(whole)


def in_entry(entry: Mapping[str, Any], fields: Mapping[str, Texts]) -> dict[str, Any]:
    """Call candidates of an entry by their texts, and keep these."""
    kept = {name: _kept(entry["examples"], texts) for name, texts in fields.items()}
    names = {name: _version(name, texts) for name, texts in kept.items()}
    texts = {names[name]: [name, texts] for name, texts in kept.items() if name in entry["candidates"]}
    return _renamed(entry, names) | ({TEXTS: texts} if texts else {})


def resolved(entries: Sequence[Mapping[str, Any]], now: Mapping[str, Texts]) -> list[dict[str, Any]]:
    """Call versions that are the same by one name; those that are what is there now, by that of the field."""
    known = [(name, name, texts) for name, texts in now.items()]
    names: dict[str, str] = {}
    for entry in reversed(entries):
        for version, field, texts in _versions_in(entry):
            alike = (name for name, other, those in known if other == field and _agree(texts, those))
            names.setdefault(version, next(alike, version))
            known.append((names[version], field, texts))
    return [_renamed(entry, names) for entry in entries]


def has_sound_texts(entry: Mapping[str, Any]) -> bool:
    """Return True if the texts of an entry's versions can be read; most have none."""
    try:
        for _, field, _ in _versions_in(entry):
            hash(field)
    except (AttributeError, TypeError, ValueError):
        return False
    return True


def _versions_in(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, Texts]]:
    for version, (field, texts) in entry.get(TEXTS, {}).items():
        yield version, field, dict(zip(entry["examples"], map(set, texts), strict=False))


def _kept(values: Iterable[str], texts: Texts) -> list[list[str]]:
    return [sorted(texts.get(value, ()))[:_MOST_TEXTS] for value in values]


def _version(name: str, texts: Sequence[Sequence[str]]) -> str:
    return hashlib.sha256(f"{name} {texts}".encode()).hexdigest()[:_SHORT]


def _agree(texts: Texts, others: Texts) -> bool:
    """Return True if of examples that both have, and some are, one has no text that the other has not."""
    pairs = [({*those}, {*others[value]}) for value, those in texts.items() if value in others]
    return bool(pairs) and all(some <= more or more <= some for some, more in pairs)


def _renamed(entry: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {
        **entry,
        **{key: sorted({names.get(str(one), str(one)) for one in entry.get(key, ())}) for key in _LISTED},
    }
