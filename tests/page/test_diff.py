"""The page of `diff` in Chromium: two runs, and two leaderboards."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.findings.wording import number, signed
from tests.cli.benches import OFTEN_WRONG, RIGHT, arithmetic, model
from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import TABS, axe_violations, cells, errors, requests
from tests.page.made import call, make_compared, make_run, report

NAMES = ["baseline", "v4-verbose"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compared")
    make_compared(folder, train=30, val=20, candidates=NAMES)
    done = in_this_process(folder)("diff", "before", "after", "--force", "--format", "html")
    assert (done.status, done.stdout) == (0, "after/diff.html\n"), done.stderr
    return folder


@pytest.fixture(scope="module")
def document(compared: Path) -> dict[str, Any]:
    told: dict[str, Any] = in_this_process(compared)("diff", "before", "after", "--force", "--json").json
    return told


def records(run: Path) -> dict[tuple[str, str, str, str], list[float | None]]:
    """Give the scores of each example, by its evaluator, candidate, split and id."""
    named: dict[tuple[str, str, str, str], list[float | None]] = {}
    rows = in_this_process(run.parent)("report", run.name, "--format", "jsonl", "--wide").stdout
    for row in map(orjson.loads, rows.splitlines()):
        for column, score in row.items():
            evaluator, _, candidate = column.partition("@")
            if candidate and not column.endswith("reason"):
                named.setdefault((evaluator, candidate, row["split"], row["id"]), []).append(score)
    return named


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_every_tab_of_a_diff_is_sound(
    browser: Browser, compared: Path, axe: str, width: int, scheme: str
) -> None:
    browser.resize(width, 844)
    browser.colours(scheme)
    browser.log("browser"), browser.log("performance")
    for tab in TABS:
        browser.open(compared / "after" / "diff.html", f"tab={tab}")
        browser.ready()
        assert browser.run("return document.documentElement.scrollWidth") <= width, tab
        assert len(browser.text("main")) > 100
        assert axe_violations(browser, axe) == [], tab
    assert errors(browser) == []
    assert {url.partition(":")[0] for url in requests(browser)} <= {"file", "data", "about"}


def test_the_numbers_of_a_diff_are_those_of_its_json(
    browser: Browser, compared: Path, document: dict[str, Any]
) -> None:
    browser.open(compared / "after" / "diff.html")
    browser.ready()
    assert browser.text(".headline") == f"{document['verdict']['text']}."
    shown = {
        (evaluator, line[0].strip(), line[1].strip()): line
        for evaluator, place in (("judge", 0), ("policy-check", 1))
        for line in browser.run(
            "return [...document.querySelectorAll('.board')[arguments[0]].querySelectorAll('tbody tr')]"
            ".map(row => [...row.children].map(cell => cell.innerText))",
            place,
        )
    }
    assert len(shown) == len(document["rows"]) == 8
    for row in document["rows"]:
        line = shown[row["evaluator"], row["candidate"], row["split"]]
        assert signed(row["diff"]) in line[2]
        assert f"{number(row['means']['a'])} → {number(row['means']['b'])}" == line[4]
        assert line[5].strip() == f"{row['wins']} · {row['ties']} · {row['losses']}"


def test_rows_of_a_diff_are_the_records_of_both_runs(browser: Browser, compared: Path) -> None:
    before, after = records(compared / "before"), records(compared / "after")
    browser.open(compared / "after" / "diff.html", "tab=examples&ev=0&sp=1&sort=line&a=2&b=3")
    browser.ready()
    browser.wait("document.querySelectorAll('.grid-body .grid-row').length >= 20")
    lines = cells(browser, ".grid-body .grid-row")
    assert [int(line[1]) for line in lines] == [*range(1, 21)]
    for line in lines:
        key = "judge", "v4-verbose", "val", f"v-{21 - int(line[1]):05}"  # val was turned round
        for scores, shown in ((before[key], line[5]), (after[key], line[6])):
            known = {score for score in scores if score is not None}
            assert shown.strip() == ("failed" if not known else f"{min(known):.2f}"), key


def test_the_drawer_of_a_diff_has_both_sides_words(browser: Browser, compared: Path) -> None:
    browser.open(compared / "after" / "diff.html", "tab=compare&ev=0&sp=1&a=2&b=3&row=32&by=2")
    browser.wait("document.querySelector('.drawer p.reason')")
    assert "A · v4-verbose" in browser.text(".drawer")
    assert browser.text(".drawer .command") == "optimize-eval report before --format jsonlcopy"
    browser.click(".scores tbody tr:nth-child(4) .pick")
    browser.wait("document.querySelectorAll('.drawer p.reason').length >= 2")  # of two repeats
    assert "repeat 2" in browser.text(".drawer")
    assert "--example val.jsonl:3" in browser.text(".drawer .command")


def test_two_boards_show_models_moved_tasks_and_predictions(
    browser: Browser, tmp_path: Path, axe: str
) -> None:
    arithmetic(tmp_path)
    cli = in_this_process(tmp_path)
    for out, answers in (("old", (RIGHT, OFTEN_WRONG)), ("new", (OFTEN_WRONG, RIGHT))):
        named = [
            f"{name}={model(tmp_path / name, answer)}" for name, answer in zip("xy", answers, strict=True)
        ]
        assert cli("bench", "sums.jsonl", "--model", named[0], "--model", named[1], "--out", out).status == 0
    told = cli("diff", "old", "new", "--json").json
    done = cli("diff", "old/leaderboard.json", "new/leaderboard.json", "--format", "html", "-o", "d.html")
    assert done.stdout == "d.html\n"
    for tab in ("overview", "predictions", "reproduce"):
        browser.open(tmp_path / "d.html", f"tab={tab}")
        browser.ready()
        assert axe_violations(browser, axe) == [], tab
    browser.open(tmp_path / "d.html")
    assert browser.text(".headline") == f"{told['verdict']['text']}."
    shown = {line[0]: line for line in cells(browser, ".board tbody tr")}
    for one in told["models"]:
        assert signed(one["overall"]["diff"]) in shown[one["model"]][1]
    assert "sums" in browser.text("main")
    browser.open(tmp_path / "d.html", "tab=predictions")
    browser.ready()
    changed = told["models"][0]["changed"][0]
    first = cells(browser, ".predictions tbody tr")[0]
    assert first[1].split("\n") == [number(changed["a"]["score"]), str(changed["a"]["prediction"])]
    assert errors(browser) == []


def test_what_has_no_interval_has_no_empty_brackets(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path, train=6, val=4, candidates=["baseline", "baseline-2"])
    (run.parent / "prompts" / "baseline-2.md").write_text(
        (run.parent / "prompts" / "baseline.md").read_text()
    )
    assert call(run.parent, "same", ["baseline", "baseline-2"]).exists()
    assert report(run.parent / "same").status == 0
    browser.open(run.parent / "same" / "report.html")
    browser.ready()
    assert "()" not in browser.text(".board")
