"""Runs as large as they come: 100,000 and 200,000 units with 1 KB of side information each."""

import atexit
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache

import orjson

from tests.benchmarks.measure import Row, compiled, median_of
from tests.benchmarks.whole import Command, Spent, command, spend

_MB = 10**6
_EXAMPLES, _EXAMPLE_SIZE = 10_000, 200
_FOLDERS = ExitStack()
atexit.register(_FOLDERS.close)


@cache
def _finished(candidates: int) -> tuple[Command, Spent]:
    """Carry a run out once, for all that is measured of it; its folder stays until the end."""
    run = _FOLDERS.enter_context(
        command(str(compiled("talker")), candidates=candidates, examples=_EXAMPLES, size=_EXAMPLE_SIZE)
    )
    return run, run.carry_out()


def peak_memory() -> Row:
    _, spent = _finished(10)
    return Row(
        what="`run`, 100,000 units, 1 KB side info: peak RSS", value=spent.peak / _MB, bar=150, unit=" MB"
    )


def growth() -> Row:
    """Tell by how much the peak differs at twice the units, whichever way."""
    small, large = _finished(10)[1].peak, _finished(20)[1].peak
    what = f"the same at 200,000 units ({large / _MB:.0f} MB): difference"
    return Row(what=what, value=abs(large / small - 1) * 100, bar=10, unit=" %")


def report_cpu() -> Row:
    run, _ = _finished(10)
    seconds = median_of(lambda: spend(["report", str(run.run)]).own, rounds=3)
    return Row(what="`report`, 100,000 units, 1 KB side info: CPU", value=seconds, bar=2, unit=" s")


def csv_cpu() -> Row:
    """Tell what all records as a table take: the same run, its keys first, then its rows."""
    run, _ = _finished(10)
    seconds = median_of(lambda: spend(["report", str(run.run), "--format", "csv"]).own, rounds=3)
    return Row(
        what="`report --format csv`, 100,000 records, 1 KB side info: CPU", value=seconds, bar=3, unit=" s"
    )


def csv_memory() -> Row:
    run, _ = _finished(10)
    peak = spend(["report", str(run.run), "--format", "csv"]).peak
    return Row(what="the same: peak RSS", value=peak / _MB, bar=60, unit=" MB")


def page_cpu() -> Row:
    """Tell what a page takes to write; how soon it can be used is opened_page's."""
    run, _ = _finished(10)
    seconds = median_of(lambda: spend(["report", str(run.run), "--format", "html"]).own, rounds=3)
    what = "`report --format html`, 100,000 records, 1 KB side info: CPU"
    return Row(what=what, value=seconds, bar=5, unit=" s")


def page_memory() -> Row:
    run, _ = _finished(10)
    peak = spend(["report", str(run.run), "--format", "html"]).peak
    return Row(what="the same: peak RSS", value=peak / _MB, bar=300, unit=" MB")


def page_size() -> Row:
    run, _ = _finished(10)
    spend(["report", str(run.run), "--format", "html"])
    size = (run.run / "report.html").stat().st_size
    return Row(what="the same: the file", value=size / _MB, bar=25, unit=" MB")


def resume_cpu() -> Row:
    """Resume without asking: `--dry-run` reads the data, plans, and reads the journal for what is owed."""
    run, _ = _finished(10)
    seconds = median_of(lambda: spend([*run.arguments, "--dry-run"]).own, rounds=3)
    return Row(what="`run` again, 100,000 records: CPU of plan and journal", value=seconds, bar=2, unit=" s")


def record_size() -> Row:
    run, _ = _finished(10)
    return Row(
        what="a journal record without its side info: largest", value=max(_sizes(run)), bar=1024, unit=" B"
    )


def _sizes(run: Command) -> Iterator[int]:
    with (run.run / "journal.jsonl").open("rb") as journal:
        for line in journal:
            record = orjson.loads(line)
            yield len(line) - len(orjson.dumps(record["side_info"])) if "side_info" in record else 0
