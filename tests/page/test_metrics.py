"""The metrics of a task in YAML on a page, in Chromium: the numbers, and which rows they are of."""

from pathlib import Path

from tests.cli.measured import VALUES, command, write
from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.made import report
from tests.page.test_looks import cells, errors

_NOTES = "return [...document.querySelectorAll('main .card .note')].map(one => one.innerText)"


def test_metrics_have_a_table_that_says_how_many_rows_they_are_of(browser: Browser, tmp_path: Path) -> None:
    write(tmp_path)
    assert in_this_process(tmp_path)(*command()).status == 0
    assert report(tmp_path / "r").status == 0
    browser.open(tmp_path / "r" / "report.html")
    browser.ready()
    assert errors(browser) == []
    where = "[aria-label='Metrics of answers.fields'] tr"
    shown = {row[0].strip(): row[1] for row in cells(browser, where)}
    del shown["Metric"]
    assert shown == {name: f"{value:.3f}" for name, value in VALUES.items()}
    notes = browser.run(_NOTES)
    assert "4 of 6 rows count: 1 excluded (huge 1), 1 failed" in notes
