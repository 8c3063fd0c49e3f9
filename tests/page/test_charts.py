"""What charts of the page show in Chromium: areas, counts and names as they are, and what each term means."""

from pathlib import Path

import orjson
import pytest

from tests.page.browser import Browser
from tests.page.looks import cells, errors

_COVERED = """
const boxes = kind => [...document.querySelectorAll(kind)].map(one => one.getBoundingClientRect());
const marks = boxes(".chart .mark"), names = boxes(".chart .label");
const covers = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
return [marks.length, names.length, names.filter((name, at) => marks.some(mark => covers(name, mark))
    || names.some((other, place) => place !== at && covers(name, other))).length]"""
_BUBBLES = """
return [...document.querySelectorAll(".bubble")].map(one =>
    [Number(one.getAttribute("r")), parseInt(one.textContent.split(": ")[1].replace(",", ""))])"""


@pytest.mark.parametrize("width", [1440, 390])
def test_names_in_a_chart_cover_no_mark_and_no_name(browser: Browser, page: Path, width: int) -> None:
    browser.resize(width, 900)
    browser.open(page)
    browser.ready()
    assert browser.run(_COVERED) == [3, 3, 0]
    assert browser.run("return [...document.querySelectorAll('.board .bad')].some(one => one.offsetParent)")


def test_the_area_of_a_bubble_is_how_many_examples_it_is(browser: Browser, page: Path) -> None:
    browser.open(page, "tab=compare&ev=0&sp=2")
    browser.ready()
    shown = browser.run(_BUBBLES)
    largest = max(many for _, many in shown)
    assert largest > 1
    for radius, many in shown:
        assert radius == pytest.approx(14 * (many / largest) ** 0.5, abs=0.006)


def test_scores_of_0_and_1_have_a_table_with_their_counts(browser: Browser, run: Path, page: Path) -> None:
    scores: dict[int, dict[str, float]] = {}
    for line in (run / "journal.jsonl").read_bytes().splitlines():
        record = orjson.loads(line)
        if record.get("evaluator") == "policy-check" and record["split"] == "val":
            scores.setdefault(record["line"], {})[record["candidate"]] = record["score"]
    pairs = [(known["baseline"], known["v3-structured"]) for known in scores.values()]
    browser.open(page, "tab=compare&ev=1&sp=1&a=0&b=2")
    browser.ready()
    shown = [[int(cell.split()[0]) for cell in row[1:]] for row in cells(browser, ".four tbody tr")]
    assert shown == [[pairs.count((a, b)) for b in (1.0, 0.0)] for a in (1.0, 0.0)]


def test_a_term_is_explained_by_the_keys_and_by_pointing(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ready()
    browser.run("document.querySelector('[data-gloss=overfit]').focus()")
    assert browser.text("#gloss").startswith("How much of the gain on train is missing")
    assert browser.run("return document.querySelector('#gloss').offsetHeight") > 0
    browser.press("Escape")
    assert browser.run("return document.querySelector('#gloss').hidden")
    browser.run(
        "document.querySelector('[data-gloss=ci]').dispatchEvent(new Event('mouseover', {bubbles: true}))"
    )
    assert browser.text("#gloss").startswith("95 % confidence interval")
    assert errors(browser) == []
