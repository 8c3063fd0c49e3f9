"""Benches of the version before this one, whose models were evaluators (a fixture, made by that version).

`bench tasks.jsonl mixed.jsonl --model toy --model silent --model four=cmd:./model.sh -e 'short=@length_limit
--max 1' --out benched` made it, in the folder `former`.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import load_run
from tests.cli.benches import board_in, timeless
from tests.front_door import Cli

FORMER = Path(__file__).parent / "former"
SHORT = "short=@length_limit --max 1"
BENCH = ("bench", "tasks.jsonl", "mixed.jsonl", *("--model", "toy", "--model", "silent"))
COMMAND = (*BENCH, "--model", "four=cmd:./model.sh", "-e", SHORT)
OF_A_BOARD = ("models", "pairs", "verdict", "tasks", "adapter", "files")


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """Give the folder of the bench, beside what it was about."""
    shutil.copytree(FORMER, tmp_path, dirs_exist_ok=True)
    return tmp_path / "benched"


def models_in(folder: Path) -> list[dict[str, Any]]:
    return without_empty(board_in(folder)["models"])


def without_empty(models: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out how many replies were empty, which was not counted then."""
    return [{key: value for key, value in model.items() if key != "empty"} for model in models]


def test_it_is_reported_and_checked_and_stays_what_it_is(cli: Cli, former: Path) -> None:
    before = {path.name: path.read_bytes() for path in former.iterdir()}
    told = cli("report", "benched", "--json")
    assert told.status == 0, told.stderr
    assert {key: told.json[key] for key in OF_A_BOARD} == {key: board_in(former)[key] for key in OF_A_BOARD}
    assert [*told.json["boards"]] == ["short"]
    checked = cli("report", "benched", "--check")
    assert (checked.status, ", 0 differ\n" in checked.stdout) == (0, True), checked.stdout
    assert (
        cli("report", "benched", "--fail-under", "toy@tasks=0.2", "--fail-under", "four.short=0.4").status
        == 0
    )
    assert [*load_run(former).boards] == ["", "short"]
    assert "four did not run 1 of 4 tasks: arith-sum" in cli("report", "benched").stdout
    assert cli("report", "benched", "--format", "html").status == 0
    (former / "report.html").unlink()
    assert {path.name: path.read_bytes() for path in former.iterdir()} == before


def test_it_is_compared_with_a_bench_of_today(cli: Cli, former: Path) -> None:
    assert cli(*COMMAND, "--out", "now").status == 0
    now = former.with_name("now")
    for name in ("leaderboard.json", "leaderboard.short.json"):
        boards = [timeless(board_in(folder, name)) for folder in (former, now)]
        for board in boards:
            del board["settings"], board["spent"]
            board["verdict"] = board["verdict"]["text"]  # today's has a point about empty replies
            board["models"] = without_empty(board["models"])
        skews = [[pair.pop("skew") for pair in board["pairs"]] for board in boards]
        assert boards[0] == boards[1], name
        assert skews[1] == [one and pytest.approx(one, abs=1e-15) for one in skews[0]]  # then not exact sums
    told = cli("diff", "benched", "now", "--json")
    assert told.status == 0, told.stderr
    assert {one["model"]: one["predictions_changed"] for one in told.json["models"]} == {
        "toy": 0,
        "silent": 0,
        "four": 0,
    }


def test_its_own_command_goes_on_from_its_replies(cli: Cli, former: Path) -> None:
    """Scored as today, where a model had failed called again, and what was spent and said is kept."""
    before, replies = board_in(former), (former / "outputs.jsonl").read_bytes()
    (former.parent / "model.sh").write_text((former.parent / "model.sh").read_text())  # as it was
    done = cli(*COMMAND, "--out", "benched", "--json")
    assert done.status == 0, done.stderr
    assert "note: an earlier version began this bench" in done.stderr
    assert "left out" not in done.stderr
    assert (former / "outputs.jsonl").read_bytes() == replies, "no model that had replied was called"
    assert timeless(models_in(former)) == timeless(before["models"])
    assert [*done.json["boards"]] == ["short"]
    checked = cli("report", "benched", "--check")
    assert (checked.status, ", 0 differ\n" in checked.stdout) == (0, True), checked.stdout
    assert "left out" not in checked.stderr
    again = cli(*COMMAND, "--model", "f=toy", "--out", "benched")
    assert (again.status, "an earlier version" in again.stderr) == (0, False), again.stderr


def test_it_is_finished_where_it_was_not(cli: Cli, former: Path) -> None:
    """A journal that a kill cut off: its board is as if nothing had happened, and replies are not lost."""
    before = board_in(former)
    journal = (former / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (former / "journal.jsonl").write_bytes(b"".join(journal[:9]))
    for name in ("leaderboard.json", "leaderboard.short.json", "summary.json"):
        (former / name).unlink()
    told = cli("report", "benched")
    assert (told.status, "of 42 calls done" in told.stdout or "calls" in told.stdout) == (0, True), (
        told.stderr
    )
    assert cli(*COMMAND, "--out", "benched").status == 0
    assert timeless(models_in(former)) == timeless(before["models"])
    assert cli("report", "benched", "--check").status == 0


def test_a_task_may_have_the_name_of_a_model(cli: Cli, former: Path) -> None:
    (former.parent / "tasks.jsonl").rename(former.parent / "toy.jsonl")
    done = cli("bench", "toy.jsonl", "--model", "toy", "--out", "benched", "--json")
    assert done.status == 0, done.stderr
    assert (done.json["overall_score"], done.json["tasks"][0]["task"]) == (1.0, "toy")
    assert cli("report", "benched", "--check").status == 0
    again = cli("bench", "toy.jsonl", "--model", "toy", "--out", "benched")
    assert (again.status, "called" in again.stderr) == (0, False), again.stderr


def test_its_replies_are_reused(cli: Cli, former: Path) -> None:
    done = cli(*BENCH, "--out", "now", "--reuse", "benched")
    assert done.status == 0, done.stderr
    assert "replies of models in benched reused" in done.stderr
    replies = (former / "outputs.jsonl").read_bytes().splitlines()
    assert {*(former.with_name("now") / "outputs.jsonl").read_bytes().splitlines()} <= {*replies}


def test_it_is_rescored(cli: Cli, former: Path) -> None:
    before = board_in(former)
    done = cli("rescore", "benched", "-e", "long=@length_limit --min 1", "--json")
    assert done.status == 0, done.stderr
    assert {one["adapter"]: one["tasks"][0]["metric"] for one in done.json["models"]} == {
        "toy": "long",
        "silent": "long",
        "four": "long",
    }
    assert board_in(former) == before
    assert cli("report", "benched", "--check").status == 0
