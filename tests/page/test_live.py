"""`view` in Chromium: a run that goes on, its end, a folder of runs, a server that is gone."""

import shutil
from pathlib import Path

import pytest

from tests.page.browser import Browser
from tests.page.made import make_run
from tests.serve.shelves import served


@pytest.fixture
def half(run: Path, tmp_path: Path) -> tuple[Path, list[bytes]]:
    """Take half of the journal away, as if the rest had not been called yet."""
    copy = shutil.copytree(run, tmp_path / "tickets")
    lines = (copy / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (copy / "journal.jsonl").write_bytes(b"".join(lines[:1000]))
    return copy, lines


def test_a_run_that_goes_on_is_followed_and_no_row_moves_until_it_is_wanted(
    browser: Browser, half: tuple[Path, list[bytes]]
) -> None:
    folder, lines = half
    with served(folder, rest=0) as server:
        browser.open(f"{server.url}#tab=examples&sort=line")
        browser.ready()
        assert "token" not in browser.run("return location.href")
        assert browser.text(".live").startswith("Killed after 999 of 2,000 calls")
        assert "no verdict" not in browser.text(".live")
        browser.wait("document.querySelectorAll('.grid-body .grid-row').length > 10")
        browser.run("document.querySelector('.grid').scrollTop = 520")
        browser.wait("document.querySelector('#row-40')")
        before = browser.text("#row-30")
        with (folder / "journal.jsonl").open("ab") as journal:
            journal.write(b"".join(lines[1000:1312]))
        browser.wait("!document.querySelector('.pill-news').hidden")
        assert browser.text(".pill-news") == "312 new results: show"
        assert browser.text(".live").startswith("Killed after 1,311 of 2,000 calls")
        assert browser.run("return document.querySelector('.grid').scrollTop") == 520
        assert browser.text("#row-30") == before
        browser.click(".pill-news")
        browser.wait("document.querySelector('.pill-news').hidden")


def test_there_is_no_verdict_and_no_comparison_before_the_end(
    browser: Browser, half: tuple[Path, list[bytes]]
) -> None:
    folder, _ = half
    with served(folder, rest=0) as server:
        browser.open(server.url)
        browser.ready()
        shown = browser.text("main")
        assert "beats" not in shown
        assert "▲" not in shown
        assert "overfits" not in shown
        browser.click("#tab-compare")
        assert "No comparison before the end" in browser.text("main")


def test_a_folder_lists_its_runs_and_opens_one(browser: Browser, tmp_path: Path) -> None:
    make_run(tmp_path / "runs", train=4, val=3, candidates=["baseline", "v3-structured"])
    make_run(tmp_path / "b", train=4, val=3, candidates=["baseline"]).rename(tmp_path / "runs" / "second")
    with served(tmp_path / "runs", rest=0) as server:
        browser.open(server.url)
        browser.wait("document.querySelectorAll('.runs tbody tr').length == 2")
        browser.click(".runs button")
        browser.ready()
        browser.wait("document.querySelector('.board')")
        browser.run("location.reload()")
        browser.wait("document.querySelector('.board')")


def test_a_server_that_is_gone_is_said_and_what_was_there_stays(browser: Browser, run: Path) -> None:
    with served(run, rest=0) as server:
        browser.open(server.url)
        browser.ready()
    browser.wait("document.querySelector('.live')?.textContent.includes('The server is gone')")
    assert "beats" in browser.text("main")


def test_a_wrong_token_shows_nothing(browser: Browser, run: Path) -> None:
    with served(run, rest=0) as server:
        browser.open(server.url.partition("?")[0] + "?token=wrong")
        assert "token is missing or wrong" in browser.text("body")
