"""One case: a file made wrong, a command that reads it, and what is wrong with how that ended."""

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from optimize_eval.cli import command_table as commands
from tests.front_door import Cli, Result
from tests.fuzz.targets import Target

_WITH_REASON = {2, 3}


def load_once() -> Any:
    """Give what loads a command, each of them once in a process."""
    return cache(vars(commands)["load_command"])


def faults_of(cli: Cli, folder: Path, target: Target, count: int, dice: random.Random) -> Iterator[str]:
    """Try so many cases, and tell each that did not end as it should; the file is good again in the end."""
    file = folder / target.file
    former = file.read_bytes() if file.exists() else None
    known = set()
    for number in range(count):
        data = dice.choice(target.mutations)(dice.choice(target.good), dice)
        file.write_bytes(data)
        command = target.commands[number % len(target.commands)]
        done = cli(*command, env={"OPENAI_API_KEY": "k", "OPTIMIZE_EVAL_TRACEBACK": "1"})
        if (fault := _fault(done)) and fault[-200:] not in known:
            known.add(fault[-200:])
            yield f"{' '.join(command)}\n{fault}\n{data[:3000]!r}"
    if former is not None:
        file.write_bytes(former)


def _fault(done: Result) -> str:
    if "Traceback" in done.stderr or "this is a bug" in done.stderr:
        return done.stderr[-2500:]
    if done.status not in range(5):
        return f"exit {done.status}: {done.stderr[-500:]}"
    if done.status in _WITH_REASON and not done.stderr.strip():
        return f"exit {done.status} without a reason"
    return ""
