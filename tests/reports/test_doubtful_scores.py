"""Scores that may be none: an error told beside them, nothing but zeros. Both are said."""

import sys
from pathlib import Path

import pytest

from tests.front_door import Cli, Result
from tests.tools import write_program

BESIDE = {
    "a text": ("'missing_api_key'", "12 of 12 judge scores came with an error: missing_api_key"),
    "an object": ("{'message': 'no key', 'code': 7}", "12 of 12 judge scores came with an error: no key"),
    "some": ("'odd' if number % 2 else None", "6 of 12 judge scores came with an error: odd"),
}


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Cli:
    """Run, or check, an evaluator whose reply is a Python expression of the example's number."""
    (tmp_path / "c.txt").write_text("hello")
    (tmp_path / "data.jsonl").write_text("".join(f'{{"n": {number}}}\n' for number in range(12)))

    def run(reply: str, command: str = "run") -> Result:
        lines = [
            f"#!{sys.executable} -S",
            "import json, sys",
            "number = json.load(sys.stdin)['example']['n']",
            f"print(json.dumps({reply}))",
        ]
        write_program(tmp_path / "judge.py", lines)
        out = ("--out", "r") if command == "run" else ()
        return cli(
            command, "-e", "./judge.py", "--candidate", "c.txt", "--dataset", "data.jsonl", *out, "--json"
        )

    return run


def points(result: Result) -> list[str]:
    assert result.status == 0, result.stderr
    return [f"{point['mark']} {point['text']}" for point in result.json["verdict"]["points"]]


@pytest.mark.parametrize(("error", "said"), BESIDE.values(), ids=BESIDE.keys())
def test_an_error_beside_scores_is_a_point(run: Cli, error: str, said: str) -> None:
    result = run(f"{{'score': 0.5, 'error': {error}}}")
    assert f"! {said}" in points(result)
    assert result.json["summary"]["units"]["scored"] == 12
    assert result.json["summary"]["rows"][0]["splits"]["train"]["mean"] == 0.5


def test_errors_beside_nothing_but_zeros_are_a_point(run: Cli) -> None:
    said = points(run("{'score': 0.0, 'error': 'missing_api_key'}"))
    assert "! 12 of 12 judge scores came with an error: missing_api_key" in said


def test_nothing_but_zeros_is_the_verdict(run: Cli) -> None:
    result = run("{'score': 0.0}")
    assert result.json["verdict"]["text"] == "Every judge score is 0 (all 12). Check that judge works"
    assert result.json["verdict"]["state"] == "single"


@pytest.mark.parametrize(
    "reply", ["{'score': float(number > 10), 'error': None}", "{'score': 0.2, 'error': ''}"]
)
def test_no_error_and_any_other_score_are_no_points(run: Cli, reply: str) -> None:
    assert not [one for one in points(run(reply)) if "error" in one or "are 0" in one]


def test_preflight_warns_of_an_error_beside_a_score(run: Cli) -> None:
    result = run("{'score': 0.0, 'error': 'missing_api_key'}", "preflight")
    assert result.status == 0
    warned = [one for one in result.json["evaluators"][0]["checks"] if one["name"] == "error with score"]
    assert len(warned) == 1
    assert warned[0]["status"] == "warn"
    assert "carries error: missing_api_key" in warned[0]["message"]
    assert "./judge.py" in warned[0]["reproduce"]
