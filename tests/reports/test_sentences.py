"""The page of sentences is what the code says."""

from tests.tools import sentences


def test_the_page_of_sentences_is_that_of_the_code() -> None:
    """Whoever changes a sentence reads it among the others: `python -m tests.tools.sentences`."""
    assert sentences.PAGE.read_text(encoding="utf-8") == sentences.write()


def test_what_is_filled_in_is_named() -> None:
    code = '''"""Not this docstring of a module."""
def say(n):
    """Nor this docstring of a function."""
    short = "two words"
    return f"{n:,} of {count(total, 'example')} are in {self.where}, " "too and left out"
'''
    assert [*sentences.sentences_in(code)] == ["{n} of {examples} are in {where}, too and left out"]
