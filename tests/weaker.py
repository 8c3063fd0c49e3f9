"""A machine that has fewer layers for a sandbox than the one that tests run on: the real program, told so."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from optimize_eval.tasks.definitions import hosting
from tests.paths import EVALUATORS

_PROGRAM = """\
import functools, runpy, sys

sys.path.insert(0, {folder!r})
import _sandbox

_sandbox.Sandbox = functools.partial(_sandbox.Sandbox, layers={layers!r})
runpy.run_path({hosting!r}, run_name="__main__")
"""


@contextmanager
def with_layers(layers: tuple[str, ...], folder: Path) -> Iterator[None]:
    """Let tasks' code be run on such a machine meanwhile."""
    program = folder / "weaker_hosting.py"
    program.write_text(
        _PROGRAM.format(folder=str(EVALUATORS), layers=layers, hosting=str(EVALUATORS / "_hosting.py"))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosting, "_HOSTING", str(program))
        hosting.enclosed.cache_clear()
        yield
    hosting.enclosed.cache_clear()
