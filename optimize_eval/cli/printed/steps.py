"""Texts beside their headings, as `--show` lays out the steps from a prompt to a score."""

from collections.abc import Iterator


def block(head: str, text: str) -> Iterator[str]:
    """Write a text line by line beside its heading, as it is: blanks count."""
    for number, line in enumerate(text.split("\n")):
        yield f"  {head if not number else '':<9} │ {line}"
