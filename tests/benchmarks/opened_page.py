"""How soon a page of 100,000 records can be used, in Chromium, beside what its bytes alone take there.

Used it can be when rows stand in the table and a search has left fewer of them.
"""

import atexit
import re
import shutil
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.benchmarks.measure import Row
from tests.page.browser import Browser, chromium
from tests.page.made import CANDIDATES, make_run, report

_ROUNDS = 5
_LEFT = ExitStack()
atexit.register(_LEFT.close)

_USE = """
const look = () => {
  const field = document.getElementById("search"), told = document.querySelector(".status")?.textContent;
  const isThere = document.querySelectorAll(".grid-body .grid-row").length > 10;
  if (isThere && field && !window.before) {
    window.before = told;
    field.value = "refund";
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
  if (window.before && told !== window.before) window.usable = performance.now();
  else requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def usable() -> Row | None:
    """Tell how long it takes from the address to a table with rows that answers a search."""
    if not _has_chromium():
        return None
    file, _ = _files()
    size = file.stat().st_size / 1_000_000
    what = f"a page of 100,000 records, 1 KB side info ({size:.0f} MB), in Chromium: usable after"
    return Row(what=what, value=median(_usable(_browser(), file) for _ in range(_ROUNDS)), bar=2, unit=" s")


def against_the_bytes() -> Row | None:
    """Compare it with the same browser reading the same bytes without the program."""
    if not _has_chromium():
        return None
    (file, bare), browser = _files(), _browser()
    ratio = median(_usable(browser, file) / _read(browser, bare) for _ in range(_ROUNDS))
    return Row(what="the same against reading its bytes without a program", value=ratio, bar=4, unit="×")


def _has_chromium() -> bool:
    return bool(shutil.which("chromium") and shutil.which("chromedriver"))


@cache
def _browser() -> Browser:
    browser = _LEFT.enter_context(chromium())
    browser.resize(1440, 900)
    browser.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": _USE})
    return browser


@cache
def _files() -> tuple[Path, Path]:
    """Write a page, and the same without its program."""
    folder = Path(_LEFT.enter_context(TemporaryDirectory(prefix="optimize-eval-bench-")))
    run = make_run(folder, train=8000, val=2000, candidates=[*CANDIDATES, "v5-terse"], words=220)
    assert report(run).status == 0
    file, bare = run / "report.html", run / "bare.html"
    bare.write_bytes(re.sub(rb"<script>.*?</script>", b"", file.read_bytes(), flags=re.DOTALL))
    return file, bare


def _usable(browser: Browser, file: Path) -> float:
    browser.open(file, "tab=examples&sp=2")
    browser.wait("window.usable")
    return float(browser.run("return window.usable")) / 1000


def _read(browser: Browser, file: Path) -> float:
    browser.open(file)
    browser.wait("document.readyState === 'complete'")
    return float(browser.run("return performance.getEntriesByType('navigation')[0].domComplete")) / 1000
