"""The driver's part of a session on a cluster: who is given which units, and what becomes of lost ones.

The driver owns the plan, the order of records and every decision; a node only calls. What a node had not
answered when it was lost is owed again, to another one. Knows no Ray: where nodes come from, and how messages
reach them, is a Fleet's business.
"""

import pickle
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from optimize_eval.base.errors import CannotGoOn, FailureKind, UsageError
from optimize_eval.base.evaluator import Capacity, EvaluatorSpec, Opened
from optimize_eval.base.outcome import Failed, Outcome
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.base.shipped import VERSION
from optimize_eval.base.spent import Usage
from optimize_eval.models.outputs import Outputs, outputs_at
from optimize_eval.programs.identity import Identity
from optimize_eval.run import node as messages
from optimize_eval.run.engine import TICK, Lane, OnCluster
from optimize_eval.run.host import Stop
from optimize_eval.run.live import BrokenOff, Clock, Engine, Record, Work
from optimize_eval.run.node import Message, Welcome, Word, pack, units_message
from optimize_eval.run.plan import Unit
from optimize_eval.run.questions import Answer, Ask, Limited, Rates, Rooms, Server
from optimize_eval.tasks.targets import SampleTask, task_of

ATTEMPTS = 3  # of a unit whose nodes are lost

_LOOK_EVERY = 2.0  # seconds, for nodes that are new
_BAN = 15.0  # seconds: a control store may take a dead node for alive as long as that
_SILENCE = 20.0  # seconds after which a node that says nothing is frozen, or cannot be reached
_NO_NODE = 60.0  # seconds without any node, after which a session ends
_NAMED = 3  # nodes that notes are about, before the others are counted
_LEAVE = 10.0  # seconds in which nodes say how they ended


class Lost(NamedTuple):
    """A node that is gone, or that never came."""

    why: str
    is_there: bool = False  # only what we had started there is lost


Event = bytes | Lost


class Link(Protocol):
    """The way to a node."""

    def send(self, data: bytes) -> None:
        """Send messages; of a node that is lost, the fleet says so by itself."""
        ...

    def kill(self) -> None:
        """End what runs there, at once."""
        ...


class Fleet(Protocol):
    """Where nodes come from."""

    def open(self) -> None:
        """Reach the cluster; raises CannotGoOn."""
        ...

    def alive(self) -> Mapping[str, str]:
        """Name the nodes that may be used, by their ids; raises CannotGoOn where nobody knows."""
        ...

    def start(self, node: str, welcome: bytes, deliver: Callable[[Event], None]) -> Link:
        """Start on a node; what it says is delivered, by any thread, and last that it is lost."""
        ...

    def close(self) -> None: ...


class _Member:
    """A node that takes part."""

    def __init__(self, node: str, name: str) -> None:
        self.node = node
        self.name = name
        self.link: Link | None = None
        self.is_ready = False
        self.has_left = False  # it said how it ended
        self.units: dict[int, Unit] = {}
        self.waiting = ""
        self.heard_at = 0.0

    def send(self, *several: Message) -> None:
        if self.link and several:
            self.link.send(pickle.dumps(several, pickle.HIGHEST_PROTOCOL))


class Cluster:
    """Evaluators that are live on the nodes of a cluster, within a `with`; as LiveEvaluators are here."""

    def __init__(
        self,
        specs: Sequence[EvaluatorSpec],
        identities: Sequence[Identity],
        models: Sequence[str],
        options: OnCluster,
        fleet: Fleet,
        stop: Stop,
        caps: Caps,
    ) -> None:
        self.opened = Opened(caps)
        self.broken_off: list[BrokenOff] = []
        self.options = options
        self.stop = stop
        self._caps = caps
        self._fleet = fleet
        self._welcome = Welcome(
            version=VERSION,
            specs=tuple(specs),
            identities=tuple(identities),
            slots=options.slots,
            models=tuple(models),
            outputs=outputs_of(specs),
            limits=caps.limits,
        )
        self._known: dict[str, Callable[..., Any]] = {}  # what nodes ask for
        self._inbox: queue.SimpleQueue[tuple[_Member, Event]] = queue.SimpleQueue()
        self.members: dict[str, _Member] = {}
        self._banned: dict[str, float] = {}  # until when
        self._next_look = self._looked_at = self._empty_since = 0.0
        self._lost_nodes: list[str] = []  # a note for each
        self._left_out: list[str] = []
        self._notes: dict[str, None] = {}  # that nodes have sent, each once
        self._words: dict[str, None] = {}  # that all nodes were told, in this order
        self._rates = Rates()
        self._rooms = Rooms(self._answer)
        self._losses: Counter[str] = Counter()  # of nodes
        self._became: Callable[[_Member, messages.Became], None] = lambda _member, _became: None
        self._left: Callable[[_Member, Sequence[int]], None] = lambda _member, _numbers: None
        self._lost: Callable[[_Member], None] = lambda _member: None

    def __enter__(self) -> Self:
        self._packed = pack(self._welcome, str(Path(self.options.working_dir).resolve()))
        try:
            self._fleet.open()
            path = self._welcome.outputs
            self._known = self._answers(outputs_at(Path(path), self.opened) if path else None)
            self._empty_since = time.monotonic()
            while not self.ready and not self.stop.is_requested:
                self.turn()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def engine(self, _slots: int, tick: Callable[[], None]) -> Engine:
        """Make what deals units out; the slots are the nodes'."""
        return Dealer(self, tick)

    @property
    def together(self) -> Callable[[Unit], Hashable] | None:
        """Give what units have in common that go to one node, as they may share a reply; None: nothing."""
        tasks = [spec.target for spec in self._welcome.specs if isinstance(spec.target, SampleTask)]
        if any(task.looks_at_all for task in tasks):
            return lambda _unit: None
        return _example_of if self._welcome.outputs else None

    @property
    def ready(self) -> list[_Member]:
        return [member for member in self.members.values() if member.is_ready]

    @property
    def notes(self) -> tuple[str, ...]:
        return (
            *self._rooms.notes,
            *_first_of(self._lost_nodes, "were lost"),
            *_first_of(self._left_out, "were left out"),
            *self._notes,
        )

    def capacity(self, _place: int) -> Capacity:
        """Leave it to the nodes."""
        return Capacity()

    def capacity_of(self, _task_model: str) -> Capacity:
        return Capacity()

    def has_reply(self, _unit: Unit) -> bool:
        """Let nodes look: once a cap is reached, they call no model for it."""
        return True

    def rest(self, place: int, seconds: float) -> None:
        """Leave an evaluator alone for so long, everywhere."""
        self._tell_all(messages.Rest(place, seconds))

    def stop_waiting(self) -> None:
        self._tell_once("over" if self._caps.is_over else "stop waiting")

    @property
    def waiting(self) -> str:
        waiting = (member.waiting for member in self.ready if member.waiting)
        return "; ".join(dict.fromkeys((*map(str, self._rooms.queues), *waiting)))

    def end_if_over(self) -> None:
        """After a stop let nodes end what is in flight; once there is no more time, end them."""
        if self.stop.is_requested:
            self._tell_once("stop")
        if self.stop.is_over:
            self.close()

    def close(self) -> None:
        """Let nodes say how they ended, and leave the cluster; be it several times."""
        members = [*self.members.values()]
        for member in members:
            member.send(Word("close"))
        until = time.monotonic() + (1.0 if self.stop.is_over else _LEAVE)
        while any(member.is_ready for member in self.members.values()) and time.monotonic() < until:
            self._take_next(TICK)
        for member in members:
            if member.link:
                member.link.kill()
        self.members.clear()
        self._fleet.close()
        self.opened.close()

    def turn(self) -> None:
        """Take what has come, at most for a tenth of a second, and look for nodes now and then."""
        self._take_next(TICK)
        for _ in range(self._inbox.qsize()):
            self._take_next(0)
        self._rooms.let_in()
        if (now := time.monotonic()) >= self._next_look:
            self._next_look = now + _LOOK_EVERY
            self._look(now)

    def listen(
        self,
        became: Callable[[_Member, messages.Became], None],
        left: Callable[[_Member, Sequence[int]], None],
        lost: Callable[[_Member], None],
    ) -> None:
        """Let somebody know what becomes of units."""
        self._became, self._left, self._lost = became, left, lost

    def tell_ready(self, word: str) -> None:
        self._tell_all(Word(word))

    def _look(self, now: float) -> None:
        """Start on nodes that are new, and end where there has been none for too long."""
        alive = self._fleet.alive()
        self._banned = {node: until for node, until in self._banned.items() if until > now and node in alive}
        for node, name in alive.items():
            if node not in self.members and node not in self._banned:
                self._start(node, name)
        self._give_silent_up(now)
        if self.ready:
            self._empty_since = now
        elif now - self._empty_since > _NO_NODE:
            last = f"; {self._lost_nodes[-1].partition(';')[0]}" if self._lost_nodes else ""
            raise CannotGoOn(
                f"the cluster had no node for {_NO_NODE:.0f} s that could call{last}",
                hint="see `ray status`; then the same command again goes on",
            )

    def _give_silent_up(self, now: float) -> None:
        was_away = now - self._looked_at > 2 * _LOOK_EVERY + 1  # it was us who stood still
        self._looked_at = now
        for member in self.ready:
            if was_away:
                member.heard_at = now
            elif now - member.heard_at > _SILENCE:
                self._lose(member, Lost(f"it has said nothing for {_SILENCE:.0f} s"))

    def _start(self, node: str, name: str) -> None:
        member = self.members[node] = _Member(node, name)
        member.link = self._fleet.start(node, self._packed, lambda event: self._inbox.put((member, event)))

    def _take_next(self, seconds: float) -> None:
        try:
            member, event = self._inbox.get(timeout=seconds) if seconds else self._inbox.get_nowait()
        except queue.Empty:
            return
        if self.members.get(member.node) is not member:  # of one that was given up
            return
        member.heard_at = time.monotonic()
        if isinstance(event, Lost):
            if not member.has_left:
                self._lose(member, event)
            return
        for message in pickle.loads(event):  # noqa: S301  of our own code, on a node of the user's
            self._take(member, message)

    def _take(self, member: _Member, message: Message) -> None:
        match message:
            case messages.Became():
                self._became(member, message)
            case Ask():
                self._reply(member, message)
            case messages.Left():
                self._left(member, message.numbers)
            case messages.BrokenUnit():
                if unit := member.units.get(message.number):
                    self.broken_off.append(BrokenOff(unit, message.spent, message.output))
            case _:
                self._note_state(member, message)

    def _note_state(self, member: _Member, message: Message) -> None:
        match message:
            case messages.State():
                member.waiting = message.waiting
            case messages.Ready():
                member.is_ready = True
                member.send(*map(Word, self._words), *self._rooms.limited.values())
            case messages.Refused():
                self._refuse(member, message)
            case messages.Bye():
                self._notes.update(dict.fromkeys(message.notes))
                member.is_ready, member.has_left = False, True
                self._left(member, [*member.units])

    def _refuse(self, member: _Member, refused: messages.Refused) -> None:
        """End the session before its first call; one that has begun does without the node."""
        if not self.ready:
            error = CannotGoOn if refused.is_installed_otherwise else UsageError
            raise error(f"node {member.name}: {refused.message}", hint=refused.hint)
        member.has_left = True
        self._left_out.append(f"node {member.name} was left out: {refused.message} ({refused.hint})")

    def _reply(self, member: _Member, asked: Ask) -> None:
        match asked.what:
            case "enter":
                self._rooms.enter(member.node, asked.number, *asked.values)
            case "leave":
                self._rooms.leave(member.node, *asked.values)
            case "refuse":
                member.send(Answer(asked.number, self._refuse_call(member, *asked.values)))
            case _:
                value = self._known[asked.what](*asked.values)
                if asked.number:
                    member.send(Answer(asked.number, value))

    def _refuse_call(self, member: _Member, server: Server, *values: Any) -> bool:
        """Take that a server had no room for a node's call, and let the others hear of it."""
        if server not in self._rooms.limited:
            self._tell_all(Limited(server))
        slots = self._welcome.slots
        busy = sum(min(len(member.units), slots) for member in self.ready)
        return self._rooms.refuse(member.node, busy, server, *values)

    def _answer(self, node: Hashable, answer: Answer) -> None:
        self.members[str(node)].send(answer)

    def _answers(self, outputs: Outputs | None) -> dict[str, Callable[..., Any]]:
        """List what nodes ask for."""
        answers: dict[str, Callable[..., Any]] = {"take": self._take_usage}
        answers |= {"reserve": self._rates.reserve, "settle turn": self._rates.settle}
        if outputs:
            answers |= {"has": outputs.__contains__, "find": outputs.find, "settle": outputs.settle}
            answers |= {"owe": outputs.owe, "keep": outputs.keep}
        return answers

    def _take_usage(self, usage: Usage, who: str, is_reply: bool) -> None:  # noqa: FBT001  by its place
        self._caps.take(usage, who, is_reply=is_reply)
        if self._caps.is_over:  # at once: nodes get it before what is dealt out after it
            self._tell_once("over")

    def _lose(self, member: _Member, lost: Lost) -> None:
        """Take a node for lost, for as long as others may take it for alive."""
        del self.members[member.node]
        self._rooms.forget(member.node)
        if member.link:
            member.link.kill()
        self._losses[member.node] += 1
        pause = min(_BAN, self._losses[member.node]) if lost.is_there else _BAN
        self._banned[member.node] = time.monotonic() + pause
        if self._losses[member.node] == 1:
            why = lost.why.rstrip(".")
            self._lost_nodes.append(f"node {member.name} was lost: {why}; what it had was called again")
        self._lost(member)

    def _tell_once(self, word: str) -> None:
        if word not in self._words:
            self._words[word] = None
            self._tell_all(Word(word))

    def _tell_all(self, message: Message) -> None:
        for member in self.ready:
            member.send(message)


def _first_of(notes: Sequence[str], what: str) -> list[str]:
    """Give the notes about some nodes, and only count the others."""
    if len(notes) <= _NAMED:
        return [*notes]
    return [*notes[:_NAMED], f"{len(notes):,} nodes in all {what}"]


def _example_of(unit: Unit) -> Hashable:
    return unit.payload.split, unit.payload.line, unit.payload.repeat


def outputs_of(specs: Sequence[EvaluatorSpec]) -> str:
    """Find where models' replies are written down, which is one file for all."""
    tasks = filter(None, map(task_of, specs))
    return next((model.outputs for task in tasks for model in task.replying if model.outputs), "")


class Dealer:
    """The engine of a cluster: it deals the units of lanes out, in chunks."""

    note = ""

    def __init__(self, cluster: Cluster, tick: Callable[[], None]) -> None:
        self._cluster = cluster
        self._tick = tick
        self._losses: Counter[int] = Counter()
        self._clock = Clock()

    def run(self, lanes: Sequence[Lane], work: Work[Record]) -> None:
        cluster = self._cluster
        owed = _Owed(lanes, work.unit, cluster.together)
        self._deal_with(owed, work)
        has_dropped, next_tick = False, time.monotonic() + TICK
        while (owed.left and not has_dropped) or any(member.units for member in cluster.members.values()):
            if not has_dropped and work.stop():
                has_dropped = True
                cluster.tell_ready("drop")
            if not has_dropped:
                self._hand_out(owed)
            cluster.turn()
            if time.monotonic() >= next_tick:
                self._tick()
                next_tick = time.monotonic() + TICK

    def _deal_with(self, owed: "_Owed", work: Work[Record]) -> None:
        """Let this session's work know what becomes of its units."""

        def finish(unit: Unit, outcome: Outcome, started_at: str) -> None:
            work.done(work.record(unit, outcome, started_at))

        def take(member: _Member, became: messages.Became) -> None:
            if unit := member.units.pop(became.number, None):
                finish(unit, became.outcome, became.started_at)

        def leave(member: _Member, numbers: Sequence[int]) -> None:
            for number in numbers:
                member.units.pop(number, None)

        def lose(member: _Member) -> None:
            again = []
            for unit in member.units.values():
                self._losses[unit.number] += 1
                if self._losses[unit.number] < ATTEMPTS:
                    again.append(unit.number)
                else:
                    finish(unit, _given_up(member), self._clock.now())
            owed.put_back(again)

        self._cluster.listen(take, leave, lose)

    def _hand_out(self, owed: "_Owed") -> None:
        """Fill the nodes that have room, those with the fewest units first; at the end in smaller chunks."""
        options, members = self._cluster.options, self._cluster.ready
        most = max(options.chunk * options.inflight, options.slots + options.chunk)
        for member in sorted(members, key=lambda member: len(member.units)):
            while owed.left and (room := most - len(member.units)) > 0:
                size = min(options.chunk, -(-owed.left // (2 * len(members))))
                if room < size:
                    break
                units = owed.take(size)
                member.units.update((unit.number, unit) for unit in units)
                member.send(units_message(units))


def _given_up(member: _Member) -> Failed:
    return Failed(
        kind=FailureKind.INTERNAL,
        message=f"{ATTEMPTS} nodes were lost while they called this, the last one {member.name}",
        hint="it may be what ends them, as by taking all their memory: call it alone, with --ids",
        stderr="",
        seconds=0.0,
        attempts=ATTEMPTS,
    )


class _Owed:
    """What is to be handed out, by lanes; units that share a reply go to one node."""

    def __init__(
        self, lanes: Sequence[Lane], unit: Callable[[int], Unit], together: Callable[[Unit], Hashable] | None
    ) -> None:
        self._unit = unit
        self._lanes = [lane for lane in lanes if len(lane.units)]
        self._next = [0] * len(self._lanes)
        self._again: deque[list[int]] = deque()
        self._groups: Iterator[list[int]] | None = None
        self.left = sum(len(lane.units) for lane in self._lanes)
        if together:
            self._groups = self._group(together)

    def take(self, most: int) -> list[Unit]:
        """Take units for a node; of those that share replies maybe some more."""
        if self._again:
            numbers = self._again.popleft()
        elif self._groups is None:
            numbers = self._deal(most)
        else:
            numbers = []
            while len(numbers) < most and (group := next(self._groups, None)):
                numbers += group
        self.left -= len(numbers)
        return [self._unit(number) for number in numbers]

    def put_back(self, numbers: Sequence[int]) -> None:
        if numbers:
            self._again.append([*numbers])
            self.left += len(numbers)

    def _deal(self, most: int) -> list[int]:
        """Take from each lane by its weight."""
        pairs = zip(self._lanes, self._next, strict=True)
        unfinished = [index for index, (lane, begin) in enumerate(pairs) if begin < len(lane.units)]
        weights = sum(self._lanes[index].weight for index in unfinished)
        numbers: list[int] = []
        for index in unfinished:
            lane, begin = self._lanes[index], self._next[index]
            share = max(1, round(most * lane.weight / weights))
            units = lane.units[begin : begin + share]
            self._next[index] += len(units)
            numbers += units
        return numbers

    def _group(self, key: Callable[[Unit], Hashable]) -> Iterator[list[int]]:
        groups: dict[Hashable, list[int]] = {}
        for lane in self._lanes:
            for number in lane.units:
                groups.setdefault(key(self._unit(number)), []).append(number)
        return iter(groups.values())
