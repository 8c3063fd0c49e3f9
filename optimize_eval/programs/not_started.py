"""Why a program did not start, what to do about it, and the command that would work in its place.

Looks at files only, and never fails itself: whatever cannot be looked at is taken for missing.
"""

import contextlib
import errno
import os
import re
import shlex
import stat
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from optimize_eval.base import shipped
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.programs.exchange import argv_of, is_ours

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


def quote(command: str) -> str:
    """Write a command as one word of a shell, with double quotes where it has single ones."""
    return f'"{command}"' if "'" in command and not _SIGNS & set(command) else shlex.quote(command)


def working_command(spec: EvaluatorSpec, search: str | None) -> str:
    """Give the command, or the URL, that was meant by one whose program is not there; empty if none shows."""
    argv, here = argv_of(spec), Path(spec.cwd or ".")
    if _ADDRESS.fullmatch(argv[0]):
        return f"http://{shlex.join(argv)}"
    if spec.name.isupper():
        return f"env {spec.name}={spec.text}"
    if words := expand(argv) or with_blanks(argv, here):
        return shlex.join(words)
    words = how_to_run(argv[0], here)
    if not words and argv[0] in shipped.programs():
        return f"@{shlex.join(argv)}"
    words = words or _close_to(argv[0], here, search)
    return shlex.join([*words, *argv[1:]]) if words else ""


def working_script(spec: EvaluatorSpec, place: int) -> str:
    """Give the command that was meant by one whose script, its word at a place, is not there."""
    argv, here = argv_of(spec), Path(spec.cwd or ".")
    if words := expand(argv) or with_blanks(argv, here):
        return shlex.join(words)
    folder, name = os.path.split(argv[place])
    pool = [other for other in names_in(here / folder) if Path(other).suffix == Path(name).suffix]
    if close := get_close_matches(name, pool, n=1, cutoff=_CLOSE):
        return shlex.join([*argv[:place], os.path.join(folder, close[0]), *argv[place + 1 :]])  # noqa: PTH118  "./" stays
    return ""


def expand(argv: Sequence[str]) -> Sequence[str]:
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


def name_close_to(path: Path) -> str:
    """Name the file of a folder that was meant by one that is not there; empty if none shows."""
    pool = [other for other in names_in(path.parent) if Path(other).suffix == path.suffix]
    return next(iter(get_close_matches(path.name, pool, n=1, cutoff=_CLOSE)), "")


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


_SHELL_WORDS = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "<", "<<"})
_SYSTEM_LIMITS = {
    errno.E2BIG: ("its arguments and environment are too long", "pass large data in the payload instead"),
    errno.EMFILE: ("too many open files", "raise the limit (ulimit -n) or lower the concurrency"),
    errno.ENFILE: ("too many open files on this machine", "lower the concurrency"),
    errno.EAGAIN: ("too many processes", "raise the limit (ulimit -u) or lower the concurrency"),
    errno.ENOMEM: ("not enough memory to start it", "lower the concurrency"),
    errno.ETXTBSY: ("it is still being written", "wait until the build or copy has finished"),
}
_LANGUAGES = frozenset(name.rstrip("0123456789") for name in INTERPRETERS.values()) | {
    "python",
    "pypy",
    "sh",
    "zsh",
    "deno",
    "bun",
}
_BUILD_HINT = "compile it, and name the program that comes of it"
_DATA_HINT = "it has no #! line, so it is not a program: name what runs it, such as 'python3 judge.py'"
_OUR_DOING = frozenset({errno.EMFILE, errno.ENFILE, errno.EAGAIN})  # fewer calls at a time would do
_SOURCES = frozenset({".c", ".cc", ".cpp", ".cs", ".hs", ".kt", ".rs", ".swift", ".zig"})
_VARIABLE = re.compile(r"\$(?:[A-Z_][A-Z0-9_]*|\{[A-Z_][A-Z0-9_]*\})")


def explain_missing(spec: EvaluatorSpec, search: str | None) -> EvaluationError:
    """Say that a command's program cannot be found on the path `search`, and which may have been meant."""
    name = argv_of(spec)[0]
    if fault := explain_folder(spec.cwd):
        return fault
    if (program := _unusable_on_path(name, search)) is not None:
        message = f"{program} is not executable"
        return EvaluationError(FailureKind.START_FAILED, message, hint=_mode_hint(program, str(program)))
    where = "" if name.startswith("/") else f" in {_show_folder(spec.cwd)}" if "/" in name else " on PATH"
    return EvaluationError(
        FailureKind.NOT_FOUND,
        f"no program {name}{where}",
        hint=_meant_instead(spec, search) or _path_hint(name, Path(spec.cwd or ".")),
    )


def command_meant(spec: EvaluatorSpec) -> str:
    """Give the command that a program's was meant to be, where it cannot work as written and that shows."""
    argv = argv_of(spec)
    if not argv or is_ours(spec) or spec.name.isupper() or shell_hint(spec.text):
        return ""
    missing = (index for index, word in enumerate(argv) if index and _is_missing_script(spec, index, word))
    if index := next(missing, 0):
        return working_script(spec, index)
    command = working_command(spec, {**os.environ, **spec.environment}.get("PATH"))
    return command if command != shlex.join(argv) else ""


def explain_folder(cwd: str | None) -> EvaluationError | None:
    """Say what is wrong with a working directory, if anything is."""
    if cwd is None or (is_folder(cwd) and os.access(cwd, os.X_OK)):
        return None
    what = "may not be entered" if is_folder(cwd) else "is not a folder" if exists(cwd) else "does not exist"
    return EvaluationError(
        FailureKind.START_FAILED,
        f"the working directory {cwd} {what}",
        hint="name a folder that exists and may be entered",
    )


def explain_refusal(spec: EvaluatorSpec, executable: str, error: OSError) -> EvaluationError:
    """Say why the system refused to start a program that is there."""
    if fault := explain_folder(spec.cwd):
        return fault
    if not exists(executable):
        return explain_missing(spec, None)
    message, hint = _refusal(Path(executable), argv_of(spec)[0], error)
    refused = EvaluationError(FailureKind.START_FAILED, message, hint=hint)
    if error.errno in _OUR_DOING:
        refused.no_room = _SYSTEM_LIMITS[error.errno][0]
    return refused


def shell_hint(text: str) -> str:
    """Say how to get a shell for a command that was written as if one read it."""
    lexer = shlex.shlex(text, posix=False, punctuation_chars=True)  # keeps quotes: '|' is no pipe
    with contextlib.suppress(ValueError):
        if sign := next((word for word in lexer if word in _SHELL_WORDS), None):
            return f"no shell is used, so {sign} means nothing: bash -c {shlex.quote(text)}"
        if variable := _variable_in(text):
            line = f"bash -c {shlex.quote(text)}" if '"' in text else f'let yours put it in, "{text}"'
            return f"no shell is used, so {variable} means nothing: {line}"
    return ""


def _variable_in(text: str) -> str:
    """Find a variable of the environment as a shell would put it in; one in quotes is for another program."""
    words = (word for word in shlex.split(text, posix=False) if not {"'", '"'} & set(word))
    match = next(filter(None, map(_VARIABLE.search, words)), None)
    return match.group() if match else ""


def script_hint(spec: EvaluatorSpec) -> str:
    """Look in a command that started, but failed, for what an interpreter or a shell would have needed."""
    argv = argv_of(spec)
    for index, word in enumerate(argv[1:], 1):
        if not _is_missing_script(spec, index, word):
            continue
        if shell := shell_hint(spec.text):
            return f"there is no file {word}: {shell}"
        meant = working_script(spec, index)
        tilde = ": no shell expands ~ here" if word.startswith("~") else ""
        where = tilde or f" in {_show_folder(spec.cwd)}"
        return f"there is no file {word}{where}" + (f"; did you mean {quote(meant)}?" if meant else "")
    return shell_hint(spec.text)


def _is_missing_script(spec: EvaluatorSpec, place: int, word: str) -> bool:
    """Return True if a word is what an interpreter runs, by its end or as the first one, and is not there."""
    is_first = place == 1 and Path(argv_of(spec)[0]).name.rstrip("0123456789.") in _LANGUAGES
    is_script = Path(word).suffix.lower() in INTERPRETERS or (is_first and not word.startswith("-"))
    return is_script and not exists(Path(spec.cwd or ".", word))


def carriage_return_hint(executable: str, shown: str) -> str:
    """Say how to fix a script whose first line ends as on Windows, which names an interpreter nobody has."""
    head = head_of(Path(executable)).partition(b"\n")[0]
    if head.startswith(b"#!") and head.endswith(b"\r"):
        return f"line 1 ends in a carriage return; take them out: sed -i 's/\\r$//' {shlex.quote(shown)}"
    return ""


def exists(path: str | Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return Path(path).exists()
    return False


def is_folder(path: str | Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return Path(path).is_dir()
    return False


def _is_dead_link(path: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return path.is_symlink() and not path.exists()
    return False


def _is_special(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return not stat.S_ISREG(path.stat().st_mode)
    return False


def _refusal(path: Path, shown: str, error: OSError) -> tuple[str, str]:
    quoted = shlex.quote(shown)
    if is_folder(path):
        return f"{shown} is a folder, not a program", f"name the program inside it, such as {quoted}/evaluate"
    if error.errno in _SYSTEM_LIMITS:
        what, hint = _SYSTEM_LIMITS[error.errno]
        return f"{shown}: {what}", hint
    if _is_special(path):
        return f"{shown} is a device, a pipe or a socket, not a program", "name the file of a program"
    if not os.access(path, os.X_OK):
        return f"{shown} is not executable", _mode_hint(path, quoted)
    return _unreadable_program(path, shown, error)


def _mode_hint(path: Path, quoted: str) -> str:
    if stat.S_IMODE(path.stat().st_mode) & 0o111:
        return "it is executable for others, but not for you: look at its owner and mode"
    head, interpreter = head_of(path), shlex.join(interpreter_of(path))
    if head.startswith(BINARIES):
        return f"chmod +x {quoted}"
    if not interpreter:
        return _no_program(path)
    run = f"{interpreter} {quoted}"
    return (
        f"chmod +x {quoted}   (or use: {run})"
        if head.startswith(b"#!")
        else f"did you mean {shlex.quote(run)}?"
    )


def _unreadable_program(path: Path, shown: str, error: OSError) -> tuple[str, str]:
    """Look at the first bytes of an executable file that the system could not execute."""
    head = head_of(path)
    if head.startswith(b"#!"):
        return _bad_interpreter(path, head.partition(b"\n")[0], shown)
    if head.startswith(b"\xef\xbb\xbf#!"):
        return (
            f"{shown} starts with a byte order mark, which hides its #! line",
            "save it as UTF-8 without BOM",
        )
    if head.startswith(BINARIES):
        return f"{shown} was built for another kind of machine", "build it again on this machine"
    if error.errno == errno.ENOEXEC:
        what = "has no #! line, so the system cannot tell what runs it" if head else "is empty"
        interpreter = INTERPRETERS.get(path.suffix.lower(), "bash")
        line = (
            f"make '#!/usr/bin/env {interpreter}' its first line, or use: {interpreter} {shlex.quote(shown)}"
        )
        return f"{shown} {what}", line if head else "write the program into it"
    return f"{shown} could not be started: {error.strerror}", "start it by hand to see why"


def _bad_interpreter(path: Path, first: bytes, shown: str) -> tuple[str, str]:
    if fix := carriage_return_hint(str(path), shown):
        return f"{shown}: its interpreter is not found", fix
    words = first[2:].decode(errors="replace").split()
    if not words:
        return f"{shown}: its #! line names no interpreter", "write '#!/usr/bin/env python3', say"
    if exists(words[0]):
        what = "did not start" if os.access(words[0], os.X_OK) else "is not executable"
        return f"{shown}: its interpreter {words[0]} {what}", "look at line 1: is that the program meant?"
    name = words[0].rpartition("/")[2]
    return (
        f"{shown}: its interpreter {words[0]} does not exist",
        f"install it, or change line 1, for instance to #!/usr/bin/env {name}",
    )


def _unusable_on_path(name: str, search: str | None) -> Path | None:
    """Find a file of this name on the path that is there, but not executable."""
    if "/" in name:
        return None
    places = (Path(folder, name) for folder in os.get_exec_path(_environment(search)))
    return next((path for path in places if exists(path) and not is_folder(path)), None)


def _environment(search: str | None) -> Mapping[str, str] | None:
    return None if search is None else {"PATH": search}


def _meant_instead(spec: EvaluatorSpec, search: str | None) -> str:
    if shell := shell_hint(spec.text):
        return shell
    name = argv_of(spec)[0]
    if _is_dead_link(Path(spec.cwd or ".", name)):
        return f"{name} is a link that leads nowhere"
    command = working_command(spec, search)
    tilde = "no shell expands ~ here: " if name.startswith("~") else ""
    return f"{tilde}did you mean {quote(command)}?" if command else ""


def _show_folder(cwd: str | None) -> str:
    try:
        return str(Path(cwd or ".").absolute())
    except OSError:
        return "the current folder, which is gone"


def _path_hint(name: str, here: Path) -> str:
    if "/" in name:
        return "check the path; a relative one counts from the folder that programs run in (--cwd)"
    if exists(here / name):
        return _no_program(here / name)
    if interpreter := INTERPRETERS.get(Path(name).suffix):
        return f"no such file is in this folder either: write its path, '{interpreter} DIR/{name}'"
    return f"install it, or write its path, such as ./{name}"


def _no_program(path: Path) -> str:
    return _BUILD_HINT if path.suffix.lower() in _SOURCES else _DATA_HINT
