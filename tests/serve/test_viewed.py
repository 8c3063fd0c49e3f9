"""`run --view`: served while it goes on; in a terminal until Ctrl-C, with the exit code of the run."""

import http.client
import os
import pty
import re
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import orjson
import pytest

from optimize_eval.serve.viewer import HEADER
from tests.front_door import Cli
from tests.paths import PROGRAM
from tests.tools import need

_ADDRESS = re.compile(rb"to be seen at http://127\.0\.0\.1:(\d+)/\?token=([\w-]+)")
_PATIENCE = 50.0  # seconds
_UNSET = {"CI", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make an evaluator that waits until somebody writes to a pipe."""
    os.mkfifo(tmp_path / "go")
    (tmp_path / "e.sh").write_text("read score < go; echo '{\"score\": '$score'}'\n")
    (tmp_path / "v.txt").write_text("text")
    return tmp_path


ASK = ("run", "-e", "e=sh e.sh", "--candidate", "v.txt", "--no-preflight", "--out", "seen", "--view")


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _UNSET}
    return {**kept, "TERM": "xterm", **more}


@contextmanager
def in_a_terminal(
    folder: Path, *options: str, **variables: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *ASK, *options],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment(**variables),
    )
    os.close(theirs)
    try:
        yield process, ours
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def shown_until(descriptor: int, words: re.Pattern[bytes], known: bytes = b"") -> bytes:
    while not words.search(known):
        piece = os.read(descriptor, 1 << 16)
        assert piece, known
        known += piece
    return known


def place_in(text: bytes) -> tuple[int, str]:
    found = _ADDRESS.search(text)
    assert found, text
    return int(found[1]), found[2].decode()


def read(port: int, token: str, path: str) -> bytes:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", path, headers={HEADER: token})
        return connection.getresponse().read()


def state_of(port: int, token: str) -> str:
    runs = orjson.loads(read(port, token, "/runs"))["runs"]
    return str(runs[0]["state"]) if runs else ""


def a_browser(project: Path) -> Path:
    """Make a browser that writes down what it is to open, and all that this machine runs meanwhile."""
    browser = project / "browser"
    lines = (
        f"cd {project}",
        "ps -A -ww -o args= > processes",
        'echo "$1" > opened.part',
        "mv opened.part opened",
    )
    browser.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    return browser


def what_was_opened(project: Path) -> tuple[str, str]:
    end = time.monotonic() + _PATIENCE
    while not (project / "opened").exists():
        assert time.monotonic() < end, "no browser was opened"
        time.sleep(0.01)
    return (project / "opened").read_text().strip(), (project / "processes").read_text()


def test_a_run_is_served_while_it_goes_on_and_no_longer_where_nobody_sits(project: Path) -> None:
    process = subprocess.Popen(
        [PROGRAM, *ASK, "--quiet"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout
    assert process.stderr
    with process:
        port, token = place_in(process.stderr.readline())
        with (project / "go").open("w") as go:  # waits until the evaluator was called
            assert state_of(port, token) == "running"
            read(port, token, "/runs")
            assert orjson.loads(read(port, token, "/run/0/head"))["summary"]["units"]["owed"] == 1
            go.write("0.5\n")
        assert process.wait(_PATIENCE) == 0
        assert process.stdout.read() == b"v scores 0.500 on e\nseen\n"
    with pytest.raises(ConnectionError):
        state_of(port, token)


@need("ps")
def test_in_a_terminal_it_stays_until_ctrl_c_and_the_exit_code_is_the_runs(project: Path) -> None:
    browser = a_browser(project)
    with in_a_terminal(project, "--fail-under", "e=0.9", BROWSER=str(browser)) as (process, terminal):
        (project / "go").write_text("0.5\n")
        text = shown_until(terminal, re.compile(b"stays until Ctrl-C"))
        port, token = place_in(text)
        assert b"gate missed" in text
        assert state_of(port, token) == "done"
        place, processes = what_was_opened(project)
        page = Path(place.removeprefix("file://"))
        assert f'url=http://127.0.0.1:{port}/?token={token}"' in page.read_text()
        assert [stat.S_IMODE(path.stat().st_mode) for path in (page, page.parent)] == [0o600, 0o700]
        assert str(browser) in processes
        assert token not in processes
        process.send_signal(signal.SIGINT)
        assert process.wait(_PATIENCE) == 1
        assert not page.parent.exists()


def test_ctrl_c_during_the_run_ends_it_as_ever(project: Path) -> None:
    with in_a_terminal(project) as (process, terminal):
        shown_until(terminal, _ADDRESS)
        with (project / "go").open("w"):  # the evaluator was called, and gets nothing
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGINT)
            text = shown_until(terminal, re.compile(b"interrupted|Interrupted"))
        assert process.wait(_PATIENCE) == 130
    assert b"stays until" not in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*ASK, "--dry-run"), "--view is for calls, and --dry-run makes none"),
        (
            ("optimize", "v.txt", "-e", "e=sh e.sh", "--proposer", "cat", "--dry-run", "--view"),
            "--view is for",
        ),
        (("bench", "t.jsonl", "--model", "toy", "--show", "a", "--view"), "--view is for calls, and --show"),
    ],
)
def test_what_calls_nothing_is_not_viewed(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    done = cli(*arguments)
    assert done.status == 2
    assert words in done.stderr
