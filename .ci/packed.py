"""What sdist and wheel hold: the files that git tracks, each by its name, and nothing that lies beside them.

Where there is no git, as in an unpacked sdist, it is every regular file whose path has no part that is hidden
or made by programs.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SHIPPED = ("evaluators", "datasets")
_HIDDEN = {".ci", ".github", ".gitignore", ".pre-commit-config.yaml"}  # that are ours all the same
_MADE = {"__pycache__", "build", "dist", "runs", "node_modules"}


class PackedFiles(BuildHookInterface[Any]):
    """Names the files; an editable install is a path to this folder."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        names = [name for name in _tracked(root) or _apparent(root) if _is_own(root, name)]
        if self.target_name == "wheel":
            build_data["force_include"].update(_of_wheel(root, names))
        else:
            build_data["force_include"].update({str(root / name): name for name in names})


def _tracked(root: Path) -> list[str]:
    """List what git tracks; nothing where there is no git, or it is of another folder."""
    command = ["git", "-C", str(root), "ls-files", "-z"]
    try:
        said = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    names = [name for name in said.split("\0") if name]
    return names if "pyproject.toml" in names else []


def _apparent(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        is_hidden = any(part.startswith(".") for part in parts[1:]) or (
            parts[0].startswith(".") and parts[0] not in _HIDDEN
        )
        if not is_hidden and not _MADE.intersection(parts) and path.is_file():
            yield "/".join(parts)


def _is_own(root: Path, name: str) -> bool:
    """Return True for a file that is there itself, and not by a link."""
    path = root / name
    return path.is_file() and path.resolve() == root.resolve() / name


def _of_wheel(root: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        top = name.partition("/")[0]
        if top == "optimize_eval":
            yield str(root / name), name
        elif top in _SHIPPED:
            yield str(root / name), f"optimize_eval/_shipped/{name}"
