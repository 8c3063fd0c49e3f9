"""`python -m tests.fuzz N [TARGET…]`: make each target's files wrong N times, and print what goes wrong.

A command may end with 0 to 4, never with a traceback or "this is a bug", and what ends with 2 or 3 says why.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

from optimize_eval.cli import command_table as commands
from tests.fuzz.cases import faults_of, load_once
from tests.fuzz.targets import prepare


def main(count: int, names: list[str]) -> int:
    vars(commands)["load_command"] = load_once()
    seed, found = int(time.time()), 0
    with tempfile.TemporaryDirectory() as folder:
        cli, targets = prepare(Path(folder))
        for name in names or targets:
            started = time.process_time()
            for fault in faults_of(cli, Path(folder), targets[name], count, random.Random(f"{seed} {name}")):
                found += 1
                print(f"--- {name}: {fault}", flush=True)  # noqa: T201  printing is its job
            print(f"{name}: {count:,} cases, {time.process_time() - started:.0f} s", flush=True)  # noqa: T201
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
