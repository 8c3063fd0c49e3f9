"""The page of prompts with models in Chromium: every prompt with every model, and all that they replied."""

from pathlib import Path

import orjson
import pytest

from optimize_eval.findings.wording import number
from tests.cli.benches import model
from tests.cli.prompted import RIGHT, WORDY, command, examples, prompts
from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import axe_violations, cells, errors
from tests.page.made import report

_HEADS = "return [...document.querySelectorAll('.all-replies .said-head')].map(one => one.innerText)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prompts")
    examples(folder, train=2, val=6)
    for split in ("train", "val"):  # the target stands where the evaluator is told to look
        path = folder / f"{split}.jsonl"
        path.write_text(path.read_text().replace('"target"', '"sum"'))
    prompts(folder, plain="{{question}}", polite="Please tell: {{question}}")
    model(folder / "right", RIGHT)
    model(folder / "wordy", WORDY)
    models = "right=cmd:./right", "wordy=cmd:./wordy"
    done = in_this_process(folder)(*command("-e", "@exact_match --target-field sum", models=models))
    assert done.status == 0, done.stderr
    assert report(folder / "r").status == 0
    return folder / "r"


def test_every_prompt_stands_beside_every_model(browser: Browser, run: Path, axe: str) -> None:
    rows = orjson.loads((run / "summary.json").read_bytes())["rows"]
    means = {(row["candidate"], row["task_model"]): row["splits"]["val"]["mean"] for row in rows}
    browser.open(run / "report.html")
    browser.ready()
    assert axe_violations(browser, axe) == []
    shown = {row[0].strip(): [cell.split("\n")[0] for cell in row[1:]] for row in cells(browser, ".heat tr")}
    assert shown["Candidate"] == ["right", "wordy"]
    for name in ("plain", "polite"):
        assert shown[name] == [number(means[name, "right"]), number(means[name, "wordy"])]
    browser.click(".heat thead a")
    assert browser.run("return location.hash") == "#tm=1"


def test_one_example_has_all_replies_to_it(browser: Browser, run: Path, axe: str) -> None:
    browser.open(run / "report.html", "tab=examples&row=3")
    browser.ready()
    browser.wait("document.querySelector('.all-replies')")
    browser.click(".all-replies summary")
    heads = browser.run(_HEADS)
    assert len(heads) == 4
    assert heads[0].split() == ["plain", "with", "right", "1.000"]
    assert browser.text(".all-replies .reply .reason") == "3"
    browser.click(".scores tr:nth-child(2) .pick")
    browser.wait("document.querySelector('.sent .reason')?.textContent.startsWith('Please tell: ')")
    assert axe_violations(browser, axe) == []
    assert errors(browser) == []


def test_a_mean_leads_to_its_lowest_scores_and_these_to_what_was_replied_and_wanted(
    browser: Browser, run: Path
) -> None:
    browser.open(run / "report.html")
    browser.ready()
    browser.click(".heat tbody tr:last-child td:last-child .goes a")
    browser.wait("document.querySelector('.of-replies.has-target')")
    look = browser.run("return location.hash")
    assert {"tab=examples", "tm=1", "sort=s1"} <= {*look[1:].split("&")}
    assert browser.text("#row-0 .wanted") == "1"
    browser.press("Tab")
    browser.run("document.querySelector('.grid').focus()")
    browser.press("Enter")
    browser.wait("document.querySelector('.drawer .reply')")
    assert "It is 1" in browser.text(".drawer .reply")
    browser.open(run / "report.html", "tab=compare&a=0&b=1&tm=1")
    browser.wait("document.querySelector('.grid-body .reason')?.textContent === 'sum: 1 · reply: It is 1'")


def test_the_mean_of_a_leaves_b_another_one(browser: Browser, run: Path) -> None:
    browser.open(run / "report.html")
    browser.ready()
    browser.click(".board .baseline .goes a")
    browser.wait("document.querySelector('.of-replies.has-target')")
    assert {*browser.run("return location.hash")[1:].split("&")} == {"tab=examples", "sort=s0"}
