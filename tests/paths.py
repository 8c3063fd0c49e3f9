"""Where things are: the checkout, the installed program, the programs that misbehave."""

import hashlib
import os
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

_ODD = re.compile(r"[\s'\"\\]")
if _ODD.search(tempfile.gettempdir()):  # tests write into commands where their files are
    for _variable in ("TMPDIR", "TEMP", "TMP"):
        os.environ.pop(_variable, None)
    tempfile.tempdir = None


def _plain(folder: Path) -> Path:
    """Name a folder so that commands and lines `#!` hold it: by a link, where it has a blank or a quote."""
    if not _ODD.search(str(folder)):
        return folder
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]  # one for all workers
    link = Path(tempfile.gettempdir(), f"optimize-eval-{digest}")
    with suppress(FileExistsError):
        link.symlink_to(folder)
    assert link.readlink() == folder
    return link


ROOT = Path(__file__).resolve().parents[1]
sys.executable = str(  # as tests write it into programs
    _plain(Path(sys.prefix)) / Path(sys.executable).relative_to(sys.prefix)
)
PROGRAM = Path(sys.executable).with_name("optimize-eval")
PROGRAMS = _plain(ROOT) / "tests" / "faults" / "programs"
EVALUATORS = ROOT / "evaluators"
PYTHON = f"{sys.executable} -S"  # for programs that need no packages: it starts in two thirds of the time
