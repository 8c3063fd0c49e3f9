#!/usr/bin/env python3
"""Checks: the weighted share of the example's own checks that the candidate passes.

The example's field `checks` is a list; each check of it says one thing, such as {"contains": "Paris"},
{"json": true} or {"max_length": 280}, or with not_ before it the opposite. Beside that stand "weight" (1),
"name" and "ignore_case". {"of": […], "all": true} is 1 where all pass, else 0; so is `--variant all` for
every example. "threshold" beside "of" is the score from which the side info says `pass`; without one all
have to. `--variant pass` scores that, 1 or 0. `--checks FILE` holds checks for all examples, in which
{{field}} is what the example has there.
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from math import fsum, isfinite

from _json_schema import problems_of, read_json, validator_of
from _metric import ABSENT, Answer, Asked, Fault, kind, library, look_up, run, shortened

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeAlias

Fact: TypeAlias = "tuple[bool, str]"  # whether it is so, and what there is

_LEAST_SIMILAR = 0.8
_AROUND = 12
_ELSEWHERE = {  # what others call it → what it is here
    "type": '{"contains": "x"} in place of {"type": "contains", "value": "x"}',
    "icontains": '{"contains": …, "ignore_case": true}',
    "is-json": '{"json": true}, or a schema in place of true',
    "levenshtein": '{"similar": …, "least": 0.8}',
    "llm-rubric": "a judge in place of it, an evaluator beside this one: -e judge:PROVIDER/MODEL",
    "threshold": '"least" beside "similar"; of all, {"of": […], "threshold": 0.5} in place of the list',
    "all": '{"of": […], "all": true} in place of the list',
}
_FIELD = re.compile(r"\{\{ *([\w.-]+) *\}\}")


def equals(said: str, wanted: Any, check: Answer) -> Fact:
    if not isinstance(wanted, str):
        try:
            is_so = same(read_json(said), wanted)
        except (ValueError, RecursionError) as error:
            return False, f"it is not JSON: {error}"
        return is_so, "it is this JSON value" if is_so else "it is another JSON value"
    left, right = folded(said, check), folded(wanted, check)
    if left == right:
        return True, "it is equal"
    both = min(len(left), len(right))
    at = next((place for place in range(both) if left[place] != right[place]), both)
    return False, f"at letter {at + 1} it has {quoted(left[at:])}, not {quoted(right[at:])}"


def one_of(said: str, wanted: list[str], check: Answer) -> Fact:
    is_one = folded(said, check) in [folded(text, check) for text in wanted]
    return is_one, f"it is {quoted(said)}"


def contains(said: str, wanted: str, check: Answer) -> Fact:
    at = folded(said, check).find(folded(wanted, check))
    return (True, f"it has it at letter {at + 1}") if at >= 0 else (False, f"it has no {quoted(wanted)}")


def contains_any(said: str, wanted: list[str], check: Answer) -> Fact:
    text = folded(said, check)
    there = next((item for item in wanted if folded(item, check) in text), None)
    return (False, "it has none of them") if there is None else (True, f"it has {quoted(there)}")


def contains_all(said: str, wanted: list[str], check: Answer) -> Fact:
    text = folded(said, check)
    missing = next((item for item in wanted if folded(item, check) not in text), None)
    return (True, "it has all of them") if missing is None else (False, f"it has no {quoted(missing)}")


def starts_with(said: str, wanted: str, check: Answer) -> Fact:
    return folded(said, check).startswith(folded(wanted, check)), f"it begins with {quoted(said)}"


def ends_with(said: str, wanted: str, check: Answer) -> Fact:
    return folded(said, check).endswith(folded(wanted, check)), f"it ends with {quoted(said[-_AROUND:])}"


def regex(said: str, wanted: str, check: Answer) -> Fact:
    match = compiled(wanted, bool(check.get("ignore_case"))).search(said)
    return (True, f"{quoted(match[0])} matches") if match else (False, "nothing in it matches")


def fits_json(said: str, wanted: Any, _check: Answer) -> Fact:
    validator = None if wanted is True else validator_of(wanted)
    try:
        value = read_json(said)
    except (ValueError, RecursionError) as error:
        return False, f"it is not JSON: {shortened(str(error))}"
    if validator is None:
        return True, "it is JSON"
    if problems := problems_of(value, validator):
        return False, f"{problems[0].json_path}: {shortened(problems[0].message)}"
    return True, "it is JSON that fits the schema"


def max_length(said: str, wanted: int, _check: Answer) -> Fact:
    return len(said) <= wanted, f"it has {len(said)} letters"


def min_length(said: str, wanted: int, _check: Answer) -> Fact:
    return len(said) >= wanted, f"it has {len(said)} letters"


def max_words(said: str, wanted: int, _check: Answer) -> Fact:
    words = len(said.split())
    return words <= wanted, f"it has {words} words"


def min_words(said: str, wanted: int, _check: Answer) -> Fact:
    words = len(said.split())
    return words >= wanted, f"it has {words} words"


def similar(said: str, wanted: str, check: Answer) -> Fact:
    left, right = folded(said, check), folded(wanted, check)
    share = library("rapidfuzz.distance.Levenshtein").normalized_similarity(left, right)
    return share >= check.get("least", _LEAST_SIMILAR), f"the similarity is {share:.3g}"


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_texts(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_text, value))


def is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def is_schema(value: object) -> bool:
    return value is True or isinstance(value, dict)


def is_any(_value: object) -> bool:
    return True


# what a check says: how it is found out, what may stand there, in words, and what may stand beside it
_Row: TypeAlias = "tuple[Callable[[str, Any, Answer], Fact], Callable[[object], bool], str, frozenset[str]]"
_OF_TEXT, _PLAIN = frozenset({"ignore_case"}), frozenset[str]()
KINDS: Mapping[str, _Row] = {
    "equals": (equals, is_any, "a text or a JSON value", _OF_TEXT),
    "one_of": (one_of, is_texts, "a list of texts", _OF_TEXT),
    "contains": (contains, is_text, "a text", _OF_TEXT),
    "contains_any": (contains_any, is_texts, "a list of texts", _OF_TEXT),
    "contains_all": (contains_all, is_texts, "a list of texts", _OF_TEXT),
    "starts_with": (starts_with, is_text, "a text", _OF_TEXT),
    "ends_with": (ends_with, is_text, "a text", _OF_TEXT),
    "regex": (regex, is_text, "a regular expression", _OF_TEXT),
    "json": (fits_json, is_schema, "true or a JSON Schema", _PLAIN),
    "max_length": (max_length, is_count, "a whole number", _PLAIN),
    "min_length": (min_length, is_count, "a whole number", _PLAIN),
    "max_words": (max_words, is_count, "a whole number", _PLAIN),
    "min_words": (min_words, is_count, "a whole number", _PLAIN),
    "similar": (similar, is_text, "a text", _OF_TEXT | {"least"}),
}
_NOT = "not_"
_KEYS = {*KINDS, *(f"{_NOT}{key}" for key in KINDS)}
_BESIDE = {"weight", "name", "ignore_case", "least"}


def result_of(said: str, check: Any, number: int) -> Answer:
    """Make one check; what is wrong with the check itself is a Fault."""
    key = key_of(check, number)
    is_not = key.startswith(_NOT)
    find_out, fits, takes, beside = KINDS[key.removeprefix(_NOT)]
    wanted = check[key]
    if not fits(wanted):
        raise Fault(f"check {number}: {key} takes {takes}, not {kind(wanted)}")
    if len(check) > 1:
        refuse_wrong_settings(check, key, beside, number)
    try:
        is_so, reason = find_out(said, wanted, check)
    except Fault as fault:
        raise Fault(f"check {number}: {fault}") from fault
    result = {"check": check.get("name") or label(key, wanted), "pass": is_so != is_not, "reason": reason}
    return result | {"weight": check["weight"]} if "weight" in check else result


def key_of(check: Any, number: int) -> str:
    """Find what a check says; it says one thing."""
    if not isinstance(check, dict):
        raise Fault(f'check {number} is no object such as {{"contains": "x"}} but {kind(check)}')
    keys = [key for key in check if key not in _BESIDE]
    if len(keys) == 1 and keys[0] in _KEYS:
        return str(keys[0])
    unknown = [key for key in keys if key.removeprefix(_NOT) not in KINDS]
    if unknown:
        raise Fault(
            f'check {number}: no key of a check is called "{shortened(unknown[0])}"; {meant(unknown[0])}'
        )
    has = f"this has {' and '.join(keys)}: make two of it" if keys else "this has none"
    raise Fault(f"check {number}: a check says one thing; {has}")


def meant(key: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415  most checks are written well

    if key in _ELSEWHERE:
        return f"write {_ELSEWHERE[key]}"
    close = get_close_matches(key.replace("-", "_"), sorted(_KEYS | _BESIDE), n=1)
    return f'did you mean "{close[0]}"?' if close else f"there are {', '.join(KINDS)}"


def refuse_wrong_settings(check: Answer, key: str, beside: frozenset[str], number: int) -> None:
    """Refuse what stands beside a check and is wrong, or would have no effect."""
    for name in check:
        if name in {"ignore_case", "least"} and name not in beside:
            raise Fault(f"check {number}: {name} has no effect on {key}")
    rules: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
        ("weight", is_weight, "a number from 0"),
        ("name", is_text, "a text"),
        ("ignore_case", lambda value: isinstance(value, bool), "true or false"),
        ("least", lambda value: is_weight(value) and value <= 1, "a number from 0 to 1"),
    )
    for name, fits, takes in rules:
        if name in check and not fits(check[name]):
            raise Fault(f"check {number}: {name} is {takes}, not {json.dumps(check[name])}")


def is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and isfinite(value)


def label(key: str, wanted: Any) -> str:
    """Name a check after what it says."""
    if isinstance(wanted, list):
        return f"{key}: {shortened(', '.join(map(str, wanted)))}"
    return f"{key}: {shortened(str(wanted))}" if isinstance(wanted, str | int) and wanted is not True else key


def folded(text: str, check: Answer) -> str:
    return text.casefold() if check.get("ignore_case") else text


def quoted(text: str) -> str:
    """Show where a text begins."""
    return json.dumps(text if len(text) <= _AROUND else f"{text[:_AROUND]}…", ensure_ascii=False)


def same(one: Any, other: Any) -> bool:
    """Compare JSON values: true is no 1, 1.0 is 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


@lru_cache(4096)
def compiled(pattern: str, ignores_case: bool) -> re.Pattern[str]:  # noqa: FBT001  a key of the cache
    try:
        return re.compile(pattern, re.IGNORECASE if ignores_case else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise Fault(f"{shortened(pattern)!r} is no regular expression: {error}") from error


@cache
def checks_in(file: str) -> Any:
    try:
        with open(file, encoding="utf-8") as stream:  # noqa: PTH123  pathlib costs more than the rest
            return json.load(stream)
    except (OSError, ValueError) as error:
        raise Fault(f"--checks {file} cannot be read: {error}") from error


def filled(value: Any, example: Any) -> Any:
    """Put what the example has in place of {{field}}."""
    if isinstance(value, list):
        return [filled(item, example) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, example) for key, item in value.items()}
    return _FIELD.sub(lambda field: text_of(field[1], example), value) if isinstance(value, str) else value


def text_of(field: str, example: Any) -> str:
    value = look_up(example, field)
    if value is ABSENT:
        raise Fault(f'--checks names the field "{field}", which the example does not have')
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def listed(said: Any) -> tuple[list[Any], Answer]:
    """Read a list of checks, or one with what holds for all of it."""
    settings = said if isinstance(said, dict) else {"of": said}
    of = settings.get("of")
    of = [] if of is None else of
    if not isinstance(of, list) or settings.keys() - {"of", "all", "threshold"}:
        what = f"an object with {', '.join(map(str, said))}" if isinstance(said, dict) else kind(said)
        raise Fault(f'the checks are no list [{{"contains": "x"}}, …] but {what}')
    if not isinstance(settings.get("all", False), bool):
        raise Fault('"all" beside the checks is true or false')
    if "threshold" in settings and not (is_weight(settings["threshold"]) and settings["threshold"] <= 1):
        raise Fault('"threshold" beside the checks is a number from 0 to 1')
    return of, settings


def asked_checks(asked: Asked) -> tuple[list[Any], Answer]:
    """Give the checks of all examples and those of this one, and what holds for the list."""
    file = asked.options["checks"]
    common, settings = listed(filled(checks_in(file), asked.example)) if file else ([], {})
    is_own = not file or asked.options["target_field"] or "checks" in (asked.example or {})
    own, of_own = listed(asked.find()) if is_own else ([], {})
    return [*common, *own], {**settings, **of_own}


def checks(asked: Asked) -> Answer:
    wanted, settings = asked_checks(asked)
    if not wanted:
        return {"skip": "the example has no checks"}
    results = [result_of(asked.candidate, check, number) for number, check in enumerate(wanted, 1)]
    counting = [result for result in results if result.get("weight", 1)]
    if not counting:
        raise Fault("every check has the weight 0")
    total = fsum(result.get("weight", 1) for result in counting)
    share = fsum(result.get("weight", 1) for result in counting if result["pass"]) / total
    is_all = all(result["pass"] for result in counting)
    has_all = settings.get("all") or asked.options["variant"] == "all"
    score = float(is_all) if has_all else share
    is_passed = score >= settings["threshold"] if "threshold" in settings else is_all
    if asked.options["variant"] == "pass":
        score = float(is_passed)
    failed = [result["check"] for result in results if not result["pass"]]
    return {
        "score": score,
        "pass": is_passed,
        "failed": failed,
        **by_name(wanted, results),
        "checks": results,
    }


def by_name(wanted: Iterable[Any], results: Iterable[Answer]) -> Answer:
    """Say of checks with a name whether they passed, so that reports count each over all examples."""
    named = {
        check["name"]: result["pass"]
        for check, result in zip(wanted, results, strict=True)
        if "name" in check
    }
    return {"named": named} if named else {}


if __name__ == "__main__":
    run(
        checks,
        fields=("checks",),
        variants=("share", "all", "pass"),
        options={"--checks": {"metavar": "FILE", "help": "JSON: checks for all examples, before their own"}},
    )
