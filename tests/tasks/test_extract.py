"""What is taken of a reply: the last number as people write numbers."""

import pytest

from optimize_eval.tasks.extract import extraction_of


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
        ("−5", "-5"),
        ("(-5)", "-5"),
        ("$-1,000", "-1000"),
        ("+7.", "+7"),
        ("x = -3.5e−4", "-3.5e-4"),
        ("is -.5", "-.5"),
        ("none", ""),
    ],
)
def test_the_last_number(text: str, number: str) -> None:
    assert extraction_of("last-number")(text) == number


def test_a_number_is_found_in_a_megabyte_of_digits_and_commas() -> None:
    assert extraction_of("last-number")("123," * 250_000 + "12") == "12"
