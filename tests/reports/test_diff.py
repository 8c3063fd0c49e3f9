"""Two runs compared in a terminal: nothing wider than it, nothing foreign that it would obey."""

from pathlib import Path
from unicodedata import category

import pytest

from optimize_eval.findings.diff_runs import compare_runs
from optimize_eval.findings.diff_shapes import RunDiff
from optimize_eval.reports.terminal import diff
from optimize_eval.reports.text import Screen
from optimize_eval.store.opened_run import open_stored
from tests.findings.made import Example, Fails, Made, Says, made, moved
from tests.front_door import Cli
from tests.reports.looks import HOSTILE, WIDTHS, measured, rich, said


def worse() -> Made:
    """Make the rich run once more, with one candidate that is worse, fails, and says why."""
    run = rich()
    told = {evaluator: dict(cells) for evaluator, cells in run.told.items()}
    for cells in told.values():
        kept = [entry for entry in cells["baseline"]["val"] if isinstance(entry, Says)]
        val: list[Example] = [Fails("exit_code", "KeyError: 'dims'"), Fails()]
        val += said(moved([entry.score for entry in kept[2:]], -0.2, sd=0.1))
        cells["baseline"] = {**cells["baseline"], "val": val}
    return made(told)


def hostile(text: str, *, fails: bool = False) -> Made:
    """Make a run in which all that is foreign is one text; with `fails` all calls of one candidate fail."""
    long = f"{text} and then some more words, so that this is longer than what is counted as a short text"
    size = 30 if len(text) < 100_000 else 6  # records of a megabyte are dear
    scored: list[Example] = [Says(n / 40, {text: long}) for n in range(size)]
    failed: list[Example] = [Fails("exit_code", text)]
    val = failed * (size + 1) if fails else failed + scored
    return made({f"e{text}": {f"v{text}": {"val": val}, "w": {"val": [0.5] * (size + 1)}}})


def lines_of(a: Made, b: Made, folder: Path, width: int) -> list[str]:
    return diff.render(comparison(a, b, folder), screen=Screen(width)).split("\n")


def comparison(a: Made, b: Made, folder: Path) -> RunDiff:
    runs = [open_stored(run.write(folder / name)) for name, run in (("a", a), ("b", b))]
    return compare_runs(runs[0], runs[1], force=False)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int) -> None:
    lines = lines_of(rich(), worse(), tmp_path, width)
    assert max(map(measured, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert text.index("baseline is worse on val by 0.2") > text.index("0 → 2")
    assert "0 → 2" in text


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_foreign_text_is_inert_and_fits(tmp_path: Path, text: str) -> None:
    found = comparison(hostile(text), hostile(text, fails=True), tmp_path)
    for width in (40, 80):
        lines = diff.render(found, screen=Screen(width)).split("\n")
        assert not {letter for letter in set("".join(lines)) if category(letter) in {"Cc", "Zl", "Zp"}}
        assert all(measured(line) <= width for line in lines)


def test_commands_to_a_ci_runner_are_defused(cli: Cli, tmp_path: Path) -> None:
    text = HOSTILE["command"]
    for name in ("a", "b"):
        hostile(text).write(tmp_path / name)
    done = cli("diff", "a", "b", env={"CI": "1"})
    assert done.status == 0
    assert "::" not in done.stdout
    assert "##[" not in done.stdout
    assert cli("diff", "a", "b", "--json").json["rows"][0]["candidate"] == f"v{text}"


def test_an_ascii_terminal_gets_ascii(program: Cli, tmp_path: Path) -> None:
    rich().write(tmp_path / "a")
    worse().write(tmp_path / "b")
    done = program("diff", "a", "b", env={"PYTHONIOENCODING": "ascii", "COLUMNS": "80"})
    assert done.status == 0
    assert done.stdout.isascii()
    assert "\\u" not in done.stdout
