"""A zoo that somebody else keeps: a folder with manifest.jsonl, one line for each evaluator, sound or not.

A line has `name`, `folder`, `command`, `dataset`, `good`, `sound`, `fault` and `language`. Each is put on
trial by the installed program in a copy of its folder; whether the fault is named is for a reader to judge.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.zoo.trying import Tried, tried_of
from tests.paths import PROGRAM

_AT_ONCE = 3
_SECONDS = "240"  # for each; what else the machine does is no fault of theirs


class Visited(NamedTuple):
    """What the trial of one evaluator said, and for how many calls."""

    row: dict[str, Any]
    tried: Tried
    calls: int

    @property
    def verdict(self) -> str:
        if self.tried.failed:
            return "FAILED"
        return "warned" if self.tried.warned.keys() - {"speed"} else "passed"


def visit(root: Path, wanted: Sequence[str]) -> int:
    """Put all on trial, and print each with what was said; those that are sound first."""
    rows = [json.loads(line) for line in (root / "manifest.jsonl").read_text().splitlines() if line.strip()]
    chosen = sorted(
        (row for row in rows if not wanted or row["name"] in wanted), key=lambda row: not row["sound"]
    )
    with ThreadPoolExecutor(_AT_ONCE) as slots:
        visited = []
        for one in slots.map(lambda row: _try_copy(root, row), chosen):
            visited.append(one)
            _print(one)
    for sound in (True, False):
        own = [one for one in visited if one.row["sound"] is sound]
        counts = {word: sum(one.verdict == word for one in own) for word in ("FAILED", "warned", "passed")}
        print(
            "sound" if sound else "faulty",
            len(own),
            counts,
            "most calls",
            max((one.calls for one in own), default=0),
        )
    return 0


def _try_copy(root: Path, row: dict[str, Any]) -> Visited:
    named = ("-e", row["command"], "--dataset", row["dataset"], "--good", row["good"])
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / Path(row["folder"]).name
        shutil.copytree(root / row["folder"], own, symlinks=True)
        done = subprocess.run(
            [PROGRAM, "preflight", *named, "--json", "--seconds", _SECONDS],
            capture_output=True,
            text=True,
            cwd=own,
            check=False,
        )
    if done.returncode not in {0, 1}:
        return Visited(row, Tried({"refused": done.stderr.strip()}, {}, {}, done.returncode), 0)
    said = json.loads(done.stdout)
    return Visited(row, tried_of(said), said["evaluators"][0].get("calls_on_trial", 0))


def _print(one: Visited) -> None:
    row = one.row
    kind = "sound" if row["sound"] else row["fault"]
    print(f"{one.verdict:7}{one.calls:3} calls  {row['name']} ({row['language']}): {kind}", flush=True)
    for mark, told in (("x", one.tried.failed), ("!", one.tried.warned)):
        for name, message in told.items():
            print(f"    {mark} {name}: {message}", flush=True)
