"""Ctrl-C at a chosen moment, from the first module that is loaded to the last thing before the end."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import PROGRAMS

HARNESS = """
import atexit, os, signal, sys

what, how = sys.argv[1:3]
del sys.argv[1:3]

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Dropped:
    def __del__(self):
        interrupt()  # raised in here, Python drops it

class Finder:
    def find_spec(self, name, *_):
        if name == what:
            sys.meta_path.remove(self)
            Dropped() if how == "dropped" else interrupt()

sys.meta_path.insert(0, Finder())
if what == "exit":
    atexit.register(interrupt)
from optimize_eval.cli import main
main()
"""


def interrupted(folder: Path, what: str, how: str = "raised") -> subprocess.CompletedProcess[str]:
    """Run to the end, and interrupt the program when it looks for a module, or exits."""
    (folder / "c.txt").touch()
    (folder / "d.jsonl").write_text('{"id": 1}\n')
    run = ["run", "-e", str(PROGRAMS / "good.sh"), "--candidate", "c.txt", "--dataset", "d.jsonl"]
    command = [sys.executable, "-c", HARNESS, what, how, *run, "--out", "r"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=50)


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("optimize_eval.cli.app", "raised"),  # the first that is loaded
        ("typer", "raised"),
        ("optimize_eval.run.runner", "raised"),  # the command's own modules
        ("optimize_eval.run.runner", "dropped"),
        ("optimize_eval.findings.summary", "raised"),  # the run is over
        ("optimize_eval.reports.terminal.summary", "raised"),  # the end is printed
        ("exit", "raised"),
    ],
)
def test_an_interrupt_is_quiet_whenever_it_comes(tmp_path: Path, what: str, how: str) -> None:
    done = interrupted(tmp_path, what, how)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_package_that_is_imported_leaves_signals_alone() -> None:
    code = (
        "import signal; before = signal.getsignal(signal.SIGINT); import optimize_eval, optimize_eval.cli; "
        "print(signal.getsignal(signal.SIGINT) is before)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "True\n"
