"""`sweep(…)` and `bench(…)`: what the commands `run` and `bench` do, for programs and notebooks.

Arguments have the names of options; a wrong one raises UsageError before anything is called. Failures never
raise: they are in the Run that is returned.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from optimize_eval.candidates import Named
from optimize_eval.protocol import ScoreRange
from optimize_eval.results import Ending, Run
from optimize_eval.rows.selection import parse_selection
from optimize_eval.session.arguments import (
    OneCandidate,
    OneEvaluator,
    candidates_of,
    checked,
    defaults_of,
    evaluators_of,
    gates_of,
    handling_of,
    listed_as,
    texts_of,
)
from optimize_eval.session.background import Program, Show, beside
from optimize_eval.session.benches import Benchmark, carry_out_bench, prepare_bench
from optimize_eval.session.ending import changed, exit_code, explained
from optimize_eval.session.finished import Finished
from optimize_eval.session.inputs import load_all_candidates, load_splits
from optimize_eval.session.sweeps import Comparison, carry_out, prepare
from optimize_eval.store.records import Records

_COMPARED = ("repeats", "baseline", "seed", "cluster_by", "group_by", "task_models")
_BENCHED = (
    *("files", "models", "format", "allow_bad_tasks", "limit", "sample", "seed", "repeats"),
    *("batch_size", "api_base", "temperature", "max_tokens", "keep_thoughts", "sandbox"),
)


def sweep(
    evaluators: OneEvaluator | Iterable[OneEvaluator],
    candidates: OneCandidate | Iterable[OneCandidate] = (),
    *,
    dataset: str | Path | None = None,
    valset: str | Path | None = None,
    testset: str | Path | None = None,
    candidate_fields: Sequence[str] = (),
    task_models: Sequence[str] = (),
    repeats: int = 1,
    baseline: str | None = None,
    filters: Mapping[str, Any] | Sequence[str] | None = None,
    ids: Sequence[str | int] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    cluster_by: str | None = None,
    group_by: Sequence[str] = (),
    concurrency: int | None = None,
    on_failure: Literal["exclude", "abort"] = "exclude",
    max_failures: int | str | None = None,
    max_time: float | str | None = None,
    fail_under: Mapping[str, float] | Sequence[str] | None = None,
    max_gap: float | None = None,
    no_regression_against: str | Path | None = None,
    margin: float | Mapping[str, float] | None = None,
    score_range: ScoreRange | str | None = None,
    timeout: float | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    retries: int | None = None,
    persistent: bool | None = None,
    workers: int | None = None,
    patience: float | str | None = None,
    rpm: float | None = None,
    tpm: float | None = None,
    prices: str | Mapping[str, Mapping[str, float]] | None = None,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    objective: str | None = None,
    rubric: str | Path | None = None,
    api_base: str | None = None,
    out: str | Path | None = None,
    recheck: int | None = None,
    fresh: bool = False,
    replace: Sequence[str] = (),
    reuse: str | Path | Sequence[str | Path] = (),
    note: str | None = None,
    keep_stderr: bool = False,
    no_preflight: bool = False,
    progress: Show | None = None,
) -> Run:
    """Score candidates by evaluators over examples, as the command `run` does; the same call goes on.

    An evaluator is a text, as -e takes it, or a table, as a sweep file has it. A candidate is a file's path,
    or a text by its name: `{"v1": "…"}`. `progress` is called ten times a second, and at the end, with a
    Progress for each evaluator. Ctrl-C lets the calls in flight end, and raises KeyboardInterrupt.
    """
    given = checked(locals())
    host = Program(progress)
    handling = handling_of(given)
    specs = evaluators_of(evaluators, defaults_of(given), host.say)
    named = candidates_of(candidates)
    splits = {"train": given.get("dataset"), "val": given.get("valset"), "test": given.get("testset")}
    amount = {name: given[name] for name in ("limit", "sample", "seed") if name in given}
    selection = parse_selection(given.get("filters"), given.get("ids"))
    known = None if given["fresh"] else given.get("out")
    comparison = Comparison(
        specs=specs,
        candidates=load_all_candidates(named, given["candidate_fields"]),
        examples=load_splits(splits, host.say, selection=selection, out=known, **amount),
        named=[one for one in named if isinstance(one, Named)],
        margins=given.get("margin", ()),
        **{name: given[name] for name in _COMPARED if name in given},
    )
    prepared = prepare(comparison, handling, host.say, out=given.get("out"), gates=gates_of(given))
    return _run(partial(carry_out, prepared, host, recheck=given.get("recheck")), host, given.get("out"))


def bench(
    files: str | Path | Iterable[str | Path],
    models: str | Iterable[str],
    *,
    evaluators: Sequence[str] = (),
    format: str | None = None,  # noqa: A002  the option's name
    allow_bad_tasks: bool = False,
    filters: Mapping[str, Any] | Sequence[str] | None = None,
    ids: Sequence[str | int] | None = None,
    limit: int | None = None,
    sample: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    batch_size: int | None = None,
    api_base: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    keep_thoughts: bool = False,
    sandbox: Literal["strict", "best-effort", "none"] | None = None,
    concurrency: int | None = None,
    on_failure: Literal["exclude", "abort"] = "exclude",
    max_failures: int | str | None = None,
    max_time: float | str | None = None,
    fail_under: Mapping[str, float] | Sequence[str] | None = None,
    no_regression_against: str | Path | None = None,
    timeout: float | None = None,
    cwd: str | Path | None = None,
    headers: Mapping[str, str] | None = None,
    retries: int | None = None,
    persistent: bool | None = None,
    workers: int | None = None,
    patience: float | str | None = None,
    rpm: float | None = None,
    tpm: float | None = None,
    prices: str | Mapping[str, Mapping[str, float]] | None = None,
    max_cost: float | None = None,
    max_tokens_total: int | None = None,
    include_per_example: bool = False,
    out: str | Path | None = None,
    fresh: bool = False,
    replace: Sequence[str] = (),
    reuse: str | Path | Sequence[str | Path] = (),
    note: str | None = None,
    keep_stderr: bool = False,
    no_preflight: bool = False,
    progress: Show | None = None,
) -> Run:
    """Rank models by task files, as the command `bench` does; the same call goes on.

    The leaderboards are the Run's `boards`. Files and models may be one or several; otherwise as `sweep`.
    """
    given = checked({**locals(), "files": listed_as("task file", files), "models": texts_of("model", models)})
    host = Program(progress)
    handling = handling_of(given)
    benchmark = Benchmark(
        evaluators=texts_of("evaluator", evaluators),
        selection=parse_selection(given.get("filters"), given.get("ids")),
        how=defaults_of({name: given[name] for name in given if name != "api_base"}),
        **{name: given[name] for name in _BENCHED if name in given},
    )
    prepared = prepare_bench(benchmark, handling, host.say, out=given.get("out"), gates=gates_of(given))
    work = partial(carry_out_bench, prepared, host, include_per_example=given["include_per_example"])
    return _run(work, host, given.get("out"))


def _run(work: Callable[[], Finished], host: Program, out: str | None) -> Run:
    finished = beside(work, host)
    host.show([one for called in finished.calls for one in called.ended.progress])
    ending = Ending(
        status=str(finished.status),
        exit_code=exit_code(finished),
        notes=(*host.notes, *_notes(finished, out)),
        gates=finished.gates,
    )
    run = finished.stored
    return Run(folder=run.folder, records=Records(run), ending=ending, document=finished.summary)


def _notes(finished: Finished, out: str | None) -> Iterator[str]:
    for called in finished.calls:
        yield from explained(called, _same_call, folder=finished.stored.folder, out=out)
        if called.ended.changed:
            names = [*called.ended.changed]
            what = f"leave its files as they are, then call it again with replace={names!r}"
            yield f"error: {changed(called.ended)}; {what}"
    yield from (f"gate missed: {gate.text}" for gate in finished.gates if not gate.is_met)


def _same_call(*options: str) -> str:
    """Say how to go on, with what a command would have as further options."""
    match options:
        case ("--out", folder):
            return f"the same call again, with out={folder!r}"
        case ("--replace", *_):
            return f"the same call again, with replace={[*options[1::2]]!r}"
    return "the same call again"
