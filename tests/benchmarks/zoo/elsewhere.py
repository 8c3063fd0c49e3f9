"""A zoo that somebody else keeps: a folder with manifest.jsonl, one line for each evaluator, sound or not.

A line has `name`, `folder`, `command`, `dataset`, `good`, `sound`, `fault` and `language`. Each is put on
trial by the installed program in a copy of its folder; whether the fault is named is for a reader to judge.
"""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.zoo.trying import Tried, tried_of
from tests.front_door import in_its_own_process

_AT_ONCE = 2


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
        print("sound" if sound else "faulty", len(own), counts, "most calls", max(one.calls for one in own))
    return 0


def _try_copy(root: Path, row: dict[str, Any]) -> Visited:
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / Path(row["folder"]).name
        shutil.copytree(root / row["folder"], own, symlinks=True)
        done = in_its_own_process(own)(
            *(
                "preflight",
                "-e",
                row["command"],
                "--dataset",
                row["dataset"],
                "--good",
                row["good"],
                "--json",
            ),
            *row.get("options", ()),
            env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
    if done.status not in {0, 1}:
        return Visited(row, Tried({"refused": done.stderr.strip()}, {}, {}, done.status), 0)
    return Visited(row, tried_of(done.json), done.json["evaluators"][0].get("calls_on_trial", 0))


def _print(one: Visited) -> None:
    row = one.row
    kind = "sound" if row["sound"] else row["fault"]
    print(f"{one.verdict:7}{one.calls:3} calls  {row['name']} ({row['language']}): {kind}", flush=True)
    for mark, told in (("x", one.tried.failed), ("!", one.tried.warned)):
        for name, message in told.items():
            print(f"    {mark} {name}: {message}", flush=True)
