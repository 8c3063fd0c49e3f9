"""Evaluators are made once: what says early that one cannot be reached is what is called then."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from optimize_eval import sweep
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.evaluators.kinds import connect, parse_evaluators
from optimize_eval.programs import leftovers
from optimize_eval.programs.command import Command
from optimize_eval.programs.worker import Worker
from optimize_eval.run.attempt import attempt
from optimize_eval.run.host import Stop
from optimize_eval.run.live import LiveEvaluators
from tests.paths import PROGRAMS


def planned(texts: Sequence[str]) -> tuple[EvaluatorSpec, ...]:
    return parse_evaluators(texts, EvaluatorSpec())


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Counter[Any]:
    """Count how often programs are closed."""
    counts, close = Counter[Any](), Command.close

    def counted(program: Any) -> None:
        counts[program] += 1
        close(program)

    monkeypatch.setattr(Command, "close", counted)
    return counts


def test_who_is_alive_before_the_first_call_is_closed_once_be_it_before_the_end(
    closed: Counter[Any],
) -> None:
    with LiveEvaluators(planned(["a=true", "b=true"]), Stop()) as live:
        live.close()
        assert [*closed.values()] == [1, 1]
    assert [*closed.values()] == [1, 1]


def test_what_was_made_before_one_that_cannot_be_is_closed(closed: Counter[Any]) -> None:
    with (
        pytest.raises(UsageError, match="no model is called"),
        LiveEvaluators(planned(["a=true", "@cost"]), Stop()),
    ):
        pass
    assert [*closed.values()] == [1]


def test_a_program_that_was_never_started_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[str] = []
    monkeypatch.setattr(leftovers, "sweep", swept.append)
    [spec] = parse_evaluators([f"{PROGRAMS}/good.sh"], EvaluatorSpec())
    with Opened() as opened:
        connect(spec, opened)
    assert not swept
    with Opened() as opened:
        attempt(connect(spec, opened), Payload(candidate="a"), 20)
    assert len(swept) == 1


def test_a_call_goes_through_few_functions_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[list[str]] = []
    call = Worker.call

    def counted(worker: Worker, make_line: Any, deadline: float) -> Any:
        frames = [frame.f_code for frame in walked(sys._getframe(1))]  # noqa: SLF001
        paths.append([code.co_qualname for code in frames if "optimize_eval" in code.co_filename])
        return call(worker, make_line, deadline)

    monkeypatch.setattr(Worker, "call", counted)
    (tmp_path / "d.jsonl").write_text('{"targets": ["x"]}')
    run = sweep("@exact_match", {"a": "x"}, dataset=tmp_path / "d.jsonl", out=tmp_path / "r")
    assert run.exit_code == 0
    assert [len(path) for path in paths] == [8], paths


def walked(frame: FrameType | None) -> Iterator[FrameType]:
    while frame:
        yield frame
        frame = frame.f_back
