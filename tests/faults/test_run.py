"""A run where the disk, another process or an evaluator's answers get in its way."""

import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from optimize_eval.store.journal import entries
from tests.front_door import Cli
from tests.paths import PROGRAM, PROGRAMS
from tests.processes import MARK, processes_with
from tests.run.projects import Project, await_that, project, records, scored, summary, undisturbed
from tests.tools import need, write_program

LONG = 300  # examples, whose journal is longer than the room that there is


def test_a_folder_that_a_living_run_holds_is_refused_and_its_process_named(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    with made.started("--out", "r", WAITS="a:3") as first:
        await_that(lambda: "a:3" in made.asked())
        before = made.asked()
        for options in ([], ["--fresh"], ["--seed", "4"]):
            second = cli(*made.command, "--out", "r", *options, env=made.env())
            assert (second.status, second.stdout) == (2, "")
            assert f"the run r is in use by process {first.pid}" in second.stderr
            assert "--out" in second.stderr
        assert cli("report", "r").status == 0, "reading is always allowed"
        assert made.asked().keys() - before.keys() <= {f"a:{n}" for n in range(1, 13)} | {
            f"bbb:{n}" for n in range(1, 13)
        }
        Path(f"{made.counted}.go").touch()
        assert first.wait(30) == 0, made.said()
    assert made.asked().total() == 24
    assert summary(tmp_path / "r") == undisturbed()
    assert cli(*made.command, "--out", "r", env=made.env()).status == 0
    assert made.asked().total() == 24


def test_a_lock_that_is_deleted_by_hand_lets_nobody_else_in(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    with made.started("--out", "r", WAITS="a:3") as first:
        await_that(lambda: "a:3" in made.asked())
        for _ in range(2):
            (tmp_path / "r" / "lock").unlink()
            second = cli(*made.command, "--out", "r", env=made.env())
            assert (second.status, second.stdout) == (2, "")
            assert "the run r is in use by another process" in second.stderr
            assert cli("runs", "rm", "r", "--yes").status == 2
            assert cli("runs", "r", "--json").json["runs"][0]["state"] == "running"
        Path(f"{made.counted}.go").touch()
        assert first.wait(30) == 0, made.said()
    assert made.asked().total() == 24
    assert summary(tmp_path / "r") == undisturbed()


@pytest.mark.parametrize("is_moved", [True, False], ids=["moved", "removed"])
def test_a_folder_that_goes_while_a_run_goes_on_ends_it(cli: Cli, tmp_path: Path, is_moved: bool) -> None:  # noqa: FBT001
    made = project(tmp_path)
    with made.started("--out", "r", "--concurrency", "1", HANGS="a:3") as first:
        await_that(lambda: "a:3" in made.asked())
        (tmp_path / "r").rename(tmp_path / "s")
        if not is_moved:
            shutil.rmtree(tmp_path / "s")
        assert first.wait(30) == 3
    assert made.said() == (
        "error: r/journal.jsonl was removed or moved while the run went on\n"
        "  try: put the folder back, then run the same command again; without it, that starts over\n"
    )
    assert not (tmp_path / "r").exists()
    if is_moved:
        (tmp_path / "s").rename(tmp_path / "r")
        assert len(scored(tmp_path / "r")) == 2
        made.forget()
        assert cli(*made.command, "--out", "r", env=made.env()).status == 0
        assert (made.asked().total(), summary(tmp_path / "r")) == (22, undisturbed())


def test_what_a_killed_run_held_is_free_again(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    with made.started("--out", "r", "--concurrency", "1", WAITS="a:3") as first:
        await_that(lambda: "a:3" in made.asked())
        first.kill()
        first.wait()
        result = cli(*made.command, "--out", "r", env=made.env())
        Path(f"{made.counted}.go").touch()  # lets the evaluator go that the kill left
        await_that(lambda: not processes_with(f"{MARK}={os.environ[MARK]}".encode()))
    assert (result.status, summary(tmp_path / "r")) == (0, undisturbed())


@pytest.mark.parametrize("place", ["a.txt", "a.txt/r", "/proc/r"])
def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_asked(
    cli: Cli, tmp_path: Path, place: str
) -> None:
    made = project(tmp_path)
    result = cli(*made.command, "--out", place, env=made.env())
    assert (result.status, result.stdout) == (2, ""), result.stderr
    assert re.search(
        r"a\.txt is not a folder, and a run needs one|the run folder /proc/r cannot be written", result.stderr
    )
    assert "--out" in result.stderr
    assert not made.asked()


def test_a_read_only_folder_is_refused_before_anything_is_asked(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    (tmp_path / "r").mkdir()
    (tmp_path / "r").chmod(0o555)
    if os.access(tmp_path / "r", os.W_OK):
        pytest.skip("this user may write everywhere")
    result = cli(*made.command, "--out", "r", env=made.env())
    assert (result.status, made.asked().total()) == (2, 0)
    assert "cannot be written: Permission denied" in result.stderr


def test_a_run_folder_on_a_read_only_file_system_is_refused(
    cli: Cli, tmp_path: Path, small_disk: Path
) -> None:
    made = project(tmp_path)
    assert cli(*made.command, "--out", small_disk / "r", env=made.env()).status == 0
    made.forget()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    result = cli(*made.command, "--out", small_disk / "r", env=made.env())
    assert (result.status, made.asked().total()) == (2, 0), result.stderr
    assert "Read-only file system" in result.stderr
    told = cli("report", small_disk / "r")
    assert told.status == 0, told.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here; a limit on the file size stands for a full disk")
    try:
        yield disk
    finally:
        subprocess.run(["umount", disk], check=True)


def goes_on_after_there_is_room(cli: Cli, made: Project, run: Path, full: tuple[int, str]) -> None:
    """Check what a run left that ran out of room, and that the same command finishes it."""
    status, said = full
    assert status == 3, said
    assert (
        f"{run}/journal.jsonl could not be written" in said or f"{run.name}/journal.jsonl could not" in said
    )
    assert "make room" in said
    assert "Traceback" not in said
    assert "bug" not in said
    data = (run / "journal.jsonl").read_bytes()
    assert data.endswith(b"\n"), "what did not fit was taken back"
    assert len(list(entries(run / "journal.jsonl"))) == data.count(b"\n")
    known, before = scored(run), made.asked()
    assert 0 < len(known) < 2 * LONG
    result = cli(*made.command, "--out", run, env=made.env())
    assert result.status == 0, result.stderr
    assert summary(run) == undisturbed(LONG)
    assert not known & (made.asked() - before).keys()


def test_a_file_that_may_not_grow_ends_the_run_and_without_the_limit_it_goes_on(
    cli: Cli, tmp_path: Path
) -> None:
    made, run = project(tmp_path, LONG), tmp_path / "r"

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    full = subprocess.run(
        [PROGRAM, *made.command, "--out", "r"],
        cwd=tmp_path,
        env={**os.environ, **made.env()},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limit,
    )
    assert full.stdout == ""
    goes_on_after_there_is_room(cli, made, run, (full.returncode, full.stderr))


def test_odd_answers_are_journaled_and_reported(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 4)
    answers = [
        '{"score": 1, "text": "<script>\\u001b[31m\\u0000]]>\\u202e", "crc": "00000", "outcome": "failed"}',
        '{"score": 0.5, "big": 1' + "0" * 400 + ', "deep": ' + "[" * 60 + "]" * 60 + "}",
        '{"score": 0, "long": "' + "x" * 1_000_000 + '", "": 1, "a.b": {"": {"c": 2}}}',
        '{"error": "\\u001b[31m\\nline 2\\r\\u0000"}',
    ]
    program = write_program(
        tmp_path / "odd.py",
        [
            f"#!{sys.executable} -S",
            "import json, sys",
            f"answers = {answers!r}",
            "print(answers[json.loads(sys.stdin.readline())['example']['id'] - 1])",
        ],
    )
    made.command[2] = f"odd={shlex.quote(str(program))}"
    result = cli(*made.command, "--out", "r", env=made.env())
    assert result.status == 0, result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert "\0" not in result.stdout + result.stderr
    assert len(records(tmp_path / "r")) == 8
    assert cli("report", "r").stdout == result.stdout
    assert cli("report", "r", "--check").status == 0
    assert cli("report", "r", "--json").json == json.loads((tmp_path / "r" / "summary.json").read_bytes())
    again = cli(*made.command, "--out", "r", "--json", env=made.env())
    assert (again.status, again.json["summary"]["units"]["failed"]) == (0, 2)


@pytest.mark.parametrize(
    ("evaluator", "mean", "words"),
    [
        ("leaks_state.pl", 0.0, "the first payload scored 0.0, and 0.01 once it was kept alive"),
        ("never_flushes.pl", 0.5, "it did not answer in time: does it flush each answer?"),
    ],
)
@need("perl")
def test_a_run_has_the_scores_of_a_process_per_call_and_says_what_keeps_it_from_others(
    cli: Cli, tmp_path: Path, evaluator: str, mean: float, words: str
) -> None:
    (tmp_path / "c.txt").write_text("x")
    (tmp_path / "train.jsonl").write_text("".join(f'{{"number": {number}}}\n' for number in range(20)))
    run = ("run", "-e", f"{PROGRAMS}/{evaluator}", "--candidate", "c.txt", "--dataset", "train.jsonl")
    done = cli(*run, "--timeout", "0.6", "--out", "r")
    assert done.status == 0, done.stderr
    assert {record["score"] for record in records(tmp_path / "r")} == {mean}
    assert words in " ".join(done.stderr.split())


@need("perl")
def test_breaking_workers_lose_no_unit(cli: Cli, tmp_path: Path) -> None:
    lines = (f'{{"id": "c{n}", "candidate": "{n}"}}\n' for n in range(30))
    (tmp_path / "list.jsonl").write_text("".join(lines))
    (tmp_path / "d.jsonl").write_text("{}\n")
    told = {}
    for name, options in {"kept": ["--persistent", "--workers", "2"], "once": ["--no-persistent"]}.items():
        evaluator = f"w={PROGRAMS}/worker.pl dies"
        command = [
            *("run", "-e", evaluator, "--candidates", "list.jsonl"),
            *("--dataset", "d.jsonl", "--out", name),
        ]
        result = cli(*command, *options)
        assert result.status == 4, result.stderr  # a candidate of one call failed
        assert ("note: w: a kept-alive process broke" in result.stderr) == (name == "kept")
        told[name] = summary(tmp_path / name)
    assert told["kept"] == told["once"]
