"""The page itself, piece by piece: head, program, columns, examples, blocks of details, and their index.

What run.json has of each example stands further below in the page, so that the head stays small.

The overview stands on the screen before a browser has read the bulk. The file requests nothing: its policy
allows the one script and the one style whose digests it names, and no request at all.
"""

import hashlib
import json
import re
import shlex
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from html import escape
from pathlib import Path, PurePath

from optimize_eval.base.documents import JsonDict, JsonMapping, from_dict, to_dict
from optimize_eval.findings.summary_parts import SideInfoEntry
from optimize_eval.reports.page.columns import AxisNames, RecordColumns
from optimize_eval.reports.page.details import (
    BlockIndex,
    Histograms,
    blocks_of,
    drifts,
    in_order,
    packed_text,
)
from optimize_eval.reports.source import PageRun, PageSource, evaluators_of
from optimize_eval.store.opened_run import resume_line
from optimize_eval.store.run_document import RUN

SCHEMA = "optimize-eval.page.v1"

MOST_OF_A_TEXT, MOST_OF_TEXTS = 64_000, 2_000_000  # bytes of a candidate, and of all

_OF_EXAMPLES = frozenset({"lines", "sha256", "clusters", "groups", "names", "inputs"})


def read(source: PageSource, axes: AxisNames, *, title: str, place: str) -> tuple[RecordColumns, JsonDict]:
    """Read all records once: the columns, and the head, for which `place` is the folder as people name it."""
    histograms = Histograms(axes, source.summary["side_info"])
    columns = RecordColumns(axes)
    for cell, records in source.records():
        key = axes.key(cell)
        columns.take(key, histograms.through(key, records))
    head = _head_of(source, columns, title=title, place=place)
    return columns, {**head, "histograms": histograms.to_dict()}


def _head_of(source: PageSource, columns: RecordColumns, *, title: str, place: str) -> JsonDict:
    """Put together what the overview is made from."""
    candidates = list(with_texts_that_fit(source.run["candidates"]))
    return {
        "schema": SCHEMA,
        "title": title,
        "run": {
            **without_examples(source.run),
            "kind": source.run.get("kind", RUN),
            "candidates": candidates,
        },
        "summary": source.summary,
        "search": source.search and _search(source.search),
        "boards": {name: board.to_dict() for name, board in source.boards.items()},
        "axes": columns.axes.to_dict(),
        "cells": columns.cells,
        "taken": columns.taken,
        "drifts": [to_dict(drift) for drift in drifts(_side_info(source.summary))],
        "commands": commands_of(source.run, place),
        **source.more,
    }


def _search(search: JsonMapping) -> JsonDict:
    """Give what the page shows of a search beside its verdict, with the texts that fit."""
    known = {name: one for name, one in search.items() if name != "verdict"}
    return {**known, "candidates": list(with_texts_that_fit(search["candidates"]))}


def _side_info(summary: JsonMapping) -> Iterator[SideInfoEntry]:
    return (from_dict(SideInfoEntry, entry) for entry in summary["side_info"])


def examples_of(run: PageRun) -> list[dict[str, object]]:
    """List what run.json knows of the examples of each split: lines, names and how they begin."""
    return [
        {"lines": split["lines"], "names": split.get("names", []), "inputs": split.get("inputs", [])}
        for split in run["splits"]
    ]


def without_examples(run: PageRun) -> JsonDict:
    splits = [
        {key: value for key, value in split.items() if key not in _OF_EXAMPLES} for split in run["splits"]
    ]
    return {**run, "splits": splits}


def with_texts_that_fit(candidates: Iterable[JsonMapping]) -> Iterator[JsonMapping]:
    """Omit the texts that a page has no room for; their sha256 stay."""
    room = MOST_OF_TEXTS
    for candidate in candidates:
        size = len(str(candidate.get("text") or "").encode(errors="replace"))
        if size > min(MOST_OF_A_TEXT, room):
            yield {name: value for name, value in candidate.items() if name != "text"}
        else:
            room -= size
            yield candidate


def commands_of(run: PageRun, place: str, chosen: str = "", files: str = "") -> JsonDict:
    """Write the commands that a page shows, and the parts of one that calls a single example again.

    `chosen` are the options that chose its examples, where it is not about all; `files` are other tools'
    results as a shell takes them, of which no folder stays.
    """
    paths = (run.get("settings") or {}).get("paths") or {}
    folder = files or shlex.quote(place)
    return {
        "run": resume_line(run.get("command"), Path(place)),
        "report": f"optimize-eval report {folder}{chosen}",
        "check": f"optimize-eval report {folder} --check",
        "records": f"optimize-eval report {folder}{chosen} --format jsonl",
        "full": f"optimize-eval report {folder}{chosen} --format html --full",
        "evaluators": [shlex.quote(f"{entry['name']}={entry['text']}") for entry in evaluators_of(run)],
        "candidates": _paths_of_candidates(run, paths.get("candidate") or []),
        "splits": [_quoted((paths.get("splits") or {}).get(split["name"])) for split in run["splits"]],
    }


def _paths_of_candidates(run: PageRun, paths: list[str]) -> list[str | None]:
    """Find the files of candidates by their names; those of a list have none."""
    return [_quoted(next(_files_of(candidate["name"], paths), None)) for candidate in run["candidates"]]


def _files_of(name: str, paths: list[str]) -> Iterator[str]:
    for path in map(PurePath, paths):
        if path.stem == "*":  # all files of a folder, as most people name them
            yield str(path.with_stem(name))
        elif path.stem == name:
            yield str(path)


def _quoted(path: str | None) -> str | None:
    return None if path is None else shlex.quote(path)


def to_json(value: object) -> bytes:
    """Write JSON that can stand in HTML: ASCII, and without a sign that begins a tag."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").encode()


MB = 1_000_000
MOST = 25  # MB

PROGRAM = (
    *("dom", "format", "reading", "data", "finder", "state"),
    *(
        "parts/controls",
        "parts/marks",
        "parts/charts",
        "parts/scatter",
        "parts/grid",
        "parts/diff",
        "parts/spending",
        "parts/query",
        "parts/glossary",
        "parts/labels",
        "parts/export",
        "parts/verdict",
        "parts/said",
    ),
    *(
        "tabs/overview",
        "tabs/metrics",
        "tabs/carry",
        "tabs/search",
        "tabs/compare",
        "tabs/examples",
        "tabs/replies",
        "tabs/drawer",
    ),
    *("tabs/sides", "tabs/failures", "tabs/reproduce", "tabs/bench", "tabs/diff", "tabs/boards"),
    *("header", "main", "served", "shelf", "start"),
)
STYLE = ("colours", "page", "parts")

_HERE = Path(__file__).parent
_COMMENTS = re.compile(r"^ *(?:/\*\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)\n", re.MULTILINE)  # on lines of their own
_INDENTS = re.compile(r"^ +", re.MULTILINE)  # no text in the program goes over lines
_SPARE = 20_000  # bytes for the index of the blocks, beside 6 for each example


def pieces(source: PageSource, *, title: str, place: str, most: float | None = MOST) -> Iterator[bytes]:
    """Write a page; `most` is how many MB it may have, None for any."""
    axes = AxisNames(source.run)
    columns, overview = read(source, axes, title=title, place=place)
    index = BlockIndex.of(axes)
    first = b"".join(
        [
            _start(title),
            _data("head", to_json(overview)),
            b"<script>%s</script>\n" % program(),
            _packed("columns", columns.to_bytes()),
            _packed("examples", to_json(examples_of(source.run))),
        ]
    )
    yield first
    room = None if most is None else int(most * MB) - len(first) - _SPARE - 6 * len(index.blocks)
    order = in_order(columns, against=source.against, seed=source.run["seed"])
    for number, block in enumerate(blocks_of(source, axes, order, index, room)):
        yield _data(f"block-{number}", block)
    yield _packed("index", index.blocks.tobytes())
    yield b"</body>\n</html>\n"


def served(title: str) -> bytes:
    """Write a page without a run, which loads its run from the server that it came from."""
    parts = _start(title, connect=True), _data("head", b'{"live":true}'), b"<script>%s</script>\n" % program()
    return b"".join([*parts, b"</body>\n</html>\n"])


@cache
def program() -> bytes:
    """Join the program's files, without comments and indents, which are for who changes it.

    Nothing of it is seen outside.
    """
    joined = _COMMENTS.sub("", "".join(_read(f"program/{name}.js") for name in PROGRAM))
    joined = _INDENTS.sub("", joined)
    return f'\n"use strict";\n(() => {{\n{joined}}})();\n'.encode()


@cache
def style() -> bytes:
    return "".join(_read(f"style/{name}.css") for name in STYLE).encode()


def policy(*, connect: bool = False) -> str:
    """Write the content security policy; only a page that is served may connect, to where it came from."""
    rules = {
        "default-src": "'none'",
        "script-src": _digest(program()),
        "style-src": _digest(style()),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        **({"connect-src": "'self'"} if connect else {}),
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _start(title: str, *, connect: bool = False) -> bytes:
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy(connect=connect)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="generator" content="optimize-eval">',
        '<link rel="icon" href="data:,">',
        f"<title>{escape(title.encode(errors='replace').decode())} · optimize-eval</title>",
    ]
    return "\n".join(lines).encode() + b"\n<style>%s</style>\n</head>\n<body>\n" % style() + _NO_SCRIPT


_NO_SCRIPT = (
    b"<noscript>This report needs JavaScript; `optimize-eval report RUN` prints it without.</noscript>\n"
)


def _data(name: str, text: bytes) -> bytes:
    kind = b"application/json" if name == "head" else b"text/plain"
    return b'<script type="%s" id="%s">%s</script>\n' % (kind, name.encode(), text)


def _packed(name: str, data: bytes) -> bytes:
    return _data(name, packed_text(data))


def _digest(text: bytes) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text).digest()).decode()}'"


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
