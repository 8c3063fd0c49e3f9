"""Run `optimize-eval ARGUMENT…` on nodes that answer from a table: python on_table.py FILE ARGUMENT….

All of the driver is real; a thread stands for the cluster. TABLE in the environment says how many nodes there
are, how long a call takes, how many are stragglers, and how often a node is lost. FILE gets what the driver
took: CPU of the process but for that thread, its peak, and the share of the time for which slots were busy.
"""

import heapq
import json
import os
import pickle
import queue
import random
import resource
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Scored
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.base.shipped import VERSION
from optimize_eval.cli import main
from optimize_eval.programs.identity import Identity
from optimize_eval.run.cluster import Cluster, Event, Lost
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.host import Stop
from optimize_eval.run.node import BEAT, LINGER, Became, Bye, Given, Left, Message, Ready, State, Word

_STRAGGLER = 10  # times as long as others
_BEGAN = "2026-01-01T00:00:00.000+00:00"


class TableNode:
    """A node with so many slots, and how to tell the driver what became of units."""

    def __init__(self, deliver: Callable[[Event], None], slots: int) -> None:
        self.deliver = deliver
        self.free = slots
        self.waiting: deque[int] = deque()
        self.is_gone = False

    def emit(self, *messages: Message) -> None:
        self.deliver(pickle.dumps(messages, pickle.HIGHEST_PROTOCOL))


class TableLink:
    """The way to such a node; what is sent is read by the cluster's thread."""

    def __init__(self, fleet: "TableFleet", node: TableNode) -> None:
        self._fleet = fleet
        self._node = node

    def send(self, data: bytes) -> None:
        self._fleet.sent.put((self._node, data))

    def kill(self) -> None:
        self._node.is_gone = True


class TableFleet:
    """Nodes whose calls take as long as the table says, in real time."""

    made: "TableFleet"

    def __init__(self) -> None:
        table = json.loads(os.environ["TABLE"])
        self._names = {f"n{number}": f"10.1.{number >> 8}.{number & 255}" for number in range(table["nodes"])}
        self._slots, self._seconds = table["slots"], table["seconds"]
        self._straggles, self._loses_every = table["straggles"], table["loses_every"]
        self._most = 0.9 * table["units"]  # from then on slots are idle as little is owed
        self._draw = random.Random(0)
        self.sent: queue.SimpleQueue[tuple[TableNode, bytes] | None] = queue.SimpleQueue()
        self._nodes: list[TableNode] = []
        self._due: list[tuple[float, int, TableNode]] = []
        self.busy = self.cpu = self.wall = 0.0
        self.lost = self.called = 0
        self._began = self._last = 0.0
        type(self).made = self

    def open(self) -> None:
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def alive(self) -> Mapping[str, str]:
        return self._names

    def start(self, _node: str, _welcome: bytes, deliver: Callable[[Event], None]) -> TableLink:
        node = TableNode(deliver, self._slots)
        self._nodes.append(node)
        node.emit(Ready(VERSION))
        return TableLink(self, node)

    def close(self) -> None:
        if self._thread.is_alive():
            self.sent.put(None)
            self._thread.join()

    def _serve(self) -> None:
        """Do in each moment what has come due, and tell each node's outcomes together."""
        next_loss = time.monotonic() + self._loses_every if self._loses_every else float("inf")
        next_beat = time.monotonic() + BEAT
        while self._read():
            now = time.monotonic()
            if now > next_loss:
                next_loss = now + self._loses_every
                self._lose(self._draw.choice([node for node in self._nodes if not node.is_gone]))
            self._finish(now)
            if now > next_beat:
                next_beat = now + BEAT
                for node in self._nodes:
                    node.emit(State(""))
            time.sleep(LINGER)
        self.cpu, self.wall = time.thread_time(), self._last - self._began

    def _read(self) -> bool:
        for _ in range(self.sent.qsize()):
            if (entry := self.sent.get()) is None:
                return False
            node, data = entry
            for message in pickle.loads(data):
                self._take(node, message)
        return True

    def _take(self, node: TableNode, message: Message) -> None:
        match message:
            case Given(units=units):
                node.waiting.extend(number for number, *_ in units)
                self._begin(node, time.monotonic())
                self._began = self._began or time.monotonic()
            case Word(word="drop"):
                node.emit(Left([*node.waiting]))
                node.waiting.clear()
            case Word(word="close"):
                node.emit(Bye([]))

    def _begin(self, node: TableNode, now: float) -> None:
        while node.free and node.waiting:
            node.free -= 1
            number = node.waiting.popleft()
            heapq.heappush(self._due, (now + self._seconds_of(number), number, node))

    def _finish(self, now: float) -> None:
        became: dict[TableNode, list[Became]] = {}
        while self._due and self._due[0][0] <= now:
            _, number, node = heapq.heappop(self._due)
            if node.is_gone:
                continue
            seconds = self._seconds_of(number)
            self.called += 1
            if self.called < self._most:
                self.busy += seconds
                self._last = now
            node.free += 1
            outcome = Scored(score=number % 1000 / 1000, side_info={}, seconds=seconds)
            became.setdefault(node, []).append(Became(number, outcome, _BEGAN))
        for node, several in became.items():
            self._begin(node, now)
            node.emit(*several)

    def _lose(self, node: TableNode) -> None:
        self.lost += 1
        node.is_gone = True
        node.deliver(Lost("killed"))

    def _seconds_of(self, number: int) -> float:
        scattered = number * 2654435761 % 1000 / 1000
        long = _STRAGGLER if self._straggles and scattered < self._straggles else 1
        return float(self._seconds * (0.5 + scattered) * long)


def on_table(
    cluster: OnCluster,
    specs: Sequence[EvaluatorSpec],
    identities: Sequence[Identity],
    stop: Stop,
    caps: Caps,
    models: Sequence[str],
) -> Cluster:
    return Cluster(specs, identities, models, cluster, TableFleet(), stop, caps)


def spent(slots: int) -> dict[str, Any]:
    own = resource.getrusage(resource.RUSAGE_SELF)
    fleet = TableFleet.made
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return {
        "own": own.ru_utime + own.ru_stime - fleet.cpu,
        "peak": int(status.partition("VmHWM:")[2].split()[0]) * 1024,
        "called": fleet.called,
        "lost": fleet.lost,
        "rate": 0.9 * fleet.called / fleet.wall if fleet.wall > 0 else 0.0,
        "busy": fleet.busy / (fleet.wall * slots) if fleet.wall > 0 else 0.0,
    }


if __name__ == "__main__":
    target = Path(sys.argv.pop(1))
    stands_in = ModuleType("optimize_eval.run.ray_engine")
    stands_in.on_ray = on_table  # type: ignore[attr-defined]
    sys.modules[stands_in.__name__] = stands_in
    table = json.loads(os.environ["TABLE"])
    try:
        main()
    finally:
        target.write_text(json.dumps(spent(table["nodes"] * table["slots"])))
