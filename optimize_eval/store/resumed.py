"""The line that resumes a run, made of what run.json keeps of the command that started it.

A folder may have been renamed, or come from somebody else: so what is kept is read as words, of which each
is quoted again, it starts nothing but a command of ours, and the folder is the one that was read.
"""

import shlex
from pathlib import Path
from typing import Any

_PROGRAM = "optimize-eval"
_BY_OUT = frozenset({"run", "bench", "optimize"})  # which name their folder so
_RESCORE = "rescore"  # which names it first
_OUT = "--out"


def resume_line(kept: Any, folder: Path) -> str:
    """Give the line for a shell; empty where what is kept is no command that resumes."""
    words = _words(kept)
    if len(words) < len((_PROGRAM, "COMMAND")) or words[0] != _PROGRAM:
        return ""
    if words[1] in _BY_OUT:
        return shlex.join(_with_out(words, str(folder)))
    if words[1] == _RESCORE and words[2:] and not words[2].startswith("-"):
        return shlex.join([*words[:2], str(folder), *words[3:]])
    return ""


def _words(kept: Any) -> list[str]:
    """Split into words; none where one could not be pasted: with a line break, say."""
    try:
        words = shlex.split(kept) if isinstance(kept, str) else []
    except ValueError:
        return []
    return words if all(word.isprintable() for word in words) else []


def _with_out(words: list[str], folder: str) -> list[str]:
    end = words.index("--") if "--" in words else len(words)
    for place, word in enumerate(words[:end]):
        if word == _OUT:
            return [*words[: place + 1], folder, *words[place + 2 :]]
        if word.startswith(f"{_OUT}="):
            return [*words[:place], _OUT, folder, *words[place + 1 :]]
    return [*words[:end], _OUT, folder, *words[end:]]
