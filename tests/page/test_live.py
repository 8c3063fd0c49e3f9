"""`view` in Chromium: a run that goes on, its end, a folder of runs, a server that is gone."""

import fcntl
import shutil
from pathlib import Path

import pytest

from tests.page.browser import Browser
from tests.page.looks import axe_violations, cells, errors
from tests.page.made import make_compared
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


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Make two runs, the second with another text and one more rule."""
    make_compared(tmp_path / "runs", train=4, val=3, candidates=["baseline", "v3-structured"])
    return tmp_path / "runs"


def test_a_folder_lists_its_runs_with_links_and_leads_back_to_them(
    browser: Browser, two: Path, axe: str
) -> None:
    with served(two, rest=0) as server:
        browser.open(server.url)
        browser.wait("document.querySelectorAll('.runs tbody tr').length == 2")
        for width, scheme in ((1440, "light"), (390, "dark")):
            browser.resize(width, 844)
            browser.colours(scheme)
            assert axe_violations(browser, axe) == []
            assert browser.run("return document.documentElement.scrollWidth") <= width
        browser.resize(1440, 900)
        (_, name, state, size, _, verdict), _ = cells(browser, ".runs tbody tr")
        assert (name.strip(), state.strip(), size) == (
            "after",
            "done",
            "2 candidates · 7 examples · 56 calls",
        )
        assert verdict.startswith(("No winner", "Too few"))
        browser.click(".runs a")
        browser.wait("document.querySelector('.board')")
        browser.run("location.reload()")
        browser.wait("document.querySelector('.board')")
        assert "run=" in browser.run("return location.search")
        browser.click(".title a")
        browser.wait("document.querySelectorAll('.runs tbody tr').length == 2")
        assert errors(browser) == []


def test_two_runs_of_a_folder_are_compared_and_begin_with_their_texts(browser: Browser, two: Path) -> None:
    with served(two, rest=0) as server:
        browser.open(server.url)
        browser.wait("document.querySelectorAll('.runs tbody tr').length == 2")
        assert browser.run("return document.querySelector('.compare').disabled")
        for place in (1, 2):
            browser.click(f".runs tr:nth-child({place}) input")
        browser.click(".compare")
        browser.wait("document.querySelector('[role=alert]')")
        assert "val" in browser.text("[role=alert]")  # is in another order
        browser.click("[role=alert] a")
        browser.wait("document.querySelector('.changed')")
        assert browser.text(".title h1") == "before → after"
        changed = browser.run(
            "return [...document.querySelectorAll('.changed .line')].map(one => one.innerText)"
        )
        assert [line[2:].strip() for line in changed[:2]] == ["# v3-structured", "# v3-structured again"]
        browser.open(f"http://127.0.0.1:{server.server_port}/{browser.run('return location.search')}")
        browser.wait("document.querySelector('.changed')")
        assert browser.text(".tab .headline")


def test_a_run_that_goes_on_says_in_the_list_how_far_it_is(
    browser: Browser, half: tuple[Path, list[bytes]], tmp_path: Path
) -> None:
    folder, lines = half
    shutil.copytree(folder, tmp_path / "other")
    with (folder / "lock").open("a") as lock, served(tmp_path, rest=0) as server:
        fcntl.flock(lock, fcntl.LOCK_EX)
        browser.open(server.url)
        browser.wait("document.querySelector('.runs')?.textContent.includes('999 of 2,000 calls')")
        with (folder / "journal.jsonl").open("ab") as journal:
            journal.write(b"".join(lines[1000:1500]))
        browser.wait(
            "/1,499 of 2,000 calls · about .* left/.test(document.querySelector('.runs').textContent)"
        )


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
