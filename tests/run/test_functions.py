"""Functions as evaluators of `sweep(…)`: called as programs are, known by their code, beside others."""

from pathlib import Path
from typing import Any

import pytest

from optimize_eval import Run, Skipped, UsageError, sweep
from tests.front_door import Cli
from tests.paths import PROGRAMS
from tests.run.projects import project

EXAMPLES = 3
called: list[str] = []


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, EXAMPLES)
    monkeypatch.chdir(tmp_path)
    called.clear()


def brief(candidate: str, example: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    called.append(candidate)
    return 1 / len(candidate), {"of": example["id"]}


def fails(candidate: str, _example: dict[str, Any]) -> float:
    if candidate == "a":
        raise KeyError("key")
    return 1


def skips(_candidate: str, example: dict[str, Any]) -> float:
    if example["id"] == 1:
        raise Skipped("the first")
    return 0.5


def swept(evaluators: Any) -> Run:
    return sweep(evaluators, ["a.txt", "b.txt"], dataset="d.jsonl", out="r")


def test_a_function_is_called_once_a_unit_and_its_run_is_resumed_and_reported(cli: Cli) -> None:
    run, again = swept(brief), swept([brief])
    assert (run.exit_code, again.exit_code, len(called)) == (0, 0, 2 * EXAMPLES)
    assert {row.candidate: row.splits["train"].mean for row in run.summary.rows} == {
        "a": 1,
        "b": pytest.approx(1 / 3),
    }
    assert {record.side_info["of"] for record in run.records} == {*range(1, EXAMPLES + 1)}
    assert cli("report", "r", "--check").status == 0


def test_functions_stand_beside_programs_and_score_what_models_reply() -> None:
    beside = swept([f"{PROGRAMS}/good.sh", brief, brief])
    assert {one.evaluator for one in beside.records} == {"good", "brief", "brief-2"}
    replies = sweep(
        lambda reply, _example: len(reply) / 100,
        prompts={"p": "Say {{ id }}."},
        models="toy",
        dataset="d.jsonl",
        out="p",
    )
    assert (replies.exit_code, len(replies.records)) == (0, EXAMPLES)


def test_what_a_function_raises_is_a_failure_or_a_skip_and_never_a_number() -> None:
    run = swept([fails, skips])
    outcomes = {
        (one.evaluator, one.candidate, one.line): one for one in run.records if one.outcome != "scored"
    }
    assert {(one.outcome, one.kind, one.message) for one in outcomes.values()} == {
        ("failed", "reported", "KeyError: 'key'"),
        ("skipped", None, "the first"),
    }
    assert outcomes.keys() == {
        *(("fails", "a", line) for line in range(1, EXAMPLES + 1)),
        *(("skips", name, 1) for name in "ab"),
    }
    assert run.exit_code == 4


def test_another_function_of_the_name_is_another_evaluator() -> None:
    swept(brief)
    other = {"brief": lambda _candidate, _example: 0.5}["brief"]
    other.__name__ = "brief"
    with pytest.raises(UsageError, match="brief"):
        swept(other)
