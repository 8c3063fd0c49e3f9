"""What a machine has too few of: descriptors that calls use up, a process table full of the dead."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.paths import PROGRAM, PROGRAMS, PYTHON
from tests.processes import descriptors
from tests.tools import write_program


def test_calls_that_find_no_descriptor_lower_the_concurrency_and_none_fails(tmp_path: Path) -> None:
    write_program(tmp_path / "e.sh", ["#!/bin/sh", "read -r line", "sleep 0.02", """echo '{"score": 0.5}'"""])
    (tmp_path / "c.txt").touch()
    (tmp_path / "d.jsonl").write_text("".join(f'{{"id":{n}}}\n' for n in range(80)))
    command = f"{PROGRAM} run -e ./e.sh --candidate c.txt --dataset d.jsonl --out r --concurrency 64 --json"
    done = subprocess.run(
        ["sh", "-c", f"ulimit -n 64; exec {command}"],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=50,
    )
    told = done.stderr.decode()
    assert done.returncode == 0, told
    assert json.loads(done.stdout)["summary"]["units"]["scored"] == 80
    assert "note: --concurrency was lowered from 64 to " in told
    assert ": too many open files; what found no room was called again" in told
    assert '"failed"' not in (tmp_path / "r" / "journal.jsonl").read_text()


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
    evaluator = f"{PYTHON} {PROGRAMS}/leaves_zombies.py"
    done = cli("run", "-e", evaluator, "--candidate", "c.txt", "--dataset", "d.jsonl", "--concurrency", "2")
    assert done.status == 0, done.stderr
    assert len(looks) < 25, "200 zombies, and not one look for each"
    assert max(held) - before < 40
