"""The grid of replies in Chromium: what each prompt with each model replied, its scores, and A against B."""

import csv
import io
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.benches import model
from tests.cli.prompted import RIGHT, command, examples, prompts
from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import axe_violations, cells, errors
from tests.page.made import HOSTILE, report, write_lines

_SAID = "'=It is ' + " + RIGHT + " + ', says ' + asked['prompt'].split(':')[0] + ' or so' * 40"
_OFF = "{'text': " + _SAID + ", 'usage': {'prompt_tokens': 9, 'completion_tokens': 3, 'cost': 0.002}}"
_CELL = """
const head = [...document.querySelectorAll(".grid-head .reply")].find(one => one.title === arguments[1]);
return document.querySelector(`${arguments[0]} [data-across="${head.dataset.across}"]`).innerText.split("\\n")
    .map(line => line.trim()).filter(Boolean)"""
_PRESS = """
window.kept = null;
URL.createObjectURL = blob => (blob.text().then(text => window.kept = text), "data:,");
[...document.querySelectorAll(".saves button")].find(one => one.textContent === arguments[0]).click()"""
_ENDS = "return [...document.querySelectorAll('.cell')].map(one => one.getBoundingClientRect().right)"
_WORDS = "return [...document.querySelectorAll('.of-replies .word')].map(one => one.textContent)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replies")
    examples(folder, train=2, val=6)
    write_lines(
        folder / "val.jsonl", [{"question": f"{n} plus 1 {HOSTILE}", "target": n + 1} for n in range(6)]
    )
    prompts(folder, **{f"p{n}": f"Version {n}: {{{{question}}}}" for n in range(5)})
    model(folder / "right", RIGHT)
    model(folder / "off", _OFF)
    models = ("right=cmd:./right", "off=cmd:./off")
    done = in_this_process(folder)(
        *command("-e", "@exact_match", "-e", "@f1", "--extract", "last-number", models=models)
    )
    assert done.status == 0, done.stderr
    assert report(folder / "r").status == 0
    return folder / "r"


def opened(browser: Browser, run: Path, look: str = "") -> None:
    browser.open(run / "report.html", f"tab=examples&{look}")
    browser.ready()
    browser.wait("document.querySelector('.of-replies.has-target')")


def shown(browser: Browser) -> list[str]:
    heads: list[str] = browser.run(
        "return [...document.querySelectorAll('.grid-head .reply')].map(one => one.title)"
    )
    return heads


def test_each_prompt_with_each_model_has_its_reply_its_scores_and_the_target(
    browser: Browser, run: Path
) -> None:
    opened(browser, run, "sort=line")
    assert len(shown(browser)) == 8
    assert "8 of 10 columns: A, B and the best" in browser.text(".status")
    assert browser.run(_CELL, "#row-0", "p0 · right")[:3] == ["exact_match 1.00", "f1 1.00", "1"]
    exact, f1, reply, took = browser.run(_CELL, "#row-1", "p1 · off")
    assert (exact, f1) == ("exact_match 0.00", "f1 0.00")
    assert reply.startswith("=It is 2, says Version 1 or so or so")
    assert took.endswith(" · $0.002")
    assert [browser.text(f"#row-{n} .wanted") for n in range(6)] == [*"123456"]
    assert browser.run("return [window.__pwned ?? null, document.images.length]") == [None, 0]
    assert "⟦202E⟧evil" in browser.text("#row-0 .asked")
    assert errors(browser) == []


def test_a_and_b_stand_side_by_side_and_what_differs_is_marked(browser: Browser, run: Path) -> None:
    opened(browser, run, "sort=line&cols=0,1")
    assert shown(browser) == ["p0 · right", "p0 · off"]
    opened(browser, run, "sort=line&cols=ab&a=0&b=1&tm=1")
    assert shown(browser) == ["p0 · off", "p1 · off"]
    assert browser.run(_WORDS) == ["1"] * 6
    browser.click(".choose:not(.filter) summary")
    browser.run("document.querySelector('.box input').click()")
    assert shown(browser) == ["p0 · off", "p1 · off", "p0 · right"]
    assert "cols=1%2C3%2C0" in browser.run("return location.hash")


def test_the_keys_go_from_reply_to_reply_and_open_one(browser: Browser, run: Path) -> None:
    opened(browser, run, "sort=line&cols=0,1,2,3")
    browser.run("document.querySelector('.grid').focus()")
    browser.press("Right", "Down", "Enter")
    browser.wait("document.querySelector('.drawer .reply')")
    assert browser.text(".drawer h2").startswith("val line 2")
    assert "off replied" in browser.text(".drawer .reply")
    assert browser.run("return location.hash") == "#tab=examples&tm=1&sort=line&row=3&cols=0%2C1%2C2%2C3"


def test_a_record_has_its_whole_story(browser: Browser, run: Path) -> None:
    opened(browser, run, "sort=line&row=3&by=1&tm=1")
    browser.wait("document.querySelector('.drawer .reply')")
    story = browser.run("return document.querySelector('.drawer-body').innerText")
    parts = ["The prompt as sent", "Version 1: 1 plus 1", "off replied", "=It is 2, says Version 1 or so"]
    parts += [
        "what --extract last-number took of it",
        "1",
        "wanted (target)",
        "2",
        "9 + 3 tokens",
        "said about",
    ]
    places = [story.find(part) for part in parts]
    assert -1 not in places
    assert sorted(places[:5]) == places[:5]


def test_time_tokens_and_money_stand_beside_the_means(browser: Browser, run: Path) -> None:
    browser.open(run / "report.html", "tm=1")
    browser.ready()
    rows = browser.run(
        "return [...document.querySelectorAll('.board:not(.spent) tbody tr')].map(row => row.innerText)"
    )
    assert all("$2 per 1,000" in row for row in rows)
    assert "p95" in rows[0]
    assert "p95" in browser.text(".heat tbody tr")


@pytest.mark.parametrize(
    ("query", "lines"),
    [
        ("score<0.5", "123456"),
        ("a.score>=0.5", "1"),
        ("delta>=0", "23456"),
        ("score.f1<0.01 field.target>4", "56"),
        ('field.question~"3 plus"', "4"),
        ("info.targets=1 Version 1: 2 plus", ""),
        ("info.targets!=1", ""),
        ("info.matched!=3 field.target<=3 says", "123"),
        ("kind=timeout", ""),
    ],
)
def test_conditions_leave_the_examples_that_meet_them(
    browser: Browser, run: Path, query: str, lines: str
) -> None:
    browser.open(run / "report.html", f"tab=examples&sort=line&view=scores&tm=1&a=1&b=0&q={quote(query)}")
    browser.ready()
    browser.wait(f"document.querySelector('.status').textContent.startsWith('{len(lines)} of 6 examples')")
    browser.wait("!document.querySelector('.status').textContent.includes('searching')")
    assert [row[1] for row in cells(browser, ".grid-body .grid-row")] == [*lines]


def test_a_condition_is_chosen_and_taken_away(browser: Browser, run: Path) -> None:
    browser.resize(390, 844)
    opened(browser, run, "sort=line&row=-1")
    browser.click(".folded summary")
    browser.click(".filter summary")
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    browser.run("document.querySelector('.filter .wished').value = '-1'")
    browser.click(".filter .copy")
    assert browser.text(".status").startswith("0 of 6 examples")
    assert "q=score%3C-1" in browser.run("return location.hash")
    browser.click(".filter .pill")
    assert browser.text(".status").startswith("6 of 6 examples")


def test_what_is_listed_is_saved_as_it_stands_in_the_journal(browser: Browser, run: Path) -> None:
    rows = in_this_process(run.parent)("report", "r", "--format", "jsonl").stdout.splitlines()
    records = [row for row in map(json.loads, rows) if row["split"] == "val" and row["line"] in {4, 5, 6}]
    opened(browser, run, "sort=-line&q=field.target%3E3")
    browser.wait("document.querySelector('.status').textContent.startsWith('3 of 6')")
    saved = [json.loads(line) for line in _saved(browser, "jsonl").splitlines()]
    names = ("evaluator", "candidate", "task_model", "split", "line", "repeat", "outcome", "score", "reply")
    assert [row["line"] for row in saved] == sorted((row["line"] for row in records), reverse=True)
    assert {tuple(row[name] for name in names) for row in saved} == {
        tuple(row[name] for name in names) for row in records
    }
    assert {row["example"]["target"] for row in saved} == {4, 5, 6}
    table = [*csv.DictReader(io.StringIO(_saved(browser, "csv")))]
    assert [float(row["score"]) for row in table] == [row["score"] for row in saved]
    assert [row["reply"].removeprefix("'") for row in table] == [row["reply"] for row in saved]
    assert any(row["reply"].startswith("'=It is 4") for row in table)


def _saved(browser: Browser, kind: str) -> str:
    """Press a button, and give the text of the file that a browser would save."""
    browser.run(_PRESS, kind)
    browser.wait("window.kept !== null")
    return str(browser.run("return window.kept"))


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_replies_are_sound(browser: Browser, run: Path, axe: str, width: int, scheme: str) -> None:
    browser.resize(width, 844)
    browser.colours(scheme)
    opened(browser, run)
    assert axe_violations(browser, axe) == []
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.resize(1123, 794)  # A4, across
    browser.paper()
    ends = browser.run(_ENDS)
    assert max(ends) <= 1123
