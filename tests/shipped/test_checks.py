"""`@checks`: what each check finds, how they make one score, what is wrong with a check, and its schema."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from optimize_eval import load_run
from optimize_eval.cli.commands.schema import Document, schema_text
from tests.front_door import Cli
from tests.shipped.asking import Answer, ask

Check = dict[str, Any]
SCHEMA: Check = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}

PASSED_AND_FAILED: list[tuple[Check, str, str]] = [
    ({"equals": "Paris"}, "Paris", "paris"),
    ({"equals": "Straße", "ignore_case": True}, "STRASSE", "Strase"),
    ({"equals": {"a": [1, None]}}, ' {"a": [1.0, null]}\n', '{"a": [true, null]}'),
    ({"equals": 5}, "5", "five"),
    ({"equals": True}, "true", "1"),
    ({"one_of": ["yes", "no"]}, "no", "maybe"),
    ({"contains": "aris"}, "It is Paris.", "It is PARIS."),
    ({"contains_any": ["Seine", "loire"], "ignore_case": True}, "the Loire", "the Rhine"),
    ({"contains_all": ["a", "b"]}, "b and a", "b"),
    ({"starts_with": "Dear"}, "Dear Ada", "dear Ada"),
    ({"ends_with": "!"}, "Hello!", "Hello"),
    ({"regex": r"^\d{4}$"}, "2024", "20245"),
    ({"regex": "as an ai", "ignore_case": True}, "As an AI", "As a person"),
    ({"json": True}, "[1]", "[1,]"),
    ({"json": True}, "null", "NaN"),
    ({"json": SCHEMA}, '{"n": 1}', '{"n": "1"}'),
    ({"max_length": 3}, "äöü", "abcd"),
    ({"min_length": 1}, "a", ""),
    ({"max_words": 2}, "two  words", "now three words"),
    ({"min_words": 2}, "two words", "one"),
    ({"similar": "kitten"}, "kittens", "sitting"),
    ({"similar": "kitten", "least": 0.5}, "sitting", "dog"),
]

WRONG: list[tuple[Any, str]] = [
    ([{"contians": "x"}], 'check 1: no key of a check is called "contians"; did you mean "contains"?'),
    ([{"contains": "x", "wieght": 2}], 'no key of a check is called "wieght"; did you mean "weight"?'),
    ([{"not-contains": "x"}], 'did you mean "not_contains"?'),
    (
        [{"equals": "a"}, {"type": "contains", "value": "x"}],
        'check 2: no key of a check is called "type"; write {"con',
    ),
    ([{"icontains": "x"}], '"ignore_case": true'),
    ([{"contains": "x", "regex": "y"}], "says one thing; this has contains and regex"),
    ([{"weight": 2}], "says one thing; this has none"),
    ([{"contains": ["x"]}], "check 1: contains takes a text, not a list"),
    ([{"contains_any": []}], "contains_any takes a list of texts"),
    ([{"max_length": True}], "max_length takes a whole number, not true or false"),
    ([{"regex": "("}], "'(' is no regular expression: "),
    ([{"json": {"type": 7}}], "the schema is no JSON Schema"),
    ([{"contains": "x", "weight": -1}], "check 1: weight is a number from 0, not -1"),
    ([{"contains": "x", "weight": 0}], "every check has the weight 0"),
    ([{"contains": "x", "least": 0.5}], "least has no effect on contains"),
    ([{"json": True, "ignore_case": True}], "ignore_case has no effect on json"),
    ([{"similar": "x", "least": 2}], "least is a number from 0 to 1, not 2"),
    (["x"], "check 1 is no object such as"),
    ("contains x", "the checks are no list"),
    ({"contains": "x"}, "the checks are no list"),
    ({"of": [{"contains": "x"}], "all": 1}, '"all" beside the checks is true or false'),
    ({"of": [{"contains": "x"}], "threshold": 7}, '"threshold" beside the checks is a number'),
]
NOT_IN_THE_SCHEMA = ("says one thing", "no effect", "regular expression", "JSON Schema", "every check")


@cache
def replies() -> dict[str, list[Answer]]:
    """Ask one process all that needs no option."""
    asked = {
        "passed": [(text, [check]) for check, text, _ in PASSED_AND_FAILED],
        "failed": [(text, [check]) for check, _, text in PASSED_AND_FAILED],
        "not passed": [(text, [opposite(check)]) for check, text, _ in PASSED_AND_FAILED],
        "not failed": [(text, [opposite(check)]) for check, _, text in PASSED_AND_FAILED],
        "wrong": [("x", checks) for checks, _ in WRONG],
    }
    payloads = [
        {"candidate": text, "example": {"checks": checks}}
        for cases in asked.values()
        for text, checks in cases
    ]
    said = iter(ask("checks", payloads))
    return {name: [next(said) for _ in cases] for name, cases in asked.items()}


def opposite(check: Check) -> Check:
    (key, wanted), *beside = check.items()
    return {f"not_{key}": wanted, **dict(beside)}


@pytest.mark.parametrize(
    ("group", "score"), [("passed", 1), ("failed", 0), ("not passed", 0), ("not failed", 1)]
)
def test_each_check_finds_what_it_says_and_its_opposite_the_opposite(group: str, score: int) -> None:
    said = replies()[group]
    assert [one.get("score", one) for one in said] == [score] * len(PASSED_AND_FAILED)
    assert all(one["checks"][0]["reason"] for one in said)


def test_what_is_wrong_with_a_check_is_an_error_that_says_which_and_what_to_write() -> None:
    for (checks, words), said in zip(WRONG, replies()["wrong"], strict=True):
        assert words in said["error"], (checks, said)
        assert "score" not in said


def test_the_schema_for_editors_takes_what_the_evaluator_takes_and_nothing_else() -> None:
    validator: Any = jsonschema.Draft202012Validator(json.loads(schema_text(Document.CHECKS)))
    for check, *_ in PASSED_AND_FAILED:
        validator.validate({"question": "?", "checks": [check, opposite(check)]})
        validator.validate([{"checks": {"of": [{**check, "weight": 2, "name": "n"}], "all": True}}])
    for checks, words in WRONG:
        if not any(part in words for part in NOT_IN_THE_SCHEMA):
            assert not validator.is_valid({"checks": checks}), checks


LIST = [
    {"contains": "Paris", "weight": 2},
    {"contains": "Rome", "name": "other"},
    {"min_words": 9, "weight": 0},
]


@pytest.mark.parametrize(
    ("checks", "score", "passes"),
    [
        (LIST, 2 / 3, "no"),
        ({"of": LIST}, 2 / 3, "no"),
        ({"of": LIST, "all": True}, 0, "no"),
        ({"of": LIST, "threshold": 0.5}, 2 / 3, "yes"),
        ({"of": LIST[:1], "all": True}, 1, "yes"),
    ],
)
def test_the_score_is_the_weighted_share_or_all(checks: Any, score: float, passes: str) -> None:
    (said,) = ask("checks", [{"candidate": "Paris", "example": {"checks": checks}}])
    assert (said["score"], said["pass"]) == (pytest.approx(score), passes == "yes")


def test_the_variant_pass_scores_what_the_side_info_says() -> None:
    wanted = {"of": LIST, "threshold": 0.5}, {"of": LIST, "threshold": 0.7}, LIST[:1], LIST
    payloads = [{"candidate": "Paris", "example": {"checks": checks}} for checks in wanted]
    assert [said["score"] for said in ask("checks", payloads, "--variant", "pass")] == [1, 0, 1, 0]


def test_a_run_says_of_each_example_which_checks_failed_and_why(cli: Cli, tmp_path: Path) -> None:
    rows = [
        {"id": 1, "city": "Paris", "checks": [{"regex": "[.]$", "name": "a sentence"}]},
        {"id": 2, "city": "Rome", "checks": [{"regex": "[.]$", "name": "a sentence"}, {"max_words": 2}]},
        {"id": 3, "city": "Oslo"},
    ]
    write(tmp_path, rows)
    (tmp_path / "all.json").write_text('[{"contains": "{{city}}"}]')
    cli(*RUN, "-e", "@checks --checks all.json", "--quiet", "--out", "r")
    records = {record.line: record for record in load_run(tmp_path / "r").records}
    assert [records[line].score for line in (1, 2, 3)] == [1, pytest.approx(1 / 3), 0]
    assert records[1].side_info["named"] == {"a sentence": True}
    assert records[2].side_info["failed"] == ["contains: Rome", "max_words: 2"]
    assert records[2].side_info["checks"][0]["reason"] == 'it has no "Rome"'


def test_checks_that_are_wrong_are_told_with_their_lines_before_anything_is_called(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path, [{"checks": [{"contains": "a"}]}, {"id": 2}, {"checks": [{"contans": "B"}]}])
    done = cli(*RUN, "-e", "@checks", "--out", "r")
    assert (done.status, (tmp_path / "r").exists()) == (2, False)
    assert 'd.jsonl:2:1: the example has no field "checks"' in done.stderr
    assert (
        'd.jsonl:3:1: check 1: no key of a check is called "contans"; did you mean "contains"?' in done.stderr
    )
    odd = cli(*RUN, "-e", "@checks --odd", "--out", "r")
    assert (odd.status, "unrecognized arguments: --odd" in odd.stderr) == (4, True)


def test_validate_reads_checks_too_and_refuses_them_where_a_sweep_is_of_them(
    cli: Cli, tmp_path: Path
) -> None:
    write(tmp_path, [{"checks": [{"contains": "a"}]}, {"checks": [{"contains": "B", "wieght": 2}]}])
    done = cli("validate", "d.jsonl")
    why = 'check 1: no key of a check is called "wieght"; did you mean "weight"?'
    assert (done.status, done.stdout.splitlines()) == (
        0,
        ["d.jsonl: ok, 2 records", f"note: d.jsonl:2:1 checks: @checks cannot make this: {why}"],
    )
    (tmp_path / "s.toml").write_text(
        '[run]\ncandidates = ["c.txt"]\ndataset = "d.jsonl"\n[[evaluator]]\nuse = "@checks"\n'
    )
    sweep = cli("validate", "s.toml")
    assert (sweep.status, f"d.jsonl:2:1: {why}" in sweep.stdout) == (2, True)


RUN = ("run", "--candidate", "c.txt", "--dataset", "d.jsonl", "--no-preflight")


def write(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "c.txt").write_text("It is Paris.")


def test_an_example_without_checks_is_skipped_and_never_a_zero(cli: Cli) -> None:
    done = cli("score", "-", "-e", "@checks", "--example", '{"checks": []}', stdin=b"x")
    assert (done.status, done.json["outcome"]) == (0, "skipped")
