"""Lines are broken as Python's textwrap breaks them, whatever way is taken."""

import string
from textwrap import wrap
from unicodedata import combining, east_asian_width

from hypothesis import example, given
from hypothesis import strategies as st

from optimize_eval.reports.columns import columns, cut, wrapped

WORDS = st.lists(st.text(string.ascii_letters + ",.:-", min_size=1, max_size=60), max_size=30)


@given(words=WORDS, room=st.integers(24, 60), sign=st.sampled_from(["", "é", "…", "\u2400"]))
@example(words=["x" * 100], room=30, sign="")
@example(words=["a", "x" * 100, "b"], room=30, sign="")
@example(words=["x" * 30, "y" * 30], room=30, sign="")
def test_a_text_is_broken_at_the_last_blank_that_fits(words: list[str], room: int, sign: str) -> None:
    text = " ".join([*words, sign] if sign else words)
    lines = wrap(text, room, break_long_words=False, break_on_hyphens=False)
    assert wrapped("", text, room) == [cut(line, room) for line in lines or [""]]


def test_every_letter_takes_the_columns_that_unicode_says() -> None:
    for letter in map(chr, range(0x3000)):
        assert columns(letter) == (not combining(letter)) * (1 + (east_asian_width(letter) in "WF"))


def test_a_percentage_and_its_interval_stay_together() -> None:
    assert wrapped("", "x" * 25 + " 95 % CI p = 0.024", 30) == ["x" * 25, "95 % CI p = 0.024"]


def test_of_a_million_letters_every_word_is_shown() -> None:
    lines = wrapped("said: ", "word " * 200_000, 80)
    assert " ".join(lines).split() == ["said:", *["word"] * 200_000]
    assert {len(line) for line in lines[:-1]} == {80}
