"""The command that works in the place of one that does not: what runs a file, a path with a blank, a URL.

Looks at files only; whatever cannot be looked at is not suggested.
"""

import contextlib
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from optimize_eval.base import shipped
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.programs.targets import argv_of

INTERPRETERS = {  # the suffix of a script → what runs it
    ".py": "python3",
    ".sh": "bash",
    ".bash": "bash",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".ts": "node",
    ".rb": "ruby",
    ".pl": "perl",
    ".php": "php",
    ".lua": "lua",
    ".tcl": "tclsh",
    ".r": "Rscript",
}
BINARIES = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")

_LAUNCHERS = {".go": ("go", "run"), ".java": ("java",), ".jar": ("java", "-jar")}
_ADDRESS = re.compile(r"(localhost|\d+\.\d+\.\d+\.\d+|\[::1\]|[A-Za-z][\w-]*(\.[\w-]+)+):\d+(/\S*)?")
_SIGNS = frozenset('"$`\\!')  # which double quotes of a shell do not keep
_CLOSE = 0.75  # of names in a folder
_CLOSE_ON_PATH = 0.8  # where there are many
_MOST_BLANKS = 10
_HEAD = 256


def quoted(command: str) -> str:
    """Write a command as one word of a shell, with double quotes where it has single ones."""
    return f'"{command}"' if "'" in command and not _SIGNS & set(command) else shlex.quote(command)


def working_command(spec: EvaluatorSpec, search: str | None) -> str:
    """Give the command, or the URL, that was meant by one whose program is not there; empty if none shows."""
    argv, here = argv_of(spec), Path(spec.cwd or ".")
    if _ADDRESS.fullmatch(argv[0]):
        return f"http://{shlex.join(argv)}"
    if spec.name.isupper():
        return f"env {spec.name}={spec.text}"
    if words := expanded(argv) or with_blanks(argv, here):
        return shlex.join(words)
    words = how_to_run(argv[0], here)
    if not words and argv[0] in shipped.programs():
        return f"@{shlex.join(argv)}"
    words = words or _close_to(argv[0], here, search)
    return shlex.join([*words, *argv[1:]]) if words else ""


def working_script(spec: EvaluatorSpec, place: int) -> str:
    """Give the command that was meant by one whose script, its word at a place, is not there."""
    argv, here = argv_of(spec), Path(spec.cwd or ".")
    if words := expanded(argv) or with_blanks(argv, here):
        return shlex.join(words)
    folder, name = os.path.split(argv[place])
    pool = [other for other in names_in(here / folder) if Path(other).suffix == Path(name).suffix]
    if close := get_close_matches(name, pool, n=1, cutoff=_CLOSE):
        return shlex.join([*argv[:place], os.path.join(folder, close[0]), *argv[place + 1 :]])  # noqa: PTH118  "./" stays
    return ""


def expanded(argv: Sequence[str]) -> Sequence[str]:
    """Put the home folder in the place of ~, which a shell would have done; nothing where there is no ~."""
    words = [os.path.expanduser(word) for word in argv]  # noqa: PTH111  never raises
    return words if words != [*argv] else ()


def with_blanks(argv: Sequence[str], here: Path) -> Sequence[str]:
    """Take words together that are the path of a file with blanks in it, of the program or its script."""
    for start in (0, 1):
        for end in range(start + 2, min(len(argv), start + _MOST_BLANKS) + 1):
            path = " ".join(argv[start:end])
            if is_file(here / path) and (words := [path] if start else how_to_run(path, here)):
                return [*argv[:start], *words, *argv[end:]]
    return ()


def how_to_run(name: str, here: Path) -> Sequence[str]:
    """Give the words that run a file of a folder, which may be itself alone; nothing where none do."""
    path = here / name
    if not is_file(path):
        return ()
    head = head_of(path)
    interpreter = interpreter_of(path)
    if os.access(path, os.X_OK) and (head.startswith((b"#!", *BINARIES)) or not interpreter):
        return (name if "/" in name else f"./{name}",)
    return (*interpreter, name) if interpreter else ()


def interpreter_of(path: Path) -> Sequence[str]:
    """Find what runs a script: by its first line, else by how its name ends."""
    first, _, _ = head_of(path).partition(b"\n")
    words = first.removeprefix(b"#!").decode(errors="replace").split() if first.startswith(b"#!") else []
    if words and words[0].endswith("/env"):
        words = [word for word in words[1:] if not word.startswith("-")]
    if words:
        return (Path(words[0]).name, *words[1:])
    suffix = path.suffix.lower()
    return (INTERPRETERS[suffix],) if suffix in INTERPRETERS else _LAUNCHERS.get(suffix, ())


def _close_to(name: str, here: Path, search: str | None) -> Sequence[str]:
    """Find a program whose name is nearly this one: of the same kind in its folder, else on PATH."""
    folder, base = os.path.split(name)
    pool = [other for other in names_in(here / folder) if Path(base).suffix in {"", Path(other).suffix}]
    for close in get_close_matches(base, pool, n=3, cutoff=_CLOSE):
        if close != base and (words := how_to_run(os.path.join(folder, close), here)):  # noqa: PTH118  "./" stays
            return words
    if folder or Path(base).suffix.strip("0123456789."):
        return ()
    folders = os.get_exec_path(None if search is None else {"PATH": search})
    programs = chain.from_iterable(names_in(Path(each)) for each in folders)
    return get_close_matches(
        base, {each for each in programs if each[:1] == base[:1]}, n=1, cutoff=_CLOSE_ON_PATH
    )


def names_in(folder: Path) -> Iterable[str]:
    """Name the files of a folder; none where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if not entry.is_dir()]
    except (OSError, ValueError):
        return []


def head_of(path: Path) -> bytes:
    """Read how a file begins."""
    with contextlib.suppress(OSError):
        if is_file(path):  # a FIFO would keep us waiting
            with path.open("rb") as file:
                return file.read(_HEAD)
    return b"?"


def is_file(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return path.is_file()
    return False
