"""What a machine has too few of: descriptors that calls use up, a process table full of the dead."""

import os
import sys
from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.paths import PROGRAMS
from tests.processes import descriptors


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands zombies to us")
def test_the_end_of_a_run_looks_at_the_process_table_a_few_times_however_many_zombies_there_are(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c.txt").touch()
    (tmp_path / "d.jsonl").write_text("".join(f'{{"id":{n}}}\n' for n in range(8)))
    looks: list[str] = []
    held: list[int] = []
    list_folder, open_handle = os.listdir, os.pidfd_open

    def listed(path: str = ".") -> list[str]:
        looks.extend([path] if path == "/proc" else [])
        return list_folder(path)

    def opened(pid: int, flags: int = 0) -> int:
        handle = open_handle(pid, flags)
        held.append(descriptors())
        return handle

    before = descriptors()
    monkeypatch.setattr(os, "listdir", listed)
    monkeypatch.setattr(os, "pidfd_open", opened)
    evaluator = f"{sys.executable} {PROGRAMS}/leaves_zombies.py"
    done = cli("run", "-e", evaluator, "--candidate", "c.txt", "--dataset", "d.jsonl", "--concurrency", "2")
    assert done.status == 0, done.stderr
    assert len(looks) < 25, "200 zombies, and not one look for each"
    assert max(held) - before < 40
