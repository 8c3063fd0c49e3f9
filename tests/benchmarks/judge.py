"""Judges: how near the calls of a model that takes its time come to the ideal of full waves."""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.evaluators.kinds import connect, parse_evaluator
from optimize_eval.models.judging.rubric import JudgeSpec
from tests.benchmarks.calls import ask
from tests.benchmarks.measure import PROGRAMS, Row, median_of, median_ratio, wall
from tests.benchmarks.whole import Command, command

_SLOTS, _WAIT = 32, 0.05
_CALLS, _UNITS = 200, 2000  # `run` asks once before it asks all, which is one wave of 63 here
_PAIRS = 500
_JUDGE = "judge:vllm/m"
_NODE = PROGRAMS / "slow_model.js"


def calls_against_ideal() -> Row:
    """Ask 200 times, in 7 waves at best; the first of the rounds opens the connections."""
    with _server() as base:
        spec = EvaluatorSpec(target=JudgeSpec(objective="It is short.", api_base=base))
        evaluator = connect(parse_evaluator(_JUDGE, spec), Opened())
        seconds = median_of(lambda: wall(lambda: _ask_all(evaluator)))
        evaluator.close()
    what = f"judge of {_WAIT * 1000:g} ms, {_CALLS} calls, {_SLOTS} slots: wall against ideal"
    return Row(what=what, value=seconds / _ideal(_CALLS), bar=1.15, unit="×")


def run_against_ideal() -> Row:
    with _server() as base:
        options = ["--objective=It is short.", f"--api-base={base}", f"--concurrency={_SLOTS}"]
        with command(_JUDGE, candidates=1, examples=_UNITS, options=options) as run:
            start = median_of(lambda: run.start().wall, rounds=3)
            seconds = median_of(lambda: run.carry_out().wall, rounds=3) - start
    what = f"`run`, the same judge, {_UNITS:,} units (the start of {start:.2f} s apart): wall against ideal"
    return Row(what=what, value=seconds / _ideal(_UNITS), bar=1.15, unit="×")


def calls_against_a_generator() -> Row | None:
    """Time from the first request to the last reply, as the server saw it, beside a generator of load."""
    if shutil.which("node") is None:
        return None
    with _judging() as (run, base):

        def ours() -> float:
            run.carry_out()
            return _span(base)

        def theirs() -> float:
            subprocess.run(["node", _NODE, "load", base, str(_UNITS), str(_SLOTS)], check=True)
            return _span(base)

        value = median_ratio(ours, theirs, rounds=3)
    what = (
        f"{_UNITS:,} calls of {_WAIT * 1000:g} ms, {_SLOTS} at once, first request to last reply: generator"
    )
    return Row(what=what, value=value, bar=1.1, unit="×")


def pairs_against_ideal() -> Row | None:
    """Time 500 pairs, each in both orders, from the first request to the last reply, beside full waves."""
    if shutil.which("node") is None:
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".json") as rubric:
        json.dump({"against": "input"}, rubric)
        rubric.flush()
        with _judging(_PAIRS, [f"--rubric={rubric.name}"]) as (run, base):

            def span() -> float:
                run.carry_out()
                return _span(base)

            seconds = median_of(span, rounds=3)
    what = f"`run`, {_PAIRS} pairs in both orders, {_SLOTS} at once, first request to last reply: ideal"
    return Row(what=what, value=seconds / (2 * _PAIRS / _SLOTS * _WAIT), bar=1.15, unit="×")


def own_cpu_per_call() -> Row | None:
    """Take the CPU time of a judge's run beyond that of its start, by call."""
    if shutil.which("node") is None:
        return None
    with _judging() as (run, _):
        seconds = median_of(lambda: run.carry_out().own - run.start().own, rounds=3)
    what = f"`run`, a judge behind node, {_UNITS:,} calls: own CPU a call"
    return Row(what=what, value=seconds / _UNITS * 1000, bar=0.7, unit=" ms")


@contextmanager
def _judging(units: int = _UNITS, more: Sequence[str] = ()) -> Iterator[tuple[Command, str]]:
    """Prepare a run with a judge behind a server of node, none of whose time is ours."""
    program = ["node", str(_NODE), "serve", f"{_WAIT * 1000:g}"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            base = server.stdout.readline().strip()
            options = ["--objective=It is short.", f"--api-base={base}", f"--concurrency={_SLOTS}"]
            options += [*more, "--no-preflight"]
            with command(_JUDGE, candidates=1, examples=units, options=options) as run:
                yield run, base
        finally:
            server.terminate()


def _span(base: str) -> float:
    with urlopen(base) as told:  # noqa: S310  our own server
        return float(told.read())


def _ask_all(evaluator: Evaluator) -> None:
    """Let each slot take the next call, as a run does: 200 calls are not so many for each of 32."""
    with ThreadPoolExecutor(_SLOTS) as slots:
        for done in [slots.submit(ask, evaluator, 1) for _ in range(_CALLS)]:
            done.result()


def _ideal(calls: int) -> float:
    return -(-calls // _SLOTS) * _WAIT


@contextmanager
def _server() -> Iterator[str]:
    """Serve a model that takes its time; the base URL is for whoever asks."""
    with tempfile.TemporaryDirectory(prefix="optimize-eval-bench-") as folder:
        rules = Path(folder) / "rules.json"
        rules.write_text(json.dumps([{"json": {"reasoning": "r", "score": 0.5}, "delay": _WAIT}]))
        program = [sys.executable, "-m", "optimize_eval.fakes.model", str(rules)]
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            try:
                yield server.stdout.readline().strip()
            finally:
                server.terminate()
