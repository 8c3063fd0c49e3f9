"""`optimize-eval runs rm` from outside: what goes, what stays, who is asked, and a kill in the middle."""

import os
import pty
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from optimize_eval.base.errors import UsageError
from optimize_eval.store.folder import hold_lock
from tests.cli.made_runs import make
from tests.front_door import Cli
from tests.paths import PROGRAM


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    (tmp_path / "runs").mkdir()
    return tmp_path / "runs"


def test_a_run_that_was_made_goes_with_all_its_files(cli: Cli, tmp_path: Path) -> None:
    bench = ("bench", "tasks.jsonl", "--model", "toy", "-e", "own=@exact_match", "--out", "r", "--quiet")
    task = '{"id": "t", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"}\n'
    (tmp_path / "tasks.jsonl").write_text(task)
    assert cli(*bench).status == 0
    (tmp_path / "r" / ".summary.json.4711").write_text("{")  # as a killed process leaves it
    there = {path.name: path.stat().st_size for path in (tmp_path / "r").iterdir()}
    assert {"outputs.jsonl", "leaderboard.json", "leaderboard.own.json", "lock"} <= there.keys()
    done = cli("runs", "rm", "r", "--yes", "--json")
    assert (done.status, done.stderr, (tmp_path / "r").exists()) == (0, "", False)
    (removed,) = done.json["removed"]
    assert done.json["schema"] == "optimize-eval.removed.v1"
    assert (removed["run"], set(removed["files"]), removed["left"]) == ("r", set(there), [])
    assert removed["bytes"] >= sum(there.values())  # the lock has a number by then


@pytest.mark.parametrize("command", [("report",), ("runs", "rm"), ("runs", "note")])
def test_a_name_as_it_is_listed_leads_to_its_folder(cli: Cli, runs: Path, command: tuple[str, ...]) -> None:
    make(runs / "nightly")
    note = ("text",) if "note" in command else ()
    done = cli(*command, "nightly", *note)
    assert (done.status, done.stderr) == (
        2,
        "error: there is no run in 'nightly'\n  try: name its folder: runs/nightly\n",
    )
    unknown = cli(*command, "weekly", *note)
    assert (
        "try: name a run's folder, such as runs/NAME: `optimize-eval runs` lists the names" in unknown.stderr
    )


def test_several_go_at_once_and_each_is_told_with_its_size(cli: Cli, runs: Path) -> None:
    for name in "abc":
        make(runs / name)
    done = cli("runs", "rm", "runs/a", "runs/b/", "runs/./b", "--yes")
    assert (done.status, [path.name for path in runs.iterdir()]) == (0, ["c"])
    first, second = done.stdout.splitlines()
    assert first.startswith("removed runs/a: 4 files, 1.")
    assert second.startswith("removed runs/b: 4 files, 1.")


def test_what_is_not_of_the_run_stays_and_is_told(cli: Cli, tmp_path: Path) -> None:
    """With --out . a run stands among somebody's own files."""
    made = make(tmp_path / "r")
    (made / "prompts").mkdir()
    (made / "prompts" / "run.json").write_text("mine")
    (made / "notes\x1b[2J.md").write_text("mine")
    done = cli("runs", "rm", "r", "--yes")
    assert done.status == 0
    assert "kept, as they are not the run's: notes\\x1b[2J.md, prompts" in done.stdout
    assert sorted(path.name for path in made.iterdir()) == ["notes\x1b[2J.md", "prompts"]
    assert cli("runs", "rm", "r", "--yes").status == 2


def test_without_a_terminal_nothing_goes_unless_the_words_are_added(cli: Cli, runs: Path) -> None:
    make(runs / "a b")
    done = cli("runs", "rm", "runs/a b")
    assert (done.status, done.stdout, (runs / "a b" / "run.json").exists()) == (2, "", True)
    assert "add --yes: optimize-eval runs rm 'runs/a b' --yes" in done.stderr


@pytest.mark.parametrize(
    ("typed", "status"), [(b"y\n", 0), (b"YES\n", 0), (b"\n", 1), (b"n\n", 1), (b"\x04", 1)]
)
def test_on_a_terminal_it_is_asked(runs: Path, typed: bytes, status: int) -> None:
    make(runs / "r")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, typed)
        done = subprocess.run(
            [PROGRAM, "runs", "rm", "runs/r"],
            cwd=runs.parent,
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            check=False,
        )
        said, last = b"", b"nothing was removed" if status else b"[y/N]"
        while last not in said:  # a terminal hands over what was written piece by piece
            said += os.read(ours, 10_000)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (done.returncode, (runs / "r").exists()) == (status, bool(status))
    assert b" runs/r: 3 files, " in said
    assert b"remove this run for good? [y/N]" in said
    assert (b"nothing was removed" in said) == bool(status)


def foreign(runs: Path) -> str:
    (runs / "x" / "deep").mkdir(parents=True)
    (runs / "x" / "lock").write_text("4711\n")
    return "is not a run of optimize-eval"


def empty(runs: Path) -> str:
    (runs / "x").mkdir()
    return "is not a run of optimize-eval"


def others(runs: Path) -> str:
    (runs / "x").mkdir()
    (runs / "x" / "run.json").write_text('{"mine": true}')
    return "is not a run of optimize-eval"


def missing(_runs: Path) -> str:
    return "there is no run in 'runs/x'"


def a_file(runs: Path) -> str:
    (runs / "x").touch()
    return "there is no run in 'runs/x'"


def a_link(runs: Path) -> str:
    (runs / "x").symlink_to(make(runs.parent / "elsewhere"))
    return "runs/x is a link"


def a_link_inside(runs: Path) -> str:
    kept = runs.parent / "kept.jsonl"
    (make(runs / "x") / "journal.jsonl").rename(kept)
    (runs / "x" / "journal.jsonl").symlink_to(kept)
    return "runs/x/journal.jsonl is a link out of the run"


def a_dead_link_inside(runs: Path) -> str:
    (make(runs / "x") / "report.html").symlink_to("nowhere")
    return "runs/x/report.html is a link out of the run"


@pytest.mark.parametrize(
    "prepare", [foreign, empty, others, missing, a_file, a_link, a_link_inside, a_dead_link_inside]
)
def test_what_cannot_go_is_refused_and_then_nothing_goes(cli: Cli, runs: Path, prepare: object) -> None:
    make(runs / "good")
    assert callable(prepare)
    reason = prepare(runs)
    before = sorted(runs.parent.rglob("*"))
    done = cli("runs", "rm", "runs/good", "runs/x", "--yes")
    assert (done.status, done.stdout) == (2, "")
    assert reason in done.stderr
    assert sorted(runs.parent.rglob("*")) == before


def test_a_run_that_is_being_worked_on_is_refused_by_its_process(cli: Cli, runs: Path) -> None:
    make(runs / "r")
    with hold_lock(runs / "r"):
        done = cli("runs", "rm", "runs/r", "--yes")
        assert done.status == 2
        assert f"the run runs/r is in use by process {os.getpid()}" in done.stderr
    assert cli("runs", "rm", "runs/r", "--yes").status == 0


def test_an_empty_name_is_not_the_current_folder(cli: Cli, tmp_path: Path) -> None:
    made = make(tmp_path / "r")
    (made / "summary.json").rename(tmp_path / "summary.json")
    for path in made.iterdir():
        path.rename(tmp_path / path.name)
    assert cli("runs", "rm", "", "--yes").status == 2
    assert (tmp_path / "run.json").exists()


def test_who_waited_for_a_run_that_was_removed_does_not_work_on_in_it(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock would be one that nobody else can see."""
    removal = ExitStack()
    removal.enter_context(hold_lock(make(runs / "r")))

    def end_of_the_removal(_seconds: float) -> None:
        (runs / "r" / "lock").unlink()
        removal.close()

    monkeypatch.setattr("optimize_eval.store.folder.time.sleep", end_of_the_removal)
    with pytest.raises(UsageError, match="was removed just now"), hold_lock(runs / "r"):
        pass


@pytest.mark.parametrize("content", [b"", b"{", b'{"schema": "optimize-eval.run.v9"}'])
def test_a_damaged_run_can_go(cli: Cli, runs: Path, content: bytes) -> None:
    (make(runs / "r") / "run.json").write_bytes(content)
    assert cli("runs", "rm", "runs/r", "--yes").status == 0
    assert not (runs / "r").exists()


def test_what_a_kill_left_goes_with_the_same_command(
    cli: Cli, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file in turn is the last that is gone when the process is."""
    unlink = Path.unlink
    order = ["summary.json", "journal.jsonl", "run.json", "lock"]
    for last in range(1, len(order)):
        make(runs / "r")

        def dies(path: Path, last: int = last, **options: bool) -> None:
            if path.name == order[last]:
                raise KeyboardInterrupt
            unlink(path, **options)

        with monkeypatch.context() as patched:
            patched.setattr(Path, "unlink", dies)
            assert cli("runs", "rm", "runs/r", "--yes").status == 130
        assert sorted(path.name for path in (runs / "r").iterdir()) == sorted(order[last:])
        assert cli("runs", "rm", "runs/r", "--yes").status == 0
        assert not (runs / "r").exists()
