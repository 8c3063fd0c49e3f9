"""Where candidates lost most, on a page in Chromium: also where the baseline leads."""

from pathlib import Path

from tests.findings.made import on_val
from tests.page.browser import Browser
from tests.page.looks import errors
from tests.page.made import report

_CARDS = """return [...document.querySelectorAll('section.card')].filter(one => one.querySelector('ol.worst'))
    .map(one => [one.querySelector('h2').innerText, one.querySelector('li .where').innerText])"""


def test_a_candidate_that_is_worse_than_the_leading_baseline_shows_where_it_lost(
    browser: Browser, tmp_path: Path
) -> None:
    on_val(a=[0.9, 0.8, 0.9], b=[0.8, 0.1, 0.8], c=[0.2, 0.8, 0.9]).write(tmp_path / "r")
    assert report(tmp_path / "r").status == 0
    browser.open(tmp_path / "r" / "report.html")
    browser.ready()
    assert errors(browser) == []
    assert browser.run(_CARDS) == [
        ["Regressions first: c on val", "val 1"],
        ["Regressions first: b on val", "val 2"],
    ]
