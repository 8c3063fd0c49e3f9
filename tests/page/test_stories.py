"""What somebody does with a page: search it, print it, walk its records, go back, and read why."""

import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import errors
from tests.page.made import report, write_lines
from tests.tools import write_program

LATE = "x" * 300 + " needle in the input"
JUDGE = """
read -r payload
case $payload in *broken*) echo 'no json'; exit 1;; esac
case $payload in *c12*) s=0.9;; *) s=0.1;; esac
case $payload in *'question 7"'*) why='a needle, said';; *) why=short;; esac
target='what should have been said, which is longer'
echo "{\\"score\\": $s, \\"reason\\": \\"$why\\", \\"target\\": \\"$target\\"}"
"""
COUNT = "return document.querySelectorAll('.grid-body .grid-row').length"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of 13 candidates, of which the last is the best, and 90 examples."""
    folder = tmp_path_factory.mktemp("stories")
    write_program(folder / "judge.sh", ["#!/bin/sh", *JUDGE.strip().splitlines()])
    write_lines(
        folder / "d.jsonl", [{"n": n, "q": LATE if n == 5 else f"question {n}"} for n in range(1, 91)]
    )
    for n in range(13):
        (folder / f"c{n:02}.txt").write_text(f"text c{n:02}")
    given = ("--candidate", "c*.txt", "--dataset", "d.jsonl", "--note", "before the fix", "--out", "r")
    done = in_this_process(folder)("run", "-e", "judge=./judge.sh", *given, "--concurrency", "4", "--quiet")
    assert done.status == 0, done.stderr
    assert report(folder / "r").status == 0
    return folder / "r"


def opened(browser: Browser, run: Path, look: str) -> None:
    browser.open(run / "report.html", look)
    browser.ready()


def edited(run: Path, folder: Path, change: dict[str, Any]) -> Path:
    """Copy a run, with other words in its summary."""
    copy = Path(shutil.copytree(run, folder / "r"))
    summary = orjson.loads((copy / "summary.json").read_bytes())
    (copy / "summary.json").write_bytes(orjson.dumps({**summary, **change}))
    assert report(copy).status == 0
    return copy


def test_the_lowest_scores_have_their_reasons_however_short_these_are(browser: Browser, run: Path) -> None:
    opened(browser, run, "tab=side-info&b=12")
    browser.wait("document.querySelector('.lists .reason')?.textContent === 'short'")
    assert len(browser.run("return [...document.querySelectorAll('.lists li')]")) == 16
    assert errors(browser) == []


def test_of_many_candidates_the_best_are_shown_and_it_is_said(browser: Browser, run: Path) -> None:
    opened(browser, run, "tab=examples&b=1")
    assert "8 of 13 columns: A, B and the best" in browser.text(".status")
    assert "c12" in browser.text(".grid-head")
    assert "c11" not in browser.text(".grid-head")


@pytest.mark.parametrize(("query", "line"), [("needle in the input", "5"), ("a needle, said", "7")])
def test_all_that_is_known_of_an_example_is_searched(
    browser: Browser, run: Path, query: str, line: str
) -> None:
    opened(browser, run, f"tab=examples&sort=line&q={query}")
    browser.wait("document.querySelector('.status').textContent.startsWith('1 of 90 examples')")
    assert browser.text(".grid-body .line") == line
    assert "searching" not in browser.text(".status")


def test_the_keys_walk_from_record_to_record(browser: Browser, run: Path) -> None:
    opened(browser, run, "tab=overview&row=0")
    browser.wait("document.querySelector('.drawer')")
    browser.run("document.querySelector('.drawer').focus()")
    for title in ("2", "3", "4"):
        browser.press("Down")
        assert browser.text(".drawer h2").startswith(f"train line {title} ")


def test_a_tab_that_is_chosen_shows_its_toolbar(browser: Browser, run: Path) -> None:
    browser.resize(1000, 500)
    opened(browser, run, "")
    browser.click("#tab-compare")
    top, header = browser.run(
        "return ['.toolbar', '.top'].map(one => document.querySelector(one).getBoundingClientRect())"
        ".map((box, at) => at ? box.bottom : box.top)"
    )
    assert top >= header


def test_going_back_closes_a_record_and_leaves_the_tab_open(browser: Browser, run: Path) -> None:
    opened(browser, run, "tab=examples")
    browser.click(".grid-body .grid-row")
    browser.wait("document.querySelector('.drawer')")
    browser.call("back")
    browser.wait("!document.querySelector('.drawer')")
    assert browser.text('[aria-selected="true"]') == "Examples"


def test_paper_has_all_rows(browser: Browser, run: Path) -> None:
    opened(browser, run, "tab=examples")
    assert browser.run(COUNT) < 90
    browser.paper()
    browser.wait("document.querySelectorAll('.grid-body .grid-row').length === 90")
    browser.colours("light")
    browser.wait("document.querySelectorAll('.grid-body .grid-row').length < 90")


def test_the_command_and_the_note_of_a_run_are_told(browser: Browser, run: Path) -> None:
    opened(browser, run, "tab=reproduce")
    assert "before the fix" in browser.text(".top")
    assert "optimize-eval run -e judge=./judge.sh --candidate 'c*.txt'" in browser.text("main")


def test_what_takes_a_number_its_worth_is_the_first_point(
    browser: Browser, run: Path, tmp_path: Path
) -> None:
    words = ["· one", "! another", "! Every judge score is 0 (all 90). Check that judge works"]
    points = [{"mark": text[0], "text": text[2:]} for text in words]
    verdict = {"text": "so", "points": points, "state": None, "winner": None, "by": None}
    opened(browser, edited(run, tmp_path, {"verdict": verdict}), "")
    assert "score is 0 (all 90)" in browser.text(".points li")


def test_tokens_and_money_are_told_by_who_took_them(browser: Browser, run: Path, tmp_path: Path) -> None:
    total: dict[str, float] = {
        "calls": 3,
        "prompt_tokens": 1234,
        "completion_tokens": 56,
        "without_tokens": 0,
    }
    total |= {"cost": 0.0125, "without_cost": 0, "seconds": 1.0}
    spent = {"run": total, "models": {"m": total}, "evaluators": {}, "candidates": {}}
    opened(browser, edited(run, tmp_path, {"spent": spent}), "")
    assert browser.run("return document.querySelector('.spent tbody tr').innerText.split(/\\s+/)") == [
        *("all", "3", "1,234", "56", "$0.0125")
    ]


def test_candidates_of_which_nothing_was_scored_are_not_said_to_be_no_worse(
    browser: Browser, run: Path, tmp_path: Path
) -> None:
    summary = orjson.loads((run / "summary.json").read_bytes())
    rows = [row for row in summary["rows"] if row["candidate"] in {"c00", "c12"}]
    for row in rows[1:]:
        row["worst"] = []
        row["vs_baseline"]["train"] |= {"n_pairs": 0, "losses": 0, "wins": 0, "ties": 0, "diff": None}
    opened(browser, edited(run, tmp_path, {"rows": rows}), "")
    assert "No example of train has a score of both c12 and c00" in browser.text("main")


def test_what_is_called_no_reason_is_told_with_its_key(browser: Browser, tmp_path: Path) -> None:
    said = '{"score": 0.5, "target": "what should have been said, which is longer"}'
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "cat >/dev/null", f"echo '{said}'"])
    (tmp_path / "c.txt").write_text("text")
    write_lines(tmp_path / "d.jsonl", [{"n": 1}])
    cli = in_this_process(tmp_path)
    run = ("run", "-e", "./e.sh", "--candidate", "c.txt", "--dataset", "d.jsonl", "--out", "r", "--quiet")
    assert cli(*run).status == 0
    assert report(tmp_path / "r").status == 0
    for look, where in (
        ("", ".worst .reason"),
        ("tab=side-info", ".lists .reason"),
        ("row=0", ".drawer .reason"),
    ):
        opened(browser, tmp_path / "r", look)
        browser.wait(f"document.querySelector('{where}')?.textContent.startsWith('target: what should')")
