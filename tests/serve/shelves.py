"""A folder of runs, served to browsers as `view` does."""

from contextlib import AbstractContextManager
from pathlib import Path

from optimize_eval.serve.viewer import PageServer, Shelf


def served(folder: Path, **settings: float) -> AbstractContextManager[PageServer]:
    return PageServer(Shelf(folder, **settings))
