"""The page of an optimization in Chromium: its candidates, their texts, and a search that has no run yet."""

import shutil
from pathlib import Path

import orjson
import pytest

from optimize_eval.findings.wording import number
from tests.front_door import in_this_process
from tests.page.browser import Browser
from tests.page.looks import axe_violations, cells, errors
from tests.page.made import make_search, report
from tests.serve.shelves import served

_LINES = (
    "return [...document.querySelectorAll('.diff .line')].map(line => [line.className, line.textContent])"
)


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_search(tmp_path_factory.mktemp("search"))


@pytest.fixture(scope="module")
def page(search: Path) -> Path:
    assert report(search).status == 0
    return search / "report.html"


def lines(browser: Browser) -> list[tuple[str, str]]:
    return [(kind.removeprefix("line "), text.rstrip("\n")) for kind, text in browser.run(_LINES)]


@pytest.mark.parametrize("width", [1440, 390])
def test_the_search_is_sound_in_the_light_and_in_the_dark(
    browser: Browser, page: Path, axe: str, width: int
) -> None:
    browser.resize(width, 900)
    for scheme in ("light", "dark"):
        browser.colours(scheme)
        for look in ("tab=search", "tab=search&vs=text", "tab=overview"):
            browser.open(page, look)
            browser.ready()
            assert axe_violations(browser, axe) == [], look
            assert browser.run("return document.documentElement.scrollWidth") <= width, look
    assert errors(browser) == []


def test_every_candidate_has_the_numbers_of_search_json(browser: Browser, search: Path, page: Path) -> None:
    candidates = orjson.loads((search / "search.json").read_bytes())["candidates"]
    browser.open(page, "tab=search")
    browser.ready()
    rows = cells(browser, ".found tbody tr")
    assert [row[0].split()[1] for row in rows] == [one["name"] for one in candidates]
    assert [row[1] for row in rows] == [number(one["search_mean"]) for one in candidates]
    assert [row[2] for row in rows] == [", ".join(one["parents"]) or "the seed" for one in candidates]
    assert [row[4] for row in rows] == [str(one["calls"]) for one in candidates]


def test_a_click_on_a_candidate_shows_how_its_text_differs(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.ready()
    browser.click("[data-node='3'] .dot")
    assert browser.text("[role=tab][aria-selected=true]") == "Search"
    assert browser.text(".text-of-found h2") == "p3 against p2"
    changed = [line for line in lines(browser) if not line[0].startswith(("kept", "folded"))]
    assert [kind for kind, _ in changed] == ["removed partly", "added partly", "added"]
    assert changed[0][1].endswith(" Rules so far: 2")
    assert changed[2][1].startswith("+ 3. Speak of <b>")
    assert browser.run("return [...document.querySelectorAll('.word')].map(word => word.textContent)") == [
        "2",
        "3",
    ]
    browser.run("document.querySelectorAll('.text-of-found .segments button')[1].click()")
    assert browser.text(".text-of-found h2") == "p3 against seed"
    assert sum(kind == "added" for kind, _ in lines(browser)) == 3
    browser.run("document.querySelectorAll('.text-of-found .segments button')[2].click()")
    assert "Line 11 stays as it is." in browser.text(".text-of-found pre")
    assert browser.run("return location.hash") == "#tab=search&node=3&vs=text"


def test_a_search_without_a_run_is_followed_until_it_has_one(
    browser: Browser, search: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "search"
    folder.mkdir()
    journal = (search / "search.jsonl").read_bytes().splitlines(keepends=True)
    found = [at for at, line in enumerate(journal) if line.startswith(b'{"found"')]
    (folder / "search.jsonl").write_bytes(b"".join(journal[: found[3]]))
    shutil.copy(search / "evaluations.jsonl", folder)
    browser.log("browser")
    with served(folder, rest=0) as server:
        browser.open(server.url)
        browser.ready()
        assert browser.text(".headline").startswith(
            "Unfinished: p2 is ahead of seed so far (0.250 to 0.000 in the search)"
        )
        assert len(cells(browser, ".found tbody tr")) == 3
        assert "optimize-eval optimize seed.md" in browser.text(".command")
        with (folder / "search.jsonl").open("ab") as more:
            more.write(b"".join(journal[found[3] :]))
        browser.wait("document.querySelectorAll('.found tbody tr').length === 9")
        for name in ("journal.jsonl", "summary.json", "search.json", "run.json"):
            shutil.copy(search / name, folder)
        browser.wait("document.querySelector('#tab-overview')")
        browser.wait("document.querySelector('.board')")
        assert [one for one in errors(browser) if "409" not in one] == []


def test_a_search_that_has_scored_nothing_has_a_page(browser: Browser, search: Path, tmp_path: Path) -> None:
    folder = tmp_path / "search"
    folder.mkdir()
    header = (search / "search.jsonl").read_bytes().splitlines(keepends=True)[0]
    (folder / "search.jsonl").write_bytes(header)
    done = in_this_process(tmp_path)("report", "search", "--format", "html")
    assert (done.status, done.stdout) == (0, "search/report.html\n")
    browser.open(folder / "report.html")
    browser.ready()
    assert browser.text(".headline") == "No result yet: the search has not scored its seed."
    assert errors(browser) == []


_SIGNS = "return [...document.querySelectorAll('.sign-text')].map(sign => sign.textContent)"


def test_what_chose_in_a_search_confirms_nobody_on_the_page_and_what_decided_does(
    browser: Browser, search: Path, page: Path, tmp_path: Path
) -> None:
    browser.open(page, "tab=overview")
    browser.ready()
    assert "p8 beats seed on held-out data" in browser.text(".headline")
    assert browser.run(_SIGNS) == ["▲", "▲", "▲", "△", "▲", "△"], "of three, on val, and on train"
    steered = shutil.copytree(search, tmp_path / "search")
    manifest = orjson.loads((steered / "run.json").read_bytes())
    manifest["settings"]["searched"]["steered_by"] = "val"
    (steered / "run.json").write_bytes(orjson.dumps(manifest))
    (steered / "summary.json").unlink()
    assert report(steered).status == 0
    page = steered / "report.html"
    browser.open(page, "tab=overview")
    browser.ready()
    assert "val steered this search" in browser.text(".headline")
    assert browser.run(_SIGNS) == ["△"] * 6
    seen = {}
    for a, b in ((0, 1), (1, 0)):
        browser.open(page, f"tab=compare&a={a}&b={b}")
        browser.ready()
        seen[a, b] = browser.run(_SIGNS)
    assert sorted(seen.values()) == [["△"], ["▽"]]
