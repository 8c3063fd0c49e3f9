"""Evaluators are made once: what says early that one cannot be reached is what is called then."""

from collections import Counter
from collections.abc import Sequence

import pytest

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Payload
from optimize_eval.data.candidates import Candidate
from optimize_eval.evaluators.kinds import connect, parse_evaluators
from optimize_eval.programs import leftovers
from optimize_eval.run.attempt import attempt
from optimize_eval.run.calls import reachable
from optimize_eval.run.plan import Plan, plan_run
from tests.paths import PROGRAMS


def planned(texts: Sequence[str]) -> Plan:
    return plan_run(parse_evaluators(texts, EvaluatorSpec()), [Candidate(name="a", text="a")], [])


class Connecting:
    """Connects, and counts what is made and closed by name."""

    def __init__(self) -> None:
        self.made, self.closed = Counter[str](), Counter[str]()

    def __call__(self, spec: EvaluatorSpec) -> Evaluator:
        if spec.name == "refused":
            raise UsageError("its key is missing")
        self.made[spec.name] += 1
        live = connect(spec)
        close = live.close

        def counted() -> None:
            self.closed[spec.name] += 1
            close()

        live.close = counted  # type: ignore[method-assign]
        return live


def test_what_is_made_is_handed_over_once_and_what_nobody_takes_is_closed() -> None:
    plan, connecting = planned(["a=true", "b=true"]), Connecting()
    with reachable(plan, connecting) as taking:
        taken = [taking(plan.specs[0]), taking(plan.specs[0])]
        assert connecting.made == {"a": 2, "b": 1}
    assert connecting.closed == {"b": 1}
    for live in taken:
        live.close()


def test_what_was_made_before_one_that_cannot_be_is_closed() -> None:
    connecting = Connecting()
    with (
        pytest.raises(UsageError, match="key is missing"),
        reachable(planned(["a=true", "refused=x"]), connecting),
    ):
        pass
    assert (connecting.made, connecting.closed) == ({"a": 1}, {"a": 1})


def test_a_program_that_was_never_started_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    swept: list[str] = []
    monkeypatch.setattr(leftovers, "sweep", swept.append)
    [spec] = parse_evaluators([f"{PROGRAMS}/good.sh"], EvaluatorSpec())
    live = connect(spec)
    live.close()
    assert not swept
    live = connect(spec)
    attempt(live, Payload(candidate="a"), 20)
    live.close()
    assert len(swept) == 1
