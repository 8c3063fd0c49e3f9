"""The same faults where the system has no pidfd and no /proc: what Linux alone offers is taken away first."""

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.paths import PROGRAMS

ELSEWHERE = (
    "import os, signal, subprocess, sys; del os.pidfd_open, signal.pidfd_send_signal; "
    "sys.platform = 'darwin'; import optimize_eval.programs.process; sys.platform = 'linux'; "
    "from optimize_eval.cli import main; main()"
)

CASES = {  # program → how it comes out
    "good.sh": "scored",
    "never_reads.sh": "scored",
    "background_holds_stdout.sh": "scored",
    "background_floods_stderr.sh": "scored",
    "kills_itself.sh": "killed",
    "exit_3_after_answer.sh": "exit_code",
    "endless_stdout.sh": "output_too_large",
    "sleeps.sh": "timeout",
    "ignores_sigterm.sh": "timeout",
    "grandchild.sh": "timeout",
    "closes_stdout_and_hangs.sh": "timeout",
}


@pytest.mark.parametrize(("program", "expected"), CASES.items(), ids=CASES.keys())
def test_outcomes_are_the_same_without_pidfd_and_proc(tmp_path: Path, program: str, expected: str) -> None:
    (tmp_path / "candidate.txt").write_bytes(b"x" * 200_000)
    command = [sys.executable, "-c", ELSEWHERE, "score", "candidate.txt", "-e", str(PROGRAMS / program)]
    done = subprocess.run(
        [*command, "--timeout", "1.5"], cwd=tmp_path, capture_output=True, check=False, timeout=50
    )
    outcome = orjson.loads(done.stdout)
    assert outcome.get("kind", outcome["outcome"]) == expected, done.stderr
