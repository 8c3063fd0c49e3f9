"""What a node of a cluster does: it calls the units that come, by the slots and evaluators of `run` itself.

Messages are what goes between a driver and a node, as pickled lists of them. A node keeps nothing: replies of
models are the driver's to write down, turns at their servers its to give, and what they cost its to count.
"""

import os
import pickle
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base import shipped
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import CannotGoOn, OptimizeEvalError, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Outcome
from optimize_eval.base.protocol import Payload
from optimize_eval.base.shipped import VERSION
from optimize_eval.base.spent import Spent
from optimize_eval.evaluators.kinds import identify
from optimize_eval.models.model_kinds import identify_model
from optimize_eval.models.outputs import Outputs
from optimize_eval.programs.identity import Identity
from optimize_eval.run.engine import Arriving, Lane
from optimize_eval.run.host import Stop
from optimize_eval.run.live import LiveEvaluators, Slots, Work
from optimize_eval.run.plan import Unit
from optimize_eval.run.questions import Answer, Ask, Driver, DriversCaps, DriversOutputs, Limited
from optimize_eval.tasks.targets import task_of

BEAT = 5.0  # seconds after which a node that has nothing to say says that it is there
INSTALL = "install the same optimize-eval there, with its extra [ray]; then the same command again"
LINGER = 0.02  # seconds for which outcomes wait for others, to travel together


# From the driver


@frozen
class Welcome:
    """All that a node has to know of a session; what is called is in it, where files are is not."""

    version: str
    specs: tuple[EvaluatorSpec, ...]
    identities: tuple[Identity, ...]
    slots: int
    models: tuple[str, ...] = ()  # that have a lane each, in place of evaluators
    outputs: str = ""  # where the driver writes replies down
    limits: JsonMapping  # of the caps


class Given(NamedTuple):
    """Units to call, each by its number and evaluator, and with the fields of its payload."""

    units: Sequence[tuple[int, int, tuple[Any, ...]]]


class Rest(NamedTuple):
    """Leave an evaluator alone for so many seconds."""

    evaluator: int
    seconds: float


class Word(NamedTuple):
    """One of: "drop" what is not begun, "over", "stop waiting", "stop", "close"."""

    word: str


# From a node


class Ready(NamedTuple):
    """It has the evaluators live."""

    version: str


class Refused(NamedTuple):
    """It cannot call what the driver means, and this is why."""

    message: str
    hint: str
    is_installed_otherwise: bool = False  # not the files are others, but the program is


class Became(NamedTuple):
    """What became of a unit, and when its call began."""

    number: int
    outcome: Outcome
    started_at: str


class Left(NamedTuple):
    """Units that were not called, or broken off, and stay owed."""

    numbers: Sequence[int]


class BrokenUnit(NamedTuple):
    """What a unit that was broken off took of models, and the key of its reply."""

    number: int
    spent: Spent
    output: str


class State(NamedTuple):
    """Who waits for servers at the moment."""

    waiting: str


class Bye(NamedTuple):
    """It has ended all that it started."""

    notes: Sequence[str]


Message = (
    Given | Answer | Limited | Rest | Word | Ready | Refused | Became | Left | BrokenUnit | Ask | State | Bye
)
Emit = Callable[[Message], None]

_NAMES = ("candidate", "example", "task_model", "line", "repeat", "split", "prompt")
_values = attrgetter(*_NAMES)


def units_message(units: Sequence[Unit]) -> Given:
    return Given([(unit.number, unit.evaluator, _values(unit.payload)) for unit in units])


_HERE, _PYTHON, _SHIPPED, _PACKAGE = "here", "python", "shipped", "package"


def _roots(root: str) -> dict[str, str]:
    """Name the folders that each machine may have elsewhere."""
    package = str(Path(__file__).parents[1])
    return {_SHIPPED: str(shipped.path("evaluators")), _PACKAGE: package, _HERE: root}


class _Packer(pickle.Pickler):
    """Writes paths as what they are of: the folder that nodes have too, this Python, this package."""

    def __init__(self, stream: BytesIO, root: str) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._roots = _roots(root)

    def persistent_id(self, value: object) -> tuple[str, str] | None:
        if not isinstance(value, str):
            return None
        if value == sys.executable:
            return _PYTHON, ""
        for name, root in self._roots.items():
            if value == root or value.startswith(f"{root}{os.sep}"):
                return name, value[len(root) + 1 :]
        return None


class _Unpacker(pickle.Unpickler):
    def __init__(self, stream: BytesIO, root: str) -> None:
        super().__init__(stream)
        self._roots = _roots(root)

    def persistent_load(self, named: Any) -> str:
        name, rest = named
        return sys.executable if name == _PYTHON else str(Path(self._roots[name], rest))


def pack(welcome: Welcome, root: str) -> bytes:
    """Write a welcome for nodes where the folder `root` may be elsewhere."""
    stream = BytesIO()
    for spec in welcome.specs:
        if getattr(getattr(spec.target, "function", None), "__module__", "") == "__main__":
            raise UsageError(
                f"the function {spec.name} is not in a module that nodes could import",
                hint="put it into a file of its own, and import it from there",
            )
    try:
        _Packer(stream, root).dump(welcome)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            f"an evaluator cannot be sent to a node: {error}",
            hint="name a program, or a function of a module that nodes have too",
        ) from None
    return stream.getvalue()


def unpack(data: bytes, root: str) -> Welcome:
    welcome: Welcome = _Unpacker(BytesIO(data), root).load()
    return welcome


class Outbox:
    """Messages on their way; whoever sends them takes them in lots. Thread-safe."""

    def __init__(self) -> None:
        self._messages: deque[Message] = deque()
        self._has_come = threading.Event()
        self._hurry = threading.Event()
        self._is_closed = False

    def put(self, message: Message) -> None:
        self._messages.append(message)
        if not isinstance(message, Became):
            self._hurry.set()
        self._has_come.set()

    def hurry(self) -> None:
        """Let what is there wait for no more."""
        self._hurry.set()

    def close(self) -> None:
        """Let the lots end with what is there."""
        self._is_closed = True
        self._hurry.set()
        self._has_come.set()

    def lots(self) -> Iterator[bytes]:
        """Give lots until it is closed; a question waits for no others."""
        while self._messages or not self._is_closed:
            self._has_come.wait()
            self._has_come.clear()
            self._hurry.wait(LINGER)
            self._hurry.clear()
            if lot := [self._messages.popleft() for _ in range(len(self._messages))]:
                yield pickle.dumps(lot, pickle.HIGHEST_PROTOCOL)


class Called(NamedTuple):
    """A unit of a node, and what became of it."""

    unit: Unit
    outcome: Outcome
    started_at: str


class Node:
    """Calls what comes; `take` is given messages of the driver, `run` ends with the session."""

    def __init__(self, welcome: Welcome, emit: Emit, hurry: Callable[[], None] = lambda: None) -> None:
        self._welcome = welcome
        self._emit = emit
        self._hurry = hurry
        self._driver = Driver(emit)
        self._caps = DriversCaps(welcome.limits, self._driver)
        self._stop = Stop()
        self._is_closing = False
        self._units: dict[int, Unit] = {}
        self._lanes = [Arriving() for _ in welcome.models or welcome.specs]
        self._live = LiveEvaluators(welcome.specs, self._stop, self._caps)
        self._slots = Slots(self._live, welcome.slots, self._tick, stays=lambda: not self._is_closing)
        self._work = Work(
            self._units.__getitem__,
            Called,
            self._send,
            lambda: self._stop.is_requested or self._is_closing,
            self._leave,
        )
        self._waiting = ""
        self._told_at = 0.0
        self._leaving = threading.Lock()  # what a unit took of models is told before that it stays owed

    def open(self) -> Ready | Refused:
        """Make the evaluators live; refuse what is not what the driver has planned."""
        welcome = self._welcome
        try:
            check(welcome)
            if welcome.outputs:
                key = Outputs, os.path.realpath(welcome.outputs)
                self._live.opened.share(key, partial(DriversOutputs, self._driver))
            self._live.__enter__()
        except OptimizeEvalError as error:
            return Refused(error.message, error.hint, isinstance(error, CannotGoOn))
        return Ready(VERSION)

    def run(self) -> None:
        """Call until the driver says that it is enough, and leave nothing behind."""
        try:
            self._slots.run(self._list_lanes(), self._work)
        finally:
            self._live.close()
        self._emit_broken_off()
        self._emit(Bye([*self._live.notes, *filter(None, [self._slots.note])]))

    def take(self, message: Message) -> None:
        match message:
            case Given():
                self._take_units(message)
            case Answer():
                self._driver.take(message)
            case Limited():
                self._caps.limit(message)
            case Rest():
                self._live.rest(message.evaluator, message.seconds)
            case Word():
                self._obey(message.word)

    def _list_lanes(self) -> list[Lane]:
        welcome = self._welcome
        if welcome.models:
            pairs = zip(self._lanes, welcome.models, strict=True)
            return [
                Lane(units=units, capacity=partial(self._live.capacity_of, name)) for units, name in pairs
            ]
        return [
            Lane(units=units, capacity=partial(self._live.capacity, index), weight=spec.weight)
            for index, (units, spec) in enumerate(zip(self._lanes, welcome.specs, strict=True))
        ]

    def _take_units(self, message: Given) -> None:
        for number, evaluator, values in message.units:
            payload = Payload(**dict(zip(_NAMES, values, strict=True)))
            self._units[number] = Unit(number, "", evaluator, payload, {})
            lane = self._welcome.models.index(payload.task_model) if self._welcome.models else evaluator
            self._lanes[lane].put([number])
        self._slots.wake()

    def _obey(self, word: str) -> None:
        match word:
            case "drop":
                self._leave([number for units in self._lanes for number in units.take_all()])
            case "over":
                self._caps.end()
                self._live.stop_waiting()
            case "stop waiting":
                self._live.stop_waiting()
            case "stop":
                self._stop.request()
            case "close":
                self._is_closing = True
                self._driver.leave()
        self._slots.wake()

    def _leave(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._units.pop(number, None)
        with self._leaving:
            self._emit_broken_off()
            self._emit(Left(numbers))

    def _send(self, called: Called) -> None:
        number = called.unit.number
        self._units.pop(number, None)
        self._told_at = time.monotonic()
        self._emit(Became(number, called.outcome, called.started_at))
        if len(self._units) < self._welcome.slots:  # a slot has nothing to do until the driver knows
            self._hurry()

    def _emit_broken_off(self) -> None:
        while self._live.broken_off:
            unit, spent, output = self._live.broken_off.pop()
            self._emit(BrokenUnit(unit.number, spent, output))

    def _tick(self) -> None:
        self._live.end_if_over()
        waiting, now = self._live.waiting, time.monotonic()
        if waiting != self._waiting or now - self._told_at > BEAT:
            self._waiting, self._told_at = waiting, now
            self._emit(State(waiting))


def check(welcome: Welcome) -> None:
    """Refuse to call anything but what the driver has planned: the version, programs, and their files."""
    if welcome.version != VERSION:
        raise CannotGoOn(f"it has optimize-eval {VERSION}, and the driver {welcome.version}", hint=INSTALL)
    for spec, known in zip(welcome.specs, welcome.identities, strict=True):
        _check_files(spec.name, known, identify(spec))
        task = task_of(spec)
        for model in task.called if task else ():
            if model.known_as:
                _check_files(model.name, model.known_as, identify_model(model))


def _check_files(name: str, known: Identity, here: Identity) -> None:
    if known.sha256 == here.sha256:
        return
    there: Mapping[str, str] = dict(here.files)
    others = [file for file, digest in known.files if there.get(file) != digest]
    what = f"{', '.join(others)} of {name} is missing or another one" if others else f"{name} is another one"
    raise UsageError(
        f"{what} in {Path.cwd()}",
        hint="give the folder that has it: --working-dir DIR, or let nodes share it",
    )
