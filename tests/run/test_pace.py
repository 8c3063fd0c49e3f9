"""How many slots ask: all while they wait, few while a processor is kept busy, all again afterwards."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.run.engine import FEWEST, Pace, ProcessorTime, processors


def paced(slots: int, looks: Iterable[tuple[float, float]]) -> list[int]:
    """Look every 100 ms, in each of which so much of a processor was spent by us and by children."""
    at, own, everything = 0.0, 0.0, 0.0
    shown = [ProcessorTime(at, own, everything)]
    for ours, theirs in looks:
        at, own, everything = at + 0.1, own + ours * 0.1, everything + (ours + theirs) * 0.1
        shown.append(ProcessorTime(at, own, everything))
    measured = iter(shown)
    pace = Pace(slots, lambda: next(measured))
    slots_seen = []
    for _ in shown[1:]:
        pace.look()
        slots_seen.append(pace.slots)
    return slots_seen


def test_who_waits_for_evaluators_keeps_all_slots() -> None:
    assert paced(64, [(0.3, 0.1)] * 3) == [64, 64, 64]


def test_when_the_interpreter_is_the_limit_slots_rest_until_there_is_time_again() -> None:
    assert paced(16, [(1.0, 0)] * 4 + [(0.65, 0)] + [(0.2, 0)] * 4) == [8, 4, 2, 2, 2, 4, 7, 11, 16]


def test_when_children_keep_all_processors_busy_slots_rest() -> None:
    assert paced(8, [(0.1, processors())] * 2) == [4, 2]


def test_a_look_too_soon_changes_nothing() -> None:
    shown = iter([ProcessorTime(0, 0, 0), ProcessorTime(0.01, 0.01, 0.01)])
    pace = Pace(8, lambda: next(shown))
    pace.look()
    assert pace.slots == 8


@given(slots=st.integers(1, 1024), looks=st.lists(st.tuples(st.floats(0, 3), st.floats(0, 300)), max_size=30))
def test_at_least_two_slots_ask_and_never_more_than_there_are(
    slots: int, looks: list[tuple[float, float]]
) -> None:
    assert all(min(FEWEST, slots) <= seen <= slots for seen in paced(slots, looks))
