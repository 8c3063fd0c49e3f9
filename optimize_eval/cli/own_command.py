"""This command as it was written: what run.json keeps of it, and what is to be pasted to go on."""

import re
import shlex
import sys
from collections.abc import Mapping

from optimize_eval.base.secrets import mask

_AS_WRITTEN: Mapping[str, str] = {}
_OF_THIS_MACHINE = re.compile(r"(?:^|[\s=:'\"])/[^/\s]")  # an absolute path


def kept_command() -> str:
    """Give what run.json keeps of this command: nothing where it names where a project is, which may move."""
    return "" if any(_OF_THIS_MACHINE.search(word) for word in sys.argv[1:]) else same_command()


def same_command(*more: str, instead: Mapping[str, str] = _AS_WRITTEN) -> str:
    """Give the words that start this command again, to be pasted, unless there is a secret among them.

    `instead` are evaluators that were not written as they were meant.
    """
    written = (_corrected(word, instead) for word in sys.argv[1:] if word != "--fresh")
    command = shlex.join(["optimize-eval", *written, *more])
    shown = mask(command)
    return command if shown == command else f"the same command again ({shown})"


def _corrected(word: str, instead: Mapping[str, str]) -> str:
    """Put the command that was meant in the place of an evaluator's, which may stand after its name."""
    for text, meant in instead.items():
        if word == text or word.endswith(f"={text}"):
            return word.removesuffix(text) + meant
    return word
