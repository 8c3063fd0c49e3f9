"""The page in Chromium: what it shows, what it asks for, how it is walked, and that text stays text."""

import re
import shutil
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.findings.wording import number, signed
from tests.cli.benches import OFTEN_WRONG, RIGHT, arithmetic, model
from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import TABS, axe_violations, cells, errors, requests
from tests.page.made import make_run, report, write_lines
from tests.run.projects import Project

_HERE = "return document.activeElement.id || document.activeElement.className"


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_shows_itself_asks_for_nothing_and_reports_no_error(
    browser: Browser, page: Path, tab: str
) -> None:
    browser.log("performance"), browser.log("browser")
    browser.open(page, f"tab={tab}")
    browser.ready()
    assert browser.text('[aria-selected="true"]').strip("0123456789").lower().replace(" ", "-") == tab
    assert len(browser.text("main")) > 200
    assert errors(browser) == []
    assert {url.partition(":")[0] for url in requests(browser)} <= {"file", "data", "about"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 800, 390])
def test_nothing_is_wider_than_the_window(browser: Browser, page: Path, width: int, scheme: str) -> None:
    browser.resize(width, 844)
    browser.colours(scheme)
    for tab in TABS:
        browser.open(page, f"tab={tab}")
        browser.ready()
        assert browser.run("return document.documentElement.scrollWidth") <= width, tab


@pytest.mark.parametrize("width", [1265, 1110])  # 1265: a window of 1280 with its scrollbar
def test_no_column_of_the_leaderboard_is_cut(browser: Browser, page: Path, width: int) -> None:
    browser.resize(width, 844)
    browser.open(page)
    browser.ready()
    board = "document.querySelector('.board').parentElement"
    wide, room = browser.run(f"return [{board}.scrollWidth, {board}.clientWidth]")
    assert wide <= room


def test_a_group_of_failures_names_rows_of_the_split_that_decides_first(browser: Browser, page: Path) -> None:
    browser.open(page, "tab=failures")
    browser.ready()
    notes = browser.run("return [...document.querySelectorAll('.note')].map(one => one.textContent)")
    groups = [re.findall(r"\b(train|val) \d", note) for note in notes if note.startswith("for example")]
    assert any({"train", "val"} <= {*group} for group in groups)
    assert all(group == sorted(group, reverse=True) for group in groups), groups


_CUT_OFF = """
const ends = [...document.querySelectorAll(".card, table, pre")].map(one => one.getBoundingClientRect());
return Math.max(0, ...ends.map(box => box.right))"""


@pytest.mark.parametrize("tab", TABS)
def test_on_paper_there_are_black_words_on_white_nothing_to_press_and_nothing_cut_off(
    browser: Browser, page: Path, tab: str
) -> None:
    browser.open(page, f"tab={tab}")
    browser.ready()
    browser.resize(794, 1123)  # A4 at 96 dpi
    browser.paper()
    assert (
        browser.run("return getComputedStyle(document.documentElement).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    buttons = "[...document.querySelectorAll('.icon, .copy, .toolbar')]"
    assert browser.run(f"return {buttons}.filter(one => one.offsetParent).length") == 0
    assert browser.run(_CUT_OFF) <= 794


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_no_violation(browser: Browser, page: Path, axe: str, width: int, scheme: str) -> None:
    browser.resize(width, 900)
    browser.colours(scheme)
    for look in (*(f"tab={tab}" for tab in TABS), "tab=examples&row=203"):
        browser.open(page, look)
        browser.ready()
        if "row" in look:
            browser.wait("document.querySelector('.drawer .tree')")
        assert axe_violations(browser, axe) == [], look


def check_leaderboard(browser: Browser, summary: dict[str, Any], evaluator: str) -> None:
    """Compare each number of the leaderboard with what summary.json has."""
    rows = [row for row in summary["rows"] if row["evaluator"] == evaluator]
    rows.sort(key=lambda row: -row["splits"]["val"]["mean"])
    lines = cells(browser, ".board tbody tr")
    assert len(lines) == len(rows)
    for row, line in zip(rows, lines, strict=True):
        s = row["splits"]["val"]
        assert line[0].strip() == row["candidate"]
        assert line[1].split("\n") == [number(s["mean"]), f"{number(s['ci'][0])} to {number(s['ci'][1])}"]
        assert line[7].split("\n")[0] == str(sum(one["failed"] for one in row["splits"].values()))
        if row["candidate"] == summary["baseline"]:
            continue
        d, lost = row["vs_baseline"]["val"], row["overfit"]
        assert line[3].split()[1] == signed(d["diff"])
        assert f"{signed(d['ci'][0])} to {signed(d['ci'][1])}" in line[3]
        assert line[4].strip() == f"{d['wins']} · {d['ties']} · {d['losses']}"
        assert line[5].split("\n")[0].split()[1] == signed(row["vs_baseline"]["train"]["diff"])
        assert line[6].split("\n")[1].startswith(signed(lost["value"]))


@pytest.mark.parametrize(("place", "evaluator"), [(0, "judge"), (1, "policy-check")])
def test_the_numbers_are_those_of_summary_json(
    browser: Browser, run: Path, page: Path, place: int, evaluator: str
) -> None:
    summary = orjson.loads((run / "summary.json").read_bytes())
    browser.open(page, f"ev={place}")
    assert browser.text(".headline") == f"{summary['verdict']['text']}."
    said = "return [...document.querySelectorAll(arguments[0])].map(li => li.lastChild.textContent)"
    points = [point["text"] for point in summary["verdict"]["points"]]
    assert sorted({*browser.run(said, ".points li")} & {*points}) == sorted(points)
    at_once = {*browser.run(said, ".verdict > .points li")} & {*points}
    assert len(at_once) == 5
    decisive = [point["text"] for point in summary["verdict"]["points"] if point["mark"] in "!?"]
    assert {*decisive[:3]} <= at_once
    check_leaderboard(browser, summary, evaluator)


def test_a_number_that_is_changed_in_a_copy_is_noticed(browser: Browser, run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "copy")
    summary = orjson.loads((copy / "summary.json").read_bytes())
    page = (report(copy), copy / "report.html")[1]
    summary["rows"][0]["splits"]["val"]["mean"] += 0.001
    browser.open(page)
    with pytest.raises(AssertionError):
        check_leaderboard(browser, summary, "judge")


def test_scores_of_the_grid_and_the_drawer_are_the_records(browser: Browser, run: Path, page: Path) -> None:
    records = [orjson.loads(line) for line in (run / "journal.jsonl").read_bytes().splitlines()]
    scored = {
        (one["evaluator"], one["candidate"], one["split"], one["line"]): one.get("score")
        for one in records
        if "outcome" in one
    }
    browser.open(page, "tab=examples&sort=line&sp=1")
    browser.ready()
    browser.wait("document.querySelectorAll('.grid-body .grid-row').length > 10")
    names = ("baseline", "v2-fewshot", "v3-structured", "v4-verbose")
    for row in cells(browser, ".grid-body .grid-row")[:20]:
        line = int(row[1])
        for name, shown in zip(names, row[3:7], strict=True):
            score = scored["judge", name, "val", line]
            assert shown.strip() == ("failed" if score is None else f"{score:.2f}")
    browser.open(page, "tab=examples&row=203&by=2")
    browser.wait("document.querySelector('.drawer p.reason')")
    for name, values in zip(names, cells(browser, ".scores tbody tr"), strict=True):
        scores = [scored[one, name, "val", 4] for one in ("judge", "policy-check")]
        assert values[1:3] == ["failed" if score is None else number(score) for score in scores]
    told = next(
        one
        for one in records
        if (one.get("evaluator"), one.get("candidate"), one.get("split"), one.get("line"))
        == ("judge", "v3-structured", "val", 4)
    )
    assert told["side_info"]["reasoning"] == browser.text(".drawer p.reason")


def test_hostile_text_is_shown_and_does_nothing(browser: Browser, page: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.html"
    text = page.read_text(encoding="utf-8")
    bare.write_text(re.sub("<meta http-equiv[^>]*>", "", text), encoding="utf-8")
    for file in (page, bare):
        for look in (*(f"tab={tab}&q=%3Cimg&sort=line" for tab in TABS), "tab=examples&row=202&sp=2"):
            browser.open(file, look)
            browser.ready()
            assert browser.run("return [window.__pwned ?? null, document.images.length]") == [None, 0]
        browser.wait("document.querySelector('.drawer .tree')")
        shown = browser.text(".drawer")
        assert '</script><img src=x onerror="window.__pwned=1">' in shown
        assert "⟦202E⟧evil⟦202C⟧" in shown
        assert "⟦0007⟧" in shown


def test_the_keyboard_reaches_everything(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ready()
    browser.press("Tab")
    assert browser.run(_HERE) == "skip"
    browser.press("Tab")
    assert browser.run(_HERE) == "tab-overview"
    browser.press("Right", "Right")
    assert browser.run(_HERE) == "tab-examples"
    browser.press("/")
    assert browser.run(_HERE) == "search"
    browser.press(*"refund")
    browser.wait("document.querySelector('.status').textContent.match(/^\\d+ of 50/)")
    assert browser.run("return document.activeElement.value") == "refund"
    browser.run("document.querySelector('.grid').focus()")
    browser.press("j", "Down", "k", "Enter")
    browser.wait("document.querySelector('.drawer')")
    first = browser.text(".drawer h2")
    browser.press("Down")
    browser.wait(f"document.querySelector('.drawer h2')?.textContent !== {first!r}")
    browser.press("Escape")
    assert browser.run("return [!document.querySelector('.drawer'), document.activeElement.className]") == [
        True,
        "grid",
    ]
    browser.press("End")
    assert browser.run("return document.querySelector('.grid').getAttribute('aria-activedescendant')")


@pytest.mark.parametrize(
    "fragment",
    ["tab=nothing", "ev=99&tm=-1&sp=7", "a=x&b=1e9&row=99999999", "sort=s9999", "%E0%A4%A", "q=%00&show=<b>"],
)
def test_nonsense_in_the_address_gives_a_sane_page(browser: Browser, page: Path, fragment: str) -> None:
    browser.log("browser")
    for tab in ("", "tab=examples&", "tab=compare&"):
        browser.open(page, tab + fragment)
        browser.ready()
        assert len(browser.text("main")) > 200
        assert errors(browser) == []


def test_a_look_can_be_sent_by_its_address(browser: Browser, page: Path) -> None:
    browser.open(page, "tab=examples&show=failed&sp=2&ev=0")
    browser.ready()
    browser.wait("document.querySelector('.grid-body .grid-row')")
    shown = browser.text(".status")
    browser.open(page, str(browser.run("return location.hash.slice(1)")))
    browser.ready()
    assert browser.text(".status") == shown
    assert shown.startswith("10 of 250 examples")


def test_a_comparison_lists_losses_then_gains_then_what_is_the_same(browser: Browser, tmp_path: Path) -> None:
    run = make_run(tmp_path, train=2, val=12)
    report(run)
    for b in (1, 2, 3):
        browser.open(run / "report.html", f"tab=compare&sp=1&a=0&b={b}")
        browser.ready()
        browser.wait("document.querySelector('.grid-body .grid-row')")
        deltas = [shown[-1] for shown in cells(browser, ".grid-body .grid-row")]
        signs = [one[:1].translate({0x2212: "-"}) for one in deltas]
        kinds = "".join(sign if sign in {"-", "+"} else "0" for sign in signs)
        assert len(kinds) == 12
        assert re.fullmatch(r"-*\+*0*", kinds), deltas


@pytest.mark.parametrize(
    ("train", "val", "candidates"), [(6, 4, ["baseline"]), (6, 4, ["baseline", "baseline-2"]), (1, 1, ["a"])]
)
def test_small_and_odd_runs_have_every_tab(
    browser: Browser, tmp_path: Path, train: int, val: int, candidates: list[str]
) -> None:
    run = make_run(tmp_path, train=train, val=val, candidates=candidates)
    report(run)
    browser.log("browser")
    for tab in TABS:
        browser.open(run / "report.html", f"tab={tab}")
        browser.ready()
        assert len(browser.text("main")) > 20
    assert errors(browser) == []


def test_a_bench_has_its_boards_numbers_and_every_tab(browser: Browser, tmp_path: Path, axe: str) -> None:
    models = {"often": OFTEN_WRONG, "right": RIGHT}
    named = [
        word
        for name, answer in models.items()
        for word in ("--model", f"{name}={model(tmp_path / name, answer)}")
    ]
    arithmetic(tmp_path)
    cli = in_this_process(tmp_path)
    assert cli("bench", "sums.jsonl", *named, "--out", "models").status == 0
    assert cli("report", "models", "--format", "html").status == 0
    board = orjson.loads((tmp_path / "models" / "leaderboard.json").read_bytes())
    for tab in TABS:
        browser.open(tmp_path / "models" / "report.html", f"tab={tab}")
        browser.ready()
        assert axe_violations(browser, axe) == [], tab
    assert errors(browser) == []
    browser.open(tmp_path / "models" / "report.html")
    first = board["models"][0]
    assert browser.text(".headline") == f"{board['verdict']['text']}."
    assert cells(browser, ".board tbody tr")[0][1].split("\n")[0] == number(first["overall_score"])
    browser.open(tmp_path / "models" / "report.html", "tab=compare")
    browser.ready()
    assert number(abs(board["pairs"][0]["diff"])) in browser.text(".versus .headline")
    browser.open(tmp_path / "models" / "report.html", "tab=examples&row=0&ev=1")
    browser.wait("document.querySelectorAll('.all-replies .reply').length === 2")
    names = [row[0].strip() for row in cells(browser, ".scores tbody tr")]
    assert names == list(models)
    browser.open(tmp_path / "models" / "report.html", "tab=side-info&ev=1")
    assert cells(browser, ".sides thead tr")[0][-1].strip() == "right"


def test_what_was_skipped_stands_apart_and_says_why(browser: Browser, tmp_path: Path, axe: str) -> None:
    made, cli = Project(tmp_path, 9), in_this_process(tmp_path)
    assert cli(*made.command, "--out", "r", env=made.env(SKIPS="bbb:[36]")).status == 0
    assert cli("report", "r", "--format", "html").status == 0
    page = tmp_path / "r" / "report.html"
    for tab in TABS:
        browser.open(page, f"tab={tab}")
        browser.ready()
        assert axe_violations(browser, axe) == [], tab
    browser.open(page)
    heads, rows = browser.text(".board thead"), cells(browser, ".board tbody tr")
    assert "Skipped" in heads
    assert [(row[0].strip()[-1], row[-1]) for row in rows] == [("a", "0"), ("b", "2")]
    assert "See 2 skipped calls" in browser.text(".verdict")
    browser.open(page, "tab=examples&show=skipped&sort=line")
    browser.ready()
    browser.wait("document.querySelectorAll('.grid-body .grid-row').length === 2")
    shown = cells(browser, ".grid-body .grid-row")
    assert [(row[1], row[4].strip()) for row in shown] == [("3", "skipped"), ("6", "skipped")]
    browser.open(page, "tab=examples&row=2&by=1")
    browser.wait("document.querySelector('.drawer .inset .tree')")
    assert "skipped: not for 3" in browser.text(".drawer")
    browser.open(page, "tab=failures")
    browser.ready()
    told = browser.text("main")
    assert "No call failed." in told
    assert "not for 3" in told
    assert errors(browser) == []


def test_odd_scores_and_names_have_every_tab(browser: Browser, tmp_path: Path, axe: str) -> None:
    score = "-3.5 if example['n'] % 7 == 0 else 1e9 if example['n'] % 3 else 0.25"
    program = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line); example = asked['example']\n"
        f"    print(json.dumps({{'score': {score}, 'big': 10**30, '_id': asked.get('_id'),"
        " '_capabilities': {'persistent': True}}), flush=True)\n"
    )
    (tmp_path / "odd.py").write_text(program)
    names = ["baseline", "a-candidate-with-a-very-long-name-30", "مرشح-عربي", "<b>bold"]
    for name in names:
        (tmp_path / f"{name}.txt").write_text(name)
    write_lines(tmp_path / "data.jsonl", [{"n": n, "input": "שלום עולם"} for n in range(20)])
    evaluators = [word for n in range(12) for word in ("-e", f"e{n}={sys.executable} odd.py")]
    candidates = [word for name in names for word in ("--candidate", f"{name}.txt")]
    cli = in_this_process(tmp_path)
    options = ["--dataset", "data.jsonl", "--score-range", "any", "--out", "odd", "--no-preflight"]
    assert cli("run", *evaluators, *candidates, *options).status == 0
    assert cli("report", "odd", "--format", "html").status == 0
    for tab in (*TABS, "examples&row=1"):
        browser.open(tmp_path / "odd" / "report.html", f"tab={tab}")
        browser.ready()
        assert axe_violations(browser, axe) == [], tab
    assert errors(browser) == []
    browser.wait("document.querySelector('.drawer .tree')")
    assert str(10**30) in browser.text(".drawer")
