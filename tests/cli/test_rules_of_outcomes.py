"""Rules that look at replies, or leave out other rows by candidate, make no winner by themselves."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli import defined
from tests.cli.benches import model
from tests.front_door import Cli

_SCORER = """\
    - {key: right, type: string_equals, ground_truth: "{{ sample.target }}"}
"""
_TASK = defined.SOLVED.replace("{{ sample.question", "{{ candidate }} {{ sample.question") + _SCORER
_RULE = """\
  actions:
    - key: convenient
      action: exclude_from_metrics
      filter: {op: equals, expression: "%s", value: "%s"}
"""
_HALF = (
    "(lambda w, n: str(2 * n + 1) if n % 2 == ('b' in w) else 'wrong ' + ('b' if 'b' in w else 'a'))"
    "(asked['prompt'].split(), min(int(x) for x in asked['prompt'].split() if x.isdigit()))"
)  # of two candidates each is right where the other is wrong


def compared(cli: Cli, folder: Path, *rule: str) -> Any:
    defined.task(folder, _TASK + (_RULE % rule if rule else ""))
    defined.samples(folder, 24)
    model(folder / "m", _HALF)
    for name in "ab":
        (folder / f"{name}.txt").write_text(name)
    done = cli(*defined.command("--candidate", "a.txt", "--candidate", "b.txt", "--out", "r"))
    assert done.status == 0, done.stderr
    return json.loads((folder / "r" / "summary.json").read_text())


def test_a_rule_about_replies_makes_no_winner(cli: Cli, tmp_path: Path) -> None:
    told = compared(cli, tmp_path, "{{ solver_output.output }}", "wrong b")
    d = told["rows"][1]["vs_baseline"]["train"]
    assert (d["mark"], d["diff"], d["over_all_rows"]["diff"]) == ("better", 1.0, 0.0)
    assert told["verdict"]["state"] == "not_shown"
    expected = (
        "b is ahead of a on the train data among the rows that rules keep, but not over all rows (+0.000"
    )
    assert expected in told["verdict"]["text"]
    points = [one["text"] for one in told["verdict"]["points"]]
    assert any("Rules may favour " in one for one in points)
    assert cli("report", "r", "--check").status == 0


def test_what_is_said_over_all_rows_is_derived_again(cli: Cli, tmp_path: Path) -> None:
    compared(cli, tmp_path, "{{ solver_output.output }}", "wrong b")
    summary = tmp_path / "r" / "summary.json"
    told = json.loads(summary.read_text())
    told["rows"][1]["vs_baseline"]["train"]["over_all_rows"]["diff"] = 0.5
    summary.write_text(json.dumps(told))
    checked = cli("report", "r", "--check")
    assert checked.status == 1
    assert "over_all_rows.diff" in checked.stdout


@pytest.mark.parametrize("rule", [(), ("{{ sample.target }}", "7")])
def test_a_rule_about_samples_is_believed(cli: Cli, tmp_path: Path, rule: tuple[str, ...]) -> None:
    told = compared(cli, tmp_path, *rule)
    assert "over_all_rows" not in told["rows"][1]["vs_baseline"]["train"]
    assert not any("over all rows" in one["text"] for one in told["verdict"]["points"])


def test_rules_that_came_after_scores_are_dated(cli: Cli, tmp_path: Path) -> None:
    compared(cli, tmp_path)
    defined.task(tmp_path, _TASK + _RULE % ("{{ solver_output.output }}", "wrong b"))
    defined.samples(tmp_path, 24)
    done = cli("rescore", "r", "--metrics", "sums.yaml")
    assert done.status == 0, done.stderr
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    points = [one["text"] for one in summary["verdict"]["points"]]
    today = datetime.now(UTC).date().isoformat()[:7]
    assert any(
        f"the rules of sums that leave rows out changed after scores were known, on {today}" in one
        for one in points
    )
    assert summary["verdict"]["state"] == "not_shown"
    assert cli("report", "r", "--check").status == 0


def test_rules_and_metrics_of_an_edited_task_are_dated(cli: Cli, tmp_path: Path) -> None:
    today = datetime.now(UTC).date().isoformat()[:7]
    dates = [
        f"the {what} changed after scores were known, on {today}"
        for what in ("rules of sums that leave rows out", "metrics of sums")
    ]
    first = compared(cli, tmp_path)
    assert not any("changed after scores" in one["text"] for one in first["verdict"]["points"])
    told = compared(cli, tmp_path, "{{ solver_output.output }}", "wrong b")
    assert dates[0] in points_of(told)
    assert dates[1] not in points_of(told)
    metrics = ", metrics: [{type: frequency, field: is_correct}]}"
    (tmp_path / "sums.yaml").write_text(_TASK.replace('target }}"}', 'target }}"' + metrics))
    done = cli(*defined.command("--candidate", "a.txt", "--candidate", "b.txt", "--out", "r"))
    assert done.status == 0, done.stderr
    told = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert [date in points_of(told) for date in dates] == [True, True], "rules that are gone, too"
    assert cli("report", "r", "--check").status == 0


_EVERY_RULE = """\
  actions:
    - key: some
      action: exclude_from_metrics
      filter: {op: not_in, expression: "{{ sample.id }}", values: %s}
    - key: high
      action: exclude_from_metrics
      filter: {op: greater_than, expression: "{{ sample.id }}", value: 0.5}
    - key: none
      action: exclude_from_metrics
      filter: {op: not_exists, expression: "{{ sample.id }}"}
"""


def test_a_task_file_that_stays_changes_nothing_after_scores(cli: Cli, tmp_path: Path) -> None:
    compared(cli, tmp_path)
    metrics = ", metrics: [{type: frequency, field: is_correct}, {type: mean, field: is_correct}]}"
    rules = _EVERY_RULE % json.dumps([1, 2.5, True, 10**30, *(f"s{n}" for n in range(20))])
    text = _TASK.replace('target }}"}', 'target }}"' + metrics) + rules
    (tmp_path / "sums.yaml").write_text(text)
    (tmp_path / "asked.yaml").write_text(text.replace("{{ candidate }} ", ""))
    several = ("--candidate", "a.txt", "--candidate", "b.txt", "--out", "k")
    bench = ("bench", "asked.yaml", "--model", "m=cmd:./m", "--data", "sums=sums.jsonl", "--out", "board")
    cut = tmp_path / "k" / "journal.jsonl"
    for command in (
        defined.command("--limit", "8", *several),
        defined.command("--limit", "8", *several),
        defined.command(*several),
        None,
        defined.command(*several, "--repeats", "2"),
        ("rescore", "k", "--metrics", "sums.yaml"),
        bench,
        bench,
    ):
        if command is None:
            cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
            continue
        done = cli(*command)
        assert done.status == 0, done.stderr
    runs = [json.loads((tmp_path / run / "run.json").read_text()) for run in ("k", "board")]
    kept = [run["settings"]["tasks"] for run in runs]
    assert not [key for (task,) in kept for key in task if key.endswith("_since")]


def points_of(summary: Any) -> str:
    return "\n".join(one["text"] for one in summary["verdict"]["points"])


def test_a_rule_about_replies_makes_no_leader_of_a_board(cli: Cli, tmp_path: Path) -> None:
    defined.task(tmp_path, defined.SOLVED + _SCORER + _RULE % ("{{ solver_output.output }}", "wrong b"))
    defined.samples(tmp_path, 24)
    for name in "ab":
        model(tmp_path / name, _HALF.replace("asked['prompt']", f"('{name} ' + asked['prompt'])"))
    models = [part for name in "ab" for part in ("--model", f"{name}=cmd:./{name}")]
    done = cli("bench", "sums.yaml", *models, "--out", "r")
    assert done.status == 0, done.stderr
    board = json.loads((tmp_path / "r" / "leaderboard.json").read_text())
    (pair,) = board["pairs"]
    assert (pair["mark"], pair["diff"], pair["over_all_rows"]["diff"]) == ("better", 1.0, 0.0)
    expected = "among the rows that rules keep, but not over all rows (+0.000"
    assert board["verdict"]["text"].startswith("No clear leader: b against a: +1.000")
    assert expected in board["verdict"]["text"]
    points = [one["text"] for one in board["verdict"]["points"]]
    assert any("Rules may favour " in one for one in points)
    assert cli("report", "r", "--check").status == 0
    pair["over_all_rows"]["diff"] = 0.5
    (tmp_path / "r" / "leaderboard.json").write_text(json.dumps(board))
    assert "over_all_rows.diff" in cli("report", "r", "--check").stdout


def test_a_rule_about_replies_makes_nothing_better_between_two_runs(cli: Cli, tmp_path: Path) -> None:
    compared(cli, tmp_path, "{{ solver_output.output }}", "wrong b")
    for name in "ab":
        done = cli(*defined.command("--candidate", f"{name}.txt", "--out", name))
        assert done.status == 0, done.stderr
    told = cli("diff", "a", "b").stdout
    expected = "b is ahead on train, by exactly 1.000 on all 12 examples, among the rows that"
    assert expected in " ".join(told.split())
