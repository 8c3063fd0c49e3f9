"""Outcomes travel together, but nobody waits for company: a question, or a slot that has nothing to do."""

import pickle
import queue
from pathlib import Path

import pytest

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Scored
from optimize_eval.base.protocol import Payload
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.base.shipped import VERSION
from optimize_eval.evaluators.kinds import identify, parse_evaluator
from optimize_eval.run import node as messages
from optimize_eval.run.cluster import Event
from optimize_eval.run.plan import Unit
from optimize_eval.run.questions import Ask
from tests.cluster.folders import FolderFleet
from tests.tools import write_program


@pytest.fixture(autouse=True)
def _very_long_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "LINGER", 600.0)


def test_a_question_takes_along_what_is_there() -> None:
    outbox = messages.Outbox()
    became = messages.Became(1, Scored(score=1.0, side_info={}, seconds=0.1), "")
    question = Ask(1, "has", (b"key",))
    outbox.put(became)
    outbox.put(question)
    assert pickle.loads(next(outbox.lots())) == [became, question]


def test_a_node_that_has_called_all_that_it_has_says_so_at_once(tmp_path: Path) -> None:
    write_program(tmp_path / "judge", ["#!/bin/sh", "read -r line; echo '{\"score\": 1}'"])
    spec = parse_evaluator("./judge", EvaluatorSpec(cwd=str(tmp_path)))
    welcome = messages.Welcome(
        version=VERSION, specs=(spec,), identities=(identify(spec),), slots=2, limits=Caps().limits
    )
    inbox = queue.SimpleQueue[Event]()
    link = FolderFleet({"n": tmp_path}).start("n", messages.pack(welcome, str(tmp_path)), inbox.put)
    units = [Unit(number, "", 0, Payload(candidate=str(number)), {}) for number in range(3)]
    link.send(pickle.dumps([messages.units_message(units)]))
    numbers: list[int] = []
    while len(numbers) < len(units):
        lot = inbox.get()
        assert isinstance(lot, bytes)
        numbers += [said.number for said in pickle.loads(lot) if isinstance(said, messages.Became)]
    assert sorted(numbers) == [0, 1, 2]
    link.send(pickle.dumps([messages.Word("close")]))
    while isinstance(inbox.get(), bytes):
        pass
