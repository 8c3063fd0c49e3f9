"""What a command offers to a session: signals, cleaning up after evaluators, progress on stderr.

Cleaning up after evaluators: however a command ends, nothing that they started is left. How far a run is, is
said by bars on a terminal, now and then by a line elsewhere. No mean, no verdict.
"""

import contextlib
import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from optimize_eval.base.outcome import Progress
from optimize_eval.cli import output
from optimize_eval.cli.interrupts import stoppable, uninterrupted
from optimize_eval.programs.leftovers import adopt_orphans, end_orphans, own_children, reap_adopted
from optimize_eval.programs.process import watchdog
from optimize_eval.reports.inert import inert
from optimize_eval.reports.text import cut
from optimize_eval.run.host import GRACE, Stop

if TYPE_CHECKING:
    from optimize_eval.base.documents import JsonDict

_REAP_EVERY = 5.0  # seconds


@contextlib.contextmanager
def owned_processes() -> Iterator[None]:
    """Adopt what evaluators orphan, and end everything at the end, be that kill -9."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # an inherited SIG_IGN would lose every exit status
    with watchdog():
        ours_before = own_children()  # of a shell that became us by exec, too: not ours to end
        adopts = adopt_orphans()
        try:
            yield
        finally:
            with uninterrupted():
                if adopts:
                    end_orphans(ours_before)


class Reaper:
    """Collects what evaluators left behind and what has ended since, now and then during a long run."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _REAP_EVERY

    def __call__(self) -> None:
        if time.monotonic() >= self._next:
            reap_adopted()
            self._next = time.monotonic() + _REAP_EVERY


_ENDS_RECHECK = "Ctrl-C ends the recheck; the run is done"


class Terminal:
    """The host of a command's session."""

    def __init__(self, *, quiet: bool) -> None:
        self.stop = Stop()
        self._is_quiet = quiet

    def say(self, note: str) -> None:
        output.say(note)

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Own the processes, and let Ctrl-C and its like stop the session."""
        with owned_processes(), stoppable(self.stop):
            yield

    @contextmanager
    def watching(self, *, is_recheck: bool) -> Iterator[Callable[[Sequence[Progress]], None]]:
        """Show progress, and collect what evaluators left behind meanwhile."""
        reap = Reaper()
        shown = display(self.stop, quiet=self._is_quiet, hint=_ENDS_RECHECK if is_recheck else PAUSES)

        def watch(progress: Sequence[Progress]) -> None:
            shown(progress)
            reap()

        try:
            yield watch
        finally:
            shown.close()


PAUSES = "Ctrl-C pauses; nothing is lost"

_SILENCE = 30.0  # seconds after which a line is due, however little was done
_HASTE = 1.0  # seconds that are between two lines
_WITHOUT_BAR, _WITHOUT_PACE = 70, 50  # columns of a terminal below which there is no room for them
_REDRAW = 0.1
_NAME = 20


class Display(Protocol):
    """Something that shows progress."""

    def __call__(self, progress: Sequence[Progress]) -> None: ...
    def close(self) -> None: ...


def display(stop: Stop, *, quiet: bool, hint: str = PAUSES) -> Display:
    """Choose how progress is shown; `hint` says what Ctrl-C does."""
    if quiet:
        return Nothing()
    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return Bars(stop, hint) if is_terminal else Lines(stop)


class Nothing:
    """Shows nothing."""

    def __call__(self, progress: Sequence[Progress]) -> None:
        pass

    def close(self) -> None:
        pass


class WaitingLine:
    """Says who waits for a server: at once, and then each half minute."""

    def __init__(self) -> None:
        self._at = -math.inf

    def __call__(self, words: str) -> None:
        instant = time.monotonic()
        if words and instant - self._at >= _SILENCE:
            self._at = instant
            output.say(f"{time.strftime('%H:%M:%S')} {_on_one_line(words)}")


class Lines:
    """A line for each tenth of an evaluator's part, or each half minute."""

    def __init__(self, stop: Stop) -> None:
        self._stop = stop
        self._told: dict[str, tuple[int, float]] = {}
        self._waiting = WaitingLine()
        self._is_stopping = False
        self._seen: Sequence[Progress] = ()
        self._has_told = False

    def __call__(self, progress: Sequence[Progress]) -> None:
        self._seen = progress
        for part in progress:
            if self._is_due(part):
                self._tell(part)
        self._waiting(next((part.waiting for part in progress if part.waiting), ""))
        if self._stop.is_requested and not self._is_stopping:
            self._is_stopping = True
            output.say(_stopping(self._stop))

    def close(self) -> None:
        """Tell the last counts, where lines were told before and something came to its end since."""
        for part in self._seen if self._has_told else ():
            if part.done > self._told[part.name][0]:
                self._tell(part)

    def _tell(self, part: Progress) -> None:
        self._has_told = True
        self._told[part.name] = part.done, time.monotonic()
        now = time.strftime("%H:%M:%S")
        skipped = f", {part.skipped:,} skipped" if part.skipped else ""
        output.say(f"{now} {part.name} {part.done:,}/{part.total:,}, {part.failed:,} failed{skipped}")

    def _is_due(self, part: Progress) -> bool:
        done, at = self._told.setdefault(part.name, (part.done, time.monotonic()))
        steps = part.done * 10 // part.total - done * 10 // part.total
        passed = time.monotonic() - at
        is_due = part.done == part.total or (steps > 0 and passed > _HASTE) or passed > _SILENCE
        return part.done > done and is_due


class Bars:
    """A bar for each evaluator, the last failure, and what Ctrl-C does; gone when the run is over."""

    def __init__(self, stop: Stop, hint: str = PAUSES) -> None:
        from rich import console as consoles, live, progress, text  # noqa: I001

        self._group, self._text = consoles.Group, text.Text
        self._stop = stop
        self._hint = hint
        self._began = time.monotonic()
        self._drawn = 0.0
        console = consoles.Console(stderr=True, highlight=False)
        self._name = _NAME if console.width >= _WITHOUT_BAR else 8
        self._bars = progress.Progress(
            *self._columns(progress, console.width),
            console=console,
            auto_refresh=False,
        )
        self._tasks: JsonDict = {}
        self._last = self._waiting = ""
        self._group, self._text = consoles.Group, text.Text  # which making a Live already uses
        self._live = live.Live(
            console=console,
            auto_refresh=False,
            transient=True,
            get_renderable=self._render,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._is_gone = False  # the terminal
        self._quietly(self._live.start)

    @staticmethod
    def _columns(rich: Any, width: int) -> list[Any]:
        """Choose what there is room for: numbers are never cut, the bar and then the pace go first."""
        whole = [
            rich.TextColumn(" {task.fields[label]}", markup=False),
            rich.BarColumn(bar_width=min(30, width - _WITHOUT_BAR)),
            rich.TextColumn("{task.fields[counts]}", markup=False, justify="right"),
            rich.TextColumn("{task.fields[pace]}", markup=False),
        ]
        if width < _WITHOUT_BAR + 5:
            del whole[1]
        return whole if width >= _WITHOUT_PACE else whole[:-1]

    def __call__(self, progress: Sequence[Progress]) -> None:
        now = time.monotonic()
        if now - self._drawn < _REDRAW:
            return
        self._drawn = now
        for part in progress:
            self._update(part, now - self._began)
        newest = max(progress, key=lambda part: part.failed_at)
        self._last = output.encodable(_last_failure(newest))
        self._waiting = output.encodable(_waiting(progress))
        self._quietly(self._live.refresh)

    def close(self) -> None:
        self._quietly(self._live.stop)

    def _quietly(self, draw: Callable[[], None]) -> None:
        """Draw, unless the terminal went away: that is no reason to end a run."""
        try:
            if not self._is_gone:
                draw()
        except (OSError, SystemExit):  # rich makes SystemExit of a broken pipe
            self._is_gone = True

    def _update(self, part: Progress, seconds: float) -> None:
        if part.name not in self._tasks:
            label = output.encodable(cut(inert(part.name, ci=False), self._name))
            self._tasks[part.name] = self._bars.add_task(
                "", total=part.total, label=label, counts="", pace=""
            )
        self._bars.update(
            self._tasks[part.name],
            completed=part.done,
            counts=f"{part.done:,}/{part.total:,}",
            pace=_pace(part, seconds),
        )

    def _render(self) -> Any:
        hint = _stopping(self._stop) if self._stop.is_requested else self._hint
        room = max(20, shutil.get_terminal_size().columns - 2)
        lines = [
            self._text(output.encodable(cut(f" {line}", room)))
            for line in (self._last, self._waiting, hint)
            if line
        ]
        return self._group(self._bars.make_tasks_table(self._bars.tasks), *lines)


def _waiting(progress: Sequence[Progress]) -> str:
    """Say who waits for servers, as these said it."""
    return _on_one_line(next((part.waiting for part in progress if part.waiting), ""))


def _on_one_line(words: str) -> str:
    return inert(words, ci=False).replace("\n", " ")


def _pace(part: Progress, seconds: float) -> str:
    failed = f"  {part.failed:,} failed" if part.failed else ""
    failed += f"  {part.skipped:,} skipped" if part.skipped else ""
    if part.done >= part.total:
        return f"done{failed}"
    rate = part.called / seconds if seconds > 0 else 0.0
    left = f"  {_clock((part.total - part.done) / rate)}" if rate else ""
    return f"{f'{rate:,.0f}/s' if rate >= 1 else f'{60 * rate:.0f}/min'}{failed}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _last_failure(part: Progress) -> str:
    failed, unit = part.last_failure, part.last_place
    if failed is None:
        return ""
    line = "" if unit["line"] is None else f" {unit['line']}"
    where = f"{cut(part.name, _NAME)} · {unit['candidate']} · {unit['split']}{line}"
    return f"last failure  {inert(f'{where} · {failed.kind}: {failed.message}', ci=False)}".replace("\n", " ")


def _stopping(stop: Stop) -> str:
    why, how = ("the time is up", "Ctrl-C") if stop.is_out_of_time else ("stopping", "Ctrl-C once more")
    return f"{why}: calls in flight have {GRACE:g} s to finish; {how} ends them now"
