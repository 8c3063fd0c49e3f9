"""The pictures in docs show what the shipped example gives: their data is compared, not their pixels."""

import json
import re
from pathlib import Path

from tests.page.pictures import DATA, FOLDER, make_example, shown_of
from tests.paths import ROOT

_LARGEST = 250_000  # bytes of a picture


def test_the_pictures_show_what_the_example_gives_now(tmp_path: Path) -> None:
    shown = json.loads(DATA.read_text(encoding="utf-8"))
    assert shown_of(make_example(tmp_path)) == shown, "make them anew: python -m tests.page.pictures"


def test_the_page_about_pages_shows_each_picture_and_all_are_small() -> None:
    named = re.findall(r"!\[[^\]]+\]\(pictures/(\w+\.png)\)", (ROOT / "docs" / "page.md").read_text())
    assert sorted(named) == sorted(path.name for path in FOLDER.glob("*.png"))
    assert all(path.stat().st_size <= _LARGEST for path in FOLDER.glob("*.png"))
