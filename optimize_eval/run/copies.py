"""A folder as bytes, for nodes that do not share it with the driver; hidden files and runs are left out."""

import atexit
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.store.folder import MANIFEST

_MOST = 200_000_000  # bytes: each node is sent all of it
_CACHES = frozenset({"__pycache__", "node_modules"})


def pack_folder(folder: Path) -> bytes:
    """Write a folder's files; raises UsageError where it is none, or too large."""
    if not folder.is_dir():
        raise UsageError(f"--working-dir {folder} is no folder", hint="name the folder that evaluators need")
    packed, size = io.BytesIO(), 0
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in _files(folder):
            size += path.stat().st_size
            if size > _MOST:
                raise UsageError(
                    f"--working-dir {folder} has more than {_MOST // 1_000_000} MB to copy to each node",
                    hint="name a smaller folder, or let nodes share this one and omit --working-dir",
                )
            tar.add(path, path.relative_to(folder), recursive=False)
    return packed.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _CACHES:  # .env and the like are nobody else's
            continue
        if path.is_symlink() or path.is_file():
            yield path
        elif path.is_dir() and not (path / MANIFEST).exists():
            yield path
            yield from _files(path)


def unpack_folder(packed: bytes, here: str, root: str) -> str:
    """Make the copy of `root`, go where it is reached from as it is from `here`, and give where it is."""
    above = tempfile.mkdtemp(prefix="optimize-eval-")
    atexit.register(shutil.rmtree, above, ignore_errors=True)
    common = os.path.commonpath([here, root])
    copy, start = (Path(above, Path(path).relative_to(common)) for path in (root, here))
    for folder in (copy, start):
        folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(copy, filter="data")
    os.chdir(start)
    return str(copy)
