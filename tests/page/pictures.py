"""The pictures of docs/page.md, made anew: `python -m tests.page.pictures`, with Chromium.

They show the shipped example. What stands on them is written beside them as data.json, which
tests/reports/test_pictures.py compares with what the example gives now.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

from tests.front_door import in_this_process
from tests.page.browser import chromium
from tests.paths import ROOT

FOLDER = ROOT / "docs" / "pictures"
DATA = FOLDER / "data.json"

_ROUTING = "datasets/routing"
_LOOKS = {"overview": "", "compare": "tab=compare", "example": "tab=examples&row={row}"}


def make_example(folder: Path) -> Path:
    """Score the shipped candidates, and return the run's folder."""
    (folder / "datasets").symlink_to(ROOT / "datasets")
    data = ["--dataset", f"{_ROUTING}/train.jsonl", "--valset", f"{_ROUTING}/val.jsonl"]
    candidates = ["--candidate", f"{_ROUTING}/*.txt"]
    done = in_this_process(folder)("run", "-e", "@routing", *candidates, *data, "--out", "routing", "--quiet")
    assert done.status == 0, done.stderr
    return folder / "routing"


def shown_of(run: Path) -> dict[str, Any]:
    """Pick the numbers that are on the pictures."""
    summary = json.loads((run / "summary.json").read_bytes())
    return {
        "verdict": summary["verdict"]["text"],
        "points": [point["text"] for point in summary["verdict"]["points"]],
        "means": {
            f"{row['candidate']} {split}": [s["mean"], *(s["ci"] or [])]
            for row in summary["rows"]
            for split, s in row["splits"].items()
        },
    }


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        run = make_example(Path(folder))
        DATA.write_text(json.dumps(shown_of(run), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        in_this_process(run.parent)("report", "routing", "--format", "html")
        browser.resize(1280, 800)
        browser.colours("light")
        row = json.loads((run / "run.json").read_bytes())["splits"][0]["lines"]
        for name, look in _LOOKS.items():
            browser.open(run / "report.html", look.format(row=len(row) + 2))
            browser.ready()
            browser.wait("!document.querySelector('.grid') || document.querySelector('.grid-body .grid-row')")
            browser.wait("!document.querySelector('.drawer') || document.querySelector('.drawer .tree')")
            browser.screenshot(FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
