#!/usr/bin/env python3
"""Code: the fraction of checks that a Python program passes, run in a sandbox by a judge outside of it.

All of the candidate is run where it is Python, else its first fenced block.
@io_pairs calls its function f (--function) with the input of each pair of `extras.io_pairs` (or `io_pairs`).
@assertions evaluates each target, a Python expression, in which the candidate's names can be used.
@stdout runs it as a program; what it prints, blanks at the end aside, has to be a target.
Without a variant: @io_pairs where the example has pairs, else @assertions. The candidate's process is sent
inputs only and compared with nothing; it is a failure, and no 0, where the sandbox does not start.
"""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any, TypeVar

import _code_inside
import _code_line
from _code_cases import Case, called, evaluated, printed, question
from _code_inside import shown
from _metric import ABSENT, Answer, Asked, Fault, look_up, run, shortened
from _running import Refused, Running, Stopped
from _sandbox import LAYERS, LEVELS, Limits, Sandbox

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType

PAIRS = ("extras.io_pairs", "io_pairs")
_OPENING = re.compile(r"(?:^([ \t]*)(`{3,}+|~{3,}+)[^`\n]*|(```)\w*[ \t\r]*)\n", re.MULTILINE)
_CLOSING = re.compile(r"(?<![`~])([`~]++)[ \t\r]*+$", re.MULTILINE)
_CASES_SHOWN = 50

_Number = TypeVar("_Number", int, float)


def code_exec(asked: Asked) -> Answer:
    sources = code_in(asked.candidate)
    variant = asked.options["variant"]
    if variant == "auto":
        has_pairs = any(isinstance(look_up(asked.example, field), list) for field in PAIRS)
        variant = "io_pairs" if has_pairs else "assertions"
    try:
        answer = {"variant": variant, **_VARIANTS[variant](sources, asked)}
    except Refused as refused:
        raise Fault(str(refused)) from refused
    return answer | {"score": float(answer["score"] == 1)} if asked.options["all"] else answer


def code_in(candidate: str) -> list[str]:
    """Find what may be the program: all of it, which may have fences in its texts, and the first block."""
    text = candidate.removeprefix("\ufeff")
    opening = _OPENING.search(text)
    if not opening:
        return [text]
    mark, rest = opening[2] or opening[3], text[opening.end() :]
    block = rest[: _end_of_block(rest, mark)]
    return [text, dedent(block) if opening[1] else block]


def _end_of_block(rest: str, mark: str) -> int | None:
    """Find the mark at the end of a line, else anywhere."""
    runs = ((run.start(1), run[1].find(mark)) for run in _CLOSING.finditer(rest))
    anywhere = rest.find(mark)
    return next((start + at for start, at in runs if at >= 0), None if anywhere < 0 else anywhere)


def io_pairs(sources: Sequence[str], asked: Asked) -> Answer:
    pairs = [] if has_no_pairs(asked) else asked.find(*(() if asked.options["target_field"] else PAIRS))
    if not isinstance(pairs, list):
        raise Fault("the pairs must be a list of [input, output]")
    box = sandbox(asked)
    with started(box, "answers") as (candidate,):
        return answered(
            box, called(candidate, sources, pairs, asked.options["function"]), len(pairs), candidate
        )


def has_no_pairs(asked: Asked) -> bool:
    """Return True if a record of a task file has no pairs, which scores 0; elsewhere the field is missing."""
    if asked.options["target_field"] or not {"extras", "metric"} & set(asked.example or ()):
        return False
    return all(look_up(asked.example, field) is ABSENT for field in PAIRS)


def assertions(sources: Sequence[str], asked: Asked) -> Answer:
    targets = asked.texts()
    questions = [question(target) for target in targets]
    box = sandbox(asked)
    with started(box, "answers", "expressions") as (candidate, judging):
        judged = evaluated(candidate, judging, sources, questions)
        named = ({"target": shortened(target)} | case for target, case in zip(targets, judged, strict=False))
        return answered(box, named, len(targets), candidate)


def stdout(sources: Sequence[str], asked: Asked) -> Answer:
    targets = asked.texts()
    box = sandbox(asked)
    with started(box, "script") as (program,):
        return answered(box, printed(program, sources, targets), 1, program)


def answered(box: Sandbox, cases: Iterator[Case], total: int, candidate: Running) -> Answer:
    """Count; what stops the candidate is a reason, and all that was not passed by then is a miss."""
    done: list[Case] = []
    why = None
    try:
        done.extend(cases)
    except Stopped as stopped:
        why = f"the candidate {stopped}"
    passed = sum(case["passed"] for case in done)
    tail = candidate.tail.decode(errors="replace").strip()
    return {
        "score": passed / total if total else 0.0,
        "passed": passed,
        "total": total,
        **({"reasoning": why} if why else {} if total else {"reasoning": "there are no pairs"}),
        "cases": done[:_CASES_SHOWN],
        **({"stderr": tail} if tail else {}),
        "layers": list(box.layers),
        "missing": box.missing,
        **({"visible": box.visible} if box.visible else {}),
    }


@contextmanager
def started(box: Sandbox, *sides: str) -> Iterator[list[Running]]:
    """Start the sides at the same time; their time runs when all are ready."""
    with ExitStack() as ending:
        running = []
        for side in sides:
            running.append(box.start(inside(), side))
            ending.callback(running[-1].close)
        for one in running:
            one.ready()
        yield running


def sandbox(asked: Asked) -> Sandbox:
    options = asked.options
    return _sandbox(*(options[name] for name in ("sandbox", "layers", "time", "memory", "output")))


@cache
def _sandbox(level: str, layers: str, seconds: float, memory: int, output: int) -> Sandbox:
    wanted = tuple(layers.split(",")) if layers else LAYERS
    limits = Limits(seconds=seconds, memory=memory << 20, output=output << 10)
    return Sandbox(level, limits, wanted)


@cache
def inside() -> Sequence[tuple[str, CodeType]]:
    """Compile what is sent into the sandbox."""
    paths = [Path(module.__file__ or "") for module in (_code_line, _code_inside)]
    return [(path.stem, compile(path.read_bytes(), path.name, "exec")) for path in paths]


def _positive(text: str) -> float:
    return _within(float(text), 0.01, 86_400)


def _whole(text: str) -> int:
    return _within(int(text), 1, 1 << 20)


def _memory(text: str) -> int:
    return _within(int(text), 64, 1 << 20)  # with less Python itself does not start


def _within(number: _Number, least: float, most: float) -> _Number:
    if not least <= number <= most:
        raise ArgumentTypeError(f"it must be from {least} to {most}")
    return number


def _layers(text: str) -> str:
    if unknown := {*text.split(",")} - {*LAYERS}:
        raise ArgumentTypeError(f"no layer is called {shown(min(unknown))}; there are {', '.join(LAYERS)}")
    return text


_VARIANTS = {"io_pairs": io_pairs, "assertions": assertions, "stdout": stdout}
_OPTIONS: dict[str, dict[str, Any]] = {
    "--all": {"action": "store_true", "help": "1 where all checks are passed, else 0"},
    "--sandbox": {"choices": LEVELS, "default": LEVELS[0], "help": "what to do where it is not whole"},
    "--time": {"type": _positive, "default": 5.0, "metavar": "SECONDS", "help": "for an example (5)"},
    "--memory": {"type": _memory, "default": 512, "metavar": "MIB", "help": "address space (512)"},
    "--output": {"type": _whole, "default": 1024, "metavar": "KIB", "help": "what it may write (1024)"},
    "--function": {"default": "f", "metavar": "NAME", "help": "what is called with the inputs (f)"},
    "--layers": {"type": _layers, "metavar": "A,B", "help": f"use these only: {', '.join(LAYERS)}"},
}


if __name__ == "__main__":
    run(code_exec, variants=("auto", *_VARIANTS), options=_OPTIONS)
