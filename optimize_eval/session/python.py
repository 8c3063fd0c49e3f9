"""`sweep(…)` and `bench(…)`: what the commands `run` and `bench` do, for programs and notebooks.

Arguments have the names of options; a wrong one raises UsageError before anything is called. Failures never
raise: they are in the Run that is returned.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Unpack

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.config import values
from optimize_eval.config.arguments import BenchArguments, Given, Keywords, SweepArguments, check_value
from optimize_eval.config.calling import FolderOptions, HandlingOptions, PricedServerOptions, RecheckOptions
from optimize_eval.config.compared import BoardGateOptions, ComparisonOptions, RunGateOptions
from optimize_eval.config.evaluators import (
    JudgeOptions,
    ProgramOptions,
    ReachOptions,
    judge_of,
    manners_of,
    starting_spec,
)
from optimize_eval.config.prompts import (
    NAMES,
    BenchOptions,
    BoardOptions,
    DefinedDataOptions,
    DefinitionOptions,
    PromptingOptions,
    check_prompting,
    given_of,
)
from optimize_eval.findings.metric_rows import records_of
from optimize_eval.results import Ending, Run
from optimize_eval.session.arguments import (
    OneCandidate,
    OneEvaluator,
    OnePrompt,
    candidates_of,
    evaluators_of,
    listed_as,
    prompts_of,
    texts_of,
)
from optimize_eval.session.background import ProgramHost, Show, beside
from optimize_eval.session.benching.benches import carry_out_bench
from optimize_eval.session.benching.benchmark import benchmark_of
from optimize_eval.session.benching.defined import prepare_any
from optimize_eval.session.calling import Finished
from optimize_eval.session.ending import changed, exit_code, explained
from optimize_eval.session.replying.defining import scorers_among
from optimize_eval.session.replying.prompting import Prompting, load_prompting
from optimize_eval.session.settings import gates_of, handling_of
from optimize_eval.session.sweeps import Prepared, carry_out, load_comparison, prepare

_SWEEP = Keywords(
    "sweep",
    SweepArguments,
    (
        ComparisonOptions,
        PromptingOptions,
        DefinitionOptions,
        ReachOptions,
        JudgeOptions,
        PricedServerOptions,
        HandlingOptions,
        RecheckOptions,
        RunGateOptions,
        FolderOptions,
    ),
)
_BENCH = Keywords(
    "bench",
    BenchArguments,
    (
        BenchOptions,
        DefinedDataOptions,
        PricedServerOptions,
        HandlingOptions,
        BoardGateOptions,
        BoardOptions,
        FolderOptions,
    ),
)


@_SWEEP.shown
def sweep(
    evaluators: OneEvaluator | Iterable[OneEvaluator],
    candidates: OneCandidate | Iterable[OneCandidate] = (),
    *,
    prompts: OnePrompt | Iterable[OnePrompt] = (),
    models: str | Iterable[str] = (),
    progress: Show | None = None,
    **options: Unpack[SweepArguments],
) -> Run:
    """Score candidates by evaluators over examples, as the command `run` does; the same call goes on.

    An evaluator is a text, as -e takes it, or a table, as a sweep file has it. A candidate is a file's path,
    or a text by its name: `{"v1": "…"}`; so is a prompt, to which `models` reply, or messages. `progress` is
    called ten times a second, and at the end, with a Progress for each evaluator. Ctrl-C lets the calls in
    flight end, and raises KeyboardInterrupt.
    """
    given = _SWEEP.check(options)
    host = ProgramHost(progress)
    handling = handling_of(given.group(HandlingOptions))
    what = given.group(ComparisonOptions)
    starting, named = _starting(given, ReachOptions), candidates_of(candidates)
    specs, has_tasks = scorers_among(
        evaluators_of(evaluators, starting, host.say), given_of(given.group(DefinitionOptions)), host.say
    )
    comparison = load_comparison(
        specs,
        named,
        what.candidate_fields,
        what,
        host.say,
        margins=given.group(RunGateOptions).margin,
        out=None if handling.fresh else given.get("out"),
        prompting=prompting_of(
            given,
            prompts,
            models,
            starting,
            (*named, *what.candidate_fields),
            what.task_models,
            has_tasks=has_tasks,
        ),
    )
    gates = gates_of(given.group(RunGateOptions))
    prepared = prepare(comparison, handling, host.say, out=given.get("out"), gates=gates)
    return _run(partial(carry_out, prepared, host, recheck=given.get("recheck")), host, given.get("out"))


@_BENCH.shown
def bench(
    files: str | Path | Iterable[str | Path],
    models: str | Iterable[str] = (),
    *,
    progress: Show | None = None,
    **options: Unpack[BenchArguments],
) -> Run:
    """Rank models by task files, as the command `bench` does; the same call goes on.

    The leaderboards are the Run's `boards`. Files and models may be one or several; otherwise as `sweep`.
    """
    scorers = texts_of("evaluator", options.get("evaluators", ()))
    given = _BENCH.check({**options, "evaluators": scorers})
    host = ProgramHost(progress)
    handling = handling_of(given.group(HandlingOptions))
    defined = given_of(given.group(DefinedDataOptions))
    benchmark = benchmark_of(
        check_value("files", values.PATHS, listed_as("task file", files)),
        check_value("models", values.TEXTS, texts_of("model", models)),
        _starting(given, ProgramOptions),
        given.group(BenchOptions),
        defined,
    )
    gates = gates_of(given.group(BoardGateOptions))
    prepared = prepare_any(benchmark, handling, host.say, out=given.get("out"), gates=gates)
    if isinstance(prepared, Prepared):
        return _run(partial(carry_out, prepared, host), host, given.get("out"))
    per_example = given.group(BoardOptions).include_per_example
    work = partial(carry_out_bench, prepared, host, include_per_example=per_example)
    return _run(work, host, given.get("out"))


def prompting_of(
    given: Given,
    prompts: OnePrompt | Iterable[OnePrompt],
    models: str | Iterable[str],
    how: EvaluatorSpec,
    others: Sequence[object] = (),
    task_models: Sequence[str] = (),
    *,
    has_tasks: bool = False,
) -> Prompting | None:
    """Load the prompts and the models of a call, if it names some."""
    options = given.group(PromptingOptions)
    named, replying = prompts_of(prompts), check_value("models", values.TEXTS, texts_of("model", models))
    check_prompting(
        prompts=named,
        models=replying,
        others=others,
        task_models=task_models,
        system=options.system,
        extract=options.extract,
        words=NAMES,
        has_tasks=has_tasks,
    )
    return load_prompting(
        named,
        replying or (task_models if has_tasks else ()),
        options,
        how,
        api_base=given.group(JudgeOptions).api_base,
    )


def _starting(given: Given, programs: type[ProgramOptions]) -> EvaluatorSpec:
    """Make what every evaluator that is given as a text starts from."""
    judge = judge_of(given.group(JudgeOptions)) if programs is ReachOptions else None
    manners = manners_of(given.group(PricedServerOptions), seeks_prices="max_cost" in given)
    return starting_spec(given.group(programs), judge, manners)


def _run(work: Callable[[], Finished], host: ProgramHost, out: str | None) -> Run:
    finished = beside(work, host)
    host.show([one for called in finished.calls for one in called.ended.progress])
    ending = Ending(
        status=str(finished.status),
        exit_code=exit_code(finished),
        notes=(*host.notes, *_notes(finished, out)),
        gates=finished.gates,
    )
    run = finished.stored
    return Run(folder=run.folder, records=records_of(run), ending=ending, computed=finished.summary)


def _notes(finished: Finished, out: str | None) -> Iterator[str]:
    for called in finished.calls:
        yield from explained(called, _same_call, folder=finished.stored.folder, out=out)
        if called.ended.changed:
            names = [*called.ended.changed]
            what = f"leave its files as they are, then call it again with replace={names!r}"
            yield f"error: {changed(called.ended)}; {what}"
    yield from (f"gate missed: {gate.text}" for gate in finished.gates if not gate.is_met)


def _same_call(*options: str, instead: Mapping[str, str] | None = None) -> str:  # noqa: ARG001  see Again
    """Say how to go on, with what a command would have as further options."""
    match options:
        case ("--out", folder):
            return f"the same call again, with out={folder!r}"
        case ("--replace", *_):
            return f"the same call again, with replace={[*options[1::2]]!r}"
    return "the same call again"
