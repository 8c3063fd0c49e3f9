"""No text makes a regular expression of ours slow: twice the text takes at most twice the steps.

Steps are counted (`tests/backtracking.py`), on texts that are made of each pattern to be hard for it.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from optimize_eval.base import secrets
from optimize_eval.data import foreign_files
from optimize_eval.evaluators.kinds import KINDS
from optimize_eval.foreign import promptfoo_checks
from optimize_eval.models import providers
from tests.backtracking import MOST, Pattern
from tests.patterns import Use, hard_texts, uses

_SMALL = 24
_TEXTS = 300
_FEW = 8  # steps a letter, with which nothing can have grown
_TWICE = 2.6  # with what there is at the ends of a text

_ESCAPED = "the words of somebody else are escaped in it"
_OF_OTHERS = "the pattern is the user's own"
_OWN_TEXT = {
    "optimize_eval/reports/page/document.py:_COMMENTS": "read on the sources of our page alone",
    "optimize_eval/base/shipped.py:_BEFORE_WORDS": "read on the programs alone that are shipped",
}
_JOINED = "''.join((_any_form(char, is_first=index == 0) for index, char in enumerate(secret)))"
_MADE: dict[str, tuple[str, list[str | bytes]]] = {
    "evaluators/checks.py:pattern": (f"{_OF_OTHERS}; the evaluator ends in its time", []),
    "evaluators/forbidden.py:pattern": (f"{_OF_OTHERS}; the evaluator ends in its time", []),
    r"evaluators/routing.py:f'(?<!\\w){re.escape(word)}(?!\\w)'": (_ESCAPED, [r"(?<!\w)aa(?!\w)"]),
    "optimize_eval/callables.py:pattern": (_OF_OTHERS, []),
    "optimize_eval/evaluators/kinds.py:row.looks": ("a table", [row.looks for row in KINDS if row.looks]),
    "optimize_eval/fakes/rules.py:pattern": (_OF_OTHERS, []),
    "optimize_eval/models/providers.py:start": ("a table", [*vars(providers)["_PROVIDERS"]]),
    r"optimize_eval/models/requests.py:f'\\b{name}\\b'": (_ESCAPED, [r"\bmax_tokens\b"]),
    r"optimize_eval/models/refusals.py:f'\\b{name}\\b'": (_ESCAPED, [r"\bmax_tokens\b"]),
    "optimize_eval/data/foreign_files.py:mark": (
        "a table",
        [f"(?m){mark}" for _, _, marks in vars(foreign_files)["_TOOLS"] for mark in marks],
    ),
    "optimize_eval/foreign/promptfoo_checks.py:pattern": (
        "a table, and what others write, which is compiled and never searched with",
        [pattern for pattern, *_ in vars(promptfoo_checks)["_SCRIPTS"]],
    ),
    "optimize_eval/foreign/question_sets.py:pattern": (
        f"{_OF_OTHERS}, and compiled, never searched with",
        [],
    ),
    f"optimize_eval/base/secrets.py:{_JOINED}": (_ESCAPED, [vars(secrets)["_pattern_of"]("&").pattern]),
    "optimize_eval/base/secrets.py:pattern": (
        "a table",
        [pattern for pattern, _ in vars(secrets)["_IN_COMMANDS"]],
    ),
    r"optimize_eval/run/bench_files.py:b'(?<![\\w-])%b(?![\\w-])' % stem": (
        _ESCAPED,
        [rb"(?<![\w-])aa(?![\w-])"],
    ),
    r"""optimize_eval/store/run_json.py:b'"%s(\\d+)"' % mark.encode()""": (_ESCAPED, [rb'"ab(\d+)"']),
    "optimize_eval/tasks/task_files.py:pattern.encode()": (
        "two forms",
        [
            rf"(?m){before}(?P<quote>['\"]?)source(?P=quote)\s*:".encode()
            for before in (r"[{,\s]", r"^(\xef\xbb\xbf)?")
        ],
    ),
    "optimize_eval/tasks/of_replies.py:text": (f"{_OF_OTHERS}, and searched in a process that is ended", []),
    "optimize_eval/tasks/templates/environment.py:pattern": (f"{_OF_OTHERS}, in a process that is ended", []),
    "optimize_eval/tasks/templates/host_program.py:question['pattern']": (
        f"{_OF_OTHERS}, in a process that is ended",
        [],
    ),
}
_FORMER = [
    (rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*?)[ \t]*", "fullmatch"),
    (r"(?s)```\w*\s*\n(.*?)\n?\s*```", "fullmatch"),
    (r'(?s)"(?:[^"\\]|\\.)*"|[{}\[\]]|,(?=\s*[}\]])', "finditer"),
    (r"<<[ \t]*([A-Za-z_][^<>\n]*?)[ \t]*>>", "sub"),
    (r"(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)", "findall"),
    (r"(?i)([\w-]*(?:auth|key)[\w-]*:\s*)[^'\"$]+", "sub"),
    (r"(https?://[^\s'\"?]+\?)[^\s'\"]+", "sub"),
    (r"(?m)^ *(?:/\*\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)\n", "sub"),
    (r"(?m)(?:^([ \t]*)(`{3,}|~{3,})[^`\n]*|(```)\w*[ \t\r]*)\n", "search"),
    (r"(a+)+$", "match"),
    (r"(?:a|a)*b", "match"),
    (r"\s+$", "search"),
]


@pytest.fixture(scope="module")
def used() -> list[Use]:
    return uses()


def _grown(pattern: re.Pattern[Any], method: str) -> str:
    """Give a text on which twice the size takes more than twice the steps; empty where there is none."""
    counted = Pattern(pattern)
    smaller, larger = [*hard_texts(counted, _SMALL)], [*hard_texts(counted, 2 * _SMALL)]
    some = max(1, round(len(smaller) / _TEXTS))
    for small, large in zip(smaller[::some], larger[::some], strict=True):
        steps = counted.steps(large, method)
        if steps > _FEW * len(large) and (steps == MOST or steps > _TWICE * counted.steps(small, method)):
            return repr(small)
    return ""


def _listed(used: list[Use]) -> Iterator[tuple[str, str, re.Pattern[Any]]]:
    for use in used:
        if use.pattern is None:
            for made in _MADE.get(use.where, ("", []))[1]:
                yield f"{use.where} = {made!r}", use.method, re.compile(made)
        elif use.where not in _OWN_TEXT:
            yield use.where, use.method, use.pattern


def test_twice_the_text_takes_no_pattern_of_the_package_more_than_twice_the_steps(used: list[Use]) -> None:
    slow = {
        f"{where}.{method}": text
        for where, method, pattern in _listed(used)
        if (text := _grown(pattern, method))
    }
    assert not slow


def test_a_pattern_that_is_made_when_it_is_used_says_of_what(used: list[Use]) -> None:
    assert {use.where for use in used if use.pattern is None} == {*_MADE}
    assert {use.where for use in used} >= {*_OWN_TEXT}


@pytest.mark.parametrize(("pattern", "method"), _FORMER)
def test_a_pattern_that_was_slow_is_found(pattern: str | bytes, method: str) -> None:
    assert _grown(re.compile(pattern), method)


def test_what_is_counted_finds_what_re_finds(used: list[Use]) -> None:
    for where, method, pattern in _listed(used):
        counted = Pattern(pattern)
        for text in islice(hard_texts(counted, 6), 0, None, 23):
            match method:
                case "match" | "fullmatch" | "search":
                    found = [match] if (match := getattr(pattern, method)(text)) else []
                case _:
                    found = list(pattern.finditer(text))
            assert counted.found(text, method) == [match.span() for match in found], (where, text)
