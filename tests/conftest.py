"""What every test shares: the program's front door, fake models, and a check that nothing is left behind."""

import contextlib
import gc
import locale
import os
import signal
import sys
import time
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from optimize_eval import http_evaluator
from tests.fake_model import StartModel, served_model
from tests.front_door import Cli, in_its_own_process, in_this_process
from tests.processes import MARK, descriptors, numbers, processes_with

os.environ.pop("PYTHONUNBUFFERED", None)  # it would hide evaluators that forget to flush
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # or our program is compiled anew at each start
gc.disable()  # until all is collected
sys.dont_write_bytecode = False  # or each worker compiles all tests anew
for _variable in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TF_BUILD", "TEAMCITY_VERSION"):
    os.environ.pop(_variable, None)  # they change what is printed, and a test that is about one sets it
_locale = locale.setlocale(locale.LC_ALL)
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:  # of a locale that is not installed, bash, perl and R warn on stderr
    for _variable in [name for name in os.environ if name == "LANG" or name.startswith("LC_")]:
        del os.environ[_variable]
locale.setlocale(locale.LC_ALL, _locale)
os.environ["SETUPTOOLS_USE_DISTUTILS"] = "stdlib"  # its .pth file costs a fifth of each start of a python3
os.environ["PATH"] = (
    f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # python3 is no shim here
)
settings.register_profile(  # no test says how fast something has to be; and the fuzz tries more
    "here", deadline=None, max_examples=50
)
settings.load_profile("here")
for _ignored in (signal.SIGINT, signal.SIGHUP):  # by nohup or a shell's &
    if signal.getsignal(_ignored) is signal.SIG_IGN:  # programs that tests start inherit that, but no handler
        signal.signal(_ignored, lambda *_: None)


def pytest_xdist_auto_num_workers() -> int:
    """Run two tests a processor: many of them wait, for deadlines or for the processes of others."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Call `optimize-eval` in an empty folder, without a process of its own."""
    return in_this_process(tmp_path)


@pytest.fixture
def program(tmp_path: Path) -> Cli:
    """Start the installed `optimize-eval` in an empty folder, where its being a process is the point."""
    return in_its_own_process(tmp_path)


@pytest.fixture
def fake_model(tmp_path: Path) -> Iterator[StartModel]:
    """Serve rules, which are TOML text or a list, as a model would; it ends with the test."""
    with contextlib.ExitStack() as running:
        yield lambda rules: running.enter_context(served_model(rules, tmp_path))


@pytest.fixture(scope="session", autouse=True)
def _http_client() -> None:
    """Start the HTTP client's runtime, which stays for a process's life: a thread, three descriptors."""
    http_evaluator("http://127.0.0.1:9/").close()


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test: no process that it started, and as many descriptors as before."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    before, spared = descriptors(), numbers()
    yield
    left = processes_with(f"{MARK}={mark}".encode(), spared)
    assert not left, f"still running after the test: {left}"
    if descriptors() > before:
        gc.collect()
    patience = time.monotonic() + 5  # the HTTP client's threads close connections a moment after its close()
    while descriptors() > before and time.monotonic() < patience:
        time.sleep(0.002)
    assert descriptors() <= before, f"descriptors left open: {before} before, {descriptors()} after"


class _Examples:
    """Look for examples where a docstring may have one; tests have none, which is a test."""

    @staticmethod
    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        file_path: Path,
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        may_have = b">>> " in file_path.read_bytes()
        return [one for one in found if may_have or not isinstance(one, DoctestModule)]


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Examples())  # hooks of this file itself are called for its folder only


def pytest_collection_finish() -> None:
    """Let no collection of garbage walk over what was loaded and collected: it stays for the whole run."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000)  # as our program has it, or a twentieth of the time goes into collections
