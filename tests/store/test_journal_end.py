"""A summary is of one journal and one choice of a run: whoever reads another one computes it."""

import shutil
from pathlib import Path

import orjson
import pytest

from tests.front_door import Cli
from tests.reports.pages import parts
from tests.tools import write_program

RUN = ("run", "-e", "./e.sh", "--candidate", "[ab].txt", "--dataset", "d.jsonl", "--out", "runs/r")


@pytest.fixture
def run(cli: Cli, tmp_path: Path) -> Path:
    """Make a run whose candidate b was edited, whose second session was killed, and that was copied then."""
    judge = [
        "#!/bin/sh",
        "case $(cat) in *good*) s=9;; *bad*) s=2;; *) s=5;; esac",
        "echo '{\"score\": 0.'$s'}'",
    ]
    write_program(tmp_path / "e.sh", judge)
    (tmp_path / "d.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    (tmp_path / "a.txt").write_text("plain")
    (tmp_path / "b.txt").write_text("good")
    folder = tmp_path / "runs" / "r"
    assert cli(*RUN).status == 0
    before = (folder / "summary.json").read_bytes()
    (tmp_path / "b.txt").write_text("bad")
    assert cli(*RUN).status == 0
    (folder / "summary.json").write_bytes(before)
    return folder


def kill(run: Path) -> None:
    """Take off what a session writes at its end."""
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (run / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    (run / "summary.json").touch()


def shown(cli: Cli, run: Path) -> list[float]:
    """Read the means that the page has."""
    assert cli("report", str(run), "--format", "html").status == 0
    head = orjson.loads(parts((run / "report.html").read_bytes())["head"])
    return [
        row["splits"]["val" if "val" in row["splits"] else "train"]["mean"] for row in head["summary"]["rows"]
    ]


@pytest.mark.parametrize("killed", ["before its last words", "before its summary"])
def test_the_page_has_the_numbers_of_the_terminal_also_of_a_copy(cli: Cli, run: Path, killed: str) -> None:
    if killed == "before its last words":
        kill(run)
    copy = Path(shutil.copytree(run, run.parent / "copy", copy_function=shutil.copyfile))
    assert shown(cli, run) == shown(cli, copy) == [0.5, 0.2]
    assert [row["splits"]["train"]["mean"] for row in cli("report", str(copy), "--json").json["rows"]] == [
        0.5,
        0.2,
    ]
    listed = cli("runs", "--json").json["runs"]
    assert [one["verdict"] for one in listed] == [None, None]


def test_a_summary_of_another_choice_is_not_of_this_run(cli: Cli, run: Path) -> None:
    """What was edited back is scored already, so its session adds no line."""
    (run.parent.parent / "b.txt").write_text("good")
    stale = cli("report", str(run), "--json").stdout
    assert cli(*RUN).status == 0
    (run / "summary.json").write_text(stale)
    assert shown(cli, run) == [0.5, 0.9]


def test_a_report_says_the_same_before_and_after_a_session_that_calls_nothing(cli: Cli, run: Path) -> None:
    whole = cli("report", str(run), "--json").stdout
    kill(run)
    assert cli("report", str(run), "--json").stdout == whole
    assert cli(*RUN).status == 0
    assert cli("report", str(run), "--json").stdout == whole
    assert orjson.loads(whole) == orjson.loads((run / "summary.json").read_bytes())


@pytest.mark.parametrize("size", [10, 200_000])
def test_where_a_journal_ends_is_found_however_long_its_last_line_is(
    cli: Cli, tmp_path: Path, size: int
) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", f'printf \'{{"score": 1, "text": "%0{size}d"}}\' 7'])
    (tmp_path / "a.txt").touch()
    assert cli("run", "-e", "./e.sh", "--candidate", "a.txt", "--out", "r").status == 0
    end = orjson.loads((tmp_path / "r" / "summary.json").read_bytes())["journal"]["end"]
    journal = (tmp_path / "r" / "journal.jsonl").read_bytes()
    assert journal[:end].endswith(b'"}\n')
    assert b'"outcome":"scored"' in journal[:end].splitlines()[-1]
    assert cli("report", "r", "--check").status == 0
