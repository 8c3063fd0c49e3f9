"""`python -m tests.benchmarks [NAME…]`: the bars of performance, measured here and now, as one table.

A NAME selects rows: MODULE, FUNCTION or MODULE.FUNCTION; without any, all are measured.
Rounds of what is compared are interleaved and the median of their ratios is told, because this machine is
noisy and its absolute times mean little. Nothing here runs in the test suite.
"""

import os
import sys
from collections.abc import Callable, Sequence

from tests.benchmarks import (
    data,
    defined_run,
    endpoint,
    judge,
    kept_alive,
    large_run,
    leaking,
    metrics,
    one_shot,
    opened_page,
    program,
    prompt_run,
    ray,
    scrolled_page,
    search_run,
    task_run,
    whole_run,
)
from tests.benchmarks.measure import Row

Measure = Callable[[], Row | None]

ROWS: Sequence[Measure] = (
    one_shot.against_the_limit,
    one_shot.call_cpu,
    one_shot.many_slots,
    kept_alive.call_cpu,
    metrics.f1_cpu,
    metrics.checks_cpu,
    metrics.function_cpu,
    metrics.sandbox_wall,
    endpoint.against_wrk,
    judge.calls_against_ideal,
    judge.run_against_ideal,
    judge.calls_against_a_generator,
    judge.pairs_against_ideal,
    judge.own_cpu_per_call,
    program.help_cpu,
    program.run_help_cpu,
    program.dry_run_cpu,
    data.load_cpu,
    leaking.many_rows_cpu,
    leaking.first_start_cpu,
    leaking.later_start_cpu,
    whole_run.one_shot_against_the_limit,
    whole_run.one_shot_cpu,
    whole_run.kept_alive_cpu,
    whole_run.http_against_wrk,
    whole_run.many_slots,
    task_run.own_cpu_per_task,
    task_run.bench_cpu_per_task,
    task_run.bench_memory_growth,
    prompt_run.own_cpu_per_row,
    defined_run.own_cpu_per_sample,
    search_run.own_cpu_per_evaluation,
    search_run.growth,
    whole_run.peers,
    large_run.peak_memory,
    large_run.growth,
    large_run.report_cpu,
    large_run.csv_cpu,
    large_run.csv_memory,
    large_run.page_cpu,
    large_run.page_memory,
    large_run.page_size,
    opened_page.usable,
    opened_page.against_the_bytes,
    scrolled_page.longest_task,
    scrolled_page.cpu_per_frame,
    large_run.resume_cpu,
    large_run.record_size,
    ray.chunk_1,
    ray.chunk_16,
    ray.chunk_64,
    ray.growth_2,
    ray.growth_4,
    ray.simulated_1,
    ray.simulated_10,
    ray.simulated_100,
    ray.simulated_1000,
    ray.simulated_1000_of_short_calls,
)


def main(names: Sequence[str]) -> None:
    chosen = select(names)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # users' programs are compiled once, not at each start
    rows = []
    for measure in chosen:
        print(f"measuring {name_of(measure)} …", file=sys.stderr, flush=True)
        row = measure()
        if row is None:
            print("  left out: it needs a tool that is not here (wrk, node, chromium)", file=sys.stderr)
        else:
            rows.append(row)
    print(_table(rows))


def select(names: Sequence[str]) -> list[Measure]:
    """Choose the rows that are named, in the table's order; a name of nothing ends the program."""
    known = {name_of(measure): measure for measure in ROWS}
    if unknown := [name for name in names if not any(_is_named(full, name) for full in known)]:
        raise SystemExit(f"no row is named {', '.join(unknown)}; there are\n  " + "\n  ".join(known))
    return [
        measure
        for full, measure in known.items()
        if not names or any(_is_named(full, name) for name in names)
    ]


def name_of(measure: Measure) -> str:
    return f"{measure.__module__.rpartition('.')[2]}.{measure.__name__}"


def _is_named(full: str, name: str) -> bool:
    return name == full or name in full.split(".")


def _table(rows: list[Row]) -> str:
    lines = ["| what | measured | bar | |", "|---|---|---|---|"]
    lines += [
        f"| {row.what} | {row.shown} | {row.bar_shown} | {'ok' if row.holds else 'MISSED'} |" for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
