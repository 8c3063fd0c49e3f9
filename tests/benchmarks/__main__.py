"""`python -m tests.benchmarks`: every bar of performance, measured here and now, as one table.

Rounds of what is compared are interleaved and the median of their ratios is told, because this machine is
noisy and its absolute times mean little. Nothing here runs in the test suite.
"""

import os
import sys

from tests.benchmarks import (
    data,
    endpoint,
    judge,
    kept_alive,
    large_run,
    metrics,
    one_shot,
    program,
    task_run,
    whole_run,
)
from tests.benchmarks.measure import Row

ROWS = (
    one_shot.against_the_limit,
    one_shot.call_cpu,
    one_shot.many_slots,
    kept_alive.call_cpu,
    metrics.f1_cpu,
    metrics.sandbox_wall,
    endpoint.against_wrk,
    judge.calls_against_ideal,
    judge.run_against_ideal,
    program.help_cpu,
    data.load_cpu,
    whole_run.one_shot_against_the_limit,
    whole_run.one_shot_cpu,
    whole_run.kept_alive_cpu,
    whole_run.http_against_wrk,
    whole_run.many_slots,
    task_run.own_cpu_per_task,
    task_run.bench_cpu_per_task,
    task_run.bench_memory_growth,
    whole_run.peers,
    large_run.peak_memory,
    large_run.growth,
    large_run.report_cpu,
    large_run.csv_cpu,
    large_run.csv_memory,
    large_run.resume_cpu,
    large_run.record_size,
)


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users' programs are compiled once, not at each start
    rows = []
    for measure in ROWS:
        print(f"measuring {measure.__module__}.{measure.__name__} …", file=sys.stderr, flush=True)
        row = measure()
        if row is None:
            print("  left out: it needs the tool wrk", file=sys.stderr)
        else:
            rows.append(row)
    print(_table(rows))


def _table(rows: list[Row]) -> str:
    lines = ["| what | measured | bar | |", "|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.shown} | {row.bar_shown} | {'ok' if row.holds else 'MISSED'} |" for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
