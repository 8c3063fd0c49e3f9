"""How far a run is, on stderr: bars on a terminal, now and then a line elsewhere. No mean, no verdict."""

import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from optimize_eval.base.outcome import Progress
from optimize_eval.cli import output
from optimize_eval.reports.inert import inert
from optimize_eval.reports.text import cut
from optimize_eval.run.host import GRACE, Stop

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
        for one in progress:
            if self._is_due(one):
                self._tell(one)
        self._waiting(next((one.waiting for one in progress if one.waiting), ""))
        if self._stop.is_requested and not self._is_stopping:
            self._is_stopping = True
            output.say(_stopping(self._stop))

    def close(self) -> None:
        """Tell the last counts, where lines were told before and something came to its end since."""
        for one in self._seen if self._has_told else ():
            if one.done > self._told[one.name][0]:
                self._tell(one)

    def _tell(self, one: Progress) -> None:
        self._has_told = True
        self._told[one.name] = one.done, time.monotonic()
        now = time.strftime("%H:%M:%S")
        skipped = f", {one.skipped:,} skipped" if one.skipped else ""
        output.say(f"{now} {one.name} {one.done:,}/{one.total:,}, {one.failed:,} failed{skipped}")

    def _is_due(self, one: Progress) -> bool:
        done, at = self._told.setdefault(one.name, (one.done, time.monotonic()))
        steps = one.done * 10 // one.total - done * 10 // one.total
        passed = time.monotonic() - at
        is_due = one.done == one.total or (steps > 0 and passed > _HASTE) or passed > _SILENCE
        return one.done > done and is_due


class Bars:
    """A bar for each evaluator, the last failure, and what Ctrl-C does; gone when the run is over."""

    def __init__(self, stop: Stop, hint: str = PAUSES) -> None:
        from rich import console as consoles
        from rich import live, progress, text

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
        self._tasks: dict[str, Any] = {}
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
        for one in progress:
            self._update(one, now - self._began)
        newest = max(progress, key=lambda one: one.failed_at)
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

    def _update(self, one: Progress, seconds: float) -> None:
        if one.name not in self._tasks:
            label = output.encodable(cut(inert(one.name, ci=False), self._name))
            self._tasks[one.name] = self._bars.add_task("", total=one.total, label=label, counts="", pace="")
        self._bars.update(
            self._tasks[one.name],
            completed=one.done,
            counts=f"{one.done:,}/{one.total:,}",
            pace=_pace(one, seconds),
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
    return _on_one_line(next((one.waiting for one in progress if one.waiting), ""))


def _on_one_line(words: str) -> str:
    return inert(words, ci=False).replace("\n", " ")


def _pace(one: Progress, seconds: float) -> str:
    failed = f"  {one.failed:,} failed" if one.failed else ""
    failed += f"  {one.skipped:,} skipped" if one.skipped else ""
    if one.done >= one.total:
        return f"done{failed}"
    rate = one.called / seconds if seconds > 0 else 0.0
    left = f"  {_clock((one.total - one.done) / rate)}" if rate else ""
    return f"{f'{rate:,.0f}/s' if rate >= 1 else f'{60 * rate:.0f}/min'}{failed}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _last_failure(one: Progress) -> str:
    failed, place = one.last_failure, one.last_place
    if failed is None:
        return ""
    line = "" if place["line"] is None else f" {place['line']}"
    where = f"{cut(one.name, _NAME)} · {place['candidate']} · {place['split']}{line}"
    return f"last failure  {inert(f'{where} · {failed.kind}: {failed.message}', ci=False)}".replace("\n", " ")


def _stopping(stop: Stop) -> str:
    why, how = ("the time is up", "Ctrl-C") if stop.is_out_of_time else ("stopping", "Ctrl-C once more")
    return f"{why}: calls in flight have {GRACE:g} s to finish; {how} ends them now"
