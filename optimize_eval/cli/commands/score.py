"""`optimize-eval score`: one candidate, one evaluator, one outcome."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

import typer

from optimize_eval.base import errors
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.outcome import Failed, Outcome
from optimize_eval.base.protocol import Payload, check_task_model
from optimize_eval.cli import output
from optimize_eval.cli.command_line import named_evaluators
from optimize_eval.cli.host import WaitingLine, owned_processes
from optimize_eval.config.compared import PatienceOptions, TaskModelOption
from optimize_eval.config.declared import Heading
from optimize_eval.config.evaluators import ScoringOptions, judge_of, manners_of, starting_spec
from optimize_eval.data.candidates import load_only_candidate
from optimize_eval.data.datasets import load_example, parse_example
from optimize_eval.evaluators.kinds import connect
from optimize_eval.run.attempt import attempt

EXAMPLES = """\b
Examples:
  optimize-eval score prompt.txt -e 'python3 judge.py'
  optimize-eval score prompt.txt -e ./judge.sh --example train.jsonl:7
  echo 'Hello!' | optimize-eval score - -e @exact_match --example '{"targets": ["hello!"]}'

\b
stdout holds one JSON object, of one of these forms:
  {"outcome": "scored", "score": …, "side_info": …, "seconds": …}
  {"outcome": "failed", "kind": …, "message": …, "hint": …, "stderr": …,
   "side_info": …, "seconds": …}
  {"outcome": "skipped", "message": …, "side_info": …, "seconds": …}
The last is for an answer of {"skip": "why"}.
Exit codes: 0 scored or skipped, 2 wrong option or data, 4 the evaluator
failed, 130 interrupted.
"""

_FILE_AND_LINE = re.compile(r"(.+):(\d{1,9})", re.DOTALL)
_LOOK_EVERY = 0.1  # seconds


def score(
    candidate: Annotated[str, typer.Argument(metavar="CANDIDATE", help="The file to score, or - for stdin.")],
    model: TaskModelOption,
    scoring: ScoringOptions,
    servers: PatienceOptions,
    example: Annotated[
        str | None,
        typer.Option(
            "--example",
            metavar="EXAMPLE",
            help="A JSON object, or FILE:LINE of a dataset.",
            rich_help_panel=Heading.DATA,
        ),
    ] = None,
) -> None:
    """Score one candidate with one evaluator: a program that reads JSON and prints {"score": …}."""
    spec = _only(named_evaluators(scoring, starting_spec(scoring, judge_of(scoring), manners_of(servers))))
    if scoring.headers:
        from optimize_eval.evaluators.endpoint_kind import check_headers  # noqa: PLC0415  most calls send none

        check_headers([spec])
    known = Payload(
        candidate="",
        example=None if example is None else _example_bytes(example),
        task_model=check_task_model(model.task_model),
    )
    payload = replace(known, candidate=load_only_candidate(candidate))  # last: stdin may take its time
    with owned_processes():
        outcome = _call(spec, payload)
    output.emit_json(outcome.to_dict())
    if isinstance(outcome, Failed):
        _explain(spec.name, outcome)
        raise typer.Exit(errors.TOO_MANY_FAILURES)


def _only(specs: tuple[EvaluatorSpec, ...]) -> EvaluatorSpec:
    if len(specs) != 1:
        raise UsageError(f"score calls one evaluator, and {len(specs)} were named", hint="give -e once")
    return specs[0]


def _example_bytes(text: str) -> bytes:
    if text.lstrip().startswith("{"):
        return parse_example(text, source="--example").raw
    match = _FILE_AND_LINE.fullmatch(text)
    if not match:
        raise UsageError(
            f"--example {text!r} is neither a JSON object nor FILE:LINE",
            hint="""write --example train.jsonl:7, or --example '{"input": "…"}'""",
        )
    return load_example(match[1], int(match[2])).raw


def _call(spec: EvaluatorSpec, payload: Payload) -> Outcome:
    with Opened() as opened:
        evaluator = connect(spec, opened)
        with _telling_who_waits(opened):
            return attempt(evaluator, payload, spec.timeout, spec.retries or 0)


@contextmanager
def _telling_who_waits(opened: Opened) -> Iterator[None]:
    """Say so while a model's server has no room."""
    is_over, tell = threading.Event(), WaitingLine()

    def look() -> None:
        while not is_over.wait(_LOOK_EVERY):
            tell(opened.waiting)

    looking = threading.Thread(target=look, name="who waits", daemon=True)
    looking.start()
    try:
        yield
    finally:
        is_over.set()
        looking.join()


def _explain(name: str, failed: Failed) -> None:
    """Say for a person what the JSON on stdout says for a program."""
    output.say(f"{name} failed ({failed.kind}): {failed.message}")
    if failed.stderr.strip() and failed.stderr.strip() not in failed.message:
        output.say("  it wrote to stderr:")
        output.say("\n".join(f"    {line}" for line in failed.stderr.strip("\n").split("\n")))
    if failed.hint:
        output.say(f"  try: {failed.hint}")
