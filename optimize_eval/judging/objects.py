"""The JSON objects in what a judge says, and which of them it only quotes; pure.

What is wrong with JSON is overlooked where nothing is guessed by it: a raw line feed or an odd escape in a
text, a comma before the end. It is never overlooked inside the values that decide.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Never

_STARTS = re.compile(r'\{\s*(?=["}])')
_UNFINISHED = re.compile(r"[\w.+-]*\s*")  # a number or word that stops, up to the end of a text
# A text without its end goes on to the last letter: else each quote in it would be looked at as a beginning.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]|,(?=\s*(?P<closing>[}\]]))', re.DOTALL)
_IN_TEXT = re.compile(r'\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|(?P<odd>\\)|(?P<control>[\x00-\x1f])')
_MARK = "\ue000"  # stands where something was overlooked; no text that has it already is read so
_NOT_ALONE = "it is not the JSON object alone"
_MOST_TRIES = 2000
_MOST_DIFFERENT = 50  # objects among words: for each, what is judged is read
_DEEPEST = 3  # texts that hold JSON, in JSON that a text holds


class Unusable(ValueError):
    """Why a reply cannot be used, in words that the model is told too."""


class JsonObject(NamedTuple):
    """An object in a text; `lenient` are the keys whose values hold something that was overlooked."""

    value: dict[str, Any]
    start: int
    end: int
    lenient: frozenset[str] = frozenset()


def objects(text: str) -> Iterator[JsonObject]:
    """Decode the objects in a text. What starts like one has to be one, for inside it may be others."""
    place = 0
    while start := _STARTS.search(text, place):
        try:
            value, place = _DECODER.raw_decode(text, start.start())
            yield JsonObject(value, start.start(), place)
        except json.JSONDecodeError as error:
            found = _fixed(text, start.start(), error)
            place = found.end
            yield found
        except RecursionError:
            raise Unusable("its JSON is nested too deeply") from None


def own_among(found: Iterable[JsonObject], texts: Collection[str]) -> list[JsonObject]:
    """Leave out objects that a text holds; raises Unusable for more different ones than anybody answers."""
    decided: list[tuple[Mapping[str, Any], bool]] = []
    own = []
    for item in found:
        is_own = next((is_own for value, is_own in decided if value == item.value), None)
        if is_own is None:
            if len(decided) == _MOST_DIFFERENT:
                raise Unusable(_NOT_ALONE)
            is_own = not _is_quoted(item.value, texts)
            decided.append((item.value, is_own))
        own.extend([item] if is_own else [])
    return own


def _is_quoted(value: Mapping[str, Any], texts: Collection[str]) -> bool:
    """Return True if an object stands in one of the texts, however it is spelt there.

    Also where a text holds too much that looks like JSON to be sure that it does not.
    """
    try:
        return any(value == other for text in texts for other in _all_in(text, _DEEPEST))
    except RecursionError:
        raise Unusable(_NOT_ALONE) from None


def _all_in(text: str, deep: int) -> Iterator[object]:
    """Decode every object in a text, those inside others and inside their texts, too."""
    place = tries = 0
    while (start := text.find("{", place)) >= 0:
        try:
            value, place = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            place, tries = start + 1, tries + 1
            if tries > _MOST_TRIES:
                raise Unusable(_NOT_ALONE) from None
            continue
        yield from _within(value, deep)


def _within(value: Any, deep: int) -> Iterator[object]:
    match value:
        case dict():
            yield value
            for item in value.values():
                yield from _within(item, deep)
        case list():
            for item in value:
                yield from _within(item, deep)
        case str() if deep and "{" in value:
            yield from _all_in(value, deep - 1)


def _fixed(text: str, start: int, error: json.JSONDecodeError) -> JsonObject:
    """Decode an object with small faults; raises Unusable where it has others."""
    try:
        found = _overlooking(text, start)
    except RecursionError:
        raise Unusable("its JSON is nested too deeply") from None
    if found is None:
        raise _broken(text, error) from None
    return found


def _overlooking(text: str, start: int) -> JsonObject | None:
    """Decode an object with its small faults marked; None where it is broken still."""
    end = _end_of(text, start)
    if end is None or _MARK in text:
        return None
    marked = _TOKEN.sub(_marked, text[start:end])
    try:
        decoded = _DECODER.decode(marked)
    except json.JSONDecodeError:
        return None
    lenient = frozenset(key for key, value in decoded.items() if _has_mark(value))
    return JsonObject(_without_marks(decoded), start, end, lenient)


def _end_of(text: str, start: int) -> int | None:
    deep = 0
    for token in _TOKEN.finditer(text, start):
        deep += (token[0] in "{[") - (token[0] in "}]")
        if not deep:
            return token.end()
    return None


def _marked(token: re.Match[str]) -> str:
    if token[0] == ",":
        return f',"{_MARK}":0' if token["closing"] == "}" else f',"{_MARK}"'
    return _IN_TEXT.sub(_escaped, token[0]) if token[0].startswith('"') else token[0]


def _escaped(found: re.Match[str]) -> str:
    if found["odd"]:
        return f"{_MARK}\\\\"
    return f"{_MARK}\\u{ord(found[0]):04x}" if found["control"] else found[0]


def _has_mark(value: Any) -> bool:
    return _MARK in json.dumps(value, ensure_ascii=False)


def _without_marks(value: Any) -> Any:
    match value:
        case dict():
            return {_without_marks(key): _without_marks(item) for key, item in value.items() if key != _MARK}
        case list():
            return [_without_marks(item) for item in value if item != _MARK]
        case str():
            return value.replace(_MARK, "")
    return value


def _broken(text: str, error: json.JSONDecodeError) -> Unusable:
    is_cut = _UNFINISHED.fullmatch(text, error.pos) or error.msg.startswith("Unterminated")
    return Unusable("its JSON is cut off" if is_cut else f"its JSON is broken: {error.msg}")


def _refuse_constant(name: str) -> Never:
    raise Unusable(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        raise Unusable("its JSON has a key twice")
    return said


def _integer(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # Python reads no integer of so many digits; nothing here needs one
        return math.inf


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_unique)
