"""A text without what was put around the whole of it: a bullet or number, emphasis, brackets, tags."""

import re

_QUOTES = "\N{LEFT SINGLE QUOTATION MARK}\N{RIGHT SINGLE QUOTATION MARK}"
_QUOTES += "\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}"
DROPPED_SIGNS = f".,;:!?\"'`{_QUOTES}"
_UNSEEN = (
    *((0xAD, 0xAD), (0x200B, 0x200F), (0x202A, 0x202E)),
    *((0x2060, 0x2069), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF)),
)
_EDGE = " \t\r\n\N{NO-BREAK SPACE}" + DROPPED_SIGNS
_BULLETS = "-*+>\N{BULLET}\N{MIDDLE DOT}\N{EN DASH}\N{EM DASH}"
_LETTER = re.compile(r"[^\W\d_]")
_AROUND = {"**": "**", "__": "__", "~~": "~~", "*": "*", "_": "_", "(": ")", "[": "]", "{": "}"}


def bare(text: str) -> str:
    """Take all layers off, at most eight; a formula and what has fewer than eight letters keep theirs."""
    before = left = seen_of(text).strip(_EDGE)
    for _ in range(8):
        left = _take_off(left).strip(_EDGE)
    is_formula = re.search("[=^]| [+*/] ", left)
    return text if left == before or is_formula or len(_LETTER.findall(left)) < 8 else left  # noqa: PLR2004


def seen_of(text: str) -> str:
    """Leave out signs that nobody sees."""
    return "".join(sign for sign in text if not any(low <= ord(sign) <= high for low, high in _UNSEEN))


def _take_off(text: str) -> str:
    sign, _, rest = _split_once(text)
    is_number = re.fullmatch(r"\(?\d{1,3}[.)]", sign)
    if (is_number or sign in {*_BULLETS} or re.fullmatch("#{1,6}", sign)) and _begins_with_word(rest):
        return rest
    if tag := re.match(r"<([A-Za-z]\w*)(?:\s[^<>]*)?>", text):
        return _inside(text, tag[0], f"</{tag[1]}>", f"<{tag[1]}")
    first = next((one for one in _AROUND if text.startswith(one)), None)
    return _inside(text, first, _AROUND[first], first) if first else text


def _split_once(text: str) -> tuple[str, str, str]:
    blank = re.search(r"\s+", text)
    return (text[: blank.start()], blank[0], text[blank.end() :]) if blank else (text, "", "")


def _begins_with_word(text: str) -> bool:
    word = re.sub(r"\A[\W_]+", "", text)
    if _LETTER.match(word) and word[1:2].isspace():
        word = word[2:]
    elif word[1:2] in {"'", "\N{RIGHT SINGLE QUOTATION MARK}"}:
        word = word[0] + word[2:]
    return len(_LETTER.findall(word[:2])) > 1


def _inside(text: str, first: str, last: str, again: str) -> str:
    """Give what two belonging together are around: the first that opens is the last that closes."""
    if len(text) < len(first + last) or not text.endswith(last):
        return text
    inner = text.removeprefix(first).removesuffix(last)
    opens_before = again in inner.split(last)[0]
    return inner if last not in inner or (opens_before and again != last) else text
