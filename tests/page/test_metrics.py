"""The metrics of a task in YAML on a page, in Chromium: the numbers, and which rows they are of."""

from pathlib import Path

from optimize_eval.findings.wording import number, signed
from tests.cli import defined
from tests.cli.benches import RIGHT, model
from tests.cli.measured import TASK, VALUES, command, write
from tests.cli.prompted import COUNTED
from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import axe_violations, cells, errors
from tests.page.made import report

MINUS, DASH = "\u2212", "\u2013"
_FAULT = (
    "the rule huge cannot be applied to 1 row, which stays in; the first is train 3: "
    "{{ scores.fields.n }} is null, and greater_than wants a number"
)
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
    assert _FAULT in notes


def test_a_diff_has_metrics_of_both_sides(browser: Browser, axe: str, tmp_path: Path) -> None:
    write(tmp_path)
    cli = in_this_process(tmp_path)
    assert cli(*command()).status == 0
    write(tmp_path, TASK.replace("value: 50", "value: 5"))
    assert cli(*command()[:-1], "s").status == 0
    (told,) = cli("diff", "r", "s", "--json").json["metrics"]
    assert cli("diff", "r", "s", "--format", "html").stdout == "s/diff.html\n"
    browser.open(tmp_path / "s" / "diff.html")
    browser.ready()
    assert (errors(browser), axe_violations(browser, axe)) == ([], [])
    shown = {row[0].strip(): row for row in cells(browser, "[aria-label='Metrics of answers.fields'] tr")}
    del shown["Metric"]
    assert shown.keys() == {one["name"] for one in told["metrics"]} == VALUES.keys()
    for one in told["metrics"]:
        a, b = one["a"], one["b"]
        assert shown[one["name"]][1:3] == [
            signed(one["diff"]),
            f"{number(a['value'])} → {number(b['value'])}",
        ]
    notes = browser.run(_NOTES)
    assert "A: 4 of 6 rows count: 1 excluded (huge 1), 1 failed" in notes
    assert "B: 3 of 6 rows count: 2 excluded (huge 2), 1 failed" in notes
    assert {f"A: {_FAULT}", f"B: {_FAULT}"} <= {*notes}
    assert cli("diff", "r", "r", "--format", "html", "-o", "same.html").status == 0
    browser.open(tmp_path / "same.html")
    browser.ready()
    assert "No metric of answers.fields has changed." in browser.run(_NOTES)


def test_a_diff_of_benches_has_metrics_too(browser: Browser, tmp_path: Path) -> None:
    defined.task(tmp_path)
    cli = in_this_process(tmp_path)
    for out, said in (("a", RIGHT), ("b", "'5'")):
        model(tmp_path / "m", said)
        assert cli("bench", "sums.yaml", "--model", "m=cmd:./m", "--out", out, env=COUNTED).status == 0
    metrics = cli("diff", "a", "b", "--json").json["metrics"]
    assert cli("diff", "a", "b", "--format", "html", "-o", "d.html").status == 0
    browser.open(tmp_path / "d.html")
    browser.ready()
    assert errors(browser) == []
    moved = [one for one in metrics if one["metrics"][0]["diff"]]
    assert moved
    for one in moved:
        (row,) = cells(browser, f"[aria-label='Metrics of {one['evaluator']}'] tbody tr")
        assert signed(one["metrics"][0]["diff"]) == row[1]
    browser.open(tmp_path / "d.html", "tab=predictions")
    browser.ready()
    assert "These boards have no predictions, only scores." in browser.text("main"), "replies did change"


def test_scores_of_another_scorer_are_no_models_and_are_not_subtracted(
    browser: Browser, tmp_path: Path
) -> None:
    cli = in_this_process(tmp_path)
    model(tmp_path / "m", RIGHT)
    model(tmp_path / "w", "'0'")
    defined.task(tmp_path)
    named = ("--model", "m=cmd:./m", "--model", "w=cmd:./w")
    assert cli("bench", "sums.yaml", *named, "--out", "r", env=COUNTED).status == 0
    assert report(tmp_path / "r").status == 0
    heads = []
    for b, shown in ((1, MINUS), (2, DASH), (3, DASH)):
        browser.open(tmp_path / "r" / "report.html", f"tab=examples&view=scores&sort=line&a=0&b={b}&row=0")
        browser.ready()
        browser.wait("document.querySelector('.drawer .scores')")
        heads.append(browser.text(f".scores tbody tr:nth-child({b + 1}) th").strip())
        assert browser.text(".grid-body .delta").startswith(shown)
        assert browser.text(f".scores tbody tr:nth-child({b + 1}) td:last-child").startswith(shown)
    assert heads == ["w", "m.sums.wording", "w.sums.wording"]
    assert browser.text(".scores thead th") == "Model, scorer"
