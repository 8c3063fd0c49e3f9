"""Each step of writing a run fails in turn: the command says so, and again it ends with the same bytes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.faults.failing_disk import FailingDisk, Step
from tests.front_door import Result, in_this_process
from tests.run.projects import Project, project, records, summary

EXAMPLES, CALLS = 2, 4
FULL = re.compile(
    r"^error: r(/[a-z.]+)? could not be written: No space left on device\n  try: ", re.MULTILINE
)
STEPS = {
    *(
        (operation, file)
        for operation in ("write", "fsync", "rename")
        for file in ("run.json", "summary.json")
    ),
    *((operation, "journal.jsonl") for operation in ("write", "fsync", "ftruncate")),
    *(("write", "lock"), ("ftruncate", "lock"), ("fsync", "")),
}


def ran(made: Project, *options: str) -> Result:
    command = (*made.command, "--out", "r", "--concurrency", "1", *options)
    return in_this_process(made.folder)(*command, env=made.env())


def ran_on(made: Project, failing: Step | None) -> tuple[Result, list[Step]]:
    """Run where a step fails, and list the steps up to its end."""
    disk = FailingDisk(made.folder / "r", failing)
    with pytest.MonkeyPatch.context() as patch:
        disk.install(patch)
        return ran(made), disk.steps


def ends(steps: list[Step]) -> list[Step]:
    """Choose the first and the last step of each kind."""
    kinds: dict[tuple[str, str], list[Step]] = {}
    for step in steps:
        kinds.setdefault((step.operation, step.file), []).append(step)
    return [step for kind in kinds.values() for step in dict.fromkeys((kind[0], kind[-1]))]


def left(run: Path) -> tuple[bytes, dict[str, Any]]:
    """Read what a run says, without the times of day."""
    document = json.loads((run / "run.json").read_bytes())
    return summary(run), {key: value for key, value in document.items() if not key.endswith("_at")}


@pytest.mark.parametrize("before", [[], ["--limit", "1"]], ids=["a new run", "a run that grows"])
def test_whatever_fails_on_the_disk_the_same_command_then_ends_with_the_same_bytes(
    tmp_path: Path, before: list[str]
) -> None:
    def begun(name: str) -> Project:
        made = project(tmp_path / name, EXAMPLES)
        assert not before or ran(made, *before).status == 0
        return made

    done, steps = ran_on(begun("whole"), None)
    expected = left(tmp_path / "whole" / "r")
    assert (done.status, STEPS - {step[:2] for step in steps}) == (0, set())
    for number, step in enumerate(ends(steps)):
        made, run = begun(f"{number}"), tmp_path / f"{number}" / "r"
        told, reached = ran_on(made, step)
        assert told.status == (3 if step in reached and step.file != "lock" else 0), (step, told.stderr)
        assert told.status == 0 or re.search(FULL, told.stderr), (step, told.stderr)
        assert not [path for path in run.iterdir() if path.name.startswith(".")], step
        again = ran(made)
        assert (again.status, left(run)) == (0, expected), (step, again.stderr)
        assert len(records(run)) == CALLS, step
