"""Each step of writing a run fails in turn: the command says so, and again it ends with the same bytes."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.benches import arithmetic, timeless
from tests.faults.failing_disk import FailingDisk, Step
from tests.front_door import Result, in_this_process
from tests.run.projects import project, records, summary
from tests.tools import write_program

WRITTEN_WHOLE = ("write", "fsync", "rename")
ALWAYS = {
    *((operation, "run.json") for operation in WRITTEN_WHOLE),
    *((operation, "summary.json") for operation in WRITTEN_WHOLE),
    *((operation, "journal.jsonl") for operation in ("write", "fsync", "ftruncate")),
    ("fdatasync", "journal.jsonl"),
    *(("write", "lock"), ("ftruncate", "lock"), ("fsync", "")),
}
OF_A_BENCH = {
    *((operation, "leaderboard.json") for operation in WRITTEN_WHOLE),
    *((operation, "outputs.jsonl") for operation in ("write", "fsync", "ftruncate")),
}


class Command(NamedTuple):
    """A command that writes the run `r`, and what that has to be in the end."""

    arguments: tuple[str, ...]
    calls: int
    steps: set[tuple[str, str]]
    files: tuple[str, ...] = ("run.json",)


RUN = Command(
    ("run", "-e", "counts=./counts.sh", "--candidate=a.txt", "--candidate=b.txt", "--dataset=d.jsonl"),
    4,
    ALWAYS,
)
BENCH = Command(("bench", "sums.jsonl", "--model=m=cmd:./m"), 2, OF_A_BENCH, ("run.json", "leaderboard.json"))


def run_of(folder: Path) -> None:
    project(folder, 2)


def run_that_grows(folder: Path) -> None:
    run_of(folder)
    assert ran(folder, RUN, "--limit", "1").status == 0


def bench_of(folder: Path) -> None:
    project(folder, 1)
    arithmetic(folder, size=2)
    write_program(folder / "m", ["#!/bin/sh", "cat > /dev/null", 'echo \'{"text": "2"}\''])


def ran(folder: Path, command: Command, *options: str) -> Result:
    words = (*command.arguments, "--out", "r", "--concurrency", "1", "--no-preflight", *options)
    return in_this_process(folder)(*words, env={"COUNT": str(folder / "asked")})


def ran_on(
    folder: Path, command: Command, failing: Step | None, why: int = errno.ENOSPC
) -> tuple[Result, list[Step]]:
    """Run where a step fails, and list the steps up to its end."""
    disk = FailingDisk(folder / "r", failing, why)
    with pytest.MonkeyPatch.context() as patch:
        disk.install(patch)
        return ran(folder, command), disk.steps


def left(run: Path, command: Command) -> tuple[bytes, list[Any]]:
    """Read what a run says, without the times of day."""
    documents = [timeless(json.loads((run / name).read_bytes())) for name in command.files]
    at = [key for document in documents for key in document if key.endswith("_at")]
    return summary(run), [{key: document[key] for key in document.keys() - at} for document in documents]


@pytest.mark.parametrize(
    ("begin", "command", "why"),
    [
        (run_of, RUN, errno.ENOSPC),
        (run_that_grows, RUN, errno.EIO),
        (bench_of, BENCH, errno.EIO),
    ],
    ids=["a full disk", "a broken one, and a run that grows", "a bench"],
)
def test_whatever_fails_on_the_disk_the_same_command_then_ends_with_the_same_bytes(
    tmp_path: Path, begin: Callable[[Path], None], command: Command, why: int
) -> None:
    begin(tmp_path / "begun")
    shutil.copytree(tmp_path / "begun", tmp_path / "whole")
    done, steps = ran_on(tmp_path / "whole", command, None)
    expected = left(tmp_path / "whole" / "r", command)
    assert (done.status, command.steps - {step[:2] for step in steps}) == (0, set()), done.stderr
    for number, step in enumerate(step for step in steps if step[:2] in command.steps):
        folder = tmp_path / f"{number}"
        shutil.copytree(tmp_path / "begun", folder)
        told, reached = ran_on(folder, command, step, why)
        assert told.status == (3 if step in reached and step.file != "lock" else 0), (step, told.stderr)
        assert told.status == 0 or re.search(refused(why), told.stderr), (step, told.stderr)
        assert not [path for path in (folder / "r").iterdir() if path.name.startswith(".")], step
        again, _ = ran_on(folder, command, None)
        assert (again.status, left(folder / "r", command)) == (0, expected), (step, again.stderr)
        assert len(records(folder / "r")) == command.calls, step


def refused(why: int) -> str:
    file = r"(\S*/)?r(/[a-z.]+)?"
    what_to_do = "make room" if why == errno.ENOSPC else "see to the disk"
    return rf"(?m)^error: {file} could not be written: {os.strerror(why)}\n  try: {what_to_do}, then "
