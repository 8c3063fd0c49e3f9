"""The engine's laws: each unit once, never more than a lane can take, fair over lanes, and out when told."""

import re
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimize_eval.base.evaluator import Capacity
from optimize_eval.run.engine import CrowdedOut, Lane, LocalEngine, Queues

SIZES = st.lists(st.integers(0, 30), min_size=1, max_size=4)
CAPACITIES = st.lists(
    st.builds(Capacity, calls=st.none() | st.integers(1, 5), batch=st.integers(1, 7)), min_size=4, max_size=4
)


class Watched:
    """Lanes of numbered units, and what was seen of them while they were asked."""

    def __init__(self, sizes: Sequence[int], capacities: Sequence[Capacity]) -> None:
        starts = [sum(sizes[:place]) for place in range(len(sizes))]
        self.capacities = capacities
        self.units = [range(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        self.attempted: Counter[int] = Counter()
        self.done: Counter[int] = Counter()
        self.in_flight = [0] * len(sizes)
        self.most = [0] * len(sizes)
        self.batches: list[tuple[int, int]] = []
        self.lock = threading.Lock()

    def lanes(self) -> list[Lane]:
        pairs = zip(self.units, self.capacities, strict=False)
        return [Lane(units=units, capacity=lambda capacity=capacity: capacity) for units, capacity in pairs]  # type: ignore[misc]

    def attempt(self, numbers: Sequence[int]) -> Sequence[int]:
        (place,) = {next(n for n, units in enumerate(self.units) if number in units) for number in numbers}
        with self.lock:
            self.attempted.update(numbers)
            self.batches.append((place, len(numbers)))
            self.in_flight[place] += 1
            self.most[place] = max(self.most[place], self.in_flight[place])
        with self.lock:
            self.in_flight[place] -= 1
        return list(numbers)

    def take(self, number: int) -> None:
        with self.lock:
            self.done[number] += 1

    def run(self, slots: int) -> None:
        LocalEngine(slots, lambda: None).run(self.lanes(), self.attempt, self.take, lambda: False)


@settings(max_examples=60)
@given(sizes=SIZES, capacities=CAPACITIES, slots=st.integers(1, 9))
def test_each_unit_is_asked_once_and_no_lane_has_more_than_it_can_take(
    sizes: list[int], capacities: list[Capacity], slots: int
) -> None:
    seen = Watched(sizes, capacities)
    seen.run(slots)
    assert seen.attempted == seen.done == Counter(range(sum(sizes)))
    for place, most in enumerate(seen.most):
        assert most <= min(slots, capacities[place].calls or slots)
    assert all(size <= capacities[place].batch for place, size in seen.batches)


@given(
    sizes=SIZES,
    capacities=CAPACITIES,
    slots=st.integers(1, 9),
    returns=st.lists(st.integers(0, 8), max_size=200),
)
def test_a_slot_serves_the_lane_with_the_fewest_calls_in_flight(
    sizes: list[int], capacities: list[Capacity], slots: int, returns: list[int]
) -> None:
    """Units are taken and given back in any order, by one thread that plays all slots."""
    seen = Watched(sizes, capacities)
    lanes = seen.lanes()
    queues = Queues(lanes, slots, lambda: False)
    flying: list[tuple[Any, int]] = []
    order = iter(returns)
    handed: Counter[int] = Counter()
    while queues.left or flying:
        able = {
            place
            for place, lane in enumerate(lanes)
            if _handed_out(handed, lane) < len(lane.units) and _has_room(flying, place, capacities[place])
        }
        if able and len(flying) < slots:
            taken = queues.take()
            assert taken is not None
            queue, units = taken
            place = lanes.index(queue.lane)
            loads = {other: [at for _, at in flying].count(other) for other in able}
            assert loads[place] == min(loads.values())
            handed.update(units)
            flying.append((queue, place))
        else:
            queue, _ = flying.pop(next(order, 0) % len(flying))
            queues.give_back(queue)  # as the slot's next take does
    assert handed == Counter(range(sum(sizes)))


def _handed_out(handed: Counter[int], lane: Lane) -> int:
    return sum(handed[number] for number in lane.units)


def _has_room(flying: Sequence[tuple[object, int]], place: int, capacity: Capacity) -> bool:
    return capacity.calls is None or sum(1 for _, at in flying if at == place) < capacity.calls


def test_a_weight_is_a_share_of_the_slots() -> None:
    lanes = [
        Lane(units=range(start, start + 100), capacity=Capacity, weight=weight)
        for start, weight in ((0, 3.0), (100, 1.0))
    ]
    queues = Queues(lanes, 8, lambda: False)
    taken = [queues.take() for _ in range(8)]
    assert [one[1][0] < 100 for one in taken if one].count(True) == 6


def test_so_many_calls_are_in_flight_as_there_are_slots() -> None:
    together = threading.Barrier(4)  # breaks, and fails the test, unless four meet

    def attempt(numbers: Sequence[int]) -> Sequence[int]:
        together.wait(20)
        return numbers

    done: list[int] = []
    lane = Lane(units=range(12), capacity=Capacity)
    LocalEngine(4, lambda: None).run([lane], attempt, done.append, lambda: False)
    assert sorted(done) == list(range(12))


def test_a_lane_that_cannot_take_anything_now_is_asked_again() -> None:
    answers = iter([Capacity(calls=0)] * 3)
    done: list[int] = []
    lane = Lane(units=range(5), capacity=lambda: next(answers, Capacity()))
    LocalEngine(2, lambda: None).run([lane], list, done.append, lambda: False)
    assert sorted(done) == list(range(5))


def test_at_the_end_a_batch_leaves_work_for_every_slot() -> None:
    seen = Watched([8], [Capacity(batch=100)])
    queues = Queues(seen.lanes(), 4, lambda: False)
    first = queues.take()
    assert first is not None
    assert len(first[1]) == 2


def test_after_stop_nothing_more_is_handed_out_and_what_is_in_flight_is_done() -> None:
    stopped = threading.Event()
    done: list[int] = []

    def attempt(numbers: Sequence[int]) -> Sequence[int]:
        stopped.set()
        return numbers

    lane = Lane(units=range(100), capacity=Capacity)
    LocalEngine(3, lambda: None).run([lane], attempt, done.append, stopped.is_set)
    assert 1 <= len(done) <= 3


@pytest.mark.parametrize("where", ["attempt", "done", "tick"])
def test_an_error_anywhere_ends_the_run_and_is_raised(where: str) -> None:
    def fail(_argument: object = None) -> None:
        raise ZeroDivisionError(where)

    def attempt(numbers: Sequence[int]) -> Sequence[int]:
        if where == "attempt":
            fail()
        if where == "tick":
            waiting.wait(20)
        return numbers

    waiting = threading.Event()
    done = fail if where == "done" else lambda _record: None
    lane = Lane(units=range(50), capacity=Capacity)
    engine = LocalEngine(4, fail if where == "tick" else lambda: None)
    try:
        with pytest.raises(ZeroDivisionError, match=where):
            engine.run([lane], attempt, done, lambda: False)
    finally:
        waiting.set()


def test_a_unit_that_finds_no_room_is_attempted_again_with_fewer_slots_and_fails_only_alone() -> None:
    """Units 1 to 3 find none at first; unit 5 finds none even alone."""
    tries: Counter[int] = Counter()
    tried_again = threading.Event()
    done: list[tuple[int, bool]] = []

    def attempt(numbers: Sequence[int]) -> Sequence[tuple[int, bool]]:
        (number,) = numbers
        tries[number] += 1
        if all(tries[other] > 1 for other in (1, 2, 3)):
            tried_again.set()
        if number in {0, 5}:
            tried_again.wait(20)  # so that 1 to 3 are not alone
        return [(number, number != 5 and (number not in {1, 2, 3} or tries[number] > 1))]

    def crowded_out(record: tuple[int, bool]) -> CrowdedOut | None:
        return None if record[1] else CrowdedOut(record[0], "too few chairs")

    engine = LocalEngine(8, lambda: None)
    lane = Lane(units=range(40), capacity=Capacity)
    engine.run([lane], attempt, done.append, lambda: False, crowded_out)
    assert sorted(done) == [(number, number != 5) for number in range(40)]
    assert re.fullmatch(r"--concurrency was lowered from 8 to [1-5]: too few chairs; .*", engine.note)


def test_slots_that_the_system_does_not_give_are_done_without_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    start = threading.Thread.start

    def start_some(thread: threading.Thread) -> None:
        if thread.name in {"slot-2", "slot-3"}:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    done: list[int] = []
    engine = LocalEngine(4, lambda: None)
    engine.run([Lane(units=range(20), capacity=Capacity)], list, done.append, lambda: False)
    assert sorted(done) == list(range(20))
    assert engine.note.startswith("--concurrency was lowered from 4 to 2: too many processes and threads; ")


def test_nothing_to_do_is_done_at_once() -> None:
    LocalEngine(4, lambda: None).run([], list, print, lambda: False)
    nothing = Watched([0, 0], [Capacity()] * 2)
    nothing.run(3)
    assert not nothing.attempted


def test_no_more_is_handed_out_than_the_pace_allows() -> None:
    queues = Queues([Lane(units=range(9), capacity=Capacity)], 4, lambda: False)
    first, second = queues.take(), queues.take()
    queues.pace.slots = 2
    others: list[Any] = []
    waiting = threading.Thread(target=lambda: others.append(queues.take()))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    assert first
    assert second
    assert queues.take(first[0])  # the room of the call that has ended is for who ended it
    queues.pace.slots = 3
    waiting.join()
    assert [taken[1][0] for taken in others] == [3]
