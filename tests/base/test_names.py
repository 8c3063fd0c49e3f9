"""Names that look alike: those that are given are numbered, those that are there are written out."""

import pytest

from optimize_eval.base.names import distinct, told_apart

ALIKE = [
    ("caf\u00e9", "cafe\u0301"),
    ("ab", "a\u200bb"),
    ("ab", "ab\ufeff"),
    ("a b", "a\u00a0b"),
    ("a", "a "),
    ("a", "a\u3164"),
]
APART = [("a", "A"), ("2", "\u00b2"), ("a", "\u0430"), ("a-2", "a")]


@pytest.mark.parametrize(("first", "second"), ALIKE)
def test_of_names_that_look_alike_the_second_is_numbered(first: str, second: str) -> None:
    assert distinct([first, second]) == [first, f"{second.strip()}-2"]
    assert distinct([second, first, second]) == [second, f"{first}-2", f"{second.strip()}-3"]


@pytest.mark.parametrize("names", APART)
def test_names_that_look_different_stay(names: tuple[str, str]) -> None:
    assert distinct(names) == [*names]
    assert told_apart(names) == [*names]


def test_what_nobody_sees_is_written_out_only_where_names_look_alike() -> None:
    assert told_apart(["caf\u00e9", "cafe\u0301", "x\u200b"]) == ["caf\u00e9", "cafe\\u0301", "x\u200b"]
    assert told_apart(["a b", "a\u00a0b"]) == ["a b", "a\\xa0b"]
