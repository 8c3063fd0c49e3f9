"""A machine that has fewer layers for a sandbox than the one that tests run on: the real program, told so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from optimize_eval.tasks import code
from tests.paths import EVALUATORS

_PROGRAM = """\
import functools, runpy, sys

sys.path.insert(0, {folder!r})
import _sandbox

_sandbox.Sandbox = functools.partial(_sandbox.Sandbox, layers={layers!r})
runpy.run_path({hosting!r}, run_name="__main__")
"""


_FAILING = """\
import json, subprocess, sys

told = json.loads(subprocess.run([sys.executable, {hosting!r}, *sys.argv[1:]], stdout=subprocess.PIPE).stdout)
told["argv"] = ["/bin/sh", "-c", {script!r}]
print(json.dumps(told))
"""


@contextmanager
def with_sandbox_that(script: str, folder: Path) -> Iterator[None]:
    """Let a sandbox start when it is tried, and later be what a script of sh does."""
    with _with_hosting(_FAILING.format(hosting=str(EVALUATORS / "_hosting.py"), script=script), folder):
        yield


@contextmanager
def with_layers(layers: tuple[str, ...], folder: Path) -> Iterator[None]:
    """Let tasks' code be run on such a machine meanwhile."""
    hosting_there = str(EVALUATORS / "_hosting.py")
    with _with_hosting(_PROGRAM.format(folder=str(EVALUATORS), layers=layers, hosting=hosting_there), folder):
        yield


@contextmanager
def _with_hosting(text: str, folder: Path) -> Iterator[None]:
    program = folder / "weaker_hosting.py"
    program.write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(code, "_HOSTING", str(program))
        code.enclosed.cache_clear()
        yield
    code.enclosed.cache_clear()
