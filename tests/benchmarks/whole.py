"""The whole command: `optimize-eval` as a process of its own, and what it took from its start to its end.

Everything counts: the interpreter's start, reading the data, the plan, every call, the journal, the summary,
and the end of the process.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.measure import PROGRAMS

RUN = "run"  # in the folder of a Command
_FALLS_BACK = "a process of its own"  # each call has: in the words about a program that cannot be kept alive


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Seconds and bytes that a command took; `children` are those that it waited for."""

    wall: float
    own: float
    children: float
    peak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A run that can be asked for: its evaluator and its axes, its files in a folder."""

    folder: Path
    evaluator: str
    candidates: int
    examples: int
    options: Sequence[str] = ()

    @property
    def units(self) -> int:
        return self.candidates * self.examples

    @property
    def run(self) -> Path:
        return self.folder / RUN

    @property
    def arguments(self) -> list[str]:
        texts = [f"--candidate={self.folder / f'{number}.txt'}" for number in range(self.candidates)]
        dataset = f"--dataset={self.folder / 'train.jsonl'}"
        return ["run", "-e", self.evaluator, *texts, dataset, f"--out={self.run}", "--quiet", *self.options]

    def write(self, size: int) -> None:
        """Write candidates and examples, each example a line of about so many bytes."""
        for number in range(self.candidates):
            (self.folder / f"{number}.txt").write_text(f"candidate {number}")
        lines = (_example(number, size) for number in range(self.examples))
        (self.folder / "train.jsonl").write_text("".join(lines))

    def carry_out(self) -> Spent:
        """Run it anew; every unit must have been scored."""
        spent = spend([*self.arguments, "--fresh"])
        units = json.loads((self.run / "summary.json").read_bytes())["units"]
        assert units["scored"] == units["total"] == self.units, units
        return spent

    def start(self) -> Spent:
        """Start, read the data, plan, and end: what a run costs before its first call."""
        return spend([*self.arguments, "--dry-run"])


@contextmanager
def command(
    evaluator: str, *, candidates: int, examples: int, size: int = 30, options: Sequence[str] = ()
) -> Iterator[Command]:
    """Prepare a run in a folder that goes afterwards."""
    with tempfile.TemporaryDirectory(prefix="optimize-eval-bench-") as folder:
        made = Command(
            folder=Path(folder),
            evaluator=evaluator,
            candidates=candidates,
            examples=examples,
            options=options,
        )
        made.write(size)
        yield made


def spend(arguments: Sequence[str]) -> Spent:
    """Run `optimize-eval` with these arguments to a good end, in which what stays is kept alive."""
    with tempfile.NamedTemporaryFile() as counts, tempfile.TemporaryFile("w+") as stderr:
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, PROGRAMS / "counted.py", counts.name, *arguments],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        stderr.seek(0)
        said = stderr.read()
        sys.stderr.write(said)
        assert _FALLS_BACK not in said, "then something else is measured"
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, arguments)
        counted = json.loads(Path(counts.name).read_bytes())
    children, peak = counted["children"], counted["peak"]
    own = usage.ru_utime + usage.ru_stime - children
    return Spent(wall=wall, own=own, children=children, peak=peak)


def _example(number: int, size: int) -> str:
    bare = json.dumps({"input": f"question {number}", "expected": ""}, separators=(",", ":"))
    return f'{bare[:-2]}{"x" * (size - len(bare))}"}}\n'
