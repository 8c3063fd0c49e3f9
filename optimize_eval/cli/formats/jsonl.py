"""jsonl: the records of a run or bench for programs, one a line."""

from optimize_eval.cli.formats.reported import BenchReport, Reported, RunReport
from optimize_eval.cli.printed import records
from optimize_eval.findings.metrics import records_of
from optimize_eval.store.stored import StoredRun


def of_run(run: RunReport) -> None:
    _emit(run, run.part, run.some.records(run.stored) if run.some else records_of(run.stored))


def of_bench(bench: BenchReport) -> None:
    _emit(bench, bench.stored, records_of(bench.stored))


def _emit(reported: Reported, stored: StoredRun, chosen: records.Chosen) -> None:
    records.emit(stored, chosen, reported.records, is_jsonl=True, whole=reported.stored)
