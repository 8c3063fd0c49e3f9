"""`bench -e`: an own metric scores what models said, beside the tasks' metrics, in the same command."""

from pathlib import Path

import orjson
import pytest

from optimize_eval import load_run
from tests.cli.benches import OFTEN_WRONG, RIGHT, arithmetic, board_in, model, timeless
from tests.front_door import Cli, Result
from tests.tools import write_program

SHORT = "short=@length_limit --max 1"


def test_an_own_metric_gives_the_board_that_rescore_gives(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    often = model(tmp_path / "often", OFTEN_WRONG)
    bench = ["bench", "sums.jsonl", "--model", often, "--model", "silent", "--out"]
    calls = {"CALLS": str(tmp_path / "calls")}
    done = cli(*bench, "run", "-e", SHORT, "-e", "@f1", "--json", env=calls)
    assert done.status == 0, done.stderr
    assert len((tmp_path / "calls").read_text().splitlines()) == 12  # each output is scored three times
    boards = done.json.pop("boards")
    assert list(boards) == ["short", "f1"]
    told = {one["adapter"]: one["tasks"][0] for one in boards["short"]["models"]}
    assert (told["often"]["metric_id"], told["often"]["correct"]) == ("short", 5)
    stored = orjson.loads((tmp_path / "run" / "leaderboard.short.json").read_bytes())
    assert stored == boards["short"]
    assert cli(*bench, "other").status == 0
    rescored = cli("rescore", "other", "-e", SHORT, "--json").json
    same = "models", "pairs", "verdict"
    assert [timeless(rescored[key]) for key in same] == [timeless(stored[key]) for key in same]
    plain = board_in(tmp_path / "other")
    assert timeless(plain["models"]) == timeless(board_in(tmp_path / "run")["models"])
    again = cli(*bench, "run", "-e", SHORT, env=calls)
    assert (again.status, " by short: " in again.stdout) == (0, True), again.stderr
    assert again.stderr.startswith("note: left out, as this command does not name it: evaluator f1\n")
    assert len((tmp_path / "calls").read_text().splitlines()) == 12
    selection = orjson.loads((tmp_path / "run" / "run.json").read_bytes())["selection"]
    assert (selection["evaluators"], selection["added"]) == (["sums", "short"], ["short"])
    assert selection["task_models"] == ["often", "silent"]


def test_an_own_metric_has_gates_and_stands_in_every_report(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", "--model", model(tmp_path / "m", RIGHT), "-e", SHORT, "--out", "run"]
    gates = ["--fail-under", "m.short@sums=0.4", "--fail-under", "m.short=0.9", "--fail-under", "m=1"]
    done = cli(*bench, *gates, "--quiet")
    assert done.status == 1
    assert [line.split(" (")[0] for line in done.stderr.splitlines() if line.startswith("gate missed")] == [
        "gate missed: m.short, overall: the mean 0.417"
    ]
    verdict, own, folder = done.stdout.splitlines()
    assert (verdict.split(" (")[0], own.split(" (")[0], folder) == (
        "m scores 1.000",
        "by short: m scores 0.417",
        "run",
    )
    for form, told in (
        ("md", "**by short: m scores 0.417"),
        ("csv", ",task,sums,short,0.41666"),
        ("junit", '"m.short"'),
    ):
        assert told in cli("report", "run", "--format", form).stdout
    assert " by short: m scores 0.417 " in cli("report", "run").stdout
    assert " by short\n" in cli("report", "run", "--details").stdout
    report = cli("report", "run", "--json")
    assert [one["met"] for one in report.json["gates"]] == [True, False, True]
    assert cli("report", "run", "--fail-under", "m.short=0.9").status == 1
    html = load_run(tmp_path / "run")._repr_html_()
    assert "<p><b>m scores 1.000 " in html
    assert "<p><b>by short: m scores 0.417 " in html
    assert "<th>sums</th>" in html
    checked = cli("report", "run", "--check")
    assert (checked.status, ", 0 differ\n" in checked.stdout) == (0, True), checked.stdout


def test_a_broken_own_metric_costs_no_model_call_and_is_scored_when_it_is_fixed(
    cli: Cli, tmp_path: Path
) -> None:
    arithmetic(tmp_path)
    write_program(tmp_path / "own", ["#!/bin/sh", "exit 3"])
    bench = [
        "bench",
        "sums.jsonl",
        "--model",
        model(tmp_path / "m", RIGHT),
        "-e",
        "own=./own",
        "--out",
        "run",
    ]
    calls = {"CALLS": str(tmp_path / "calls")}
    broken = cli(*bench, env=calls)
    assert (broken.status, "m.own failed on every call" in broken.stderr) == (4, True), broken.stderr
    assert board_in(tmp_path / "run")["overall_score"] == 1.0
    write_program(tmp_path / "own", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    fixed = cli(*bench, "--json", env=calls)
    assert fixed.status == 0, fixed.stderr
    assert fixed.json["boards"]["own"]["overall_score"] == 0.5
    assert len((tmp_path / "calls").read_text().splitlines()) == 12


def test_ctrl_c_in_one_own_metric_ends_the_bench_and_the_same_command_goes_on(
    program: Cli, cli: Cli, tmp_path: Path
) -> None:
    arithmetic(tmp_path, size=3)
    write_program(
        tmp_path / "first", ["#!/bin/sh", "[ -e go ] || kill -INT $PPID", "echo '{\"score\": 0.5}'"]
    )
    write_program(tmp_path / "second", ["#!/bin/sh", "touch called", "echo '{\"score\": 1}'"])
    bench = ["bench", "sums.jsonl", "--model", "toy", "-e", "./first", "-e", "./second", "--out", "run"]
    stopped = program(*bench, "--concurrency", "1")
    assert (stopped.status, (tmp_path / "called").exists()) == (130, False), stopped.stderr
    assert "interrupted: " in stopped.stderr
    (tmp_path / "go").touch()
    done = cli(*bench, "--json")
    assert done.status == 0, done.stderr
    scores = {name: one["overall_score"] for name, one in done.json["boards"].items()}
    assert scores == {"first": 0.5, "second": 1.0}


def test_what_an_own_metric_did_not_score_misses_its_gate(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", "--model", "toy", "--model", "toy", "-e", SHORT, "--out", "run"]
    done = cli(*bench, "--fail-under", "toy-2.short=0")  # the same model, which is scored once
    assert done.status == 1
    assert "gate missed: toy-2.short, overall: it is not on the board, so it may be below 0" in done.stderr


def test_a_board_of_an_own_metric_that_is_outdated_is_not_reported(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    broken = f"{{'error': 'not yet'}} if '6 +' in asked['prompt'] and os.path.exists('broken') else {RIGHT}"
    bench = ["bench", "sums.jsonl", "--model", model(tmp_path / "m", broken), "--out", "run"]
    (tmp_path / "broken").touch()
    assert cli(*bench, "-e", SHORT).status == 0
    assert cli(*bench).status == 0
    assert "boards" in cli("report", "run", "--json").json  # nothing was called that would change it
    assert cli("report", "run", "--check").status == 0
    (tmp_path / "broken").unlink()
    assert cli(*bench).status == 0
    assert "boards" not in cli("report", "run", "--json").json


@pytest.mark.parametrize(
    ("metric", "told"),
    [("@nothing", "nothing"), ("judge:openai/x", "objective"), ("http://[", "is not a URL")],
)
def test_an_own_metric_that_cannot_be_is_refused_before_a_model_is_called(
    cli: Cli, tmp_path: Path, metric: str, told: str
) -> None:
    arithmetic(tmp_path)
    done = cli("bench", "sums.jsonl", "--model", "toy", "-e", metric, "--out", "run")
    assert (done.status, told in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "run").exists()


def test_a_model_that_was_replaced_is_scored_by_what_it_says_now_also_after_going_back(
    cli: Cli, tmp_path: Path
) -> None:
    """outputs.jsonl has what both said under one name; a metric of one's own takes those of the current."""
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", "--model", model(tmp_path / "m", RIGHT), "--out", "run"]
    assert cli(*bench).status == 0
    model(tmp_path / "m", "'wrong'")
    assert cli(*bench, "--replace", "m").status == 0
    assert overall(cli("rescore", "run", "-e", "first=@exact_match", "--json")) == 0.0
    model(tmp_path / "m", RIGHT)
    assert cli(*bench, "--replace", "m").status == 0
    assert overall(cli("rescore", "run", "-e", "second=@exact_match", "--json")) == 1.0


def overall(done: Result) -> float:
    assert done.status == 0, done.stderr
    return float(done.json["models"][0]["overall_score"])
