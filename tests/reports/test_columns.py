"""Lines are broken as Python's textwrap breaks them; cut texts fit their room and stay apart."""

import string
from textwrap import wrap
from unicodedata import combining, east_asian_width

from hypothesis import example, given
from hypothesis import strategies as st

from optimize_eval.reports.text import columns, cut, cut_apart, wrapped

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


def test_a_heading_that_leaves_no_room_stays_where_it_is() -> None:
    assert wrapped(" failures   3 × reported  ", "said by it", 30) == [
        " failures   3 × reported",
        "    said by it",
    ]
    long = wrapped(" worst a heading of more than a line  ", "said by it", 30)
    assert long == [" worst a heading of more than", "  a line", "    said by it"]


def test_of_a_million_letters_every_word_is_shown() -> None:
    lines = wrapped("said: ", "word " * 200_000, 80)
    assert " ".join(lines).split() == ["said:", *["word"] * 200_000]
    assert {len(line) for line in lines[:-1]} == {80}


@given(st.lists(st.text(alphabet="ab-/日e\u0301", max_size=30), max_size=6), st.integers(8, 20))
def test_cut_texts_fit_and_those_that_fit_stay_whole(texts: list[str], room: int) -> None:
    shown = cut_apart(texts, room)
    assert len(shown) == len(texts)
    assert all(columns(one) <= room for one in shown)
    assert all(one == text for one, text in zip(shown, texts, strict=True) if columns(text) <= room)


def test_texts_are_cut_where_they_stay_apart() -> None:
    assert cut_apart(["short", "a long name"], 8) == ["short", "a long …"]
    assert cut_apart(["the same start 1", "the same start 2"], 9) == ["the…art 1", "the…art 2"]
    assert cut_apart(["same start A same end", "same start B same end"], 9) == ["…A same …", "…B same …"]
    assert cut_apart([], 9) == []
