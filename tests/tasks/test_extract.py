"""What is taken of a reply: the last number as people write numbers."""

from collections.abc import Iterator

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.tasks.of_replies import extraction_of
from tests.tasks.templates.hosts import host_for_all, own_host_of


@pytest.fixture(scope="module", autouse=True)
def host() -> Iterator[None]:
    with host_for_all():
        yield


@pytest.fixture
def own_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with own_host_of(monkeypatch):
        yield


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("First 3, then 1,200.", "1200"),
        ("1,234,567.50 dollars", "1234567.50"),
        ("The answers are 1,2,3", "3"),
        ("1,2,3.5", "3.5"),
        ("12,34", "34"),
        ("1,2345", "2345"),
        ("1234,567", "567"),
        ("range 10-15", "15"),
        ("2024-05-06", "06"),
        ("a-3", "3"),
        ("$1.234.567", "567"),
        ("\u22125", "-5"),
        ("(-5)", "-5"),
        ("$-1,000", "-1000"),
        ("+7.", "+7"),
        ("x = -3.5e\u22124", "-3.5e-4"),
        ("is -.5", "-.5"),
        ("none", ""),
    ],
)
def test_the_last_number(text: str, number: str) -> None:
    assert extraction_of("last-number")(text) == number


def test_a_number_is_found_in_a_megabyte_of_digits_and_commas() -> None:
    assert extraction_of("last-number")("123," * 250_000 + "12") == "12"


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("so: (.*)", "so: 7\nand on", "7\nand on"),
        ("[0-9]{2}", "1 22", "22"),
        ("(?:ab|cd)+(x+)?", "it is abcdab", ""),
        (r"(.)\1+", "hello", "l"),
        (r"(\w+)\s*$", "the last", "last"),
        ("(é+|ü)+", "ééü", "ü"),
        ("nothing|none+", "some", ""),
    ],
)
def test_what_a_pattern_finds(pattern: str, text: str, found: str) -> None:
    assert extraction_of(f"regex:{pattern}")(text) == found
    assert extraction_of(f"regex:{pattern}")(text + " " * 3000).strip() == found


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a|a)" * 40 + "$", "a" * 40 + "!"),
        ("a+$", "a" * 500_000 + "!"),
        (r"(.*)\1x", "a" * 50_000),
    ],
)
@pytest.mark.usefixtures("own_host")
def test_a_search_that_would_go_on_for_ever_is_a_failure(pattern: str, text: str) -> None:
    extract = extraction_of(f"regex:{pattern}")
    with pytest.raises(EvaluationError, match=r"takes longer than 0\.4 s") as failure:
        extract(text)
    assert (failure.value.kind, failure.value.stage) == (FailureKind.TIMEOUT, "extract")
    assert extract("b") in {"", "b"}, "the next reply is searched"
