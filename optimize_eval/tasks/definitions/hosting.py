"""What code of tasks runs in: a process with the user's rights, or one in the sandbox that ships.

The sandbox is a program that stands alone, beside the shipped evaluators. It tries once what this machine
has, and says how processes are started in it. Which process runs which code is not said here.
"""

import base64
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from functools import cache, partial
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from optimize_eval.base import shipped, strict_json
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.secrets import is_confidential_variable
from optimize_eval.programs import one_shot, process
from optimize_eval.programs.process import Program

if TYPE_CHECKING:  # most code is not enclosed
    from concurrent.futures import Future, ThreadPoolExecutor

NONE = "none"  # the level without a sandbox

_BESIDE = Path(__file__)
_INSIDE, _PROMISED = _BESIDE.with_name("inside.py"), _BESIDE.with_name("promised.py")
_HOSTING = "evaluators/_hosting.py"
_TO_TRY = 60.0  # seconds, of which it takes one


@frozen
class Hosting:
    """How processes for code are started, and what closes them in."""

    level: str
    program: Program
    first: bytes = field(default=b"", repr=False)  # what their stdin begins with
    takes_folder: bool = False  # of its own, to write to
    layers: Sequence[str] = ()
    missing: Sequence[str] = ()  # promises that nothing keeps

    @property
    def is_enclosed(self) -> bool:
        return self.level != NONE

    def to_dict(self) -> dict[str, Any]:
        """Give what a run records of it."""
        if not self.is_enclosed:
            return {"sandbox": self.level}
        return {"sandbox": self.level, "layers": [*self.layers], "missing": [*self.missing]}


class Starter:
    """Starts processes for code, from a thread of its own where they are enclosed: they end with it."""

    def __init__(self, level: str) -> None:
        self._level = level
        self._thread = _thread() if hosting(level).is_enclosed else None
        self._folders: list[str] = []

    @property
    def is_enclosed(self) -> bool:
        return self._thread is not None

    def start(self, tag: str) -> tuple[process.Child, bytes]:
        """Start a process, and give what its stdin begins with; raises NotStarted."""
        how = hosting(self._level)
        start = partial(process.started, how.program, tag, self._variables(how))
        return (_started_by(self._thread, start) if self._thread else start()), how.first

    def close(self) -> None:
        """Let no thread and no folder stay; the processes have ended, or end with the thread."""
        if self._thread:
            self._thread.shutdown()
        for folder in self._folders:
            with suppress(RecursionError):  # of who nests folders to spite us
                rmtree(folder, ignore_errors=True)

    def _variables(self, how: Hosting) -> dict[bytes, bytes]:
        if not how.takes_folder:
            return {}
        folder = tempfile.mkdtemp(prefix="scratch-")
        self._folders.append(folder)
        return dict.fromkeys((b"TMPDIR", b"HOME"), os.fsencode(folder))


def hosting(level: str) -> Hosting:
    """Find out how code is run at a level; raises UsageError where the level cannot be kept."""
    if level != NONE:
        return enclosed(level)
    # P: it stands beside modules of ours; u: prints come now
    return Hosting(level=level, program=_program((sys.executable, "-Pu", str(_INSIDE)), _harmless()))


@cache
def enclosed(level: str) -> Hosting:
    """Let the sandbox try once what this machine has."""
    told = _tried(level)
    if refused := told.get("refused"):
        raise UsageError(f"the tasks' code is not run: {refused}")
    environment = {os.fsencode(name): os.fsencode(text) for name, text in told["environment"].items()}
    return Hosting(
        level=level,
        program=_program(tuple(told["argv"]), environment, cwd="/"),
        first=base64.b64decode(told["first"]),
        takes_folder=told["takes_folder"],
        layers=tuple(told["layers"]),
        missing=tuple(told["missing"]),
    )


def _thread() -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  see above

    return ThreadPoolExecutor(1, "sandbox")


def _started_by(thread: "ThreadPoolExecutor", start: Callable[[], process.Child]) -> process.Child:
    started = thread.submit(start)
    try:
        return started.result()
    except BaseException:  # Ctrl-C, maybe: nobody will have it
        started.add_done_callback(_end)
        raise


def _end(started: "Future[process.Child]") -> None:
    if started.exception() is None:
        started.result().kill()
        started.result().close()


def _tried(level: str) -> Mapping[str, Any]:
    """Let the sandbox say what it has."""
    argv = (sys.executable, str(shipped.path(_HOSTING)), level, str(_INSIDE), str(_PROMISED))
    tag, deadline = os.urandom(6).hex(), time.monotonic() + _TO_TRY
    try:
        ended = one_shot.run(_program(argv, _harmless()), b"", tag=tag, variables={}, deadline=deadline)
        told: Mapping[str, Any] = strict_json.loads(ended.stdout.decode(), unique_keys=True)
    except (
        one_shot.DeadlinePassed,
        one_shot.OutputTooLarge,
        process.NotStarted,
        ValueError,
    ) as error:
        raise UsageError(
            f"the tasks' code is not run: the sandbox does not start ({type(error).__name__})",
            hint=f"see what it says: {' '.join(argv)}",
        ) from None
    return told


def _program(argv: tuple[str, ...], environment: Mapping[bytes, bytes], cwd: str | None = None) -> Program:
    return Program(argv=argv, executable=argv[0], cwd=cwd, environment=environment)


def _harmless() -> Mapping[bytes, bytes]:
    kept = {name: text for name, text in os.environ.items() if not is_confidential_variable(name, text)}
    return {os.fsencode(name): os.fsencode(text) for name, text in kept.items()}
