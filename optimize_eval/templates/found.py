"""What a pattern finds in a text, to our own process and to the host alike."""

import re

FLAGS = re.DOTALL


def first_of(found: re.Match[str] | None) -> str:
    """Take the first group of a match, or all of it."""
    if not found:
        return ""
    return (found[1] if found.re.groups else found[0]) or ""
