"""Candidates: texts from files, as the bytes are, UTF-8, nothing stripped, empty allowed; and their names."""

import glob
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from optimize_eval.errors import DataError, Problem, UsageError
from optimize_eval.frozen import frozen
from optimize_eval.names import distinct
from optimize_eval.reading import files, strict_json
from optimize_eval.reading.files import STDIN
from optimize_eval.rows.datasets import Example, read_dataset

LONGEST_NAME = 200

_LIST_FORM = '{"id": "v1", "candidate": "…"}'


@frozen
class Candidate:
    """One candidate: a text of its own, or the name of the field where each example has it."""

    name: str
    text: str = ""
    field: str = ""


THE_PROMPT = Candidate(name="the prompt")  # stands before tasks in JSONL, which have prompts of their own
THE_TASK = Candidate(name="the task")  # stands where a task in YAML names no candidate


class CandidatePath(NamedTuple):
    """Where candidates are: a file, a glob of files or - for stdin; or a JSONL list of them."""

    path: str
    is_list: bool = False


def load_candidates(named: Iterable[CandidatePath | Candidate]) -> tuple[Candidate, ...]:
    """Load files and lists in the order in which they are named; the files of a glob are sorted."""
    return named_apart([loaded for name_or_path in named for loaded in _load(name_or_path)])


def field_candidates(fields: Iterable[str]) -> tuple[Candidate, ...]:
    """Make candidates of fields that examples have: recorded outputs."""
    return named_apart([Candidate(name=field, field=field) for field in fields])


def load_candidate(path: str) -> str:
    """Read one candidate from a path, or from stdin for `-`."""
    data = files.read_stdin(files.CANDIDATE) if path == STDIN else _read(path)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        reason = (
            f"not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}{_surrogate_note(data, error)}"
        )
        name = "stdin" if path == STDIN else path
        raise DataError([Problem(path=name, rule="bad_utf8", reason=reason)]) from None


def _load(named: CandidatePath | Candidate) -> Iterable[Candidate]:
    if isinstance(named, Candidate):
        return [named]
    return _load_list(named.path) if named.is_list else _load_files(named.path)


def named_apart(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Give candidates names of their own."""
    names = distinct(candidate.name for candidate in candidates)
    return tuple(replace(one, name=name) for one, name in zip(candidates, names, strict=True))


def name_of_file(path: str) -> str:
    """Name a candidate after its file."""
    return "stdin" if path == STDIN else Path(path).stem.encode(errors="replace").decode()[:LONGEST_NAME]


def candidate_files(pattern: str) -> list[str]:
    """Expand a glob; a file whose name looks like one is that file."""
    if not glob.has_magic(pattern) or _exists(pattern):
        return [pattern]
    paths = glob.glob(pattern, recursive=True)  # noqa: PTH207  Path.glob takes no absolute pattern
    matches = sorted(path for path in paths if Path(path).is_file())
    if not matches:
        raise UsageError(f"no file matches {pattern!r}", hint="look at the folder and the pattern")
    return matches


def load_only_candidate(path: str) -> str:
    """Read the candidate where there is to be one; a list of several is refused."""
    return _refuse_list(path, load_candidate(path), among_others="run --candidates", as_text="score -")


def _load_files(pattern: str) -> Iterator[Candidate]:
    for path in candidate_files(pattern):
        yield Candidate(name=name_of_file(path), text=_refuse_list(path, load_candidate(path)))


def _refuse_list(
    path: str, text: str, *, among_others: str = "--candidates", as_text: str = "--candidate -"
) -> str:
    """Refuse a list of candidates where one candidate is meant; from stdin, any text is taken."""
    if path == STDIN or not text.startswith("{"):
        return text
    lines = [line for line in text.splitlines() if line.strip()]
    if not all(_is_entry(line) for line in lines):
        return text
    raise UsageError(
        f"{path} is a list of {len(lines):,} candidate{'s' * (len(lines) != 1)}, not one candidate",
        hint=f"{among_others} {shlex.quote(path)} takes each (in a sweep file, its name ends in .jsonl); "
        f"where the list itself is the candidate: {as_text} < {shlex.quote(path)}",
    )


def _is_entry(line: str) -> bool:
    try:
        value = strict_json.loads(line, unique_keys=False)
    except strict_json.JsonFault:
        return False
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("id", "candidate"))


def _load_list(path: str) -> list[Candidate]:
    reading = read_dataset(path)
    read = [_read_entry(path, example) for example in reading.examples]
    problems = [*reading.problems, *(entry for entry in read if isinstance(entry, Problem))]
    if problems:
        raise DataError(sorted(problems, key=lambda problem: problem.line or 0))
    return [entry for entry in read if isinstance(entry, Candidate)]


def _read_entry(path: str, example: Example) -> Candidate | Problem:
    match example.value:
        case {"id": str(name), "candidate": str(text)} if 0 < len(name) <= LONGEST_NAME:
            return Candidate(name=name, text=text)
    reason = (
        f"not a candidate: write {_LIST_FORM}, both of them texts, the id of at most {LONGEST_NAME} letters"
    )
    return Problem(
        path=path, rule="bad_candidate", line=example.line, column=1, reason=reason + example.in_file
    )


def _read(path: str) -> bytes:
    if not path:
        raise UsageError("the candidate's path is empty", hint="name a file, or write - for stdin")
    if any(char.isspace() for char in path) and not _exists(path):
        raise UsageError(
            f"there is no file {path!r}",
            hint="a candidate is named by its file; to score a text, pipe it in and write - for the file",
        )
    return files.read(path, files.CANDIDATE)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _surrogate_note(data: bytes, error: UnicodeDecodeError) -> str:
    is_surrogate = (
        data[error.start : error.start + 1] == b"\xed" and data[error.start + 1 : error.start + 2] >= b"\xa0"
    )
    return ", a lone surrogate" if is_surrogate else ""
