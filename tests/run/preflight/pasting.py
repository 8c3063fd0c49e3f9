"""What preflight says as JSON, and its lines, pasted into a shell."""

import os
import subprocess
from pathlib import Path

from tests.front_door import Result


def findings(result: Result) -> dict[str, dict[str, str]]:
    """Give the checks of the one evaluator by their names."""
    (subject,) = result.json["evaluators"]
    checks = {check["name"]: check for check in subject["checks"]}
    assert len(checks) == len(subject["checks"]), "two checks have one name"
    return checks


def pasted(line: str, folder: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        timeout=40,
        env={**os.environ, **(env or {})},
    )
    return done.stdout + done.stderr
