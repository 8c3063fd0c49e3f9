"""Task files in verdicts/*.txt, with what `validate` has to say of each written beside the line it is about.

`=== name` starts a document, `+++ path` another file beside it. At the end of a line, `#! rule key.path` is
a problem there, `#= words` are in what is told of it, `#? word` is suggested, `#~ key.path` a note.
Without problems a document is valid.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "verdicts"
TASK = "task.yaml"

_HEAD = "key: t\ndisplay_name: T\ndescription: d\n"
_MACROS = {
    "@head\n": _HEAD,
    "@dataset\n": _HEAD + "definition:\n  evaluated_entity_type: dataset\n",
    "@model\n": _HEAD
    + "definition:\n  dataset: {key: d}\n  solver: {type: pass_through_solver, trace_column: t}\n",
}
_LONG = re.compile(r"<(\d+)>")
_MARK = re.compile(r"  #([!=?~]) ?(.*?)(?=  #[!=?~]|$)")

Verdict = tuple[str, int, str, str]


@dataclass(slots=True)
class Judged:
    """A document: its files, and the problems, words and notes that `validate` has to tell."""

    name: str
    files: dict[str, str] = field(default_factory=dict)
    problems: set[Verdict] = field(default_factory=set)
    said: set[tuple[str, int, str]] = field(default_factory=set)
    words: set[tuple[str, int, str]] = field(default_factory=set)
    notes: set[tuple[str, int, str]] = field(default_factory=set)

    def write(self, folder: Path) -> str:
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return str(folder / TASK)


def judged() -> list[Judged]:
    """Read all documents."""
    return [
        _document(text)
        for path in sorted(FOLDER.glob("*.txt"))
        for text in re.split(r"^=== ", path.read_text(), flags=re.MULTILINE)[1:]
    ]


def _document(text: str) -> Judged:
    name, body = text.split("\n", 1)
    document = Judged(name)
    path = TASK
    for part in re.split(r"^(\+\+\+ .*\n)", _expanded(body), flags=re.MULTILINE):
        if part.startswith("+++ "):
            path = part[4:].strip()
        else:
            document.files[path] = _read(part, path, document)
    return document


def _expanded(text: str) -> str:
    for macro, lines in _MACROS.items():
        text = text.replace(macro, lines)
    return _LONG.sub(lambda long: "k" * int(long[1]), text)


def _read(text: str, path: str, document: Judged) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        for mark in _MARK.finditer(line):
            if mark[1] == "!":
                rule, _, key = mark[2].partition(" ")
                document.problems.add((path, number, rule, key.strip()))
            else:
                marks = {"=": document.said, "?": document.words, "~": document.notes}[mark[1]]
                marks.add((path, number, mark[2].strip()))
    return "\n".join(_MARK.sub("", line) for line in lines)
