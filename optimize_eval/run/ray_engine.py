"""Nodes of a Ray cluster: an actor on each, in which a Node calls what comes. Nothing else imports Ray.

Ray is given bytes alone, no secret and no environment. A cluster executes what whoever reaches its port says,
so it has a token, and addresses that others do not reach: docs/cluster.md.
"""

import atexit
import io
import logging
import os
import pickle
import re
import shutil
import signal
import socket
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before ray is imported: else it reports its use
os.environ.setdefault(
    "RAY_NUM_REDIS_GET_RETRIES", "3"
)  # seconds in which a cluster that is there has answered

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from optimize_eval.base.errors import CannotGoOn, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.retries_and_caps import Caps
from optimize_eval.programs.identity import Identity
from optimize_eval.programs.process import watchdog
from optimize_eval.run.cluster import Cluster, Event, Link, Lost
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.host import Stop
from optimize_eval.run.node import INSTALL, Node, Outbox, Refused, unpack
from optimize_eval.store.folder import MANIFEST

_CONNECT = 3.0  # seconds
_SILENCES = 3
_LOOK_EVERY = 0.5
_LOTS = 1000  # of a stream: as long as it goes on, Ray keeps something of each
_MOST = 200_000_000  # bytes: each node is sent all of it
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_VERSIONS = re.compile(r"Ray: (\S+)\s+Python: (\S+)")
_CACHES = frozenset({"__pycache__", "node_modules"})


class Actor:
    """A node's process."""

    def __init__(self) -> None:
        self._outbox = Outbox()
        self._node: Node | None = None
        self._guard = ExitStack()

    def open(self, welcome: bytes, copy: bytes, here: str, root: str) -> None:
        """Begin a session `here`, as the driver is, or where a copy of its folder `root` is made so."""
        try:
            self._guard.enter_context(watchdog())  # Ray ends us by kill -9; before anything is started
            home = unpack_folder(copy, here, root) if copy else _share(here)
            sys.path.insert(0, str(Path.cwd()))  # as the driver's script finds modules beside it
            self._node = Node(unpack(welcome, home), self._outbox.put, self._outbox.hurry)
            ready = self._node.open()
        except Exception as error:  # noqa: BLE001  whatever it is, the driver says it
            ready = Refused(f"{type(error).__name__}: {error}", INSTALL, is_installed_otherwise=True)
        self._outbox.put(ready)
        if isinstance(ready, Refused):
            self._close()
        else:
            threading.Thread(target=self._run, args=(self._node,), name="node", daemon=True).start()
            threading.Thread(target=_end_with, args=(os.getppid(),), name="parent", daemon=True).start()

    def send(self, data: bytes) -> None:
        if self._node:
            for message in pickle.loads(data):  # noqa: S301  the driver's, who may execute anything here
                self._node.take(message)

    def lots(self) -> Iterator[bytes]:
        for lot in islice(self._outbox.lots(), _LOTS):  # noqa: UP028  Ray's own `send` is no slice's
            yield lot

    def _run(self, node: Node) -> None:
        try:
            node.run()
        finally:
            self._close()

    def _close(self) -> None:
        self._guard.close()
        self._outbox.close()


def _end_with(raylet: int) -> None:
    """End when the raylet has, as Ray waits for calls that never end; the watchdog ends evaluators."""
    while os.getppid() == raylet:
        time.sleep(_LOOK_EVERY)
    os._exit(1)


def _share(here: str) -> str:
    """Go to the driver's folder, if this node has it; what is missing is told by the files that are."""
    with suppress(OSError):
        os.chdir(here)
    return here


class RayLink:
    """The way to an actor."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    def send(self, data: bytes) -> None:
        with suppress(ray.exceptions.RayError):
            self._actor.send.remote(data)

    def kill(self) -> None:
        with suppress(ray.exceptions.RayError, ValueError):
            ray.kill(self._actor)


class RayFleet:
    """The nodes of a Ray cluster that have processors."""

    def __init__(self, address: str, working_dir: str = "") -> None:
        self._address = address
        self._working_dir = working_dir
        self._copy: object = None  # of that folder, as Ray keeps it
        self._known: dict[str, str] = {}
        self._doors: dict[str, tuple[str, int]] = {}  # where raylets listen
        self._silences = 0

    def open(self) -> None:
        """Reach the cluster; raises CannotGoOn in one line."""
        packed = pack_folder(Path(self._working_dir)) if self._working_dir else b""
        self._knock()
        vars(import_module("ray._private.worker"))["print_to_stdstream"] = _say_nothing
        with _quiet(), _own_signals():
            try:
                _show_token(self._address)
                ray.init(
                    self._address,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    configure_logging=False,
                )
            except ray.exceptions.AuthenticationError:
                raise CannotGoOn(
                    f"the Ray cluster at {self._address} does not take our token",
                    hint="name the cluster's: RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=FILE",
                ) from None
            except (RuntimeError, ConnectionError, ValueError, OSError) as error:
                raise CannotGoOn(
                    f"the Ray cluster at {self._address} {_what_differs(error)}",
                    hint="driver and nodes need the same versions of Python and Ray",
                ) from None

        self._copy = ray.put(packed)

    def alive(self) -> Mapping[str, str]:
        """Name the nodes; a head that is silent for a moment may be busy, three times in a row it is lost."""
        try:
            self._knock()
        except CannotGoOn:
            self._silences += 1
            if self._silences == _SILENCES:
                raise
            return self._known
        self._silences = 0
        for node in ray.nodes():
            name, address = node["NodeID"], node["NodeManagerAddress"]
            if node["Alive"] and node["Resources"].get("CPU"):
                self._known[name] = f"{address} ({name[:8]})"
                self._doors[name] = address, node["NodeManagerPort"]
            else:
                self._known.pop(name, None)
        return self._known

    def start(self, node: str, welcome: bytes, deliver: Callable[[Event], None]) -> Link:
        actor = _ACTOR.options(
            num_cpus=0,
            max_concurrency=4,  # its lots, and messages to it
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        ).remote()
        threading.Thread(
            target=self._listen, args=(actor, node, welcome, deliver), name=f"node-{node[:8]}", daemon=True
        ).start()
        return RayLink(actor)

    def close(self) -> None:
        ray.shutdown()

    def _listen(self, actor: Any, node: str, welcome: bytes, deliver: Callable[[Event], None]) -> None:
        """Hand over what a node says, until it has ended or is lost."""
        try:
            opened = actor.open.remote(
                welcome, self._copy, str(Path.cwd()), str(Path(self._working_dir).resolve())
            )
            while _deliver_lots(actor, deliver) == _LOTS:
                continue
            ray.get(opened)
            deliver(Lost("it has ended", is_there=True))
        except Exception as error:  # noqa: BLE001  Ray's errors are of many kinds
            if getattr(error, "actor_init_failed", False):  # it could not even be made there
                refused = Refused(_words_of(error), INSTALL, is_installed_otherwise=True)
                deliver(pickle.dumps([refused]))
            deliver(Lost(_words_of(error), is_there=_is_open(self._doors[node])))

    def _knock(self) -> None:
        """Look whether anybody listens there: Ray itself would try for a minute."""
        host, _, port = self._address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT).close()
        except ValueError:
            raise UsageError(
                f"--address {self._address!r} is not an address of a cluster", hint="write HOST:PORT"
            ) from None
        except OSError as error:
            raise CannotGoOn(
                f"no Ray cluster answers at {self._address}: {error.strerror or error}",
                hint="is its head running there? then the same command again goes on",
            ) from None


def _deliver_lots(actor: Any, deliver: Callable[[Event], None]) -> int:
    """Hand over what comes in a stream, until it ends; gives how many lots it had."""
    count = 0
    for lot in actor.lots.options(num_returns="streaming").remote():
        deliver(ray.get(lot))
        count += 1
    return count


def pack_folder(folder: Path) -> bytes:
    """Write a folder's files; raises UsageError where it is none, or too large."""
    if not folder.is_dir():
        raise UsageError(
            f"--working-dir {folder} is not a folder", hint="name the folder that evaluators need"
        )
    packed, size = io.BytesIO(), 0
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in _files(folder):
            size += path.stat().st_size
            if size > _MOST:
                raise UsageError(
                    f"--working-dir {folder} has more than {_MOST // 1_000_000} MB to copy to each node",
                    hint="name a smaller folder, or let nodes share this one and omit --working-dir",
                )
            tar.add(path, path.relative_to(folder), recursive=False)
    return packed.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name in _CACHES:  # .env and the like are nobody else's
            continue
        if path.is_symlink() or path.is_file():
            yield path
        elif path.is_dir() and not (path / MANIFEST).exists():
            yield path
            yield from _files(path)


def unpack_folder(packed: bytes, here: str, root: str) -> str:
    """Make the copy of `root`, go where it is reached from as it is from `here`, and give where it is."""
    above = tempfile.mkdtemp(prefix="optimize-eval-")
    atexit.register(shutil.rmtree, above, ignore_errors=True)
    common = os.path.commonpath([here, root])
    copy, start = (Path(above, Path(path).relative_to(common)) for path in (root, here))
    for folder in (copy, start):
        folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        tar.extractall(copy, filter="data")
    os.chdir(start)
    return str(copy)


_ACTOR = ray.remote(Actor)


def on_ray(
    cluster: OnCluster,
    specs: Sequence[EvaluatorSpec],
    identities: Sequence[Identity],
    stop: Stop,
    caps: Caps,
    models: Sequence[str],
) -> Cluster:
    """Give evaluators that will be live on the nodes of a Ray cluster."""
    fleet = RayFleet(cluster.address, cluster.working_dir)
    return Cluster(specs, identities, models, cluster, fleet, stop, caps)


def _say_nothing(*_words: object, **_options: object) -> None:
    """Stand in for what Ray says of nodes on stdout, in its own time: stdout has results, and we say it."""


def _show_token(address: str) -> None:
    """Let a wrong token be told in two seconds; `ray.init` takes twenty."""
    with suppress(ImportError, AttributeError):  # where it is elsewhere, init says it
        import_module("ray._raylet").GcsClient(address=address)


def _is_open(door: tuple[str, int]) -> bool:
    """Look whether a raylet still listens: the control store takes it for alive for a while after its end."""
    with suppress(OSError), socket.create_connection(door, timeout=_CONNECT):
        return True
    return False


def _what_differs(error: BaseException) -> str:
    """Say in a line which versions are not the same; Ray takes six."""
    versions = [" and Python ".join(pair) for pair in _VERSIONS.findall(str(error))]
    if len(versions) == 2:  # noqa: PLR2004  theirs and ours
        return f"has Ray {versions[0]}; here are Ray {versions[1]}"
    return f"cannot be used: {_words_of(error)}"


def _words_of(error: BaseException) -> str:
    """Say what happened: of what was raised on a node, the last line of what Ray has of it."""
    lines = _COLOURS.sub("", str(error)).strip().splitlines() or [type(error).__name__]
    is_raised = isinstance(error, ray.exceptions.RayTaskError) or getattr(error, "actor_init_failed", False)
    return lines[-1 if is_raised else 0][:300]


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep what Ray's own library writes on stderr while it connects; its errors are raised besides."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as nowhere:
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Take back the handlers that Ray puts in place of ours."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    former = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in former.items():
                signal.signal(number, handler)
