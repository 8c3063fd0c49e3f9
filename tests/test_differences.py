"""The page of differences: each has its sentence, what is done, why, and words that the named page has."""

import re
from pathlib import Path

import pytest

from tests.paths import ROOT

PAGE = ROOT / "docs" / "differences.md"
DOCUMENTS = (
    "Task Spec Format",
    "Language Model Evaluation Harness",
    "Tasks",
    "Evaluator Protocol v2",
    "Assertion-Based Evals",
)
_ROW = re.compile(r"^\| .*“.*\|$", re.MULTILINE)
_RULE = re.compile(r"\[[^\]]+\]\((?P<path>[^)#]+)(?:#[^)]*)?\): “(?P<words>.+)”")


def rows() -> list[list[str]]:
    text = PAGE.read_text(encoding="utf-8")
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in _ROW.findall(text)]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_the_page_that_a_difference_names_says_it(row: list[str]) -> None:
    sentence, here, why, rule = row
    assert "“" in sentence
    assert here
    assert why
    found = _RULE.fullmatch(rule)
    assert found, rule
    assert " ".join(found["words"].split()) in _words_of(PAGE.parent / found["path"])


def test_every_document_has_differences_and_every_named_page_leads_to_them() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert tuple(re.findall(r"^## (.*)$", text, re.MULTILINE)) == DOCUMENTS
    named = {found["path"] for row in rows() if (found := _RULE.fullmatch(row[-1]))}
    without = [
        path for path in named if "differences.md" not in (PAGE.parent / path).read_text(encoding="utf-8")
    ]
    assert not without


def _words_of(page: Path) -> str:
    return " ".join(page.read_text(encoding="utf-8").split())
