"""Scored calls asked once more: what changed is told, and the journal's records stay what they were."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.run.calls import Rechecked, chosen_again
from optimize_eval.run.ending import render
from optimize_eval.store.command_units import View
from optimize_eval.store.layout import Layout, Split
from optimize_eval.store.ledger import Ledger
from tests.findings.made import document_of
from tests.front_door import Cli
from tests.run.projects import await_that, finished, project, records, summary
from tests.tools import write_program

VARIES = [
    "#!/bin/sh",
    "IFS= read -r line",
    'echo x >> "$COUNT"',
    'echo "{\\"score\\": 0.$(wc -l < "$COUNT")1}"',
]


def notes(run: Path) -> list[dict[str, Any]]:
    """Read what rechecks left in a journal."""
    lines = map(json.loads, (run / "journal.jsonl").read_bytes().splitlines())
    return [line["recheck"] for line in lines if "recheck" in line and "judged" not in line]


def test_answers_that_are_the_same_are_counted_and_nothing_else_changes(cli: Cli, tmp_path: Path) -> None:
    made, run = finished(tmp_path), tmp_path / "r"
    before, known = summary(run), records(run)
    result = cli(*made.command, "--out", "r", "--recheck", "7", "--json", env=made.env())
    assert result.status == 0, result.stderr
    assert result.stderr.splitlines()[-1] == "recheck: 7 of 7 scores are the same"
    assert result.json["recheck"] == {"chosen": 7, "asked": 7, "same": 7, "changed": [], "failed": []}
    assert made.asked().total() == 7
    assert max(made.asked().values()) == 1, "each is asked again once"
    assert (summary(run), records(run), notes(run)) == (before, known, [result.json["recheck"]])
    assert cli("report", "r", "--check").status == 0
    plain = cli(*made.command, "--out", "r", "--json", env=made.env())
    assert ("recheck" in plain.json, made.asked().total()) == (False, 7)


def test_a_first_session_and_its_recheck_both_stay_in_the_journal(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    result = cli(*made.command, "--out", "r", "--recheck", "100", env=made.env())
    assert result.status == 0, result.stderr
    assert "recheck: 24 of 24 scores are the same" in result.stderr
    assert made.asked() == Counter({f"{text}:{n}": 2 for text in ("a", "bbb") for n in range(1, 13)})
    assert (len(records(tmp_path / "r")), len(notes(tmp_path / "r"))) == (24, 1)


def test_the_same_command_rechecks_the_same_calls(cli: Cli, tmp_path: Path) -> None:
    made = finished(tmp_path)
    for _ in range(2):
        cli(*made.command, "--out", "r", "--recheck", "5", env=made.env())
    assert sorted(made.asked().values()) == [2] * 5


def test_answers_that_changed_are_told_with_both_scores(cli: Cli, tmp_path: Path) -> None:
    made, run = project(tmp_path, 2), tmp_path / "r"
    write_program(tmp_path / "varies.sh", VARIES)
    command = ["run", "-e", "./varies.sh", *made.command[3:], "--out", "r", "--concurrency", "1"]
    first = cli(*command, env=made.env())
    told = summary(run)
    result = cli(*command, "--recheck", "3", "--json", env=made.env())
    assert (first.status, result.status) == (0, 0), result.stderr
    rechecked = result.json["recheck"]
    assert (rechecked["asked"], rechecked["same"], rechecked["failed"]) == (3, 0, [])
    known = {(r["candidate"], r["line"]): r["score"] for r in records(run)}
    assert len(known) == len(records(run)) == 4
    for one in rechecked["changed"]:
        assert one == {
            "evaluator": "varies",
            "candidate": one["candidate"],
            "task_model": None,
            "split": "train",
            "line": one["line"],
            "repeat": 1,
            "before": known[one["candidate"], one["line"]],
            "after": one["after"],
        }
        place = f"  varies on {one['candidate']}, train:{one['line']}: "
        assert f"{place}{one['before']} before, {one['after']} now" in result.stderr
    assert [one["after"] for one in rechecked["changed"]] == [0.51, 0.61, 0.71]
    assert "recheck: 0 of 3 scores are the same" in result.stderr
    assert "--repeats" in result.stderr
    assert summary(run) == told
    assert cli("report", "r", "--check").status == 0


def test_a_call_that_fails_the_second_time_is_told_and_is_no_change(cli: Cli, tmp_path: Path) -> None:
    made, run = finished(tmp_path), tmp_path / "r"
    before = summary(run)
    result = cli(*made.command, "--out", "r", "--recheck", "24", "--json", env=made.env(FAILS="a:3"))
    assert result.status == 0
    rechecked = result.json["recheck"]
    assert (rechecked["asked"], rechecked["same"], rechecked["changed"]) == (24, 23, [])
    (failed,) = rechecked["failed"]
    assert (failed["candidate"], failed["line"], failed["kind"]) == ("a", 3, "exit_code")
    assert "counts on a, train:3: failed (exit_code): " in result.stderr
    assert "--repeats" not in result.stderr
    assert summary(run) == before


def test_ctrl_c_ends_a_recheck_and_the_run_stays_done(tmp_path: Path) -> None:
    made, run = finished(tmp_path), tmp_path / "r"
    before = summary(run)
    flags = ("--out", "r", "--recheck", "24", "--concurrency", "2", "--timeout", "100", "--json")
    with made.started(*flags, HANGS="a:[56]") as process:
        await_that(lambda: {"a:5", "a:6"} <= made.asked().keys())
        process.send_signal(signal.SIGINT)
        await_that(lambda: "stopping: " in made.said())
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0, made.said()
    told = json.loads((tmp_path / "stdout").read_bytes())
    assert (told["status"], told["recheck"]["asked"], told["recheck"]["same"]) == ("done", 4, 4)
    assert told["recheck"]["chosen"] == 24, "who reads the JSON sees that it was stopped"
    assert "recheck: 4 of 4 scores are the same; stopped before 24 were called" in made.said()
    assert summary(run) == before


def test_a_run_that_did_not_end_well_is_not_rechecked(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    result = cli(*made.command, "--out", "r", "--recheck", "5", "--json", env=made.env(FAILS="*"))
    assert (result.status, "recheck" in result.json) == (4, False)
    assert "recheck: skipped" in result.stderr


def test_what_an_evaluator_says_cannot_act_on_the_terminal(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    write_program(
        tmp_path / "e.sh",
        [
            "#!/bin/sh",
            "[ -e later ] || exec echo '{\"score\": 1}'",
            """printf '%s\\n' '{"error": "\\u001b[2Jgone\\n::error::x"}'""",
        ],
    )
    command = ["run", "-e", "./e.sh", *made.command[3:], "--out", "r"]
    assert cli(*command).status == 0
    (tmp_path / "later").touch()
    result = cli(*command, "--recheck", "30", env={"CI": "1"})
    assert result.status == 0, result.stderr
    assert ("\x1b" in result.stderr, "::error::" in result.stderr) == (False, False)
    assert "failed (reported): \\x1b[2Jgone : :error: :x" in result.stderr
    assert "… and 14 more, which --json lists" in result.stderr


STATES = st.sampled_from(["scored", "failed", None])
SPLIT = Split(name="train", lines=tuple(range(1, 8)), sha256=("",) * 7)


@given(
    states=st.lists(st.lists(STATES, min_size=7, max_size=7), min_size=1, max_size=5),
    wanted=st.integers(1, 40),
    seed=st.integers(),
)
def test_what_is_chosen_is_scored_and_spread_evenly(
    states: list[list[str | None]], wanted: int, seed: int
) -> None:
    layout = Layout(
        evaluators=tuple(f"e{n}" for n in range(len(states))),
        score_ranges=(ScoreRange.UNIT,) * len(states),
        candidates=("c",),
        task_models=(None,),
        splits=(SPLIT,),
        repeats=1,
        baseline="c",
        seed=seed,
    )
    view = View(Ledger(document_of(layout)), layout)
    for number, state in enumerate(state for row in states for state in row):
        if state:
            view.enter(number, state, 0)
    chosen = chosen_again(layout, view, wanted)
    scored = [row.count("scored") for row in states]
    assert all(
        states[unit // 7][unit % 7] == "scored" and unit // 7 == place
        for place, units in enumerate(chosen)
        for unit in units
    )
    assert sum(map(len, chosen)) == min(wanted, sum(scored))
    assert all(len(set(units)) == len(units) for units in chosen)
    cut_short = [len(units) for units, known in zip(chosen, scored, strict=True) if len(units) < known]
    assert not cut_short or max(map(len, chosen)) <= min(cut_short) + 1
    assert chosen == chosen_again(layout, view, wanted)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (0.8, 0.6, "0.8 before, 0.6 now"),
        (1, 0.0, "1 before, 0 now"),
        (0.264147872, 0.904592931, "0.264 before, 0.905 now"),
        (0.25, 0.250004, "0.25 before, 0.250004 now"),
        (0.3, 0.1 + 0.2, "0.29999999999999999 before, 0.30000000000000004 now"),
    ],
)
def test_scores_are_told_with_the_digits_that_differ(before: float, after: float, told: str) -> None:
    where = {"evaluator": "e", "candidate": "c", "task_model": "m", "split": "val", "line": 3, "repeat": 2}
    changed = ({**where, "before": before, "after": after},)
    text = render(Rechecked(chosen=2, asked=2, same=1, changed=changed, failed=()))
    assert f"  e with m on c, val:3, repeat 2: {told}\n" in text
