"""Which node is given what, and what becomes of it when nodes come, are lost, or refuse, without Ray."""

import pickle
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from optimize_eval.base.errors import CannotGoOn, UsageError
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec
from optimize_eval.base.outcome import Failed, Outcome, Scored
from optimize_eval.base.protocol import Payload
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.evaluators.function_kind import function_spec
from optimize_eval.evaluators.kinds import identify, parse_evaluator
from optimize_eval.programs.exchange import argv_of
from optimize_eval.run import cluster as dealing
from optimize_eval.run import node as nodes
from optimize_eval.run.cluster import Cluster, Event, Lost
from optimize_eval.run.engine import Lane, OnCluster
from optimize_eval.run.host import Stop
from optimize_eval.run.live import Work
from optimize_eval.run.node import Given, Message, Node, Outbox, Ready, Refused, Welcome, Word, pack, unpack
from optimize_eval.run.plan import Unit
from tests.paths import ROOT

HERE = OnCluster(address="", slots=2, chunk=4, inflight=2)


class Fleet:
    """Nodes that are threads of this process; `lose` ends one as kill -9 would, and what it says is lost."""

    def __init__(self, *names: str) -> None:
        self.names = dict.fromkeys(names, "")
        self.started: list[str] = []
        self.nodes: dict[str, InThreads] = {}

    def open(self) -> None: ...

    def close(self) -> None: ...

    def alive(self) -> Mapping[str, str]:
        return {name: name for name in self.names}

    def start(self, node: str, welcome: bytes, deliver: Callable[[Event], None]) -> "InThreads":
        self.started.append(node)
        self.nodes[node] = InThreads(welcome, deliver)
        return self.nodes[node]

    def lose(self, name: str) -> None:
        self.nodes[name].end(Lost("it was killed"))

    def freeze(self, name: str) -> None:
        self.nodes[name].is_silent = True


class InThreads:
    """The way to a node of this process."""

    def __init__(self, welcome: bytes, deliver: Callable[[Event], None]) -> None:
        self._outbox = Outbox()
        self._node = Node(unpack(welcome, str(Path.cwd())), self._outbox.put)
        self._deliver = deliver
        self.is_silent = False
        self.heard: list[Message] = []
        opened = self._node.open()
        self._outbox.put(opened)
        if isinstance(opened, Ready):
            threading.Thread(target=self._run, daemon=True).start()
        threading.Thread(target=self._listen, daemon=True).start()

    def send(self, data: bytes) -> None:
        messages: tuple[Message, ...] = pickle.loads(data)
        self.heard += messages
        for message in messages:
            self._node.take(message)

    def kill(self) -> None:
        self.send(pickle.dumps([Word("close")]))

    def end(self, lost: Lost) -> None:
        self.is_silent = True
        self._deliver(lost)

    def _run(self) -> None:
        self._node.run()
        self._outbox.close()

    def _listen(self) -> None:
        for lot in self._outbox.lots():
            if not self.is_silent:
                self._deliver(lot)


class Session:
    """Units of one evaluator, dealt out to a fleet."""

    def __init__(self, fleet: Fleet, spec: EvaluatorSpec, stop: Stop | None = None) -> None:
        self.outcomes: list[tuple[int, Outcome]] = []
        self.stop = stop or Stop()
        self.after: Callable[[int], object] = lambda _many: None  # called with how many are done
        self.cluster = Cluster([spec], [identify(spec)], (), HERE, fleet, self.stop, Caps())

    def run(self, many: int) -> None:
        work = Work(
            unit, lambda unit, outcome, _: (unit.number, outcome), self.take, lambda: self.stop.is_requested
        )
        with self.cluster:
            engine = self.cluster.engine(0, self.cluster.end_if_over)
            engine.run([Lane(units=range(many), capacity=Capacity)], work)

    def take(self, outcome: tuple[int, Outcome]) -> None:
        self.outcomes.append(outcome)
        self.after(len(self.outcomes))

    @property
    def numbers(self) -> list[int]:
        return sorted(number for number, _ in self.outcomes)


def unit(number: int) -> Unit:
    return Unit(number, str(number), 0, Payload(candidate=str(number)), {})


def score(candidate: str) -> float:
    return int(candidate) % 2


SPEC = function_spec(score, EvaluatorSpec())


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for nodes as often as a turn is taken, and wait for them for a moment only."""
    monkeypatch.setattr(dealing, "_LOOK_EVERY", 0.0)
    monkeypatch.setattr(dealing, "_NO_NODE", 0.2)


def test_all_nodes_are_given_units_and_each_unit_is_called_once() -> None:
    fleet = Fleet("a", "b")
    session = Session(fleet, SPEC)
    session.run(200)
    assert session.numbers == [*range(200)]
    assert all(isinstance(outcome, Scored) for _, outcome in session.outcomes)
    assert sorted(fleet.started) == ["a", "b"]


def test_what_a_lost_node_had_is_called_elsewhere_and_said_once() -> None:
    fleet = Fleet("a", "b")
    session = Session(fleet, SPEC)
    session.after = lambda many: fleet.lose("a") if many == 20 else None
    session.run(200)
    assert session.numbers == [*range(200)]
    assert [note for note in session.cluster.notes if "lost" in note] == [
        "node a was lost: it was killed; what it had was called again"
    ]


def test_a_node_that_says_nothing_any_more_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "BEAT", 0.0)
    monkeypatch.setattr(dealing, "_SILENCE", 0.5)
    fleet = Fleet("a", "b")
    session = Session(fleet, SPEC)
    session.after = lambda many: fleet.freeze("a") if many == 20 else None
    session.run(200)
    assert session.numbers == [*range(200)]
    assert session.cluster.notes == (
        "node a was lost: it has said nothing for 0 s; what it had was called again",
    )


def test_of_many_lost_nodes_three_are_named() -> None:
    fleet = Fleet(*"abcdef")
    session = Session(fleet, SPEC)

    def lose_most(many: int) -> None:
        for name in "abcde" if many == 20 else "":
            fleet.lose(name)

    session.after = lose_most
    session.run(400)
    assert session.numbers == [*range(400)]
    *named, counted = session.cluster.notes
    assert [note.split(":")[0] for note in named] == [f"node {name} was lost" for name in "abc"]
    assert counted == "5 nodes in all were lost"


def test_a_lost_node_is_banned_as_long_as_it_may_be_taken_for_alive() -> None:
    fleet = Fleet("a", "b")
    session = Session(fleet, SPEC)
    session.after = lambda many: fleet.lose("a") if many == 20 else None
    session.run(400)
    assert fleet.started.count("a") == 1


def test_a_node_that_comes_late_is_given_units() -> None:
    fleet = Fleet("a")
    session = Session(fleet, SPEC)
    session.after = lambda many: fleet.names.update(b="") if many == 10 else None
    session.run(400)
    assert fleet.started == ["a", "b"]
    assert session.numbers == [*range(400)]


def test_a_node_that_comes_late_hears_that_a_cap_is_reached() -> None:
    fleet = Fleet("a")
    with Cluster([SPEC], [identify(SPEC)], (), HERE, fleet, Stop(), Caps(most_cost=0)) as cluster:
        cluster.stop_waiting()
        fleet.names.update(b="")
        while len(cluster.ready) < 2:
            cluster.turn()
        assert [fleet.nodes[name].heard for name in "ab"] == [[Word("over")], [Word("over")]]


def test_a_unit_that_three_nodes_were_lost_with_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "_BAN", 0.0)
    fleet = Fleet("a")
    started = fleet.start

    def lost_at_once(node: str, welcome: bytes, deliver: Callable[[Event], None]) -> InThreads:
        link = started(node, welcome, deliver)
        send = link.send
        link.send = lambda data: link.end(Lost("no memory")) if is_units(data) else send(data)  # type: ignore[method-assign]
        return link

    monkeypatch.setattr(fleet, "start", lost_at_once)
    session = Session(fleet, SPEC)
    session.run(2)
    failures = [outcome for _, outcome in session.outcomes if isinstance(outcome, Failed)]
    assert [failed.kind for failed in failures] == ["internal"] * 2
    assert failures[0].message == "3 nodes were lost while they called this, the last one a"


def is_units(data: bytes) -> bool:
    return any(isinstance(message, Given) for message in pickle.loads(data))


def test_without_a_node_a_session_ends_and_says_what_to_do() -> None:
    with pytest.raises(CannotGoOn, match="had no node for 0 s that could call\nsee `ray status`"):
        Session(Fleet(), SPEC).run(1)


def test_why_no_node_can_call_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet("a")
    start = fleet.start

    def lose(node: str, welcome: bytes, _deliver: Callable[[Event], None]) -> InThreads:
        _deliver(Lost("its disk is full."))
        return start(node, welcome, lambda _event: None)

    monkeypatch.setattr(fleet, "start", lose)
    with pytest.raises(CannotGoOn, match="that could call; node a was lost: its disk is full\nsee `ray"):
        Session(fleet, SPEC).run(1)


def test_another_version_on_a_node_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "VERSION", "9.9")
    session = Session(Fleet("a"), SPEC)
    with pytest.raises(CannotGoOn, match=r"^node a: it has optimize-eval .*, and the driver 9\.9\ninstall"):
        session.run(1)


def test_a_node_with_another_program_is_refused_by_name() -> None:
    session = Session(Fleet("a"), SPEC)
    session.cluster = Cluster(
        [SPEC], [identify(SPEC.change(environment={"A": "b"}))], (), HERE, Fleet("a"), Stop(), Caps()
    )
    with pytest.raises(UsageError, match=r"^node a: score is another one in "):
        session.run(1)


def test_a_function_of_a_file_is_sent_without_paths_of_the_driver(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def f(candidate): return 1\n")
    spec = parse_evaluator("m.py:f", EvaluatorSpec(cwd=str(tmp_path)))
    welcome = Welcome(version="", specs=(spec,), identities=(identify(spec),), slots=1, limits={})
    sent = pack(welcome, str(tmp_path))
    assert str(ROOT).encode() not in sent
    assert str(tmp_path).encode() not in sent
    (arrived,) = unpack(sent, "/elsewhere").specs
    assert (argv_of(arrived), arrived.cwd) == (argv_of(spec), "/elsewhere")


def test_a_late_node_with_another_program_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Fleet("a")
    start = fleet.start

    def start_other(node: str, welcome: bytes, deliver: Callable[[Event], None]) -> InThreads:
        link = start(node, welcome, (lambda _event: None) if node == "b" else deliver)
        if node == "b":
            deliver(pickle.dumps([Refused("judge.sh is another one", "look there")]))
            deliver(Lost("it has ended"))
        return link

    monkeypatch.setattr(fleet, "start", start_other)
    session = Session(fleet, SPEC)
    session.after = lambda many: fleet.names.update(b="") if many == 10 else None
    session.run(200)
    assert session.numbers == [*range(200)]
    assert session.cluster.notes == ("node b was left out: judge.sh is another one (look there)",)


def test_after_a_stop_what_is_not_begun_stays_owed() -> None:
    session = Session(Fleet("a", "b"), SPEC)
    session.after = lambda many: session.stop.request() if many == 10 else None
    session.run(1000)
    assert 10 <= len(session.outcomes) < 1000
    assert Counter(session.numbers).most_common(1)[0][1] == 1
