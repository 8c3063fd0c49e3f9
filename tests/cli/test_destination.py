"""Where -o may point: links lead on, pipes and devices stay what they are, a run's own files are safe."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.searches import WITH_VAL, project
from tests.front_door import Cli, Result, in_this_process

OWN = ("run.json", "journal.jsonl", "summary.json", "lock", "leaderboard.json", "search.json")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make two runs, a and b."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "e.sh").write_text("""#!/bin/sh\nread -r line\necho '{"score": 0.5}'\n""")
    (folder / "e.sh").chmod(0o755)
    (folder / "c.txt").touch()
    (folder / "d.jsonl").write_text('{"n": 1}\n')
    for name in "ab":
        run = ("run", "-e", "./e.sh", "--candidate", "c.txt", "--dataset", "d.jsonl", "--out", name)
        assert in_this_process(folder)(*run, "--quiet").status == 0
    return folder


def report(runs: Path, target: str | Path) -> Result:
    return in_this_process(runs)("report", "a", "--format", "html", "-o", target)


def test_a_dash_is_stdout_which_then_has_the_page_alone(runs: Path) -> None:
    assert report(runs, "a.html").stdout == "a.html\n"
    page = (runs / "a.html").read_text()
    for target in ("-", "/dev/stdout"):
        done = report(runs, target)
        assert (done.status, done.stdout) == (0, page)
    done = in_this_process(runs)("diff", "a", "b", "--format", "html", "-o", "-")
    assert (done.status, done.stdout[:15], done.stdout[-8:]) == (0, "<!doctype html>", "</html>\n")
    assert not (runs / "-").exists()


def test_a_link_is_followed_and_its_file_keeps_its_rights(runs: Path) -> None:
    (runs / "real").mkdir()
    (runs / "real" / "page.html").write_text("old")
    (runs / "real" / "page.html").chmod(0o600)
    (runs / "link.html").symlink_to("real/page.html")
    (runs / "leads-nowhere.html").symlink_to("real/new.html")
    assert (report(runs, "link.html").status, report(runs, "leads-nowhere.html").status) == (0, 0)
    assert (runs / "link.html").is_symlink()
    assert (runs / "leads-nowhere.html").is_symlink()
    assert (runs / "real" / "page.html").read_bytes() == (runs / "real" / "new.html").read_bytes()
    assert stat.S_IMODE((runs / "real" / "page.html").stat().st_mode) == 0o600
    assert sorted(path.name for path in (runs / "real").iterdir()) == ["new.html", "page.html"]


def test_a_pipe_is_written_to_and_stays_one(runs: Path) -> None:
    os.mkfifo(runs / "pipe")
    with (runs / "read.html").open("wb") as read, subprocess.Popen(["cat", runs / "pipe"], stdout=read):
        done = report(runs, "pipe")
    assert (done.status, done.stdout) == (0, "pipe\n")
    assert (runs / "read.html").read_bytes().startswith(b"<!doctype html>")
    assert (runs / "pipe").is_fifo()


@pytest.mark.parametrize("name", OWN)
def test_a_runs_own_file_is_refused_also_by_a_link(runs: Path, name: str) -> None:
    before = {path.name: path.read_bytes() for path in (runs / "b").iterdir() if path.suffix != ".html"}
    (runs / f"to-{name}").symlink_to(f"b/{name}")
    for target in (f"b/{name}", f"to-{name}"):
        done = report(runs, target)
        assert done.status == 2
        assert f"the run keeps its own {name} there" in done.stderr
        assert in_this_process(runs)("diff", "a", "b", "--format", "html", "-o", target).status == 2
    assert {
        path.name: path.read_bytes() for path in (runs / "b").iterdir() if path.suffix != ".html"
    } == before


def test_the_best_candidate_goes_to_stdout_to_a_device_or_through_a_link_too(
    cli: Cli, tmp_path: Path
) -> None:
    project(tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "best.txt").symlink_to("kept/best.txt")
    done = cli(*WITH_VAL, "--budget", "60", "-o", "-")
    assert done.status == 0, done.stderr
    assert int(done.stdout) > 0
    assert "beats" in done.stderr
    terminal, device = os.openpty()
    assert cli(*WITH_VAL, "--budget", "60", "-o", os.ttyname(device)).status == 0
    assert os.read(terminal, 100).decode() == done.stdout
    assert os.ttyname(device)
    os.close(terminal)
    os.close(device)
    assert cli(*WITH_VAL, "--budget", "60", "-o", "best.txt").status == 0
    assert (tmp_path / "best.txt").is_symlink()
    assert (tmp_path / "kept" / "best.txt").read_text() == done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "r/journal.jsonl"], "r/journal.jsonl cannot be written: the run keeps its own journal.jsonl"),
        (["-o", "."], ". cannot be written: it is a folder"),
        (["-o", "-", "--json"], "--json and -o - would both write to stdout"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_where_no_best_candidate_can_go_is_refused_before_the_search(
    cli: Cli, tmp_path: Path, options: list[str], said: str
) -> None:
    project(tmp_path)
    done = cli(*WITH_VAL, "--budget", "60", *options)
    assert done.status == 2
    assert said in done.stderr
    assert not (tmp_path / "called").exists()
