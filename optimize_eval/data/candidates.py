"""Candidates: texts from files, as the bytes are, UTF-8, nothing stripped, empty allowed; and their names."""

import glob
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product, takewhile
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base import files, strict_json
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.files import STDIN
from optimize_eval.base.frozen import frozen
from optimize_eval.base.names import distinct, looks_of
from optimize_eval.data.datasets import read_dataset
from optimize_eval.data.example import Example

LONGEST_NAME = 200

_SHOWN = 3  # names of a folder

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
    """Load files and lists in the order in which they are named; the files of a glob are sorted.

    A file that is named again, be it by a pattern, counts where it is named first.
    """
    loaded = [pair for source in _each_once(named) for pair in _load(source)]
    return named_apart([candidate for candidate, _ in loaded], [path for _, path in loaded])


def field_candidates(fields: Iterable[str]) -> tuple[Candidate, ...]:
    """Make candidates of fields that examples have: recorded outputs; a field counts once."""
    return tuple(Candidate(name=field, field=field) for field in dict.fromkeys(fields))


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


def _each_once(named: Iterable[CandidatePath | Candidate]) -> Iterator[CandidatePath | Candidate]:
    known: set[str] = set()
    for source in named:
        if isinstance(source, Candidate):
            yield source
            continue
        for path in [source.path] if source.is_list else candidate_files(source.path):
            absolute = os.path.abspath(path)  # noqa: PTH100  links stay apart
            if absolute not in known:
                known.add(absolute)
                yield source._replace(path=path)


def _load(named: CandidatePath | Candidate) -> Iterator[tuple[Candidate, str]]:
    """Load what a name stands for, each with the path that its name is of; empty for an id."""
    if isinstance(named, Candidate):
        yield named, ""
    elif named.is_list:
        yield from ((candidate, "") for candidate in _load_list(named.path))
    else:
        text = _refuse_list(named.path, load_candidate(named.path))
        yield Candidate(name=name_of_file(named.path), text=text), named.path


def named_apart(candidates: Sequence[Candidate], paths: Sequence[str]) -> tuple[Candidate, ...]:
    """Give candidates names of their own: files of one stem get as much of their paths as tells them apart.

    An id stays as it is, and one that is given twice is refused. Names that only look alike are numbered.
    """
    names = [candidate.name for candidate in candidates]
    ids = Counter(name for name, path in zip(names, paths, strict=True) if not path)
    if again := next((name for name, many in ids.items() if many > 1), None):
        raise UsageError(f"two candidates have the id {again!r}", hint="give each an id of its own")
    many = Counter(map(looks_of, names))
    for look in [look for look, count in many.items() if count > 1]:
        alike = [index for index, name in enumerate(names) if looks_of(name) == look]
        for index, name in zip(alike, _told_apart([(names[at], paths[at]) for at in alike]), strict=True):
            names[index] = name
    return tuple(
        replace(candidate, name=name) for candidate, name in zip(candidates, distinct(names), strict=True)
    )


def _told_apart(alike: Sequence[tuple[str, str]]) -> list[str]:
    """Name files by the shortest ends of their paths that are all different, if there are such."""
    longest = max(len(Path(path).parts) for _, path in alike)
    for depth, has_suffix in product(range(1, longest + 1), (False, True)):
        names = [_end_of(path, depth, has_suffix=has_suffix) if path else name for name, path in alike]
        if len(set(map(looks_of, names))) == len(names):
            return names
    return [name for name, _ in alike]


def _end_of(path: str, depth: int, *, has_suffix: bool) -> str:
    if path == STDIN:
        return name_of_file(path)
    end = Path(*Path(path).parts[-depth:])
    return str(end if has_suffix else end.with_suffix("")).encode(errors="replace").decode()[-LONGEST_NAME:]


def name_of_file(path: str) -> str:
    """Name a candidate after its file."""
    return "stdin" if path == STDIN else Path(path).stem.encode(errors="replace").decode()[:LONGEST_NAME]


def _what_is_there(pattern: str) -> str:
    """Say what the folder of a pattern has, or that there is none."""
    folder = Path(*takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts))
    if not folder.is_dir():
        return f"there is no folder {folder}"
    names = sorted(entry.name for entry in islice(folder.iterdir(), _SHOWN))
    return f"{folder} has {', '.join(names)}, …" if names else f"{folder} is empty"


def candidate_files(pattern: str) -> list[str]:
    """Expand a glob; a file whose name looks like one is that file."""
    if not glob.has_magic(pattern) or _exists(pattern):
        return [pattern]
    paths = glob.glob(pattern, recursive=True)  # noqa: PTH207  Path.glob takes no absolute pattern
    matches = sorted(path for path in paths if Path(path).is_file())
    if not matches:
        raise UsageError(f"no file matches {pattern!r}", hint=_what_is_there(pattern))
    return matches


def load_only_candidate(path: str) -> str:
    """Read the candidate where there is to be one; a list of several is refused."""
    return _refuse_list(path, load_candidate(path), among_others="run --candidates", as_text="score -")


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
    wrong = [entry for entry in read if isinstance(entry, Problem)]
    problems = [*reading.problems, *wrong, *_given_twice(path, read, reading.examples)]
    if problems:
        raise DataError(sorted(problems, key=lambda problem: problem.line or 0))
    return [entry for entry in read if isinstance(entry, Candidate)]


def _given_twice(
    path: str, read: Sequence[Candidate | Problem], examples: Sequence[Example]
) -> Iterator[Problem]:
    first: dict[str, int] = {}
    for entry, example in zip(read, examples, strict=True):
        if isinstance(entry, Candidate) and first.setdefault(entry.name, example.line) != example.line:
            reason = (
                f"the id {entry.name!r} is that of line {first[entry.name]:,}: give each an id of its own"
            )
            yield Problem(path=path, rule="bad_candidate", line=example.line, column=1, reason=reason)


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
