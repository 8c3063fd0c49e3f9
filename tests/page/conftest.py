"""One browser for all tests of pages, and the runs that they look at, each made once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.browser import Browser, chromium
from tests.page.made import make_run, report

_AXE = Path(__file__).parents[2] / ".cache" / "npm" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture(scope="session")
def _browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture
def browser(_browser: Browser) -> Browser:
    """Give the browser, as wide and as light as most people have it."""
    _browser.call("url", {"url": "about:blank"})  # the page of another test may still ask its server
    _browser.log("browser")
    _browser.resize(1440, 900)
    _browser.colours("light")
    return _browser


@pytest.fixture(autouse=True)
def nothing_left() -> None:
    """Let the browser stay from test to test; it ends with the session."""


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run of 2,000 records."""
    return make_run(tmp_path_factory.mktemp("tickets"), train=200, val=50)


@pytest.fixture(scope="session")
def page(run: Path) -> Path:
    assert report(run).status == 0
    return run / "report.html"


@pytest.fixture(scope="session")
def axe() -> str:
    """Read axe-core, which .ci/run installs for this check alone."""
    assert _AXE.exists(), "axe-core is missing: npm install --prefix .cache/npm axe-core"
    return _AXE.read_text(encoding="utf-8")
