"""`optimize-eval import`: another tool's configuration becomes a folder of ours, with notes of what did not.

All of it is written or nothing, and `validate` looks at it before anybody else does.
"""

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import MISSED, DataError, Problem, UsageError
from optimize_eval.cli import groups, output
from optimize_eval.data.foreign_files import whose
from optimize_eval.foreign.project import (
    ANY_MODEL,
    CODE_SUFFIXES,
    SWEEP,
    TASK,
    Note,
    Project,
    read_text,
)
from optimize_eval.reports.inert import inert, inert_markdown

EXAMPLES = """\b
Examples:
  optimize-eval import promptfooconfig.yaml --out mine
  optimize-eval import promptfooconfig.yaml --out mine --strict

\b
It writes a sweep file or a task, the data, the prompts, and NOTES.md, which
lists what was imported and what was not. Nothing is executed or fetched,
and no file outside of the configuration's folder is read. stdout has the
line that runs what was written.
Exit codes: 0 written; 1 with --strict, not all of it can be imported; 2 the
file or the folder cannot be used, or nothing of it can be imported.
"""

NOTES = "NOTES.md"
_MOST_TEXT = 300
_MOST_PLACES = 12
_SHOWN_PARTS = 3


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A configuration of another tool.")],
    out: Annotated[str, typer.Option("--out", metavar="DIR", help="The folder to write; a new one.")],
    strict: Annotated[
        bool, typer.Option("--strict", help="Write nothing unless everything can be imported.")
    ] = False,
    as_json: groups.Json = False,
) -> None:
    """Take over a configuration of promptfoo, lm-eval, OpenAI Evals or Inspect, or a set of code problems."""
    folder = Path(out)
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{out} is there already, and nothing is overwritten", hint="name a new folder")
    project = _reader_of(file)(file)
    line = _line_to_run(project, out)
    problems = _write(project, folder, line, strict=strict)
    if as_json:
        output.emit_json(_document(project, out, line, problems))
        return
    for text in _summary(project, out, problems):
        output.say(text)
    output.emit(line)


_READERS = {  # what a file holds → the module that reads it, and its function there
    "a configuration of promptfoo": ("promptfoo_config", "read"),
    "a task of lm-eval": ("question_sets", "read_lm_eval"),
    "an entry of OpenAI Evals": ("question_sets", "read_openai_evals"),
    "a log of Inspect": ("question_sets", "read_inspect"),
    "problems of HumanEval": ("question_sets", "read_code_problems"),
    "problems of MBPP": ("question_sets", "read_code_problems"),
}


def _reader_of(file: str) -> Callable[[str], Project]:
    """Find who reads a file, by what it holds."""
    what = _what_is_in(file)
    if what in _READERS:
        module, function = _READERS[what]
        read: Callable[[str], Project] = getattr(import_module(f"optimize_eval.foreign.{module}"), function)
        return read
    if what:
        raise UsageError(f"{file} holds {what}", hint=f"optimize-eval report {shlex.quote(file)}")
    raise UsageError(
        f"no known tool wrote {file}",
        hint=f"known are {', '.join(_READERS)}; validate {shlex.quote(file)} checks a file of ours",
    )


def _what_is_in(file: str) -> str:
    """Say what a file holds; nothing where nobody knows it."""
    if not Path(file).is_file():
        read_text(file)  # which says why it cannot be read
    about = whose(file)
    what = about.reason.removeprefix("it holds ").partition(":")[0] if about else ""
    if about and what not in _READERS:
        raise DataError([about])
    if not what and Path(file).suffix in CODE_SUFFIXES:
        return next(iter(_READERS))
    return what or str(import_module("optimize_eval.foreign.tools").whose(file))


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _parts(project: Project) -> str:
    shown = [f"{note.what} ({note.why})" for note in project.left][:_SHOWN_PARTS]
    return "; ".join(shown) + "; …" * (len(project.left) > _SHOWN_PARTS)


def _line_to_run(project: Project, out: str) -> str:
    path = shlex.quote(str(Path(out, TASK if project.is_task else SWEEP)))
    return f"optimize-eval {f'bench {path} --model {ANY_MODEL}' if project.is_task else f'run {path}'}"


def _write(project: Project, folder: Path, line: str, *, strict: bool) -> list[Problem]:
    """Write all or nothing, and say what `validate` finds in it."""
    with _new_folder(folder) as made:
        problems = _write_texts(project, made)
        if _leave_prompts(project, problems):
            shutil.rmtree(made / "prompts")
            problems = _write_texts(project, made)
        if strict and project.left:
            output.say(f"not all of {project.source} can be imported: {_parts(project)}")
            output.say("nothing was written; without --strict the rest is, and NOTES.md lists these")
            raise typer.Exit(MISSED)
        (made / NOTES).write_text(_notes(project, line, problems), encoding="utf-8", newline="\n")
    return problems


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder that gets its name when it is whole."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}", hint="name another folder") from None
    with beside as name:
        made = Path(name, folder.name)
        made.mkdir()
        yield made
        made.rename(folder)


def _write_texts(project: Project, folder: Path) -> list[Problem]:
    """Write what there is to write, and look at it as `validate` does."""
    if not (project.rows or project.before) or not (project.prompts or project.is_task):
        raise UsageError(
            f"nothing of {project.source} can be imported: {_parts(project)}",
            hint="docs/from-promptfoo-and-inspect.md says what its parts are here",
        )
    for name, text in project.texts().items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return _check(folder, project)


def _leave_prompts(project: Project, problems: Sequence[Problem]) -> bool:
    """Leave out the prompts that cannot be filled in with the rows."""
    wrong = {Path(problem.path).name: problem.reason for problem in problems if "prompts" in problem.path}
    for name in wrong.keys() & project.prompts.keys():
        del project.prompts[name]
        project.leave("prompt", wrong[name], name)
    return bool(wrong)


def _check(folder: Path, project: Project) -> list[Problem]:
    if project.before:  # the data are not there yet
        return []
    files_checked = import_module("optimize_eval.run.preflight.files_checked")  # dear for a help
    path = str(folder / (TASK if project.is_task else SWEEP))
    files = [files_checked.check_definition(path, "")] if project.is_task else files_checked.check_sweep(path)
    return [_in_folder(problem, f"{folder}{os.sep}") for file in files for problem in file.problems]


def _in_folder(problem: Problem, folder: str) -> Problem:
    reason = problem.reason.replace(folder, "")
    return replace(problem, path=problem.path.removeprefix(folder), reason=reason)


def _summary(project: Project, out: str, problems: Sequence[Problem]) -> Iterator[str]:
    taken = ", ".join(f"{number:,} {what}" for what, number in project.taken.items() if " " not in what)
    checks = sum(number for what, number in project.taken.items() if what.startswith("assertions"))
    yield f"wrote {out}: {taken}" + (f", {checks:,} assertions" if checks else "")
    for problem in problems:
        yield f"to mend: {problem}"
    for text in project.before:
        yield f"first: {text}"
    notes = Path(out, NOTES)
    if project.left:
        yield f"{_many(len(project.left), 'part')} not imported: {_parts(project)}; {notes} lists all"
    elif project.changed:
        yield f"everything was imported; {notes} says what became something else"
    else:
        yield "everything was imported"


def _notes(project: Project, line: str, problems: Sequence[Problem]) -> str:
    """Write NOTES.md; what comes of the configuration is made inert."""
    lines = [
        f"# {_safe(project.source)}, of {project.tool}",
        "",
        "Run it:",
        "",
        f"    {_in_one_line(line)}",
        "",
    ]
    lines += _section("To do first", map(_safe, project.before))
    lines += _section("To fix: `validate` says", (_safe(str(problem)) for problem in problems))
    lines += _section("Taken over", (f"{_safe(what)}: {number:,}" for what, number in project.taken.items()))
    lines += _section("Became something else", map(_line_of, project.changed.items()))
    lines += _section("Not imported", map(_line_of, project.left.items()))
    return "\n".join(lines)


def _section(heading: str, items: Iterable[str]) -> list[str]:
    listed = [f"* {item}" for item in items]
    return [f"## {heading}", "", *listed, ""] if listed else []


def _line_of(item: tuple[Note, Sequence[str]]) -> str:
    note, places = item
    places = [where for where in dict.fromkeys(places) if where]
    shown = ", ".join(places[:_MOST_PLACES]) + ", …" * (len(places) > _MOST_PLACES)
    return _safe(f"{note.what}: {note.why}") + (f" ({_safe(shown)})" if places else "")


def _safe(text: str) -> str:
    return inert_markdown(text, _MOST_TEXT)


def _in_one_line(line: str) -> str:
    return inert(line, ci=True).replace("\n", " ")


def _document(project: Project, out: str, line: str, problems: Sequence[Problem]) -> JsonDict:
    return {
        "schema": "optimize-eval.import.v1",
        "folder": out,
        "tool": project.tool,
        "command": line,
        "first": project.before,
        "taken": project.taken,
        "changed": [*map(_note, project.changed.items())],
        "left": [*map(_note, project.left.items())],
        "problems": [str(problem) for problem in problems],
    }


def _note(item: tuple[Note, Sequence[str]]) -> JsonDict:
    note, places = item
    return {"what": note.what, "why": note.why, "where": [where for where in dict.fromkeys(places) if where]}
