"""Rules of a trial about how an evaluator is called: again, at once, with long texts, kept alive."""

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Payload
from optimize_eval.evaluators import kinds
from optimize_eval.evaluators.kinds import kind_of
from optimize_eval.findings.wording import count
from optimize_eval.programs.leftovers import descendants
from optimize_eval.run.preflight.counting_proxy import counting_proxy
from optimize_eval.run.preflight.examined import (
    CallResult,
    CheckOutcome,
    CheckStatus,
    call,
    in_words,
    is_late,
    leave_out,
    live,
    shown,
)
from optimize_eval.run.preflight.golds import (
    GoldRow,
    rename_row,
    with_more,
    without_field,
    without_last_word,
    words_in,
)
from optimize_eval.run.preflight.on_trial import (
    SAME,
    Findings,
    Trial,
    calls_models,
    is_program,
    place_of,
    quote,
    score_in,
    score_text,
)

AT_ONCE = 8
KEPT = 5  # calls in which a process that stays may grow
LENGTHS = 3_000, 12_000

_LATER = 1.05  # seconds, after which an answer by the clock is another one
_SLOW = 0.3  # seconds
_TIMES_AS_SLOW = 3.0  # for four times the length
_PATIENCE = 5.0  # seconds for a long candidate
_GROWTH = 2_000_000  # bytes a call
_TIMES_BAD = 4  # that a bad candidate is asked again
_MORE = 3  # calls about a score that may be another one by itself
_ANYWAY = "answers change anyway"


def ask_again(trial: Trial) -> Findings:
    """Ask again: after another one, twice, by another process, later; what differs first ends it."""
    if calls_models(trial.spec):
        yield from _rate_of_change(trial)
        return
    for what, spec, row, texts, is_fault in _occasions(trial):
        with as_a_run_calls(trial, spec) as evaluator:
            for number, text in enumerate(texts, 1):
                payload = row.with_candidate(text)
                before, after = trial.ask(payload), trial.ask_again(payload, evaluator)
                if _differ(before, after) and (is_fault or score_in(after) is not None):
                    asked = [row.with_candidate(each) for each in texts[:number]]
                    yield _say_changed(trial, spec, row, asked, after, what, is_fault=is_fault)
                    return


def _rate_of_change(trial: Trial) -> Findings:
    """Say of a model how many of its scores are other ones when it is asked again."""
    pairs = [(trial.ask(payload), trial.ask_again(payload, trial.evaluator)) for payload in trial.payloads]
    changed = [payload for payload, pair in zip(trial.payloads, pairs, strict=True) if _differ(*pair)]
    if changed:
        message = f"{len(changed)} of {len(pairs)} scores are other ones when it is asked again"
        line = kinds.call_twice(trial.spec, changed[0])
        yield trial.finding("same answer", message, line, is_fault=False)


def as_a_run_calls(trial: Trial, spec: EvaluatorSpec) -> AbstractContextManager[Evaluator]:
    """Make it live anew; what declared before that it stays alive need not do so once more."""
    return live(spec, persistent=trial.is_kept_alive or None)


class Occasion(NamedTuple):
    """When the same is asked again."""

    what: str
    spec: EvaluatorSpec
    row: GoldRow
    texts: tuple[str, ...]
    is_fault: bool = True


def _occasions(trial: Trial) -> Iterator[Occasion]:
    spec, rows = trial.spec, trial.rows
    row = next((row for row in rows if row.wrong), rows[0])
    other = row.wrong or f"{row.gold} x"
    yield Occasion("when it was asked again", spec, row, (row.gold, row.gold, other, other))
    for text in [*trial.known.bad.values()][:1]:  # it may well be right in part
        best = max((trial.score(row.with_candidate(text)) or 0.0, -number) for number, row in enumerate(rows))
        yield Occasion("when it was asked again", spec, rows[-best[1]], (text,) * _TIMES_BAD)
    if not trial.failed:  # else there is enough to mend
        time.sleep(_LATER)
    yield Occasion("a second later", spec, row, (other, row.gold))
    if is_program(spec):
        longest = max(rows, key=lambda row: words_in(row.gold))
        partly = without_last_word(longest.gold)  # which graded scores depend on
        for seed, texts in {
            "1": (row, (other, row.gold)),
            "2": (longest, (partly or other, with_more(longest))),
        }.items():
            seeded = with_environment(spec, PYTHONHASHSEED=seed)
            yield Occasion(f"with PYTHONHASHSEED={seed}", seeded, *texts)
    if is_program(spec):
        yield Occasion(
            "with LC_ALL=C", with_environment(spec, LC_ALL="C"), rows[0], (rows[0].gold,), is_fault=False
        )
        with tempfile.TemporaryDirectory() as folder:
            elsewhere = replace(spec, cwd=folder)
            if not kind_of(elsewhere).missing(elsewhere):  # as a path is that counts from there
                yield Occasion("in another working folder", elsewhere, row, (row.gold,), is_fault=False)


def with_environment(spec: EvaluatorSpec, **variables: str) -> EvaluatorSpec:
    return replace(spec, environment={**spec.environment, **variables})


def _differ(before: CallResult, after: CallResult) -> bool:
    first, second = score_in(before), score_in(after)
    if first is None or second is None:
        return shown(before) != shown(after)
    return abs(first - second) > SAME


def _say_changed(
    trial: Trial,
    spec: EvaluatorSpec,
    row: GoldRow,
    asked: Sequence[Payload],
    after: CallResult,
    what: str,
    *,
    is_fault: bool,
) -> CheckOutcome:
    payload = asked[-1]
    before = score_text(trial.ask(payload))
    message = f"{place_of(row)}: {quote(payload.candidate)} scored {before}, and {score_text(after)} {what}"
    in_one = len(asked) > 1 and trial.is_kept_alive
    line = kinds.call_in_one(spec, asked) if in_one else kinds.call_twice(spec, payload)
    return trial.finding("same answer", message, line, is_fault=is_fault)


def _change_alone(trial: Trial, row: GoldRow, payload: Payload) -> CheckOutcome | None:
    """Say of a score that it is another one by itself, when it is asked for again by processes of its own."""
    for _ in range(_MORE):
        with as_a_run_calls(trial, trial.spec) as evaluator:
            again = trial.ask_again(payload, evaluator)
        if _differ(trial.ask(payload), again):
            what = "when another process was asked: does it draw, or is a hash or an order in it?"
            return _say_changed(trial, trial.spec, row, [payload], again, what, is_fault=True)
    return None


def change_ids(trial: Trial) -> Findings:
    if "same answer" in trial.failed:
        yield CheckOutcome("id", CheckStatus.SKIP, _ANYWAY)
        return
    for times, row in zip((1, 2), trial.rows, strict=False):
        for text in (row.wrong, row.gold)[: 3 - times]:
            before = row.with_candidate(text)
            other = rename_row(before, times)
            if other is None:
                continue
            score = trial.score(other)
            if score is not None and _differ(trial.ask(before), trial.ask(other)):
                if changed := _change_alone(trial, row, before):
                    yield changed
                    yield CheckOutcome("id", CheckStatus.SKIP, _ANYWAY)
                    return
                words = f"{place_of(row)}: {quote(text)} scores {score_text(trial.ask(before))}"
                message = f"{words}, and {score:g} when the row has another id"
                yield trial.finding("id", message, kinds.call_once(trial.spec, other), is_fault=False)
                return


def take_gold_away(trial: Trial) -> Findings:
    """Take the gold away; who scores the same without it knows it from elsewhere."""
    row, lacking = trial.rows[0], trial.known.without_gold
    payload = without_field(row.payload, trial.known.field)
    score, wrong = trial.score(payload), trial.score(replace(payload, candidate=row.wrong))
    knows_it = (score, wrong) == (trial.high(row), trial.low(row)) and score != wrong
    low = trial.low(row)
    is_low = score is not None and low is not None and score <= low + SAME
    if score is None or knows_it:  # be it by a crash
        yield CheckOutcome("missing gold", CheckStatus.PASS, "without a gold there is no score")
    elif is_low and not lacking:
        yield CheckOutcome("missing gold", CheckStatus.PASS, "without a gold it scores low, and no row is so")
    else:
        words = f"{place_of(row)}: without {trial.known.field}, {quote(row.gold)} still scores {score:g}"
        rows = f", and {count(lacking, 'row')} {'is' if lacking == 1 else 'are'} so" if lacking else ""
        line = kinds.call_once(trial.spec, payload)
        yield trial.finding(
            "missing gold", f"{words}{rows}: answer an error, or a skip", line, is_fault=False
        )


def call_at_once(trial: Trial) -> Findings:
    if "same answer" in trial.failed:
        yield CheckOutcome("at once", CheckStatus.SKIP, _ANYWAY)
        return
    payloads = trial.payloads
    asked = [payloads[number % len(payloads)] for number in range(AT_ONCE)]
    before = [trial.ask(payload) for payload in asked]
    with as_a_run_calls(trial, trial.spec) as evaluator, ThreadPoolExecutor(AT_ONCE) as slots:
        started = time.monotonic()
        after = list(slots.map(lambda payload: trial.ask_again(payload, evaluator), asked))
        trial.on.take_time_at_once(AT_ONCE, time.monotonic() - started)
    for payload, alone, beside in zip(asked, before, after, strict=True):
        if _differ(alone, beside):
            row = next(row for row in trial.rows if payload in row.payloads)
            if changed := _change_alone(trial, row, payload):
                yield changed
                yield CheckOutcome("at once", CheckStatus.SKIP, _ANYWAY)
                return
            words = f"{quote(payload.candidate)} scores {score_text(alone)} when it is called alone"
            crowd = f"{score_text(beside)} when {AT_ONCE} calls are made at the same time"
            message = f"{place_of(row)}: {words}, and {crowd}: do calls share a file or a port?"
            yield trial.finding("at once", message, kinds.call_at_once(trial.spec, asked))
            return


def send_long(trial: Trial) -> Findings:
    """Send long candidates; four times the length should not take much more than three times as long."""
    short, long = LENGTHS
    least = dict.fromkeys(LENGTHS, _PATIENCE)  # what another program takes of the machine is none of its time
    for _ in range(2):
        for length in LENGTHS:
            seconds = _seconds_of(trial, length)
            if seconds is None:
                yield _slow(
                    trial, length, f"a candidate of {length:,} letters takes more than {_PATIENCE:g} s"
                )
                return
            least[length] = min(least[length], seconds)
        if least[long] <= max(_SLOW, _TIMES_AS_SLOW * least[short]):
            return
    what = f"a candidate of {long:,} letters takes {in_words(least[long])}"
    yield _slow(trial, long, f"{what}, one of {short:,} {in_words(least[short])}")


def _seconds_of(trial: Trial, length: int) -> float | None:
    """Time a call with a candidate of some length; None where it is late."""
    seconds: list[float] = []
    payload = trial.rows[0].with_candidate(long_text(length))
    trial.on.calls_on_trial += 1
    result = call(trial.evaluator, payload, min(_PATIENCE, trial.spec.timeout), seconds)
    trial.note_crash(payload, result)
    return None if is_late(result) else seconds[0]


def long_text(length: int) -> str:
    return ("a" * 39 + " ") * (length // 40) + "!"


def _slow(trial: Trial, length: int, what: str) -> CheckOutcome:
    line = kinds.call_once(trial.spec, trial.rows[0].with_candidate(long_text(length)))
    return trial.finding(
        "slow", f"{what}: does it compare all with all?", line and f"time {line}", is_fault=False
    )


def watch_memory(trial: Trial) -> Findings:
    """Call a process that stays, and see whether it keeps what it was sent."""
    others = {process.pid for process in descendants(os.getpid())}
    payloads = [row.payload for row in trial.rows]
    sizes = []
    with live(trial.spec, persistent=True) as evaluator:
        for number in range(KEPT):
            trial.ask_again(payloads[number % len(payloads)], evaluator)
            own = [process.pid for process in descendants(os.getpid()) if process.pid not in others]
            sizes.append(sum(map(_resident, own)))
    if not sizes[1]:
        yield leave_out("memory", "this system does not say what a process has in memory")
        return
    growth = (sizes[-1] - sizes[1]) / (KEPT - 2)
    if growth > _GROWTH:
        message = f"kept alive, it grows by {growth / 1e6:.3g} MB a call: does it keep what it was sent?"
        line = kinds.call_one_process(trial.spec, payloads, seconds=1)
        yield trial.finding("memory", message, line, is_fault=False)


def _resident(pid: int) -> int:
    """Count the bytes that a process has in memory; 0 where that is not known."""
    with suppress(OSError, IndexError, ValueError):
        pages = int(Path(f"/proc/{pid}/statm").read_bytes().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


def files_as_they_are(paths: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Note the size and the time of files."""
    noted = {}
    for path in paths:
        with suppress(OSError):
            status = Path(path).stat()
            noted[path] = status.st_size, status.st_mtime_ns
    return noted


def look_at_files(trial: Trial) -> Findings:
    now = files_as_they_are(trial.known.files)
    for path, before in trial.files.items():
        if now.get(path) != before:
            line = kinds.call_once(trial.spec, trial.rows[0].payload)
            yield trial.finding(
                "writes", f"{path} was changed while it was called: does it write there?", line
            )
            return


def watch_network(trial: Trial) -> Findings:
    with counting_proxy() as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        spec = with_environment(
            trial.spec,
            http_proxy=url,
            https_proxy=url,
            HTTP_PROXY=url,
            HTTPS_PROXY=url,
            no_proxy="",
            NO_PROXY="",
        )
        with as_a_run_calls(trial, spec) as evaluator:
            trial.on.calls_on_trial += 1
            call(evaluator, trial.rows[0].payload, min(_PATIENCE, spec.timeout))
        hosts = [*dict.fromkeys(proxy.hosts)]
    if hosts:
        message = f"it asks {', '.join(hosts[:3])}: scores then depend on who answers there"
        yield trial.finding(
            "network", message, kinds.call_once(trial.spec, trial.rows[0].payload), is_fault=False
        )
