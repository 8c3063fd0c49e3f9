"""The page of another tool's results in Chromium: what its systems replied, and no folder that is gone."""

from pathlib import Path

from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import axe_violations, errors
from tests.paths import ROOT

_RESULTS = ROOT / "tests" / "foreign" / "data" / "promptfoo.json"


def test_replies_of_another_tool_stand_in_the_grid_and_in_the_record(
    browser: Browser, tmp_path: Path, axe: str
) -> None:
    (tmp_path / "theirs.json").symlink_to(_RESULTS)
    cli = in_this_process(tmp_path)
    assert cli("report", "theirs.json", "--format", "html", "-o", "theirs.html").status == 0
    browser.open(tmp_path / "theirs.html", "tab=examples&sort=line")
    browser.ready()
    browser.wait("!['…', undefined].includes(document.querySelector('#row-0 .reply .clip')?.textContent)")
    assert browser.text("h1") == "theirs.json"
    assert browser.text("#row-0 .asked-text") == "of France · Paris"
    assert browser.text("#row-0 .reply .clip") == "Paris"
    browser.open(tmp_path / "theirs.html", "tab=examples&row=0&by=1")
    browser.wait("document.querySelector('.drawer .reply')")
    assert "It is not easy to say what it is" in browser.text(".drawer .reply")
    assert browser.text(".drawer .command code") == "optimize-eval report theirs.json --format jsonl"
    assert axe_violations(browser, axe) == []
    assert errors(browser) == []
