"""`optimize-eval runs` from outside: how each run stands; and commands that take the run that ended last."""

import fcntl
import os
import re
import shlex
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.store.folder import hold_lock, holder
from optimize_eval.store.journal import seal
from tests.cli.made_runs import ENDED, make, write_summary
from tests.findings.made import No, noisy, on_val
from tests.front_door import Cli
from tests.reports.looks import HOSTILE, WIDTHS, measured
from tests.tools import write_program


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def listed(cli: Cli, *arguments: str) -> dict[str, dict[str, Any]]:
    done = cli("runs", *arguments, "--json")
    assert (done.status, done.stderr) == (0, "")
    assert done.json["schema"] == "optimize-eval.runs.v1"
    return {Path(one["run"]).name: one for one in done.json["runs"]}


def test_a_run_that_was_made_is_listed_with_its_verdict(cli: Cli, tmp_path: Path) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "v.txt").touch()
    made = cli("run", "-e", "./e.sh", "--candidate", "v.txt", "--quiet")
    verdict, folder = made.stdout.splitlines()
    one = listed(cli)[Path(folder).name]
    assert (one["run"], one["state"], one["verdict"]) == (folder, "done", verdict)
    assert one["bytes"] == sum(path.stat().st_size for path in (tmp_path / folder).iterdir())
    assert one["units"] == {"total": 1, "scored": 1, "failed": 0, "skipped": 0, "owed": 0}
    assert one["created_at"] <= one["ended_at"]
    text = cli("runs", "--long").stdout
    assert verdict in text
    assert f" {Path(folder).name}  done  " in text


def test_each_run_is_one_line_and_the_newest_comes_last(cli: Cli, runs: Path) -> None:
    for name, count in (("first", 40), ("second", 40)):
        base = noisy(count)
        on_val(a=base, b=base).write(runs / name)
    assert cli("runs", "note", "runs/second", "after the fix").status == 0
    lines = cli("runs", env={"COLUMNS": "80"}).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    newest = [one["run"] for one in cli("runs", "--json").json["runs"]]
    assert [f"runs/{line.split()[0]}" for line in lines[2:4]] == newest[::-1]
    assert any("after the fix: " in line for line in lines)


def shown(cli: Cli, columns: int = 120) -> str:
    """Give what is listed, wherever its lines are broken."""
    return " ".join(cli("runs", "--long", env={"COLUMNS": str(columns)}).stdout.split())


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_run_says_what_it_compares_how_far_it_is_and_its_verdict_in_few_words(
    cli: Cli, tmp_path: Path, width: int
) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "d.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    for name in "abcde":
        (tmp_path / f"{name}.txt").touch()
    words = ("run", "-e", "./e.sh", "-e", "f=./e.sh f", "--candidate", "[a-e].txt", "--dataset", "d.jsonl")
    done = cli(*words, "--task-model", "M", "--repeats", "2", "--out", "runs/r", "--json")
    text = shown(cli, width)
    assert "a, b, c and 2 more · by e, f · on train 2 · with M · 2 times" in text
    verdict = done.json["verdict"]["text"]
    assert verdict in text
    if width > 40:
        assert re.search(r" r +done +40 +\d+ kB +\d s ago +\d s ago\n", cli("runs", "--long").stdout)
    one = listed(cli)["r"]
    assert (one["candidates"], one["evaluators"], one["task_models"]) == (list("abcde"), ["e", "f"], ["M"])
    told = done.json["verdict"]
    assert (one["verdict"], one["verdict_state"]) == (told["text"], told["state"])
    assert one["winner"] == told["winner"]
    assert (one["splits"], one["repeats"], one["baseline"], one["is_bench"]) == ({"train": 2}, 2, "a", False)


def test_an_interval_takes_no_room_in_the_list(cli: Cli, runs: Path) -> None:
    make(runs / "r", verdict="a scores 0.5 (95 % CI 0.4 to 0.6, p = 0.1) on b (c)")
    assert " a scores 0.5 on b (c) " in shown(cli)
    assert "95 % CI" in listed(cli)["r"]["verdict"]


def test_a_bench_names_its_models_and_tasks(cli: Cli, tmp_path: Path) -> None:
    task = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    (tmp_path / "sums.jsonl").write_text(task)
    assert cli("bench", "sums.jsonl", "--model", "toy", "--out", "runs/r", "--quiet").status == 0
    assert "models toy · on sums.jsonl 1" in shown(cli)
    assert listed(cli)["r"]["is_bench"] is True


def test_an_interrupted_run_says_what_is_owed(cli: Cli, runs: Path) -> None:
    """Of 4 calls 3 are owed, as its summary says; without one it says at least how many there are."""
    on_val(v=[0.5, No.OWED, No.OWED, No.OWED]).write(runs / "r")
    footer = seal({"ended_at": ENDED, "status": "interrupted"})
    with (runs / "r" / "journal.jsonl").open("ab") as stream:
        stream.write(footer)
    assert " of 4 " in shown(cli)
    units = {"total": 4, "scored": 1, "failed": 0, "skipped": 0, "owed": 3}
    write_summary(runs / "r", {"units": units})
    assert " interrupted 1/4 " in shown(cli)
    assert " 3 calls are missing; " in shown(cli)


def test_what_a_growing_run_owes_is_known_without_its_summary(cli: Cli, tmp_path: Path) -> None:
    """Of the last command's units alone; and a summary from before it grew is no verdict any more."""
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "d.jsonl").write_text('{"n": 1}\n{"n": 2}\n')
    for name in "ab":
        (tmp_path / f"{name}.txt").touch()
    words = ("run", "-e", "./e.sh", "--dataset", "d.jsonl", "--out", "runs/r", "--quiet")
    assert cli(*words, "--candidate", "a.txt").status == 0
    before = (tmp_path / "runs" / "r" / "summary.json").read_bytes()
    assert cli(*words, "--candidate", "[ab].txt", "--max-time", "0s").status == 4
    assert listed(cli)["r"]["units"] == {"total": 4, "scored": 2, "failed": 0, "skipped": 0, "owed": 2}
    (tmp_path / "runs" / "r" / "summary.json").write_bytes(before)
    assert (listed(cli)["r"]["units"], listed(cli)["r"]["verdict"]) == ({"total": 4, "owed": 2}, None)
    assert " out of time 2/4 " in shown(cli)
    assert " 2 calls are missing " in shown(cli)


def test_what_is_not_finished_gives_the_command_that_resumes_it(cli: Cli, tmp_path: Path) -> None:
    """In a line of its own, to be pasted; the report, which another session may read, has it too."""
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "a b.txt").touch()
    words = ["run", "-e", "./e.sh", "--candidate", "a b.txt", "--out", "runs/r"]
    assert cli(*words, "--max-time", "0s").status == 4
    command = shlex.join(["optimize-eval", *words, "--max-time", "0s"])
    assert f"   to resume:\n     {command}\n" in cli("runs", "--long").stdout
    assert f"    {command}\n" in cli("report", "runs/r").stdout
    assert listed(cli)["r"]["command"] == command
    assert cli(*words).status == 0
    assert listed(cli)["r"]["command"] == shlex.join(["optimize-eval", *words])
    assert "resume" not in cli("runs", "--long").stdout + cli("report", "runs/r").stdout


@pytest.mark.parametrize("kept", [["--out", "runs/r"], ["--out=runs/r"], []], ids=["out", "out=", "no out"])
def test_the_line_that_resumes_names_the_folder_as_it_is_called_now(
    cli: Cli, tmp_path: Path, kept: list[str]
) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "a.txt").touch()
    words = ["run", "-e", "./e.sh", "--candidate", "a.txt"]
    assert cli(*words, *kept, "--max-time", "0s").status == 4
    (made,) = (tmp_path / "runs").iterdir()
    made.rename(tmp_path / "my run")
    line = listed(cli, "my run")["my run"]["command"]
    assert shlex.split(line)[-2:] == ["--out", "my run"] or shlex.split(line)[6:8] == ["--out", "my run"]
    assert f"    {line}\n" in cli("report", "my run").stdout
    (tmp_path / "d.txt").touch()
    pasted = shlex.split(line.replace(" --max-time 0s", ""))
    assert cli(*pasted[1:]).status == 0
    assert not [*(tmp_path / "runs").iterdir()]


KEPT = [
    "rm -rf ~",
    "optimize-eval run; rm -rf ~",
    "optimize-eval run $(rm -rf ~)",
    "optimize-eval runs rm r",
    "optimize-eval run -e x 'two\nlines'",
    "optimize-eval run -e '",
    "optimize-eval",
    "optimize-eval rescore --x",
    7,
    ["optimize-eval", "run"],
]


@pytest.mark.parametrize("kept", KEPT, ids=map(str, range(len(KEPT))))
def test_a_command_in_run_json_is_quoted_and_none_but_ours_is_shown(
    cli: Cli, tmp_path: Path, kept: Any
) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "a.txt").touch()
    assert cli("run", "-e", "./e.sh", "--candidate", "a.txt", "--out", "r", "--max-time", "0s").status == 4
    document = orjson.loads((tmp_path / "r" / "run.json").read_bytes())
    (tmp_path / "r" / "run.json").write_bytes(orjson.dumps({**document, "command": kept}))
    report = cli("report", "r")
    shown = report.stdout + cli("runs", "r", "--long").stdout
    assert report.status == 0, report.stderr
    assert "two" not in shown
    lines = [line.partition("resume")[2].lstrip(": ") for line in shown.splitlines() if "rm" in line]
    for line in filter(None, lines):
        assert shlex.split(line)[:2] == ["optimize-eval", "run"], line
        assert shlex.join(shlex.split(line)) == line, "each word is quoted"


def test_no_secret_of_a_command_is_kept(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    url = "http://user:hunter2secret@127.0.0.1:9/"
    assert cli("run", "-e", f"e={url}", "--candidate", "a.txt", "--out", "runs/r").status == 4
    assert "hunter2secret" not in (tmp_path / "runs" / "r" / "run.json").read_text()


@pytest.mark.parametrize("units", [{"total": 1, "owed": 1}, {"total": 2, "owed": 0}])
def test_the_summary_of_an_earlier_session_is_no_verdict(cli: Cli, runs: Path, units: dict[str, int]) -> None:
    """A session that is done owes nothing, and no summary is of more calls than its run."""
    summary = {"verdict": {"text": "older"}, "units": units}
    (make(runs / "r") / "summary.json").write_bytes(orjson.dumps(summary))
    one = listed(cli)["r"]
    assert (one["state"], one["verdict"], one["units"]) == ("done", None, {"total": 1})
    assert "`optimize-eval report` computes it" in shown(cli)


def test_of_a_journal_only_the_end_is_read(cli: Cli, runs: Path) -> None:
    journal = make(runs / "r") / "journal.jsonl"
    journal.write_bytes(b"no line of a journal\n" * 10_000 + journal.read_bytes())
    os.utime(journal, (1e9, 1e9))
    assert listed(cli)["r"]["state"] == "done"


@pytest.mark.parametrize("state", ["done", "interrupted", "too_many_failures"])
def test_a_run_stands_as_its_last_session_ended(cli: Cli, runs: Path, state: str) -> None:
    make(runs / "r", status=state)
    one = listed(cli)["r"]
    assert (one["state"], one["ended_at"], one["verdict"]) == (state, ENDED, "v scores 0.5")
    assert f" {state.replace('_', ' ')}  " in cli("runs", "--long").stdout


def test_a_run_that_was_killed_is_unfinished_whatever_an_earlier_session_said(cli: Cli, runs: Path) -> None:
    journal = make(runs / "r") / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + journal.read_bytes().splitlines(keepends=True)[0] + b'{"torn')
    one = listed(cli)["r"]
    assert (one["state"], one["ended_at"], one["units"]) == ("unfinished", None, {"total": 1})


def test_a_run_whose_last_record_is_large_is_unfinished(cli: Cli, runs: Path) -> None:
    with (make(runs / "r") / "journal.jsonl").open("ab") as stream:
        stream.write(seal({"outcome": "scored", "text": "x" * 200_000}))
    assert listed(cli)["r"]["state"] == "unfinished"


def test_a_run_without_a_journal_yet_is_unfinished(cli: Cli, runs: Path) -> None:
    folder = make(runs / "r")
    for name in ("journal.jsonl", "summary.json"):
        (folder / name).unlink()
    assert (listed(cli)["r"]["state"], listed(cli)["r"]["verdict"]) == ("unfinished", None)
    assert "Killed" in cli("runs", "--long").stdout


def test_a_run_that_is_held_is_running_and_its_process_is_named(cli: Cli, runs: Path) -> None:
    with hold_lock(make(runs / "r")):
        one = listed(cli)["r"]
        assert (one["state"], one["pid"], one["verdict"]) == ("running", os.getpid(), None)
        assert (one["ended_at"], one["units"]) == (None, {"total": 1})  # an earlier session's are not its own
        assert f"running, pid {os.getpid()}" in cli("runs", "--long").stdout
    assert listed(cli)["r"]["state"] == "done"  # the lock's file stays, and nobody holds it


def test_somebody_who_only_looks_does_not_keep_a_run_from_starting(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = make(runs / "r") / "lock"
    lock.touch()
    look = lock.open("rb")
    fcntl.flock(look, fcntl.LOCK_SH)
    monkeypatch.setattr("optimize_eval.store.folder.time.sleep", lambda _: look.close())
    with hold_lock(runs / "r"):
        assert holder(runs / "r") == str(os.getpid())


def test_looking_leaves_no_trace(cli: Cli, runs: Path) -> None:
    folder = make(runs / "r")
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()}
    listed(cli)
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.iterdir()} == before


DAMAGE: dict[str, tuple[str, bytes, str]] = {
    "another version": ("run.json", b'{"schema": "optimize-eval.run.v9"}', "of another version"),
    "a torn manifest": ("run.json", b'{"schema": "optimize-eval.run.v1", "pl', "cannot be read"),
    "an empty manifest": ("run.json", b"", "cannot be read"),
    "a flipped bit": ("journal.jsonl", b'{"status":"done","crc":"00000000"}\n', "not as it was written"),
    "no object": ("journal.jsonl", b'7,"crc":"xxxxxxxx"}\n', "not as it was written"),
}


@pytest.mark.parametrize(("name", "content", "said"), DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_run_is_told_with_the_reason_and_the_others_are_listed(
    cli: Cli, runs: Path, name: str, content: bytes, said: str
) -> None:
    make(runs / "good")
    (make(runs / "bad") / name).write_bytes(content)
    found = listed(cli)
    assert (found["good"]["state"], found["bad"]["state"]) == ("done", "damaged")
    assert said in found["bad"]["reason"]
    assert said in " ".join(cli("runs", "--long").stdout.split())


@pytest.mark.parametrize("summary", [b"", b"[]", b'{"verdict": 5, "units": []}', b'{"verdict": {"text": 1}}'])
def test_a_summary_that_cannot_be_read_costs_the_verdict_only(cli: Cli, runs: Path, summary: bytes) -> None:
    (make(runs / "r") / "summary.json").write_bytes(summary)
    assert (listed(cli)["r"]["state"], listed(cli)["r"]["verdict"]) == ("done", None)


def test_what_is_no_run_is_left_out(cli: Cli, runs: Path) -> None:
    (runs / "deep").mkdir()
    make(runs / "deep" / "er")
    (runs / "notes").mkdir()
    (runs / "notes" / "run.json").write_text('{"mine": true}')
    (runs / "folder" / "run.json").mkdir(parents=True)
    (runs / "pipe").mkdir()
    os.mkfifo(runs / "pipe" / "run.json")
    (runs / "gone").symlink_to("nowhere")
    (runs / "run.txt").touch()
    assert listed(cli) == {}


def test_pipes_in_the_place_of_files_are_not_waited_for(cli: Cli, runs: Path) -> None:
    folder = make(runs / "r")
    for name in ("journal.jsonl", "summary.json"):
        (folder / name).unlink()
    for name in ("journal.jsonl", "summary.json", "lock"):
        os.mkfifo(folder / name)
    assert listed(cli)["r"]["state"] == "unfinished"


def test_the_newest_is_first_and_ages_are_in_words(cli: Cli, runs: Path) -> None:
    for name, age in (("b", 100), ("c", 0), ("a", 200)):
        make(runs / name, age=age)
    assert list(listed(cli)) == ["c", "b", "a"]
    assert " days ago\n" in cli("runs", "--long").stdout


def test_where_there_are_none_it_is_said_what_to_do(cli: Cli, tmp_path: Path) -> None:
    done = cli("runs")
    assert (done.status, done.stderr) == (0, "")
    assert "no runs in runs: `optimize-eval run` makes them" in done.stdout
    assert listed(cli) == {}
    (tmp_path / "elsewhere").mkdir()
    assert cli("runs", "elsewhere").status == 0


@pytest.mark.parametrize("name", ["nowhere", "file", ""])
def test_a_folder_that_is_not_there_is_a_mistake(cli: Cli, tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    done = cli("runs", name)
    assert (done.status, done.stdout) == (2, "")
    assert "there is no folder" in done.stderr


def test_a_run_that_is_named_itself_is_listed(cli: Cli, runs: Path) -> None:
    make(runs / "r")
    assert list(listed(cli, "runs/r")) == ["r"]


@pytest.mark.parametrize("width", WIDTHS)
def test_names_and_verdicts_are_inert_and_cut(cli: Cli, runs: Path, width: int) -> None:
    for place, text in enumerate(HOSTILE.values()):
        make(runs / f"{place} {text[:60]}".replace("/", "").replace("\0", ""), verdict=text)
    done = cli("runs", "--long", env={"COLUMNS": str(width)})
    assert done.status == 0
    assert max(map(measured, done.stdout.splitlines())) <= width
    assert not {letter for letter in done.stdout if letter < " "} - {"\n"}
    assert "\u202e" not in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_what_the_terminal_cannot_show_breaks_no_table(program: Cli, runs: Path, encoding: str) -> None:
    named = make(runs / "r", age=1, verdict="漢字 " * 12)
    os.rename(named, os.fsencode(runs) + b"/" + b"\xff" * 4)  # noqa: PTH104  a name of bytes
    make(runs / "漢字 run")
    done = program("runs", env={"COLUMNS": "40", "PYTHONIOENCODING": encoding})
    assert done.status == 0
    lines = done.stdout.splitlines()
    assert max(map(measured, lines)) <= 40
    rows = [line for line in lines if not line.startswith((" ─", " -", "   "))]
    assert len(rows) == 3
    assert ("漢字 run" in done.stdout) == (encoding == "utf-8")


def test_a_name_that_is_not_text_is_listed(cli: Cli, runs: Path) -> None:
    os.rename(make(runs / "r"), os.fsencode(runs) + b"/\xff")  # noqa: PTH104  a name of bytes
    assert cli("runs").status == 0
    assert len(cli("runs", "--json").json["runs"]) == 1


@pytest.fixture
def two_runs(cli: Cli, tmp_path: Path) -> None:
    """Make runs/later end after runs/first, and one that was killed after both."""
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "echo '{\"score\": 0.5}'"])
    (tmp_path / "v.txt").touch()
    for name in ("first", "later"):
        words = ("run", "-e", "./e.sh", "--candidate", "v.txt", "--out", f"runs/{name}", "--quiet")
        assert cli(*words).status == 0
    make(tmp_path / "runs" / "killed", status=None, age=-1)


@pytest.mark.usefixtures("two_runs")
def test_report_takes_the_run_that_ended_last(cli: Cli) -> None:
    done = cli("report", "--json")
    assert (done.status, done.stderr) == (0, "note: runs/later, which ended last\n")
    assert done.json == cli("report", "runs/later", "--json").json


@pytest.mark.usefixtures("two_runs")
def test_diff_takes_the_run_of_the_same_kind_that_ended_last_beside_the_named_one(
    cli: Cli, tmp_path: Path
) -> None:
    assert cli("diff", "runs/first").stderr == "note: runs/later, which ended last\n"
    assert cli("diff", "runs/later").stderr == "note: runs/first, which ended last\n"
    task = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    (tmp_path / "sums.jsonl").write_text(task)
    for name in ("bench-a", "bench-b"):
        words = ("bench", "sums.jsonl", "--model", "toy", "--out", f"runs/{name}", "--quiet")
        assert cli(*words).status == 0
    assert cli("diff", "runs/first").stderr == "note: runs/later, which ended last\n"
    for named in ("runs/bench-a", "runs/bench-a/leaderboard.json"):
        done = cli("diff", named)
        assert (done.status, done.stderr) == (0, "note: runs/bench-b, which ended last\n")


@pytest.mark.parametrize("words", [("report",), ("diff", "runs/killed")])
def test_without_a_run_that_ended_there_is_nothing_to_take(
    cli: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "runs").mkdir()
    on_val(v=[0.5]).write(tmp_path / "runs" / "killed")
    done = cli(*words)
    assert (done.status, done.stdout) == (2, "")
    assert "run under runs/ has ended\n  try: name the folder of a run" in done.stderr
