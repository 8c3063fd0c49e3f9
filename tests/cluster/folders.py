"""A cluster whose nodes are folders: each a Node in this process, reached by its messages alone."""

import pickle
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from optimize_eval.run.cluster import Event, Lost
from optimize_eval.run.node import Node, Outbox, Ready, unpack


class FolderLink:
    """The way to such a node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def send(self, data: bytes) -> None:
        for message in pickle.loads(data):
            self._node.take(message)

    def kill(self) -> None:
        """Nothing is left of a node that was told to close."""


class FolderFleet:
    """Nodes by their folders; what is named in `lost` ends before it says anything."""

    def __init__(self, folders: Mapping[str, Path], lost: str = "") -> None:
        self._folders = folders
        self._lost = lost

    def open(self) -> None:
        """They are there."""

    def alive(self) -> Mapping[str, str]:
        return {name: name for name in self._folders}

    def start(self, node: str, welcome: bytes, deliver: Callable[[Event], None]) -> FolderLink:
        outbox = Outbox()
        made = Node(unpack(welcome, str(self._folders[node])), outbox.put, outbox.hurry)
        threading.Thread(target=self._serve, args=(node, made, outbox, deliver), daemon=True).start()
        return FolderLink(made)

    def close(self) -> None:
        """They stay."""

    def _serve(self, name: str, node: Node, outbox: Outbox, deliver: Callable[[Event], None]) -> None:
        if name == self._lost:
            deliver(Lost("killed"))
            return
        ready = node.open()
        outbox.put(ready)
        if isinstance(ready, Ready):
            threading.Thread(target=_run, args=(node, outbox), daemon=True).start()
        else:
            outbox.close()
        for lot in outbox.lots():
            deliver(lot)
        deliver(Lost("it has ended"))


def _run(node: Node, outbox: Outbox) -> None:
    node.run()
    outbox.close()
