"""The file itself, piece by piece: head, program, columns, examples, blocks of details, and their index.

The overview stands on the screen before a browser has read the bulk. The file requests nothing: its policy
allows the one script and the one style whose digests it names, and no request at all.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path

from optimize_eval.reports.page import head
from optimize_eval.reports.page.columns import AxisNames
from optimize_eval.reports.page.details import BlockIndex, blocks_of, packed_text
from optimize_eval.reports.page.priority import in_order
from optimize_eval.reports.page.source import PageSource

MB = 1_000_000
MOST = 25  # MB

PROGRAM = (
    *("dom", "format", "data", "finder", "state"),
    *(
        "parts/controls",
        "parts/marks",
        "parts/charts",
        "parts/scatter",
        "parts/grid",
        "parts/diff",
        "parts/spending",
    ),
    *(
        "tabs/overview",
        "tabs/metrics",
        "tabs/carry",
        "tabs/search",
        "tabs/compare",
        "tabs/examples",
        "tabs/drawer",
    ),
    *("tabs/sides", "tabs/failures", "tabs/reproduce", "tabs/bench", "tabs/diff", "tabs/boards"),
    *("header", "main", "served", "start"),
)
STYLE = ("colours", "page", "parts")

_HERE = Path(__file__).parent
_COMMENTS = re.compile(r"^ *(?:/\*\*(?:[^*]|\*(?!/))*\*/|//[^\n]*)\n", re.MULTILINE)  # on lines of their own
_SPARE = 20_000  # bytes for the index of the blocks, beside 6 for each example


def pieces(source: PageSource, *, title: str, place: str, most: float | None = MOST) -> Iterator[bytes]:
    """Write a page; `most` is how many MB it may have, None for any."""
    axes = AxisNames(source.run)
    columns, overview = head.read(source, axes, title=title, place=place)
    index = BlockIndex.of(axes)
    first = b"".join(
        [
            _start(title),
            _data("head", head.to_json(overview)),
            b"<script>%s</script>\n" % program(),
            _packed("columns", columns.to_bytes()),
            _packed("examples", head.to_json(head.examples_of(source.run))),
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
    """Join the program's files, without the comments that are for who changes it; nothing is seen outside."""
    joined = _COMMENTS.sub("", "".join(_read(f"program/{name}.js") for name in PROGRAM))
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
