"""How tests ask a shipped metric: as a program, by its path, from another folder."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.paths import EVALUATORS

METRICS = (
    "accuracy",
    "bleu",
    "bleu_4",
    "contains",
    "edit_similarity",
    "exact",
    "exact_match",
    "f1",
    "forbidden",
    "function_call_coverage",
    "json_valid",
    "label_in_set",
    "length_limit",
    "multiple_choice",
    "numeric_close",
    "regex_match",
    "rouge_l",
    "string_equals",
    "string_equals_mcqa",
    "substring_contains",
)
NEEDING = {"bleu": "sacrebleu", "edit_similarity": "rapidfuzz", "json_valid": "jsonschema"}

Answer = dict[str, Any]


def ask(
    metric: str,
    payloads: Sequence[Mapping[str, object]],
    *arguments: str,
    python: Sequence[str] = (),
    cwd: Path | None = None,
) -> list[Answer]:
    """Send payloads to one process and read its answers."""
    lines = "".join(json.dumps(payload) + "\n" for payload in payloads)
    done = subprocess.run(
        [sys.executable, *python, EVALUATORS / f"{metric}.py", *arguments],
        input=lines.encode(),
        capture_output=True,
        timeout=40,
        cwd=cwd or "/",
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(payloads)
    return answers


def answer(metric: str, candidate: str, example: Mapping[str, object], *arguments: str) -> Answer:
    (said,) = ask(metric, [{"candidate": candidate, "example": example}], *arguments)
    return said


def scores(metric: str, cases: Sequence[tuple[str, Mapping[str, object]]], *arguments: str) -> list[Any]:
    """Score cases; an error stands as "error"."""
    asked = [{"candidate": candidate, "example": example} for candidate, example in cases]
    return [said.get("score", "error") for said in ask(metric, asked, *arguments)]
