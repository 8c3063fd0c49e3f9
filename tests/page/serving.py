"""A folder of runs, served to a browser."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

from optimize_eval.viewer.server import PageServer
from optimize_eval.viewer.shelf import Shelf


@contextlib.contextmanager
def served(folder: Path) -> Iterator[PageServer]:
    with PageServer(Shelf(folder, rest=0)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
