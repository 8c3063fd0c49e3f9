"""Assertions of promptfoo → checks of `@checks`, with their values filled in and patterns as Python has them.

A check has to pass and fail as its assertion does there. What cannot be written so raises NotTaken with the
reason; what is only told otherwise goes to `tell`.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from optimize_eval.base import strict_json, strict_yaml
from optimize_eval.base.documents import JsonMapping
from optimize_eval.foreign.project import NotTaken, Table

Tell = Callable[[str, str], None]  # what became something else, and why
_LONGEST_YAML = 4 << 20
IS_CODE = "it is code, which nobody runs here"


def plain_data(text: str) -> Any:
    """Decode YAML or JSON as plain JSON values, with texts as keys."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return strict_json.loads(text, unique_keys=False)
        except strict_json.JsonFault:  # it may be YAML in braces
            pass
    if len(text) > _LONGEST_YAML:
        raise NotTaken(f"its YAML is longer than {_LONGEST_YAML >> 20} MiB: write its tests as CSV or JSONL")
    value = strict_yaml.loads(text, strict_yaml.OtherTools)
    try:
        return strict_json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False), unique_keys=False)
    except (TypeError, ValueError, UnicodeEncodeError):
        raise NotTaken("it has a value that is not a text, number, list or object") from None


# Templates

BRACES = re.compile(r"\{\{|\{%|\{#")
NAME = re.compile(r"\{\{-?\s*([A-Za-z_]\w*(?:\.\w+)*)\s*-?\}\}")


def fill(text: str, values: JsonMapping) -> str:
    """Put variables into a text, as promptfoo does; raises NotTaken where that takes more than names."""
    shown = NAME.sub(lambda name: value_text(look_up(name[1], values)), text)
    if BRACES.search(NAME.sub("", text)):
        raise NotTaken("its template has code in it")
    return shown


def look_up(name: str, values: JsonMapping) -> Any:
    first, *others = name.split(".")
    if first == "env":
        raise NotTaken("it takes a value of the environment")
    value: object = values.get(first)
    for key in others:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def value_text(value: object) -> str:
    """Write a value as JavaScript does within a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e21 else repr(value)  # noqa: PLR2004  as there
    if isinstance(value, dict | list):
        raise NotTaken("it puts a list or an object into a text")
    return str(value)


def number_in(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# Values of assertions → checks


def check_of(kind: str, value: object, tell: Tell) -> Table:
    """Make the check that an assertion of this kind is; raises NotTaken where there is none."""
    plain = kind.removeprefix("not-")
    if plain not in TYPES:
        raise NotTaken(_INSTEAD.get(plain, "there is no such check here"))
    check = TYPES[plain](value, tell)
    if kind == plain:
        return check
    name = next(iter(check))
    opposite = name.removeprefix("not_") if name.startswith("not_") else f"not_{name}"
    return {opposite: check.pop(name), **check}


def _text(value: object) -> str:
    if not isinstance(value, str | int | float) or value == "":
        raise NotTaken("it compares with no text")
    return value_text(value)


def _texts(value: object) -> list[str]:
    listed = _comma_separated(value) if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise NotTaken("it compares with no list")
    return [value_text(item) for item in listed]


_LISTED = re.compile(r'\s*(?:"((?:\\["\\]|""|\\(?!["\\])|[^"\\])*)"\s*|([^,]*))(?:,|\Z)')


def _comma_separated(text: str) -> list[str]:
    """Take a list apart that is written in one text, with quotes around commas."""
    values = []
    for quoted, plain in _LISTED.findall(text):
        value = re.sub(r'\\(["\\])|""', lambda pair: pair[1] or '"', quoted) or plain.strip()
        values += [value] if value else []
    return values


def _same_case(key: str, of: Callable[[Any], Any]) -> Callable[[Any, Tell], Table]:
    return lambda value, _tell: {key: of(value)}


def _any_case(key: str, of: Callable[[Any], Any]) -> Callable[[Any, Tell], Table]:
    return lambda value, _tell: {key: of(value), "ignore_case": True}


def _equals(value: object, _tell: Tell) -> Table:
    return {"equals": value if isinstance(value, dict | list) or value is None else value_text(value)}


def _is_json(value: object, tell: Tell) -> Table:
    if isinstance(value, str) and value.strip():
        value = plain_data(value)
    if value in (None, "", False):
        return {"json": True}
    if not isinstance(value, dict):
        raise NotTaken("its schema is not an object")
    if '"format"' in json.dumps(value):
        tell("format in a JSON Schema", "promptfoo checks it, here it only tells")
    return {"json": value}


def _word_count(value: object, _tell: Tell) -> Table:
    """Count words by one pattern, as it is one assertion."""
    limits = value if isinstance(value, dict) else {"min": value, "max": value}
    least, most = (_whole(limits.get(key)) for key in ("min", "max"))
    if least is None and most is None:
        raise NotTaken("it says no number of words")
    if least is None or most is None:
        return {"max_words": most} if least is None else {"min_words": least}
    if most < least:
        raise NotTaken("its numbers of words leave no room")
    return {"regex": rf"\A\s*(?:\S+\s+|\S+\Z){{{least},{most}}}\Z"}


def _whole(value: object) -> int | None:
    number = number_in(value) if isinstance(value, str) else value
    return int(number) if isinstance(number, int | float) and number >= 0 and number == int(number) else None


def _regex(value: object, _tell: Tell) -> Table:
    if not isinstance(value, str) or not value:
        raise NotTaken("it has no pattern")
    return {"regex": python_pattern(value)}


_QUOTED = r"""(?:'([^'\\]*)'|"([^"\\]*)")"""
_SCRIPTS = (  # what code may say that is a check: its pattern, the check, whether upper case counts
    (rf"output\.includes\({_QUOTED}\)|{_QUOTED} in output", "contains", True),
    (rf"output\.toLowerCase\(\)\.includes\({_QUOTED}\)|{_QUOTED} in output\.lower\(\)", "contains", False),
    (rf"output\.starts(?:W|w)ith\({_QUOTED}\)", "starts_with", True),
    (rf"output\.ends(?:W|w)ith\({_QUOTED}\)", "ends_with", True),
    (rf"output\s*===?\s*{_QUOTED}", "equals", True),
)
_LENGTH = re.compile(r"(?:output\.length|len\(output\))\s*(<=?|>=?)\s*(\d{1,9})")


def _script(value: object, tell: Tell) -> Table:
    """Make a check of code that is one; all other code is left out."""
    text = value.strip().removesuffix(";").removeprefix("return ").strip() if isinstance(value, str) else ""
    is_not, text = text.startswith("!"), text.removeprefix("!")
    for pattern, key, minds_case in _SCRIPTS:
        if match := re.fullmatch(pattern, text):
            wanted = next((each for each in match.groups() if each is not None), "")
            if wanted and (minds_case or wanted == wanted.lower()):
                name = f"not_{key}" if is_not else key
                return {name: wanted} if minds_case else {name: wanted, "ignore_case": True}
    if not is_not and (match := _LENGTH.fullmatch(text)):
        tell("length of a reply", "letters are counted as Unicode has them, not as JavaScript")
        number = int(match[2]) + {"<": -1, ">": 1}.get(match[1], 0)
        return {"max_length" if match[1].startswith("<") else "min_length": max(number, 0)}
    raise NotTaken(f"{IS_CODE}: optimize-eval new evaluator begins one")


TYPES: Mapping[str, Callable[[Any, Tell], Table]] = {
    "equals": _equals,
    "contains": _same_case("contains", _text),
    "contains-any": _same_case("contains_any", _texts),
    "contains-all": _same_case("contains_all", _texts),
    "icontains": _any_case("contains", _text),
    "icontains-any": _any_case("contains_any", _texts),
    "icontains-all": _any_case("contains_all", _texts),
    "starts-with": _same_case("starts_with", _text),
    "regex": _regex,
    "is-json": _is_json,
    "word-count": _word_count,
    "javascript": _script,
    "python": _script,
}
_INSTEAD = {
    "similar": "it takes embeddings; the check `similar` is about letters, and `@f1` about words",
    "latency": "-e @latency scores seconds, and --fail-under latency=-5 is a gate of their mean",
    "cost": "-e @cost scores dollars, and --fail-under cost=-0.01 is a gate of their mean",
    "rouge-n": "-e @rouge_l is like it",
    "bleu": "-e @bleu is like it",
    "levenshtein": "the check `similar` is about the share of letters that are the same",
    "select-best": "the verdict says which one is best, over all rows",
    "max-score": "the verdict says which one is best, over all rows",
    "ruby": f"{IS_CODE}: optimize-eval new evaluator NAME --lang ruby begins one",
    "webhook": "an evaluator may be a URL: -e http://…",
    "contains-json": "the check `json` is about the whole reply",
}
ASSERTIONS = frozenset({*TYPES, *_INSTEAD}) | {  # what a cell of a table may begin with
    *("agent-rubric", "answer-relevance", "classifier", "contains-html", "contains-sql", "contains-xml"),
    *("context-faithfulness", "context-recall", "context-relevance", "conversation-relevance", "factuality"),
    *("finish-reason", "g-eval", "gleu", "guardrails", "is-html", "is-refusal", "is-sql", "is-xml"),
    *("is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call", "llm-rubric"),
    *("meteor", "model-graded-closedqa", "model-graded-factuality", "moderation", "perplexity"),
    *("perplexity-score", "pi", "search-rubric", "skill-used", "similar:cosine", "similar:dot"),
    *("similar:euclidean", "tool-call-f1", "trajectory:goal-success", "trajectory:tool-args-match"),
    *("trajectory:step-count", "trajectory:tool-sequence", "trajectory:tool-used", "trace-error-spans"),
    *("trace-span-count", "trace-span-duration"),
}


# Regular expressions

_ESCAPES_ALIKE = {*"fnrtv", *"0123456789", *"sSxu"}
_IN_CLASS = {"d": "0-9", "w": "A-Za-z0-9_", "b": r"\x08"}
_PIECES = re.compile(
    r"(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|k<\w+>|.))|(?P<named>\(\?<(?=[A-Za-z_]))"
    r"|(?P<group>\(\?(?::|=|!|<=|<!))|(?P<odd>\(\?|\[\^?\]|\{,)|(?P<plain>.)",
    re.DOTALL,
)


def python_pattern(text: str) -> str:
    r"""Write a regular expression of JavaScript as one of Python that matches the same.

    >>> python_pattern(r"^\d+ (?<unit>km|mi)$")
    '^(?a:\\d)+ (?P<unit>km|mi)\\Z'
    """
    made, is_in_class = [], False
    for piece in _PIECES.finditer(text):
        part = piece[0]
        if piece["odd"] and not is_in_class:
            raise NotTaken("its pattern means something else in Python")
        made.append(_escape(part, is_in_class) if piece["escape"] else _plain_piece(piece, is_in_class))
        is_in_class = (is_in_class or part.startswith("[")) and part != "]"
    pattern = "".join(made)
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        raise NotTaken("its pattern is not one of Python's") from None
    return pattern


def _plain_piece(piece: re.Match[str], is_in_class: bool) -> str:  # noqa: FBT001
    part = piece[0]
    if is_in_class:
        return rf"\{part}" if part in {"[", "&", "~", "|"} else part
    if piece["named"]:
        return "(?P<"
    return {"$": r"\Z", ".": r"[^\n\r\u2028\u2029]"}.get(part, part)


def _escape(part: str, is_in_class: bool) -> str:  # noqa: FBT001
    letter = part[1]
    if letter == "k" and len(part) > 2:  # noqa: PLR2004  a name follows
        return f"(?P={part[3:-1]})"
    if letter in "dDwWbB":
        if not is_in_class:
            return f"(?a:{part})"
        if letter in _IN_CLASS:
            return _IN_CLASS[letter]
    elif letter in _ESCAPES_ALIKE:
        return part
    elif not letter.isalpha():
        return re.escape(letter)
    raise NotTaken(f"{part} means nothing here")
