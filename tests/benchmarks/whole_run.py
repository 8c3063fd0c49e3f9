"""`optimize-eval run` from its start to its end: journal, side information and summary included."""

import shutil
import subprocess

from tests.benchmarks import endpoint
from tests.benchmarks.measure import Row, compiled, median_of, median_ratio, wall
from tests.benchmarks.whole import command

ROUNDS = 5  # runs take seconds

_SLOTS = ("--concurrency=8",)
_WAITING_SLOTS, _WAITING_UNITS, _WAIT = 64, 6400, 0.1  # 10 s at best, so that a start of 0.2 s is 2 %
_PEERS = {  # recorded CPU per unit in ms, 1,000 units, on the same evaluator
    "promptfoo exec": 7.0,
    "inspect-ai": 8.0,
    "thread pool with httpx": 18.0,
    "promptfoo Python assertion": 68.0,
}


def one_shot_against_the_limit() -> Row:
    program = str(compiled("evaluator", "-static"))
    with command(program, candidates=3, examples=1000, options=_SLOTS) as run:
        limit = [str(compiled("spawn_limit", "-lpthread")), program, str(run.units), "2"]
        start = median_of(lambda: run.start().wall, rounds=ROUNDS)
        ratio = median_ratio(
            lambda: run.carry_out().wall - start,
            lambda: wall(lambda: subprocess.run(limit, check=True)),
            rounds=ROUNDS,
        )
    what = f"`run`, one-shot, 8 slots, 3,000 units: wall against the C limit{_apart(start)}"
    return Row(what=what, value=ratio, bar=1.6, unit="×")


def one_shot_cpu() -> Row:
    with command(str(compiled("evaluator", "-static")), candidates=3, examples=1000, options=_SLOTS) as run:
        start = median_of(lambda: run.start().own, rounds=ROUNDS)
        seconds = median_of(lambda: run.carry_out().own, rounds=ROUNDS) - start
    return Row(
        what=f"`run`, one-shot, 3,000 units: own CPU per unit{_apart(start)}",
        value=seconds / run.units * 1e6,
        bar=250,
        unit=" µs",
    )


def kept_alive_cpu() -> Row:
    with command(str(compiled("worker")), candidates=5, examples=10_000) as run:
        start = median_of(lambda: run.start().own, rounds=3)
        seconds = median_of(lambda: run.carry_out().own, rounds=3) - start
    return Row(
        what=f"`run`, persistent C worker, 50,000 units: own CPU per unit{_apart(start)}",
        value=seconds / run.units * 1e6,
        bar=60,
        unit=" µs",
    )


def http_against_wrk() -> Row | None:
    if shutil.which("wrk") is None:
        return None
    slots = f"--concurrency={endpoint.CONNECTIONS}"
    with (
        endpoint.server() as url,
        command(url, candidates=2, examples=10_000, options=[slots]) as run,
    ):
        start = median_of(lambda: run.start().wall, rounds=3)
        ratio = median_ratio(
            lambda: (run.carry_out().wall - start) / run.units, lambda: 1 / endpoint.wrk_rate(url), rounds=3
        )
    told = f"{endpoint.CONNECTIONS} connections, {run.units:,} units"
    return Row(
        what=f"`run`, HTTP, {told}: wall against wrk{_apart(start)}",
        value=ratio,
        bar=8,
        unit="×",
    )


def many_slots() -> Row:
    options = [f"--concurrency={_WAITING_SLOTS}"]
    with command(
        str(compiled("sleeper", "-static")), candidates=2, examples=_WAITING_UNITS // 2, options=options
    ) as run:
        ideal = run.units / _WAITING_SLOTS * _WAIT
        seconds = median_of(lambda: run.carry_out().wall, rounds=3)
    what = f"`run`, {_WAITING_SLOTS} slots, evaluator sleeping 100 ms, {run.units:,} units: against ideal"
    return Row(what=what, value=seconds / ideal, bar=1.08, unit="×")


def _apart(start: float) -> str:
    return f" (the start of {start:.2f} s apart)"


def peers() -> Row:
    """Count all CPU, ours and the evaluator's, as it was for the peers."""
    with command(str(compiled("evaluator", "-static")), candidates=1, examples=1000, options=_SLOTS) as run:
        spent = [run.carry_out() for _ in range(ROUNDS)]
    ours = sorted(one.own + one.children for one in spent)[ROUNDS // 2] / run.units * 1000
    theirs, name = min((cpu, name) for name, cpu in _PEERS.items())
    return Row(
        what=f"`run`, one-shot, 1,000 units: all CPU, {name}'s {theirs:g} ms against our {ours:.2f} ms",
        value=theirs / ours,
        bar=10,
        unit="×",
        more_is_better=True,
    )
