"""Models over task files: a bench prepared, called, summarised, with metrics of one's own.

Their ids in results end in a part of what the evaluator is: boards of different ones are not compared.

A bench is a run: its models are the task models, its task files the splits, and each file has an evaluator,
which scores what models reply to the file's tasks and is for that split alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange, check_task_model
from optimize_eval.config.compared import BoardGateOptions
from optimize_eval.config.evaluators import judge_of
from optimize_eval.config.prompts import BenchOptions
from optimize_eval.config.values import SUFFIX
from optimize_eval.data.candidates import THE_PROMPT
from optimize_eval.data.selection import EVERYTHING, Selection, parse_selection
from optimize_eval.evaluators.kinds import connect, identify, kind_of, named_apart, parse_evaluator
from optimize_eval.evaluators.task_kind import NO_OWN, of_records
from optimize_eval.findings.board_models import benched_models, said_in
from optimize_eval.findings.boards import expected_board
from optimize_eval.findings.stored_summary import Findings
from optimize_eval.models.model_kinds import ModelSpec
from optimize_eval.run.begin_or_resume import (
    NO_GATES,
    Handling,
    default_folder,
    gate_settings,
    hold_run,
    note_done,
)
from optimize_eval.run.bench_boards import drop_outdated, make_board, note_unranked, path_of
from optimize_eval.run.bench_files import chosen, load_task_files, split_of
from optimize_eval.run.calls import Finished, call, examine, live_for, summarise
from optimize_eval.run.defining import level_of
from optimize_eval.run.host import Host, Say
from optimize_eval.run.inputs import stored_paths
from optimize_eval.run.plan import Plan, document_of, plan_run
from optimize_eval.run.prompting import (
    WrittenModel,
    check_one_base,
    identified,
    identity_of,
    model_specs,
    outputs_in,
)
from optimize_eval.run.runner import Settings
from optimize_eval.run.splits import SplitSource
from optimize_eval.run.whereabouts import Evaluators
from optimize_eval.store.folder import LEADERBOARD, refuse_foreign
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_document import BENCH, RunDocument
from optimize_eval.tasks.targets import NOTHING_GIVEN, OWN, Given, RecordTask, with_task
from optimize_eval.tasks.task_files import BoardFile, TaskFile

if TYPE_CHECKING:
    from optimize_eval.findings.board_shapes import Board
    from optimize_eval.models.judging.rubric import JudgeSpec
    from optimize_eval.run.confirming import BenchDemands
    from optimize_eval.run.rescoring import Own
    from optimize_eval.store.layout import Layout


@frozen
class Benchmark:
    """What is benched, by the names of options."""

    files: Sequence[str]
    models: Sequence[WrittenModel]
    evaluators: Sequence[str | EvaluatorSpec] = ()  # texts, or what a program handed over
    how: EvaluatorSpec  # timeout and the like, of models and own evaluators
    judge: "JudgeSpec | None" = None  # by what judges among the evaluators judge
    format: str | None = None
    allow_bad_tasks: bool = False
    tags: Sequence[str] = ()
    selection: Selection = EVERYTHING
    limit: int | None = None
    sample: int | None = None
    seed: int = 0
    repeats: int = 1
    batch_size: int | None = None
    api_base: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    keep_thoughts: bool = False
    refusals: str = "score"
    given: Given = NOTHING_GIVEN  # to tasks in YAML

    @property
    def settings(self) -> JsonDict:
        """Give what a board says of how it came about."""
        return {
            "format": self.format,
            "repeats": self.repeats,
            "seed": self.seed,
            "limit": self.limit,
            "sample": self.sample,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "batch_size": self.batch_size,
            **({"keep_thoughts": True} if self.keep_thoughts else {}),
            **({"refusals": "fail"} if self.refusals == "fail" else {}),
            "sandbox": self.given.sandbox or None,
            "timeout": self.how.timeout,
            "retries": self.how.retries,
            **self.selection.to_dict(),
        }

    def folder(self, out: str | None) -> Path:
        """Choose the folder of models over these files; models do not name it, as they come and go."""
        return default_folder("bench", [], self.files) if out is None else Path(out)

    def model_specs(self, folder: Path) -> tuple[ModelSpec, ...]:
        """Make the models that are called, by names of their own; they write their replies into a folder."""
        usual = ModelSpec(
            how=self.how,
            outputs=outputs_in(folder),
            api_base=self.api_base or "",
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            keep_thoughts=self.keep_thoughts,
            fails_refusals=self.refusals == "fail",
        )
        return tuple(map(identified, model_specs(self.models, usual)))

    def own_evaluators(self) -> tuple[EvaluatorSpec, ...]:
        """Make the evaluators that are named; raises UsageError where options of judges have no judge."""
        start = self.how.change(target=self.judge)
        specs = named_apart(
            parse_evaluator(own, start) if isinstance(own, str) else own for own in self.evaluators
        )
        if self.judge:
            kind = kind_of(start)
            kind.check_defaults(start, [spec for spec in specs if kind_of(spec) is kind])
        return specs

    def scorers(
        self,
        files: Iterable[TaskFile],
        models: Sequence[ModelSpec],
        own: Mapping[str, EvaluatorSpec] = NO_OWN,
    ) -> list[EvaluatorSpec]:
        """Make the evaluator of each file, which is called after it; `own` are metrics that `-e` names."""
        return [
            of_records(
                file.name,
                file.path,
                [task.evaluator for task in file.tasks],
                RecordTask(models=tuple(models), batch_size=self.batch_size, loaded=_by_record(file)),
                self.how,
                sandbox=self.given.sandbox,
                own=own,
            )
            for file in files
        ]


def benchmark_of(
    files: Sequence[str],
    models: Sequence[WrittenModel],
    how: EvaluatorSpec,
    what: BenchOptions,
    given: Given = NOTHING_GIVEN,
) -> Benchmark:
    """Make of options what is benched."""
    named = {one.name: getattr(what, one.name) for one in fields(Benchmark) if hasattr(what, one.name)}
    judge = judge_of(what, _base_of_judges(models, what))
    named |= {"files": files, "models": models, "how": how, "given": given, "judge": judge}
    return Benchmark(**named, selection=parse_selection(what.filters, what.ids))


def _base_of_judges(models: Sequence[WrittenModel], what: BenchOptions) -> str | None:
    """Tell where judges are called: where the models are, which then have to be of one provider with them."""
    own: Sequence[object] = what.evaluators  # a program's may be specifications
    judges = [text.removeprefix(_JUDGE) for text in own if isinstance(text, str) and text.startswith(_JUDGE)]
    if not (what.api_base and judges):
        return None
    texts = [model for model in models if isinstance(model, str) and not model.endswith(SUFFIX)]
    check_one_base([*texts, *judges])
    return what.api_base


def check_models(benchmark: Benchmark) -> None:
    """Refuse a bench without a model."""
    if not benchmark.models:
        raise UsageError(
            "no model is named", hint="name one with --model: toy, cmd:./model, openai/gpt-4o-mini"
        )


_DIGITS = 8
_JUDGE = "judge:"  # what a judge's text begins with


def with_own_metrics(
    files: Sequence[TaskFile], own: Sequence[EvaluatorSpec]
) -> tuple[list[TaskFile], dict[str, EvaluatorSpec], tuple[EvaluatorSpec, ...]]:
    """Give files whose tasks name evaluators by their ids, these evaluators, and those that no task names."""
    known = {f"{OWN}{spec.name}": spec for spec in own}
    wanted = dict.fromkeys(
        task.metric for file in files for task in file.tasks if task.metric.startswith(OWN)
    )
    metrics = {name: _metric(name, files, known) for name in wanted}
    if not metrics:
        return [*files], {}, tuple(own)
    ids = {name: spec.name for name, spec in metrics.items()}
    named = [
        replace(
            file, tasks=tuple(replace(task, metric=ids.get(task.metric, task.metric)) for task in file.tasks)
        )
        for file in files
    ]
    others = tuple(spec for name, spec in known.items() if name not in wanted)
    return named, metrics, others


def _metric(name: str, files: Sequence[TaskFile], known: Mapping[str, EvaluatorSpec]) -> EvaluatorSpec:
    spec = known.get(name)
    if spec is None:
        path = next(file.path for file in files if any(task.metric == name for task in file.tasks))
        named = name.removeprefix(OWN)
        raise UsageError(f"{path}: the metric {name} is not named", hint=f"name it: -e {named}=./{named}")
    if spec.score_range is not ScoreRange.UNIT:
        raise UsageError("a leaderboard has scores from 0 to 1", hint="omit --score-range")
    return replace(spec, name=f"{name}@{identify(spec).sha256[:_DIGITS]}")


@frozen
class PreparedBench:
    """A bench before its first call: nothing is written yet."""

    plan: Plan
    own: tuple[EvaluatorSpec, ...]  # evaluators that score the models' outputs, too
    files: tuple[BoardFile, ...]
    folder: Path
    document: RunDocument
    handling: Handling
    settings: JsonMapping
    demands: "BenchDemands | None"

    @property
    def in_jsonl(self) -> list[TaskFile]:
        return [file for file in self.files if isinstance(file, TaskFile)]

    def shown(self, file: TaskFile) -> EvaluatorSpec:
        """Give the evaluator of a file as it is shown about one task: with a model's thoughts."""
        split = split_of(file)
        spec = next(one for one in self.plan.specs if split in self.plan.layout.splits_of[one.name])
        return with_task(spec, tells_thoughts=True)


@frozen
class ScoredFiles:
    """Task files in JSONL with what takes part of them, and the evaluators of one's own that score them."""

    files: tuple[TaskFile, ...] = ()
    sources: tuple[SplitSource, ...] = ()
    metrics: Mapping[str, EvaluatorSpec] = field(default_factory=dict)  # evaluators of one's own, by these
    others: tuple[EvaluatorSpec, ...] = ()  # those that score all replies besides

    def scorers(self, benchmark: Benchmark, models: Sequence[ModelSpec]) -> list[EvaluatorSpec]:
        """Make the evaluator of each file that has tasks."""
        return benchmark.scorers([file for file in self.files if file.tasks], models, self.metrics)


NO_FILES = ScoredFiles()


def load_scored(benchmark: Benchmark, say: Say) -> ScoredFiles:
    """Load the task files in JSONL of a bench that has tasks in YAML, too; raises DataError."""
    scored = _loaded(benchmark, say)
    if scored.others:
        name = scored.others[0].name
        raise UsageError(
            f"-e {name} would score tasks in JSONL alone",
            hint=f'name it as a metric there ("metric": "evaluator:{name}"), or bench these apart',
        )
    return scored


def _loaded(benchmark: Benchmark, say: Say) -> ScoredFiles:
    loaded = load_task_files(benchmark.files, dialect=benchmark.format, allow_bad=benchmark.allow_bad_tasks)
    named, metrics, others = with_own_metrics(loaded, benchmark.own_evaluators())
    taken, sources = chosen(
        named,
        say,
        limit=benchmark.limit,
        sample=benchmark.sample,
        seed=benchmark.seed,
        selection=benchmark.selection,
    )
    return ScoredFiles(files=tuple(taken), sources=sources, metrics=metrics, others=others)


def prepare_bench(
    benchmark: Benchmark,
    handling: Handling,
    say: Say,
    *,
    out: str | None = None,
    gates: BoardGateOptions = NO_GATES,
) -> PreparedBench:
    """Load the task files, plan the bench and find its folder."""
    if benchmark.given.is_something:
        raise UsageError(
            "--config, --config-file, --model-key and --data are for tasks in YAML, and none is named",
            hint="omit them, or name one: optimize-eval bench task.yaml",
        )
    check_models(benchmark)
    scored = _loaded(benchmark, say)
    folder = benchmark.folder(out)
    plan = _planned(benchmark, scored, benchmark.model_specs(folder))
    handling.check(plan)
    paths = {source.name: source.file for source in scored.sources}
    kept = {**benchmark.settings, "paths": stored_paths(paths, ()), **gate_settings(gates)}
    refuse_foreign(folder)
    own = [spec.name for spec in scored.others]
    with_metrics = replace(plan.layout, evaluators=(*plan.layout.evaluators, *own))
    demands = demands_of(gates, lambda: expected_board(scored.files, plan.layout), own, kept, with_metrics)
    return PreparedBench(
        plan=plan,
        own=scored.others,
        files=scored.files,
        folder=folder,
        document=document_of(
            plan,
            {name: Path(path).name.encode(errors="replace").decode() for name, path in paths.items()},
            kept,
            kind=BENCH,
        ),
        handling=handling,
        settings=benchmark.settings,
        demands=demands,
    )


def demands_of(
    gates: BoardGateOptions,
    expected: "Callable[[], Board]",
    metrics: Sequence[str],
    settings: JsonMapping,
    layout: "Layout",
) -> "BenchDemands | None":
    """Read what a bench has to reach, if that is anything, and refuse what cannot be decided."""
    if not gates.fail_under and gates.no_regression_against is None:
        return None
    from optimize_eval.run.confirming import read_bench_demands  # noqa: PLC0415  most benches demand nothing

    return read_bench_demands(gates, expected(), metrics, settings, layout)


def _planned(benchmark: Benchmark, scored: ScoredFiles, models: Sequence[ModelSpec]) -> Plan:
    """Plan the scorers of files over models; each scorer is for the split of its file alone."""
    return bench_plan(
        {spec.name: [spec] for spec in scored.scorers(benchmark, models)},
        models,
        scored.sources,
        repeats=benchmark.repeats,
        seed=benchmark.seed,
    )


def bench_plan(
    scorers: Mapping[str, Sequence[EvaluatorSpec]],
    models: Sequence[ModelSpec],
    sources: Sequence[SplitSource],
    *,
    repeats: int,
    seed: int,
) -> Plan:
    """Plan a bench: models over tasks, each a split with its scorers, of which the first is the board's."""
    splits = [source.name for source in sources]
    pairs = [(spec, split) for split, specs in zip(splits, scorers.values(), strict=True) for spec in specs]
    plan = plan_run(
        [spec for spec, _ in pairs],
        [THE_PROMPT],
        sources,
        task_models=[check_task_model(model.name) for model in models],
        models=[identity_of(model) for model in models],
        repeats=repeats,
        seed=seed,
        splits_of={spec.name: (split,) for spec, split in pairs},
    )
    return replace(plan, model_specs=tuple(models), by_model=True)


def carry_out_bench(prepared: PreparedBench, host: Host, *, include_per_example: bool = False) -> Finished:
    """Call the models, make their board, then score their outputs by the bench's own evaluators."""
    plan, handling = prepared.plan, prepared.handling
    settings = handling.settings(plan)
    with _hold_bench(prepared, settings, host) as (stored, live):
        if not prepared.own:
            note_done(stored, host.say)
        _drop_boards(prepared)
        called = call(plan, stored, settings, host, live)
        drop_outdated(prepared.folder)
        examine(stored, lambda: plan, host.say, sandbox=level_of(plan.specs))
        demands = prepared.demands
        fresh = demands.confirm(called, stored, settings, host) if demands else ()
        keeps_examples = include_per_example or (demands is not None and demands.looks_at_examples)
        findings = summarise(stored, said_in if keeps_examples else None)
        board = make_board(
            findings,
            prepared.files,
            benched_models(stored),
            prepared.folder / LEADERBOARD,
            settings=prepared.settings,
            include_per_example=include_per_example,
        )
        note_unranked(findings, host.say)
        scored: dict[str, Own] = {}
        if board and prepared.own:
            from optimize_eval.run.rescoring import score_by  # noqa: PLC0415  few name evaluators of their own

            scored = score_by(prepared.own, stored, prepared.in_jsonl, handling, host)
    others = {name: own.board for name, own in scored.items() if own.board}
    boards = {"": board, **others} if board else {}
    calls = called, *fresh, *(metric.called for metric in scored.values())
    is_since = demands is not None and any(bound.evaluator in scored for bound in demands.of_calls)
    known = Findings(run=[*scored.values()][-1].run) if is_since else findings
    gates = demands.judge(known, board, others) if demands else ()
    off = tuple(words for metric in scored.values() for words in metric.off_scale)
    return Finished(
        stored=stored, summary=findings.summary, calls=calls, boards=boards, gates=gates, off_scale=off
    )


@contextmanager
def _hold_bench(
    prepared: PreparedBench, settings: Settings, host: Host
) -> Iterator[tuple[StoredRun, Evaluators]]:
    """Make live what is called, so that what is wrong with it ends all before there is a run; hold that."""
    plan, own = prepared.plan, [spec.name for spec in prepared.own]
    with live_for(plan, settings, host) as live:
        with Opened() as trial:
            for spec in prepared.own:
                connect(spec, trial)
        _note_twice(plan.model_specs, host.say)
        holding = hold_run(prepared.folder, plan, prepared.document, prepared.handling, host.say, metrics=own)
        with holding as stored:
            yield stored, live


def _drop_boards(prepared: PreparedBench) -> None:
    """Remove the boards that will be made: while calls are made they would be out of date."""
    folder = prepared.folder
    for path in (folder / LEADERBOARD, *(path_of(folder, spec.name) for spec in prepared.own)):
        path.unlink(missing_ok=True)


def _note_twice(models: Sequence[ModelSpec], say: Say) -> None:
    """Point out models that are the same one: comparing them would compare a model with itself."""
    first: dict[str, str] = {}
    for model in models:
        name = first.setdefault(model.text, model.name)
        if name != model.name:
            say(
                f"note: {model.name} is the same model as {name}: its replies count for both; "
                "--repeats shows how much they vary"
            )


def _by_record(file: TaskFile) -> dict[tuple[int | None, bytes], object]:
    return {(task.line, task.raw): task for task in file.tasks}
