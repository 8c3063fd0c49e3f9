"""The recording of a terminal that the README shows: `python -m tests.tools.recording` makes it anew.

What a command of ours prints, in its colours, as an SVG whose lines appear one after the other. It holds text
and styles alone; tests/cli/test_demo.py compares the text with what the tutorial shows, which is run.
"""

import re
import tempfile
from collections.abc import Iterator, Sequence
from html import escape, unescape
from pathlib import Path

from tests.front_door import in_this_process
from tests.paths import ROOT

FILE = ROOT / "docs" / "pictures" / "demo.svg"
COMMAND = ("demo",)
LOOKS = {"COLUMNS": "80", "FORCE_COLOR": "1"}

_CODE = re.compile("\x1b\\[([\\d;]*)m")
_CLASSES = {"32": "good", "33": "unsure", "31": "bad", "1": "bold", "2": "faint"}
_LINE, _LETTER, _EDGE = 20, 8.43, 16  # pixels
_TYPED, _BETWEEN = 1.2, 0.12  # seconds: until the command stands there, and from line to line
_STYLE = """
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f;
  white-space: pre; }
rect { fill: #f6f8fa; stroke: #d0d7de; }
.good { fill: #1a7f37; } .unsure { fill: #9a6700; } .bad { fill: #cf222e; } .bold { font-weight: 700; }
.faint { opacity: 0.6; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } rect { fill: #0d1117; stroke: #30363d; }
  .good { fill: #3fb950; } .unsure { fill: #d29922; } .bad { fill: #f85149; }
}
@keyframes appear { from { visibility: hidden; } to { visibility: visible; } }
@media (prefers-reduced-motion: no-preference) { text { animation: appear 0.01s backwards; } }
"""


def lines_of(recorded: str) -> list[str]:
    """Read the text of a recording, without its styles."""
    lines = re.findall(r"<text [^>]*>(.*?)</text>", recorded)
    return [unescape(re.sub(r"<[^>]+>", "", line)) for line in lines]


def draw(command: str, lines: Sequence[str]) -> str:
    """Make the recording of a command and of the lines that it prints."""
    height = 2 * _EDGE + _LINE * (len(lines) + 1)
    width = round(2 * _EDGE + 80 * _LETTER)
    drawn = [f"<tspan class='faint'>$</tspan> {escape(command)}", *map(_draw_line, lines)]
    texts = (
        f'<text x="{_EDGE}" y="{_EDGE + 15 + _LINE * number}" textLength="{_width_of(line)}" '
        f'style="animation-delay: {_TYPED + _BETWEEN * number if number else 0:.2f}s">{line}</text>'
        for number, line in enumerate(drawn)
    )
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n'
        f"<title>{escape(command)}: what it prints</title>\n<style>{_STYLE}</style>\n"
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
        + "\n".join(texts)
        + "\n</svg>\n"
    )


def _width_of(line: str) -> float:
    """Say how wide a line is, so that tables stay in columns whatever the font."""
    return round(len(unescape(re.sub(r"<[^>]+>", "", line))) * _LETTER, 1)


def _draw_line(line: str) -> str:
    return "".join(_parts_of(line))


def _parts_of(line: str) -> Iterator[str]:
    """Give a line's texts, each in the classes of the codes before it."""
    classes = ""
    for number, part in enumerate(_CODE.split(line)):
        if number % 2:
            classes = " ".join(_CLASSES[code] for code in part.split(";") if code in _CLASSES)
        elif part:
            yield f"<tspan class='{classes}'>{escape(part)}</tspan>" if classes else escape(part)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = in_this_process(Path(folder))(*COMMAND, env=LOOKS)
    assert done.status == 0, done.stderr
    FILE.write_text(draw(f"optimize-eval {' '.join(COMMAND)}", done.stdout.splitlines()), encoding="utf-8")


if __name__ == "__main__":
    main()
