"""A folder of ours made of another tool's configuration, and what was imported of that.

Readers of configurations fill a Project, which is plain texts in the end. They execute and fetch nothing, and
read no file outside of the configuration's own folder. What they cannot take over with its meaning is left
out and told, in NOTES.md and by exit code with `--strict`.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base import files, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import DataError, Problem

SWEEP, DATA, TASK = "sweep.toml", "data.jsonl", "task.yaml"
CONFIG = files.Cap("a configuration, or a file that it names", 64 << 20, "check the path")
CODE_SUFFIXES = (
    *(".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb"),
    *(".sh", ".bash", ".exe", ".ps1", ".pl", ".go"),
)
ANY_MODEL = "openai/gpt-4o-mini"  # where a configuration names none that is known here
MOST_ROWS = 100_000
_LONGEST_NAME = 40

Table = JsonDict


class NotTaken(Exception):
    """Why a part cannot be imported with its meaning."""


class Note(NamedTuple):
    """A part that was left out or became something else, and why."""

    what: str
    why: str


@dataclass(slots=True)
class Project:
    """What a configuration becomes: data, prompts, models, evaluators; and notes of what was made of it."""

    tool: str
    source: str
    root: str = ""  # the configuration's folder
    rows: list[Table] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)  # by their files' names
    models: list[Table] = field(default_factory=list)
    evaluators: list[Table] = field(default_factory=list)
    run: Table = field(default_factory=dict)
    gates: Table = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # whatever else stands in the folder
    taken: dict[str, int] = field(default_factory=dict)  # what → how often
    changed: dict[Note, list[str]] = field(default_factory=dict)  # a note → where
    left: dict[Note, list[str]] = field(default_factory=dict)
    before: list[str] = field(default_factory=list)  # what somebody has to do before it runs

    def take(self, what: str, times: int = 1) -> None:
        self.taken[what] = self.taken.get(what, 0) + times

    def change(self, what: str, why: str, where: str = "") -> None:
        self.changed.setdefault(Note(what, why), []).append(where)

    def leave(self, what: str, why: object, where: str = "") -> None:
        self.left.setdefault(Note(what, str(why)), []).append(where)

    @property
    def is_task(self) -> bool:
        return TASK in self.files

    def texts(self) -> dict[str, str]:
        """Give the files of the folder, each with its text."""
        return {
            **({} if self.is_task else {SWEEP: self._sweep()}),
            **(
                {DATA: "".join(f"{strict_json.dumps(row).decode()}\n" for row in self.rows)}
                if self.rows
                else {}
            ),
            **{f"prompts/{name}": text for name, text in self.prompts.items()},
            **self.files,
        }

    def _sweep(self) -> str:
        prompts = [f"prompts/{name}" for name in self.prompts]
        tables = [("[run]", {"dataset": DATA, "prompts": prompts, **self.run})]
        tables += [("[[evaluator]]", table) for table in self.evaluators]
        tables += [("[[model]]", table) for table in self.models]
        tables += [("[gates]", self.gates)] if self.gates else []
        about = f"# Made of a configuration of {self.tool}: NOTES.md says what was imported.\n"
        return about + "".join(f"\n{heading}\n{_toml(table)}" for heading, table in tables)


def _toml(table: JsonMapping) -> str:
    return "".join(f"{key} = {_toml_value(value)}\n" for key, value in table.items())


def _toml_value(value: object) -> str:
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_toml_key(key)} = {_toml_value(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[\w-]+", key, re.ASCII) else _toml_value(key)


class SourceFolder:
    """The folder of a configuration: the files in it can be read, and no others."""

    def __init__(self, config: str) -> None:
        self.root = Path(config).resolve().parent

    def read(self, name: str) -> str:
        """Read a file that a configuration names."""
        path = self._inside(self.root / name)
        try:
            text = files.load(path, CONFIG).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise NotTaken(f"{name} is not UTF-8 text") from None
        except FileNotFoundError:
            raise NotTaken(f"there is no file {name}") from None
        except files.Refused as error:
            raise NotTaken(f"{name}: {error.reason}") from None
        except (OSError, ValueError):
            raise NotTaken(f"{name} cannot be read") from None
        if text.startswith("version https://git-lfs"):
            raise NotTaken(f"{name} is a pointer of Git LFS: git lfs pull fetches it")
        return text

    def matching(self, pattern: str) -> list[str]:
        """Name the files in the folder that a pattern stands for; a name without * stands for itself."""
        if not set("*?[{") & {*pattern}:
            return [pattern]
        try:
            paths = sorted(path for path in self.root.glob(pattern.removeprefix("./")) if path.is_file())
            names = [str(self._inside(path).relative_to(self.root)) for path in paths]
        except (ValueError, NotImplementedError):
            raise NotTaken(f"{pattern} is not a pattern of files here") from None
        if not names:
            raise NotTaken(f"no file is like {pattern}")
        return names

    def _inside(self, path: Path) -> Path:
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            raise NotTaken("the path leads nowhere") from None
        if not real.is_relative_to(self.root):
            raise NotTaken("the file lies outside of the configuration's folder")
        return real


def file_name(name: str, others: Iterable[str], suffix: str = "") -> str:
    """Make a name of a file of any text, unlike the others."""
    stem = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.")[:_LONGEST_NAME].strip("-.") or "unnamed"
    taken = {*others}
    made = (f"{stem}{'' if number == 1 else f'-{number}'}{suffix}" for number in range(1, MOST_ROWS))
    return next(name for name in made if name not in taken)


def refuse(path: str, reason: str, line: int | None = None, column: int | None = None) -> DataError:
    """Say why a file cannot be read as a configuration at all."""
    return DataError([Problem(path=path, rule="other_config", reason=reason, line=line, column=column)])


def read_text(path: str) -> str:
    """Read a configuration that somebody named."""
    try:
        return files.read(path, CONFIG).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise refuse(path, "it is not UTF-8 text") from None


def rows_of_lines(text: str, path: str) -> Iterator[tuple[int, Table]]:
    """Read JSON lines, each an object, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                value = strict_json.loads(line, unique_keys=False)
            except strict_json.JsonFault as fault:
                raise refuse(path, f"the line is not JSON: {fault.reason}", number) from None
            if not isinstance(value, dict):
                raise refuse(path, "the line is not a JSON object", number)
            yield number, value


def rows_of_table(text: str) -> list[dict[str, str]]:
    """Read a CSV file whose first row has the names."""
    try:
        rows = [*csv.DictReader(io.StringIO(text, newline=""), strict=True)]
    except csv.Error as error:
        raise NotTaken(f"it is not CSV: {error}") from None
    return [{(key or "").strip(): value or "" for key, value in row.items() if key} for row in rows]


def as_list(value: object) -> list[Any]:
    """Give a list; what is none is the only item of one, and null of none."""
    return value if isinstance(value, list) else [] if value is None else [value]


def table_in(value: object, key: str) -> Table:
    """Give the object that another has under a key; an empty one where there is none."""
    inner = value.get(key) if isinstance(value, dict) else None
    return inner if isinstance(inner, dict) else {}
