"""Law 2: however an evaluator is reached, its answers over all shipped examples are the same."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from optimize_eval.base import shipped
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Answered, Payload, Skip
from optimize_eval.data.datasets import load_examples
from optimize_eval.evaluators.kinds import connect, parse_evaluator
from optimize_eval.programs.exchange import argv_of
from tests.paths import PROGRAMS, PYTHON
from tests.tools import behind_http, cases

SAYS_MORE = f"{PYTHON} {PROGRAMS}/says_more.py"
EVALUATORS = {
    "normalised": ("@exact_match",),
    "strict": ("@exact_match@strict",),
    "f1": ("@f1",),
    "five lines": (f"{PROGRAMS}/five_lines.pl",),
    "windowed": (f"{PROGRAMS}/worker_window.pl",),
    "wrong": (SAYS_MORE,),
}


def payloads() -> list[Payload]:
    (examples,) = load_examples([shipped.path("datasets/greetings.jsonl")])
    texts = ["", "Hello, Ada!", "hello,  zoë!", "Hi, Grace!\n", "\u202e\0🙂"]
    return [Payload(candidate=text, example=example.raw) for example in examples for text in texts]


def outcome(result: Answered | EvaluationError) -> object:
    if isinstance(result, EvaluationError):
        return str(result.kind), result.message, result.hint, dict(result.side_info)
    told = result.why if isinstance(result, Skip) else result.score
    return told, dict(result.side_info)


def outcomes(spec: EvaluatorSpec, *, slots: int) -> list[object]:
    evaluator = connect(spec, Opened())

    def ask(payload: Payload) -> object:
        try:
            return outcome(evaluator.call(payload, time.monotonic() + 30))
        except EvaluationError as error:
            return outcome(error)

    try:
        with ThreadPoolExecutor(slots) as threads:
            found = list(threads.map(ask, payloads()))
            assert evaluator.note == ""
            assert [outcome(result) for result in evaluator.call_many(payloads(), 30)] == found
            return found
    finally:
        evaluator.close()


@pytest.mark.parametrize("text", cases(EVALUATORS))
def test_one_shot_kept_alive_windowed_batched_and_over_http_agree(text: str) -> None:
    spec = parse_evaluator(text, EvaluatorSpec())
    one_by_one = outcomes(replace(spec, persistent=False), slots=1)
    assert len({str(found) for found in one_by_one}) > (6 if text == SAYS_MORE else 1)
    assert outcomes(replace(spec, persistent=False), slots=8) == one_by_one
    assert outcomes(spec, slots=1) == one_by_one
    assert outcomes(spec, slots=8) == one_by_one
    assert outcomes(replace(spec, persistent=True, workers=3), slots=8) == one_by_one
    with behind_http(argv_of(spec)) as url:
        assert outcomes(parse_evaluator(url, EvaluatorSpec()), slots=4) == one_by_one
