"""Runs served to a browser by a command: while it goes on, and where somebody sits there, until Ctrl-C.

What is served, and to whom, is viewer's. A browser is started outside of what the command's own processes
leave behind, or it would be ended with them. It is given a file of ours that leads to the address, for the
address has the token, and anybody on this machine sees what a process was started with.
"""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

import typer

from optimize_eval.cli import output

_OPEN = """
import subprocess, sys
subprocess.Popen([sys.executable, "-I", "-m", "webbrowser", sys.argv[1]], start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""  # what starts it ends at once, so that nobody's child is left
_LEADS = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={}">\n'


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve a run, or a folder of runs, while the block goes on; give the address, with its token."""
    from optimize_eval.serve.viewer import PageServer, Shelf  # noqa: PLC0415  few need it

    with PageServer(Shelf(folder), port) as server:
        yield server.url


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Wait for Ctrl-C after the block; in it, that ends no less quietly."""
    with suppress(KeyboardInterrupt):
        yield
        threading.Event().wait()


@contextmanager
def served_meanwhile(folder: Path) -> Iterator[None]:
    """Serve a run while it goes on; the exit code is the run's, and comes when the serving ends."""
    with serving(folder) as url:
        output.say(f"to be seen at {url}")
        with in_browser(url, is_wanted=_is_attended() and _has_screen()):
            try:
                yield
            except typer.Exit:  # it said all; what is still to be said is not kept waiting
                _stay()
                raise
            _stay()


@contextmanager
def in_browser(url: str, *, is_wanted: bool) -> Iterator[None]:
    """Open an address in a browser; what leads there can be read by nobody else, and goes with the block."""
    if not is_wanted:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="optimize-eval-") as folder:
        page = Path(folder, "open.html")
        page.touch(mode=0o600)
        page.write_text(_LEADS.format(escape(url)), encoding="utf-8")
        open_page(page)
        yield


def open_page(page: Path) -> None:
    """Open a file in a browser, if there is one, and wait for nothing."""
    subprocess.run([sys.executable, "-I", "-c", _OPEN, page.resolve().as_uri()], check=False)


def _stay() -> None:
    if _is_attended():
        with until_interrupted():
            output.say("the page stays until Ctrl-C")


def _is_attended() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _has_screen() -> bool:
    """Return True where a browser has a window: one in the terminal would take that over."""
    return sys.platform in {"darwin", "win32"} or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
