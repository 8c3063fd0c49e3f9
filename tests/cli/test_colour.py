"""Colour in reports: where a terminal shows it, beside words and marks that say the same; nowhere else."""

import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.findings.wording import MINUS
from optimize_eval.reports.text import Style, marked, painted, unmarked
from tests.findings.made import Fails, made, moved, noisy
from tests.front_door import Cli
from tests.paths import PROGRAM

VAL = noisy(40)
HOSTILE = "bad \x1b[31m name"
CODE = re.compile(r"\x1b\[[\d;]*m")
COLOUR = {"FORCE_COLOR": "1"}


def run_in(folder: Path, hostile: str) -> Path:
    cells: dict[str, Any] = {
        "baseline": {"val": VAL},
        "better": {"val": moved(VAL, 0.1)},
        hostile: {"val": [*moved(VAL, -0.2)[:-1], Fails()]},
    }
    return made({"judge": cells}).write(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return run_in(tmp_path / "r", HOSTILE)


@pytest.mark.parametrize("width", ["60", "80", "120"])
def test_without_its_codes_a_report_in_colour_is_the_plain_one(cli: Cli, folder: Path, width: str) -> None:
    plain = cli("report", folder.name, env={"COLUMNS": width})
    colour = cli("report", folder.name, env={"COLUMNS": width} | COLOUR)
    assert "\x1b" not in plain.stdout
    assert CODE.sub("", colour.stdout) == plain.stdout
    assert max(map(len, CODE.sub("", colour.stdout).splitlines())) <= int(width)


def test_what_is_painted_is_what_words_and_marks_say(cli: Cli, folder: Path) -> None:
    text = cli("report", folder.name, "--details", env=COLOUR).stdout
    assert " \x1b[1;32mbetter beats baseline on held-out data" in text
    assert re.search(r"\x1b\[32m▲ \+0\.\d{3}\x1b\[0m", text)
    assert re.search(rf"\x1b\[31m▼ {MINUS}0\.\d{{3}}\x1b\[0m", text)
    assert "failures   \x1b[33m1 × timeout\x1b[0m" in text
    assert "  \x1b[31m▼\x1b[0m bad" in text


def test_foreign_text_brings_no_code_of_its_own(cli: Cli, tmp_path: Path) -> None:
    run_in(tmp_path / "r \x1b[31m\ufdd0", f"{HOSTILE}{Style.BAD}")
    text = cli("report", "r \x1b[31m\ufdd0", env=COLOUR).stdout
    assert "bad \\x1b[31m name\\ufdd1" in CODE.sub("", text)
    assert "report 'r \\x1b[31m\\ufdd0'" in text
    assert all(line.count("\x1b") % 2 == 0 for line in text.splitlines()), "what begins ends"


@pytest.mark.parametrize(
    "env",
    [{"NO_COLOR": "1"}, {"NO_COLOR": "1"} | COLOUR, {"TERM": "dumb"}, {}],
    ids=["NO_COLOR", "both", "dumb", "pipe"],
)
def test_nobody_who_does_not_want_it_gets_colour(cli: Cli, folder: Path, env: dict[str, str]) -> None:
    assert "\x1b" not in cli("report", folder.name, env=env).stdout


@pytest.mark.parametrize("form", ["json", "csv", "jsonl", "md", "junit"])
def test_other_formats_have_no_colour(cli: Cli, folder: Path, form: str) -> None:
    plain, colour = (cli("report", folder.name, "--format", form, env=env) for env in ({}, COLOUR))
    assert colour.stdout == plain.stdout


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=["", "NO_COLOR", "dumb"])
def test_a_terminal_gets_colour_unless_it_cannot_or_nobody_wants_it(
    folder: Path, variables: dict[str, str]
) -> None:
    unset = {"NO_COLOR", "FORCE_COLOR", "CI"}
    env = {name: value for name, value in os.environ.items() if name not in unset}
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, "report", folder], stdout=theirs, stderr=theirs, env=env | {"TERM": "xterm"} | variables
    )
    os.close(theirs)
    text = b""
    while piece := _read(ours):
        text += piece
    os.close(ours)
    assert process.wait(timeout=50) == 0
    assert (b"\x1b[1;32mbetter beats" in text) is (not variables)
    assert (b"\x1b" in text) is (not variables)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:  # its other end is closed
        return b""


def test_marks_become_codes_only_where_they_are_ours() -> None:
    text = marked("good", Style.GOOD) + unmarked(Style.BAD)
    assert painted(text, str.upper) == "\x1b[32mGOOD\x1b[0m\\UFDD1"
    assert marked("", Style.GOOD) == ""
    assert marked("as it is", None) == "as it is"
