"""Why a program did not start, and what to do about it: missing, not executable, no interpreter, bad folder.

Looks at files only; process has already failed to start the thing when this is asked.
"""

import errno
import os
import shlex
import stat
from difflib import get_close_matches
from pathlib import Path

from optimize_eval.errors import EvaluationError, FailureKind

_SHELL_WORDS = frozenset({"|", "||", "&&", ";", ">", ">>", "<", "2>&1", "&"})
_INTERPRETERS = {
    ".py": "python3",
    ".sh": "bash",
    ".js": "node",
    ".mjs": "node",
    ".rb": "ruby",
    ".pl": "perl",
    ".php": "php",
    ".lua": "lua",
    ".tcl": "tclsh",
    ".r": "Rscript",
}
_SYSTEM_LIMITS = {
    errno.E2BIG: ("its arguments and environment are too long", "pass large data in the payload instead"),
    errno.EMFILE: ("too many open files", "raise the limit (ulimit -n) or lower the concurrency"),
    errno.ENFILE: ("too many open files on this machine", "lower the concurrency"),
    errno.EAGAIN: ("too many processes", "raise the limit (ulimit -u) or lower the concurrency"),
    errno.ENOMEM: ("not enough memory to start it", "lower the concurrency"),
    errno.ETXTBSY: ("it is still being written", "wait until the build or copy has finished"),
}
_HEAD = 256


def explain_missing(argv: tuple[str, ...], cwd: str | None) -> EvaluationError:
    """Say that the program of a command cannot be found, and which one may have been meant."""
    name = argv[0]
    if fault := explain_folder(cwd):
        return fault
    where = f" in {Path(cwd or '.').resolve()}" if "/" in name and not name.startswith("/") else ""
    where = where or ("" if "/" in name else " on PATH")
    return EvaluationError(
        FailureKind.NOT_FOUND,
        f"no program {name}{where}",
        hint=_meant_instead(argv, cwd) or _write_path_hint(name),
    )


def explain_folder(cwd: str | None) -> EvaluationError | None:
    if cwd is None or Path(cwd).is_dir():
        return None
    what = "is not a folder" if Path(cwd).exists() else "does not exist"
    return EvaluationError(
        FailureKind.START_FAILED,
        f"the working directory {cwd} {what}",
        hint="give --cwd a folder that exists",
    )


def explain_refusal(
    argv: tuple[str, ...], executable: str, cwd: str | None, error: OSError
) -> EvaluationError:
    """Say why the system refused to start a program that is there."""
    if fault := explain_folder(cwd):
        return fault
    if not Path(executable).exists():
        return explain_missing(argv, cwd)
    message, hint = _refusal(Path(executable), argv[0], error)
    return EvaluationError(FailureKind.START_FAILED, message, hint=hint)


def shell_hint(argv: tuple[str, ...]) -> str:
    """Say how to get a shell when a command reads as if it were meant for one."""
    if words := _SHELL_WORDS.intersection(argv):
        return f"no shell is used, so {min(words)} means nothing: bash -c {shlex.quote(' '.join(argv))}"
    return ""


def script_hint(argv: tuple[str, ...], cwd: str | None) -> str:
    """Look in a command that started, but failed, for what an interpreter or a shell would have needed."""
    for word in argv[1:]:
        if Path(word).suffix in _INTERPRETERS and not Path(cwd or ".", word).exists():
            close = get_close_matches(Path(word).name, _names(Path(cwd or ".", word).parent), n=1)
            meant = f"; did you mean {Path(word).with_name(close[0])}?" if close else ""
            return f"there is no file {word} in {Path(cwd or '.').resolve()}{meant}"
    return shell_hint(argv)


def _refusal(path: Path, shown: str, error: OSError) -> tuple[str, str]:
    quoted = shlex.quote(shown)
    if path.is_dir():
        return f"{shown} is a folder, not a program", f"name the program inside it, such as {quoted}/evaluate"
    if error.errno in _SYSTEM_LIMITS:
        what, hint = _SYSTEM_LIMITS[error.errno]
        return f"{shown}: {what}", hint
    if not os.access(path, os.X_OK):
        return f"{shown} is not executable", _not_executable_hint(path, quoted)
    return _unreadable_program(path, shown, error)


def _not_executable_hint(path: Path, quoted: str) -> str:
    if stat.S_IMODE(path.stat().st_mode) & 0o111:
        return "it is executable for others, but not for you: look at its owner and mode"
    interpreter = _INTERPRETERS.get(path.suffix.lower())
    return f"chmod +x {quoted}" + (
        f"   (or name the interpreter: {interpreter} {quoted})" if interpreter else ""
    )


def _unreadable_program(path: Path, shown: str, error: OSError) -> tuple[str, str]:
    """Look at the first bytes of an executable file that the system could not execute."""
    head = _head(path)
    first = head.partition(b"\n")[0]
    if not head:
        return f"{shown} is empty", "write the evaluator into it"
    if head.startswith(b"#!"):
        return _bad_interpreter(first, shown)
    if head.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"MZ")):
        return f"{shown} was built for another kind of machine", "build it again on this machine"
    if error.errno == errno.ENOEXEC:
        interpreter = _INTERPRETERS.get(path.suffix.lower(), "bash")
        return (
            f"{shown} has no #! line, so the system cannot tell what runs it",
            f"make '#!/usr/bin/env {interpreter}' its first line, or use: {interpreter} {shlex.quote(shown)}",
        )
    return f"{shown} could not be started: {error.strerror}", "start it by hand to see why"


def _bad_interpreter(first: bytes, shown: str) -> tuple[str, str]:
    if first.endswith(b"\r"):
        return (
            f"{shown}: line 1 ends in a carriage return, so its interpreter is not found",
            f"sed -i 's/\\r$//' {shlex.quote(shown)}",
        )
    interpreter = (first[2:].split() or [b"?"])[0].decode(errors="replace")
    if os.access(interpreter, os.X_OK):
        return f"{shown}: its interpreter {interpreter} did not start", "start it by hand to see why"
    return (
        f"{shown}: its interpreter {interpreter} does not exist",
        f"install it, or change line 1, for instance to #!/usr/bin/env {Path(interpreter).name}",
    )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b"?"


def _meant_instead(argv: tuple[str, ...], cwd: str | None) -> str:
    name = argv[0]
    here = Path(cwd or ".")
    if shell := shell_hint(argv):
        return shell
    if name.startswith("~"):
        return f"no shell expands ~ here: write {Path(name).expanduser()}"
    if "/" not in name and (here / name).is_file():
        return f"did you mean ./{name}? A program in this folder needs its ./"
    folder, pool = _neighbours(name, here)
    close = get_close_matches(Path(name).name, pool, n=1)
    return f"did you mean {folder}{close[0]}?" if close else ""


def _neighbours(name: str, here: Path) -> tuple[str, list[str]]:
    """List the names that stand where the missing program should: in its folder, or on PATH."""
    if "/" in name:
        return name.rpartition("/")[0] + "/", _names(here / Path(name).parent)
    return "", [entry for folder in os.get_exec_path() for entry in _names(Path(folder))]


def _names(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def _write_path_hint(name: str) -> str:
    if "/" in name:
        return "check the path; a relative one counts from --cwd, else from the current folder"
    return "install it, or write its path, such as ./evaluate"
