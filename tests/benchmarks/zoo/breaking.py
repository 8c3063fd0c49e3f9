"""Starters that are broken, as broken.toml says, built where their language builds, and put on trial."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import orjson

from tests.benchmarks.zoo.trying import Tried, tried_of

BROKEN: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name("broken.toml").read_text())["broken"]


def break_starter(broken: dict[str, Any], folder: Path) -> Tried:
    """Write a starter by the command, change it, and run the line that the command printed."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def run(line: str) -> str:
        done = subprocess.run(  # noqa: S602  a line of ours
            line, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout

    line = run(f"optimize-eval new evaluator w --lang {broken['lang']}").splitlines()[-1]
    (path,) = (path for path in folder.iterdir() if path.suffix != ".jsonl")
    text = path.read_text(encoding="utf-8")
    for old, new in broken["edits"]:
        assert old in text, f"{broken['name']}: {old}"
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return tried_of(orjson.loads(run(f"{line} --json")))


def is_said(broken: dict[str, Any], tried: Tried) -> bool:
    told = {**tried.failed, **tried.warned, **tried.passed}
    return any(broken["said"] in f"{name}: {message}" for name, message in told.items())
