"""What the nodes of a cluster say before a long run: that each is as good a place to call from as this one.

Each node opens a session as for a run, which compares versions and files, and makes the evaluators live;
then it is sent what was answered here, one unit at a time.
"""

import pickle
import queue
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from optimize_eval.base import strict_json
from optimize_eval.base.errors import CannotGoOn, EvaluationError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.outcome import Failed, Outcome, Scored
from optimize_eval.base.protocol import Skip
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.base.shipped import VERSION
from optimize_eval.evaluators.kinds import Checks, identify, kind_of
from optimize_eval.run import node as messages
from optimize_eval.run.cluster import Event, Fleet, Link, Lost, outputs_of
from optimize_eval.run.node import Message, Welcome, Word, pack, units_message
from optimize_eval.run.plan import Unit
from optimize_eval.run.preflight.examined import (
    CallResult,
    CheckOutcome,
    CheckStatus,
    Examined,
    Sameness,
    in_words,
    shown,
)
from optimize_eval.run.questions import Answer, Ask

_SLOW = 3  # times what the median of the nodes takes, and a node is one to look at
_NOTABLE = 0.01  # seconds of a call below which that says little
_START = 60.0  # seconds in which a node begins


class Said(NamedTuple):
    """What a call gave, in what can be compared, and the seconds that it took."""

    outcome: str  # a score, or why there is none
    side_info: bytes
    seconds: float = 0.0
    message: str = ""  # of a failure


@dataclass(slots=True, kw_only=True)
class NodeFindings:
    """A node, and what it has said so far; `problem` is why it cannot be called, and its session is over."""

    name: str
    is_ready: bool = False
    has_ended: bool = False
    problem: str = ""
    answers: dict[str, list[Said]] = field(default_factory=dict)  # by evaluator


@frozen
class NodeExamined:
    """A node on the table: its checks, and what calls of each evaluator took there."""

    name: str
    checks: tuple[CheckOutcome, ...]
    seconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def is_ok(self) -> bool:
        return all(check.status is not CheckStatus.FAIL for check in self.checks)

    def typical(self, evaluator: str) -> float:
        return statistics.median(self.seconds[evaluator])


def examine_nodes(
    fleet: Fleet,
    root: str,
    examined: Sequence[Examined],
    patience: float,
    scorers: Sequence[EvaluatorSpec] = (),
) -> list[NodeExamined]:
    """Ask all nodes at once; paths below `root` are those of a node's own folder.

    `scorers` are a run's, around its models: nodes open them as the run does, and call none of them.
    """
    evaluators = [on for on in examined if not on.told]  # a model that replies is none
    specs = (*(on.spec for on in evaluators), *scorers)
    welcome = Welcome(
        version=VERSION,
        specs=specs,
        identities=tuple(map(identify, specs)),
        slots=1,
        outputs=outputs_of(specs),
        limits=Caps().limits,
    )
    packed = pack(welcome, root)
    fleet.open()
    try:
        nodes = _Round(fleet, packed, _units_for(evaluators)).ask(_START + patience * len(evaluators))
    finally:
        fleet.close()
    if not nodes:
        raise CannotGoOn(
            "the cluster has no node with processors", hint="start one: ray start --address HOST:PORT"
        )
    return compare(nodes, evaluators)


def _units_for(evaluators: Sequence[Examined]) -> list[Unit]:
    """Choose what nodes are to call: what was answered here, but for what costs money."""
    called = [
        (index, payload)
        for index, on in enumerate(evaluators)
        if kind_of(on.spec).checks is Checks.PROGRAMS
        for payload in on.sample[: len(on.one_by_one)]
    ]
    coordinates = [{"evaluator": evaluators[index].spec.name} for index, _ in called]
    return [
        Unit(number, "", *called[number], coordinates=coordinates[number]) for number in range(len(called))
    ]


class _Round:
    """One session on each node, with the same units for all."""

    def __init__(self, fleet: Fleet, packed: bytes, units: Sequence[Unit]) -> None:
        self._units = units
        self._inbox: queue.SimpleQueue[tuple[str, Event]] = queue.SimpleQueue()
        alive = fleet.alive()
        self._nodes = {node: NodeFindings(name=name) for node, name in alive.items()}
        self._links: dict[str, Link] = {
            node: fleet.start(node, packed, partial(self._hear, node)) for node in alive
        }

    def _hear(self, node: str, event: Event) -> None:
        self._inbox.put((node, event))

    def ask(self, seconds: float) -> list[NodeFindings]:
        """Return what the nodes have said within so many seconds."""
        until = time.monotonic() + seconds
        while any(not node.has_ended for node in self._nodes.values()):
            try:
                node, event = self._inbox.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                self._give_up(seconds)
                break
            self._take(node, event)
        for link in self._links.values():
            link.kill()
        return [*self._nodes.values()]

    def _give_up(self, seconds: float) -> None:
        for node in self._nodes.values():
            if not node.has_ended:
                did = "call all that it was sent" if node.is_ready else "begin"
                node.problem = f"it did not {did} within {seconds:.0f} s"

    def _take(self, place: str, event: Event) -> None:
        node = self._nodes[place]
        if isinstance(event, Lost):
            if not node.has_ended:
                node.problem, node.has_ended = f"it was lost: {event.why}", True
            return
        for message in pickle.loads(event):  # noqa: S301  of our own code, on a node of the user's
            self._take_message(place, node, message)

    def _take_message(self, place: str, node: NodeFindings, message: Message) -> None:
        match message:
            case messages.Ready():
                node.is_ready = True
                self._send(place, units_message(self._units) if self._units else Word("close"))
            case messages.Refused():
                node.problem, node.has_ended = f"{message.message}: {message.hint}", True
            case Ask():
                if message.number:
                    self._send(place, Answer(message.number, None))
            case messages.Became():
                self._note(node, message)
                if sum(map(len, node.answers.values())) == len(self._units):
                    self._send(place, Word("close"))
            case messages.Bye():
                node.has_ended = True

    def _note(self, node: NodeFindings, became: messages.Became) -> None:
        evaluator = self._units[became.number].coordinates["evaluator"]
        node.answers.setdefault(evaluator, []).append(_said_there(became.outcome))

    def _send(self, place: str, message: Message) -> None:
        self._links[place].send(pickle.dumps((message,), pickle.HIGHEST_PROTOCOL))


def _said_there(outcome: Outcome) -> Said:
    """Write an outcome as `_said_here` does a result."""
    if isinstance(outcome, Failed):
        return Said(str(outcome.kind), b"", outcome.seconds, f"{outcome.message}; {outcome.hint}")
    if isinstance(outcome, Scored):
        score = "no number" if outcome.is_unranked else f"{outcome.score!r}"
        return Said(score, strict_json.dumps(dict(outcome.side_info)), outcome.seconds)
    return Said("skipped", b"", outcome.seconds)


def _said_here(result: CallResult) -> Said:
    if isinstance(result, EvaluationError):
        return Said(shown(result), b"", message=result.message)
    return Said(shown(result), b"" if isinstance(result, Skip) else strict_json.dumps(dict(result.side_info)))


def compare(found: Sequence[NodeFindings], evaluators: Sequence[Examined]) -> list[NodeExamined]:
    """Hold what every node said against what is known here, and their times against each other."""
    nodes = [
        NodeExamined(
            name=node.name,
            checks=(*_session_of(node), *_answers_of(node, evaluators)),
            seconds={
                evaluator: tuple(said.seconds for said in answers)
                for evaluator, answers in node.answers.items()
            },
        )
        for node in found
    ]
    return [replace(node, checks=(*node.checks, *_times_of(node, nodes))) for node in nodes]


def _session_of(node: NodeFindings) -> Iterator[CheckOutcome]:
    if node.problem:
        yield CheckOutcome("node", CheckStatus.FAIL, node.problem)
    else:
        yield CheckOutcome("versions", CheckStatus.PASS, f"optimize-eval {VERSION}")
        yield CheckOutcome("files", CheckStatus.PASS, "those that evaluators and models name are the same")


def _answers_of(node: NodeFindings, evaluators: Sequence[Examined]) -> Iterator[CheckOutcome]:
    for on in evaluators:
        if answers := node.answers.get(on.spec.name):
            yield _compare_answers(f"{on.spec.name} answers", on, answers)


def _compare_answers(name: str, on: Examined, answers: Sequence[Said]) -> CheckOutcome:
    """Compare with what was answered here, as far as that stays the same when it is asked twice."""
    pairs = [*zip(map(_said_here, on.one_by_one), answers, strict=False)]
    for here, there in pairs:
        if _is_other(here, there, on.sameness):
            why = f": {there.message}" if there.message else ""
            message = f"{here.outcome} here is {there.outcome} there{why}"
            return CheckOutcome(name, CheckStatus.FAIL, message)
    if on.sameness is Sameness.ALL and any(here.side_info != there.side_info for here, there in pairs):
        return CheckOutcome(name, CheckStatus.WARN, "side info is not the same as here; scores are")
    return CheckOutcome(name, CheckStatus.PASS, f"{len(pairs)} as here")


def _is_other(here: Said, there: Said, sameness: Sameness) -> bool:
    match sameness:
        case Sameness.ALL | Sameness.SCORE:
            return here.outcome != there.outcome
        case Sameness.OUTCOME:
            return bool(here.message) != bool(there.message)
        case Sameness.NOTHING:
            return False


def _times_of(node: NodeExamined, nodes: Sequence[NodeExamined]) -> Iterator[CheckOutcome]:
    """Say what a call takes on a node, and warn of one that is much slower than the others."""
    for evaluator in node.seconds:
        mine = node.typical(evaluator)
        usual = statistics.median(other.typical(evaluator) for other in nodes if evaluator in other.seconds)
        is_slow = mine > max(_NOTABLE, _SLOW * usual)
        message = f"{in_words(mine)} a call" + (
            f", {mine / usual:.0f} times as long as usual" if is_slow else ""
        )
        yield CheckOutcome(f"{evaluator} time", CheckStatus.WARN if is_slow else CheckStatus.PASS, message)
