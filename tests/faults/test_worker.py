"""Kept-alive programs that misbehave at one step: every outcome is the one that a process per call gives."""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Answer, Answered, Payload
from optimize_eval.evaluators.kinds import connect, parse_evaluator
from optimize_eval.programs.command import MOST_BREAKS
from optimize_eval.programs.exchange import CommandLine
from tests.paths import PROGRAMS, ROOT
from tests.tools import need

pytestmark = need("perl")
NUMBERS = range(1, 17)
LAST = 20  # called when nobody else talks to it, or waits until somebody has shown that it may be kept alive
SHORT = 0.5  # seconds, for what does not come; what has to come has many
Said = tuple[float, dict[str, object]] | str


def evaluator(
    program: str, *, persistent: bool | None = None, workers: int = 2, timeout: float = 30
) -> Evaluator:
    defaults = EvaluatorSpec(persistent=persistent, workers=workers, timeout=timeout)
    return connect(parse_evaluator(f"{PROGRAMS}/{program}", defaults), Opened())


def ask(asked: Evaluator, number: int, timeout: float = 30) -> Said:
    try:
        return _said(asked.call(Payload(candidate=str(number)), time.monotonic() + timeout))
    except EvaluationError as error:
        return str(error.kind)


def _said(answer: Answered) -> Said:
    assert isinstance(answer, Answer)
    return answer.score, dict(answer.side_info)


def outcomes(
    program: str, *, persistent: bool | None = None, slots: int = 1, timeout: float = 30
) -> tuple[list[Said], str]:
    asked = evaluator(program, persistent=persistent, timeout=timeout)
    try:
        with ThreadPoolExecutor(slots) as threads:
            found = list(threads.map(lambda number: ask(asked, number, timeout), NUMBERS))
        return [*found, ask(asked, LAST, timeout)], asked.note
    finally:
        asked.close()


TRAITS = {  # trait → what the note says of it, if the worker breaks
    "good": "",
    "big-line": "",
    "stderr-flood": "",
    "dies": "it ended",
    "dies-mid-answer": "it ended",
    "answers-twice": "it answered",
    "wrong-id": "'nobody'",
    "no-id": "without the _id",
    "noise": "progress: 50 %",
    "nan": "NaN",
    "overlong-line": "a line of more than 8 MiB",
    "closes-stdout": "it closed its stdout",
}


ALSO_ONE_SHOT = {"big-line", "nan", "overlong-line"}  # all others behave well where they are started anew


@cache
def in_a_process_each(trait: str = "good") -> list[Said]:
    found, _ = outcomes(f"worker.pl {trait} 1", persistent=False, slots=4)
    return found


@pytest.mark.parametrize(("trait", "note"), TRAITS.items(), ids=TRAITS.keys())
def test_outcomes_are_those_of_a_process_per_call(trait: str, note: str) -> None:
    expected = in_a_process_each(trait if trait in ALSO_ONE_SHOT else "good")
    for concurrency in (1, 4):
        found, told = outcomes(f"worker.pl {trait} {concurrency}", slots=concurrency)
        assert found == expected
        assert (note in told) if note else not told


def test_a_worker_is_asked_again_and_again() -> None:
    asked = evaluator("worker.pl good")
    pool = [ask(asked, number) for number in range(8)]
    assert pool[7] == (0.07, {"number": 7})
    asked.close()


def test_answers_may_come_in_any_order() -> None:
    expected = in_a_process_each()
    asked = evaluator("worker.pl out-of-order 3", workers=1)
    first = [ask(asked, number) for number in (1, 2)]
    with ThreadPoolExecutor(3) as threads:
        rest = list(threads.map(lambda number: ask(asked, number), range(3, 15)))
    asked.close()
    assert ([*first, *rest], asked.note) == (expected[:14], "")


def test_after_some_breaks_it_is_asked_one_process_per_call_and_says_so() -> None:
    _, note = outcomes("worker.pl dies")
    assert f"after {MOST_BREAKS} breaks each call has a process of its own from now on" in note
    assert note.startswith("worker: a kept-alive process broke (it ended);")


def test_late_alone_is_a_timeout_and_the_next_call_gets_a_new_worker() -> None:
    asked = evaluator("worker.pl hangs")
    found = [ask(asked, number, SHORT if number == 5 else 30) for number in (1, 2, 5, 6, 8)]
    assert found == [*in_a_process_each()[:2], "timeout", (0.06, {"number": 6}), (0.08, {"number": 8})]
    assert asked.note == ""
    asked.close()


def test_a_late_worker_is_ended_with_all_it_started() -> None:
    asked = evaluator("worker.pl grandchild")
    assert [ask(asked, number) for number in (1, 2)] == in_a_process_each()[:2]
    assert ask(asked, 5) == (0.05, {"number": 5})  # and hangs now, with a child in a session of its own
    assert ask(asked, 6, SHORT) == "timeout"
    asked.close()


def test_a_serial_program_behind_a_window_loses_nobody_to_its_queue() -> None:
    expected = in_a_process_each()
    asked = evaluator("worker.pl serial 8 0.3", workers=1, timeout=1.8)
    assert [ask(asked, number) for number in (1, 2)] == expected[:2]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: ask(asked, number, 1.8), range(3, 11)))
    asked.close()
    assert found == expected[2:10]
    assert "an answer was late while several were owed" in asked.note


def test_the_last_of_a_queue_behind_a_window_is_not_blamed_for_it() -> None:
    asked = evaluator("worker.pl serial 2 1", workers=1, timeout=1.9)
    assert ask(asked, 1) == (0.01, {"number": 1})
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda number: ask(asked, number, 1.9), (2, 4)))
    asked.close()
    assert found == [(0.02, {"number": 2}), (0.04, {"number": 4})]


@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("first", [[1], [1, 2]], ids=["breaks at first", "is late once it is trusted"])
def test_a_worker_that_does_not_flush_is_no_hang(concurrency: int, first: list[int]) -> None:
    asked = evaluator(f"worker.pl never-flushes {concurrency}")
    found = [ask(asked, number, SHORT if number == 5 else 30) for number in (*first, 5, 6)]
    note = asked.note
    asked.close()
    late, words = ("timeout", "") if len(first) > 1 else ((0.05, {"number": 5}), "does it flush each answer?")
    assert found == [*in_a_process_each()[: len(first)], late, (0.06, {"number": 6})]
    assert (words in note) if words else not note


def test_who_never_flushes_has_a_process_per_call_after_some_breaks() -> None:
    asked = evaluator("never_flushes.pl")
    assert [ask(asked, number, 30 if number == 1 else SHORT) for number in range(1, 7)] == [(0.5, {})] * 6
    asked.close()
    assert f"it did not answer in time: does it flush each answer?); after {MOST_BREAKS} breaks" in asked.note


@pytest.mark.parametrize("batch", [1, 4])
def test_who_answers_otherwise_when_kept_alive_has_a_process_per_call(batch: int) -> None:
    asked = kept_alive(
        "score=1 / counted", setup="counted += 1", capabilities={"persistent": True, "batch": batch}
    )
    payloads = [Payload(candidate="x", example=b'{"number": %d}' % number) for number in range(9)]
    asked.call(payloads[0], time.monotonic() + 30)
    found = asked.call_many(payloads[1:], 30)
    asked.close()
    assert [one.score for one in found if isinstance(one, Answer)] == [1.0] * 8
    assert "the first payload scored 1.0, and 0.5 once it was kept alive: does state leak" in asked.note


def test_chance_is_not_taken_for_state_that_leaks() -> None:
    asked = kept_alive("score=random.random(), pid=os.getpid()")
    pids = [told_by(asked, "pid", Payload(candidate="x")) for _ in range(5)]
    asked.close()
    assert (len({*pids}), asked.note) == (2, "")


def test_five_megabytes_both_ways_block_nobody() -> None:
    asked = kept_alive("back=p['candidate']")
    for _ in range(3):
        answer = asked.call(Payload(candidate="x" * 5_000_000), time.monotonic() + 30)
        assert len(answer.side_info["back"]) == 5_000_000
    asked.close()


def test_a_worker_that_ignores_every_hint_is_killed_at_the_end() -> None:
    asked = evaluator("worker_stays.pl")
    assert [ask(asked, number) for number in range(3)] == [(0.5, {})] * 3
    started = time.monotonic()
    asked.close()
    assert time.monotonic() - started < 20
    # that it is gone is checked after each test


def test_workers_end_with_the_interpreter_although_nobody_closed_them() -> None:
    code = (
        "from optimize_eval import command_evaluator\n"
        f"evaluator = command_evaluator(['{PROGRAMS}/worker_stays.pl'])\n"
        "print([evaluator('1')[0] for _ in range(3)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("[0.5, 0.5, 0.5]\n", "")


@pytest.mark.parametrize("concurrency", [1, 4])
def test_closing_breaks_off_the_calls_in_flight(concurrency: int, tmp_path: Path) -> None:
    up = tmp_path / "up"
    os.mkfifo(up)
    asked = evaluator(f"worker.pl hangs {concurrency} {up}")
    assert [ask(asked, number) for number in (1, 2)] == in_a_process_each()[:2]
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(ask, asked, 5) for _ in range(4)]
        up.read_text()
        asked.close()
        assert [call.result(timeout=20) for call in waiting] == ["internal"] * 4


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    outcomes("worker.pl good 4", slots=4)
    outcomes("worker.pl dies 4", slots=4)
    assert threading.active_count() == before


def test_a_forked_child_leaves_its_parents_workers_alone() -> None:
    code = (
        "import os\nfrom optimize_eval import command_evaluator\n"
        f"evaluator = command_evaluator(['{PROGRAMS}/worker.pl', 'good'])\n"
        "evaluator('1'), evaluator('2')\n"
        "child = os.fork()\n"
        "if child == 0:\n    evaluator('2'), evaluator('4'); evaluator.close(); raise SystemExit\n"
        "os.waitpid(child, 0)\n"
        "print(evaluator('6'), evaluator._evaluator.note)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True, cwd=ROOT)
    assert done.stdout == "(0.06, {'number': 6}) \n", done.stderr


def test_batches_after_a_fork_are_not_asked_of_the_parents_worker() -> None:
    code = (
        "import os, time\n"
        "from optimize_eval.evaluators.kinds import connect\n"
        "from optimize_eval.base.evaluator import Opened\n"
        "from optimize_eval.base.protocol import Payload\n"
        "from optimize_eval.base.evaluator import EvaluatorSpec\n"
        "from optimize_eval.programs.exchange import CommandLine\n"
        f"argv = ('{PROGRAMS}/worker_batch.pl', 'persistent', 'good')\n"
        "evaluator = connect(EvaluatorSpec(name='b', target=CommandLine(argv=argv), workers=1), Opened())\n"
        "ask = lambda n: Payload(candidate='x', example=b'{\"number\": %d}' % n)\n"
        "evaluator.call(ask(1), time.monotonic() + 30); evaluator.call_many([ask(1), ask(2)], 30)\n"
        "child = os.fork()\n"
        "numbers = range(10, 50) if child else range(50, 90)\n"
        "found = [answer.score for answer in evaluator.call_many([ask(n) for n in numbers], 30)]\n"
        "assert found == [n / 100 for n in numbers], found\n"
        "evaluator.close()\n"
        "assert child == 0 or os.waitpid(child, 0)[1] == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def batch_outcomes(program: str, *, persistent: bool | None, timeout: float = 30) -> list[Said]:
    asked = evaluator(program, persistent=persistent, timeout=timeout)
    payloads = [Payload(candidate="x", example=b'{"number": %d}' % number) for number in range(1, 23)]
    first = asked.call(payloads[0], time.monotonic() + timeout)
    found = asked.call_many(payloads[1:], timeout)
    asked.close()
    return [_unsized(one) for one in (first, *found)]


def _unsized(outcome: Answered | EvaluationError) -> Said:
    """Leave out the size of the batch, which is there to be looked at in one test only."""
    if isinstance(outcome, EvaluationError):
        return str(outcome.kind)
    assert isinstance(outcome, Answer)
    return outcome.score, {key: value for key, value in outcome.side_info.items() if key != "size"}


BATCHED: list[Said] = ["reported" if n == 3 else (n / 100, {"number": n}) for n in range(1, 23)]


@pytest.mark.parametrize("trait", ["good", "short", "none", "bad-element", "dies"])
@pytest.mark.parametrize("mode", ["persistent", "one-shot"])
def test_a_batch_leaves_no_trace(mode: str, trait: str) -> None:
    found = batch_outcomes(f"worker_batch.pl {mode} {trait}", persistent=None)
    bad = (
        {5: "score_type", 10: "score_type", 15: "score_type", 20: "score_type"}
        if trait == "bad-element"
        else {}
    )
    assert found == [bad.get(n, BATCHED[n - 1]) for n in range(1, 23)]


def test_a_late_batch_is_asked_singly() -> None:
    found = batch_outcomes("worker_batch.pl persistent hangs", persistent=None, timeout=0.75)
    assert found == BATCHED


def kept_alive(
    side_info: str, *, setup: str = "", capabilities: dict[str, Any] | None = None, **options: Any
) -> Evaluator:
    """Make a worker of a few lines whose side info is an expression over the payload `p`."""
    declared = capabilities or {"persistent": True}
    code = (
        "import json, os, random, sys\n"
        "counted = 0\n"
        "for line in sys.stdin:\n"
        "    p = json.loads(line)\n"
        f"    {setup}\n"
        f"    a = {{'score': 1, '_capabilities': {declared}, **dict({side_info})}}\n"
        "    if 'examples' in p: a = {'results': [a for _ in p['examples']]}\n"
        "    if '_id' in p: a['_id'] = p['_id']\n"
        "    print(json.dumps(a), flush=True)\n"
    )
    return connect(
        EvaluatorSpec(name="few-lines", target=CommandLine(argv=(sys.executable, "-c", code)), **options),
        Opened(),
    )


def told_by(asked: Evaluator, key: str, payload: Payload) -> object:
    return asked.call(payload, time.monotonic() + 30).side_info[key]


def test_a_batch_is_one_question() -> None:
    asked = evaluator("worker_batch.pl persistent good", workers=1)
    payloads = [Payload(candidate="x", example=b'{"number": 1}') for _ in range(9)]
    asked.call(payloads[0], time.monotonic() + 30)
    found = [one.side_info["size"] for one in asked.call_many(payloads, 30) if isinstance(one, Answer)]
    asked.close()
    assert found == [4] * 8 + [1]


def test_the_task_model_reaches_a_worker_by_its_environment_too() -> None:
    asked = kept_alive("model=os.environ.get('OPTIMIZE_ANYTHING_TASK_MODEL')")
    models = [None, "a", "b", "a", None]
    found = [told_by(asked, "model", Payload(candidate="x", task_model=model)) for model in models]
    asked.close()
    assert found == models


def test_the_pids_say_that_one_process_serves_many_calls() -> None:
    for persistent, processes in ((None, 2), (True, 1), (False, 6)):
        asked = kept_alive("pid=os.getpid()", persistent=persistent)
        pids = {told_by(asked, "pid", Payload(candidate="x")) for _ in range(6)}
        asked.close()
        assert len(pids) == processes
        assert os.getpid() not in pids
