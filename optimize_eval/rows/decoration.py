"""What stands around a text and is no part of it: bullets and numbers of lists, emphasis, brackets, tags.

A formula keeps its signs, and what has few letters all it has: "- 3 + 4" is no item of a list.
"""

import re

DROPPED = ".,;:!?\"'`\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}"
DROPPED += "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"

_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]+")
_EDGE = f" \t\r\n\N{NO-BREAK SPACE}{DROPPED}"
_ITEM = re.compile(
    r"(?:[-*+>\u2022\u00b7\u2013\u2014]|\#{1,6}|\(?\d{1,3}[.)])\s++"
    r"(?=[\W_]*+[^\W\d_](?:['\u2019]?[^\W\d_]|\s[^\W\d_]{2}))"
)
_TAG = re.compile(r"<([A-Za-z]\w*)(?:\s[^<>]*)?>")
_EMPHASES = "**", "__", "~~", "*", "_"
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_OF_FORMULAS = "=", "^", " + ", " * ", " / "
_ENOUGH_LETTERS = re.compile(r"(?:[\W\d_]*[^\W\d_]){8}")
_DEEPEST = 8  # layers that are taken off


def undecorated(text: str) -> str:
    """Give a text without what stands around the whole of it."""
    if text[:1].isalpha():
        return text
    whole = inner = visible(text).strip(_EDGE)
    for _ in range(_DEEPEST):
        less = _without_layer(inner).strip(_EDGE)
        if less == inner:
            break
        inner = less
    is_formula = any(sign in inner for sign in _OF_FORMULAS)
    return text if inner == whole or is_formula or not _ENOUGH_LETTERS.match(inner) else inner


def visible(text: str) -> str:
    """Take away what nobody sees: breaks and joins without width, soft hyphens, choices of a form."""
    return text if text.isascii() else _UNSEEN.sub("", text)


def _without_layer(text: str) -> str:
    if item := _ITEM.match(text):
        return text[item.end() :]
    if tag := _TAG.match(text):
        return _between(text, tag[0], f"</{tag[1]}>", f"<{tag[1]}")
    for sign in _EMPHASES:
        if text.startswith(sign):
            return _between(text, sign, sign, sign)
    bracket = text[:1]
    return _between(text, bracket, _BRACKETS[bracket], bracket) if bracket in _BRACKETS else text


def _between(text: str, first: str, last: str, again: str) -> str:
    """Give what is between the two where they belong together: nothing inside closes what it did not open."""
    inner = text[len(first) : -len(last)]
    if not text.endswith(last) or len(text) < len(first) + len(last):
        return text
    closed = inner.find(last)
    return inner if closed < 0 or 0 <= inner.find(again) < closed else text
