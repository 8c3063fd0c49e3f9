"""The same faults without pidfd, /proc and fork_exec: what Linux or CPython alone has is taken away first."""

import subprocess
import sys
from pathlib import Path

import orjson

from tests.paths import PROGRAMS

ELSEWHERE = """
import os, signal, subprocess, sys
sys.modules["_posixsubprocess"] = None
del os.pidfd_open, os.waitid, signal.pidfd_send_signal
sys.platform = "darwin"
import optimize_eval.programs.process
sys.platform = "linux"
from optimize_eval.cli import main
for words in sys.argv[1:]:
    sys.argv = ["optimize-eval", "score", "candidate.txt", "-e", *words.split()]
    try:
        main()
    except SystemExit:
        print(end=chr(0), flush=True)
"""

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


def test_outcomes_are_the_same_without_pidfd_and_proc(tmp_path: Path) -> None:
    (tmp_path / "candidate.txt").write_bytes(b"x" * 200_000)
    seconds = {name: 0.5 if kind == "timeout" else 30 for name, kind in CASES.items()}
    words = [f"{PROGRAMS}/{name} --timeout {seconds[name]}" for name in CASES]
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, *words],
        cwd=tmp_path,
        capture_output=True,
        check=False,
        timeout=100,
    )
    outcomes = [orjson.loads(told) for told in done.stdout.split(b"\0")[:-1]]
    assert len(outcomes) == len(CASES), done.stderr
    found = {name: one.get("kind", one["outcome"]) for name, one in zip(CASES, outcomes, strict=True)}
    assert found == CASES, done.stderr
