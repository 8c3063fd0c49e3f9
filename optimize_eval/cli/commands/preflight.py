"""`optimize-eval preflight`: everything that would go wrong in a long run, before it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from optimize_eval.base import documents, errors
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.evaluator import EvaluatorSpec, KnownGood
from optimize_eval.base.protocol import Payload, Skip, check_task_model
from optimize_eval.cli import output
from optimize_eval.cli.command_line import SweepFile, SweepOption, evaluators_of, keys_of
from optimize_eval.cli.comparing import compared_of
from optimize_eval.cli.host import owned_processes
from optimize_eval.config import compared
from optimize_eval.config.compared import SLOTS, EngineOptions, ServerOptions
from optimize_eval.config.declared import Heading, as_dict
from optimize_eval.config.evaluators import ScoringOptions, TrialOptions, judge_of, manners_of, starting_spec
from optimize_eval.config.printing import PrintOptions
from optimize_eval.config.prompts import DefinitionOptions, PromptingOptions, given_of
from optimize_eval.data.candidates import Candidate, CandidatePath
from optimize_eval.data.example import Example
from optimize_eval.data.selection import parse_selection
from optimize_eval.evaluators.endpoint_kind import check_headers
from optimize_eval.evaluators.kinds import Checks, kind_of
from optimize_eval.findings.wording import total_in_words
from optimize_eval.reports.inert import inert
from optimize_eval.reports.text import cut, wrapped
from optimize_eval.run.begin_or_resume import cluster_of, look_at, reusable
from optimize_eval.run.defining import check_columns, check_definitions, scorers_among
from optimize_eval.run.engine import OnCluster
from optimize_eval.run.inputs import Examples, check_stdin, load_splits, note_leaks_among
from optimize_eval.run.plan import document_of, plan_run
from optimize_eval.run.preflight import BUDGET_OF_TRIAL, DEFAULT_BUDGET
from optimize_eval.run.preflight.checklist import SOMETHING_FAILED, examine_all
from optimize_eval.run.preflight.examined import (
    LEFT_OUT,
    SENTINEL,
    CheckOutcome,
    CheckStatus,
    Examined,
    Material,
    attacks,
    in_words,
    score_of,
)
from optimize_eval.run.preflight.golds import Known, known_of, offer_gold
from optimize_eval.run.prompting import Prompting, called_in
from optimize_eval.run.splits import SplitSource, check_fields, check_sight, humans_of, output_of
from optimize_eval.run.sweeps import candidates_of
from optimize_eval.run.whereabouts import needing_ray
from optimize_eval.store.layout import Split
from optimize_eval.store.run_document import KEEP, LEAKS

if TYPE_CHECKING:
    from optimize_eval.run.preflight.nodes import NodeExamined  # most have no cluster

SCHEMA = "optimize-eval.preflight.v1"

_NAME, _RESULT, _TIME = 14, 8, 8
_FEW = 8  # nodes that passed and are shown
_INDENT = " " * (1 + _NAME + _RESULT + _TIME)
_MARKS = {CheckStatus.FAIL: "✕", CheckStatus.WARN: "!"}


def render(
    examined: Sequence[Examined], data: str, *, width: int, nodes: "Sequence[NodeExamined]" = ()
) -> str:
    """Lay out the whole outcome; a line to be pasted is never broken."""
    lines = [f" data     {data}", f" {'check':<{_NAME}}{'result':<{_RESULT}}{'time':<{_TIME}}detail"]
    lines.append(" " + "─" * (width - 2))
    for subject in examined:
        lines += _evaluator(subject, width)
    lines += _nodes(nodes, width)
    verdict = _verdict(examined, nodes)
    return "\n".join([*lines, *_spending_lines(examined), *_plans(examined, len(nodes)), verdict])


def to_dict(examined: Sequence[Examined], nodes: "Sequence[NodeExamined]" = ()) -> JsonDict:
    return {
        "schema": SCHEMA,
        "evaluators": [_to_dict(subject) for subject in examined],
        **({"nodes": [_node_to_dict(node) for node in nodes]} if nodes else {}),
    }


def _nodes(nodes: "Sequence[NodeExamined]", width: int) -> list[str]:
    """Lay out nodes as evaluators are, but of those that passed no more than a few."""
    notable = [node for node in nodes if any(check.status in _MARKS for check in node.checks)]
    passed = [node for node in nodes if node not in notable]
    lines = [line for node in (*notable, *passed[:_FEW]) for line in _node(node, width)]
    more = len(passed) - _FEW
    return [*lines, f"{_INDENT}{more:,} more passed, too"] if more > 0 else lines


def _node(node: "NodeExamined", width: int) -> list[str]:
    """Say what failed, else what was looked at, and what is to be looked at again."""
    failed = [f"{check.name}: {check.message}" for check in node.checks if check.status is CheckStatus.FAIL]
    passed = [c.name for c in node.checks if c.status is CheckStatus.PASS and not c.name.endswith(" time")]
    warned = [f"! {check.name}: {check.message}" for check in node.checks if check.status is CheckStatus.WARN]
    calls = [f"{name} {in_words(node.typical(name))} a call" for name in node.seconds]
    first, *others = [*(failed or [f"passed: {', '.join(passed)}"]), *warned, *calls]
    time = _seconds(max(map(node.typical, node.seconds))) if node.seconds else "-"
    head = f" {'node':<{_NAME}}{'ok' if node.is_ok else 'FAILED':<{_RESULT}}{time:<{_TIME}}"
    lines = wrapped(head, f"{node.name}: {first}", width)
    return [*lines, *(line for words in others for line in wrapped(_INDENT, words, width))]


def _evaluator(subject: Examined, width: int) -> list[str]:
    time = _seconds(subject.typical(0.5)) if subject.seconds else "-"
    result = "ok" if subject.is_ok else "FAILED"
    lines: list[str] = []
    name = cut(inert(subject.spec.name, ci=False), _NAME - 1)
    for said in _details(subject):
        head = _INDENT if lines else f" {name:<{_NAME}}{result:<{_RESULT}}{time:<{_TIME}}"
        lines += wrapped(head, said, width)
    for check in subject.checks:
        if check.status in _MARKS and check.reproduce:
            lines.append(f"   {_MARKS[check.status]} {check.name}: try it: {check.reproduce}")
    return lines


def _details(subject: Examined) -> list[str]:
    failed = [check.message for check in subject.checks if check.status is CheckStatus.FAIL]
    warned = [
        f"! {check.name}: {check.message}" for check in subject.checks if check.status is CheckStatus.WARN
    ]
    return [
        *(failed or [_first_answer(subject), *_list_passed(subject)]),
        *warned,
        *_last_of_stderr(subject),
        *_left_out(subject),
        *_speed(subject),
    ]


def _list_passed(subject: Examined) -> list[str]:
    names = [check.name for check in subject.checks if check.status is CheckStatus.PASS]
    return [f"passed: {', '.join(names)}"] if names else []


def _first_answer(subject: Examined) -> str:
    if subject.told or subject.first is None:
        return subject.told or "no answer"
    keys = ", ".join(map(str, subject.first.side_info)) or "none"
    answer = f"skipped: {subject.first.why}" if isinstance(subject.first, Skip) else score_of(subject.first)
    skipped = sum(isinstance(result, Skip) for result in subject.one_by_one)
    more = f"; {skipped} of {len(subject.one_by_one)} calls skipped" if skipped else ""
    return f"{answer}; side info: {keys}{more}"


def _last_of_stderr(subject: Examined) -> list[str]:
    said = subject.first.stderr.strip().split("\n")[-1] if subject.first else ""
    return [f"on stderr: {said}"] if said else []


def _left_out(subject: Examined) -> list[str]:
    """Say what is not known, and why; after a failure there is enough to mend."""
    names: dict[str, list[str]] = {}
    for check in subject.checks:
        if check.status is CheckStatus.SKIP and check.message.startswith(LEFT_OUT):
            names.setdefault(check.message.removeprefix(LEFT_OUT), []).append(check.name)
    names.pop(SOMETHING_FAILED, None)
    parts = [f"{', '.join(alike)} ({why})" for why, alike in names.items()]
    return [f"not tried: {'; '.join(parts)}"] if parts else []


def _speed(subject: Examined) -> list[str]:
    named = {"scores": "scores: ", "attack": "attack: ", "speed": "", "tokens": "tokens: "}
    passed = [check for check in subject.checks if check.name in named and check.status is CheckStatus.PASS]
    return [f"{named[check.name]}{check.message}" for check in passed]


def _spending_lines(examined: Sequence[Examined]) -> list[str]:
    """Say what the checks themselves took of models."""
    totals = [(subject.spec.name, total) for subject in examined if (total := subject.spending.of_run)]
    return [f" spent    {name}: {total_in_words(total)}" for name, total in totals]


def _plans(examined: Sequence[Examined], nodes: int = 0) -> list[str]:
    known = [subject for subject in examined if subject.is_ok and subject.estimate is not None]
    if not known:
        return []
    calls = sum(subject.material.calls for subject in examined if not subject.told)
    replies = sum(subject.material.calls for subject in examined if subject.told)
    seconds = sum(subject.estimate or 0 for subject in known)
    slots = examined[0].material.slots
    of_models = [f" replies  {replies:,}: each is made once, for all evaluators"] if replies else []
    where = f" on each of {nodes:,} nodes" if nodes > 1 else ""
    took = _seconds(seconds / max(1, nodes))
    return [f" plan     {calls:,} calls, about {took} with {slots} slots{where}", *of_models]


def _verdict(examined: Sequence[Examined], nodes: "Sequence[NodeExamined]" = ()) -> str:
    if lost := [node for node in nodes if not node.is_ok]:
        return f" {len(lost):,} of {len(nodes):,} nodes failed; nothing was run."
    failed = sum(not subject.is_ok for subject in examined)
    if failed:
        what = "models and evaluators" if any(subject.told for subject in examined) else "evaluators"
        alone = "The model" if examined[0].told else "The evaluator"
        which = f"{failed} of {len(examined)} {what}" if len(examined) > 1 else alone
        return f" {which} failed; nothing was run."
    checks = [check for on in examined for check in on.checks] + [c for node in nodes for c in node.checks]
    warned = sum(check.status is CheckStatus.WARN for check in checks)
    return f" Ready to run{f', with {warned} warning' + 's' * (warned != 1) if warned else ''}."


def _to_dict(subject: Examined) -> JsonDict:
    return {
        "name": subject.spec.name,
        "ok": subject.is_ok,
        "checks": [_check(check) for check in subject.checks],
        "seconds": {
            "p50": round(subject.typical(0.5), 6) if subject.seconds else None,
            "p95": round(subject.typical(0.95), 6) if subject.seconds else None,
        },
        **({"calls_on_trial": subject.calls_on_trial} if subject.calls_on_trial else {}),
        **({"lifts": subject.lifts} if subject.lifts else {}),
        **({"spent": documents.to_dict(spent)} if (spent := subject.spending.of_run) else {}),
        "estimate": {
            "calls": subject.material.calls,
            "slots": subject.material.slots,
            "seconds": None if subject.estimate is None else round(subject.estimate, 3),
            "tokens": subject.tokens_of_run,
        },
    }


def _node_to_dict(node: "NodeExamined") -> JsonDict:
    return {
        "name": node.name,
        "ok": node.is_ok,
        "checks": [_check(check) for check in node.checks],
        "seconds": {evaluator: round(node.typical(evaluator), 6) for evaluator in node.seconds},
    }


def _check(check: CheckOutcome) -> JsonDict:
    return {
        "name": check.name,
        "status": str(check.status),
        "message": check.message,
        "reproduce": check.reproduce or None,
    }


def _seconds(seconds: float) -> str:
    if seconds >= 120:  # noqa: PLR2004  from two minutes on people think in minutes
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2f} s"  # noqa: PLR2004  two digits are enough


EXAMPLES = """\b
Examples:
  optimize-eval preflight -e ./judge.sh --dataset train.jsonl --valset val.jsonl
  optimize-eval preflight -e 'python3 judge.py' -e http://127.0.0.1:8000/score --candidate prompt.txt
  optimize-eval preflight -e task:task.yaml --model openai/gpt-4o-mini --dataset train.jsonl
  optimize-eval preflight --prompt 'prompts/*.md' --model openai/gpt-4o-mini -e @f1 --dataset train.jsonl
  optimize-eval preflight -e ./judge.sh --dataset train.jsonl --good target
  optimize-eval preflight sweep.toml
  optimize-eval preflight sweep.toml --engine ray --address 10.0.0.1:6379

\b
--good puts an evaluator on trial: right answers score high, and what is
nearly right, wrong or empty scores less.
Each failure and warning comes with a shell line that shows it.
Exit codes: 0 ready to run, 1 an evaluator or a node failed a check, 2 wrong
option or data, 3 no cluster answers.
"""

_FIRST_EXAMPLES = 20
_FIRST_ROWS = 4  # of tasks in YAML, where each may cost a call of a model
_OF_TASKS = (
    "note: models reply once to a few rows, and a task's scorers are called with these replies; checks left "
    "out, as a scorer is sent no candidate: kept alive, batches, odd candidates"
)
_PLACEHOLDERS = tuple(
    Candidate(name="placeholder", text=text)
    for text in (
        "Answer in one short sentence.",
        "Answer politely, and say why.",
        "Think step by step, then answer.",
    )
)


def preflight(
    context: typer.Context,
    candidates: compared.CandidateOptions,
    prompted: PromptingOptions,
    axis: compared.TaskModelOptions,
    files: compared.TrainAndValOptions,
    chosen: compared.ChoiceOptions,
    scoring: ScoringOptions,
    trial: TrialOptions,
    defined: DefinitionOptions,
    servers: ServerOptions,
    engine: EngineOptions,
    printed: PrintOptions,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="SECONDS",
            min=0,
            help=f"For each evaluator ({DEFAULT_BUDGET:g}; on trial {BUDGET_OF_TRIAL:g}).",
            rich_help_panel=Heading.STOPPING,
        ),
    ] = None,
    attack: Annotated[
        bool, typer.Option("--attack", help="Try to lead judges astray.", rich_help_panel=Heading.MODELS)
    ] = False,
    budget: Annotated[float | None, typer.Option("--budget", min=0, hidden=True)] = None,
    _sweep: SweepFile = None,
    _sweep_file: SweepOption = None,
) -> None:
    """Check evaluators before a long run: their answers, calls at once, and speed."""
    defaults = starting_spec(scoring, judge_of(scoring), manners_of(servers))
    named, has_tasks = scorers_among(evaluators_of(context, scoring, defaults), given_of(defined), output.say)
    places, fields, prompting = compared_of(
        context,
        candidates,
        prompted,
        defaults,
        api_base=scoring.api_base,
        task_models=axis.task_models,
        has_tasks=has_tasks,
    )
    specs = [_put_on_trial(spec, trial).hiding([*fields, *humans_of(named)]) for spec in named]
    keys = keys_of(context)
    cluster = cluster_of({**as_dict(engine), "concurrency": keys.get("concurrency", SLOTS)})
    examples = _load_examples(files, chosen, keys, places)
    known = note_leaks_among(examples, output.say, keeps_leaks=keys.get(LEAKS) == KEEP)
    _check_together(named, specs, places, fields, examples.sources, prompting)
    prompts = prompting if prompting and prompting.prompts else None
    loaded = prompts.candidates if prompts else candidates_of(specs, places, fields)
    names = [model.name for model in prompting.models] if prompting else axis.task_models
    models = [check_task_model(name) for name in names] or [None]
    subject = _Subject(specs, examples.sources, loaded, models, prompting, keys)
    first = _FIRST_ROWS if has_tasks else _FIRST_EXAMPLES
    on_trial = _rows_by_evaluator(
        specs, examples.sources, models[0], has_near_misses=not trial.no_near_misses
    )
    material = replace(_material(loaded, subject.splits, models, keys, cluster, first=first), known=on_trial)
    if attack:
        material = replace(material, attacks=_attacks_on(specs))
    if has_tasks:
        output.say(_OF_TASKS)
    usual = BUDGET_OF_TRIAL if material.known else DEFAULT_BUDGET
    patience = next((given for given in (budget, seconds) if given is not None), usual)
    examined, nodes = _examine(subject, material, cluster, patience)
    if printed.as_json:
        output.emit_json(to_dict(examined, nodes))
    else:
        data = _data_line(subject.splits, known, len(loaded) if prompts else 0)
        output.emit(render(examined, data, width=output.width(), nodes=nodes))
    if not (all(each.is_ok for each in examined) and all(node.is_ok for node in nodes)):
        raise typer.Exit(errors.MISSED)


def _attacks_on(specs: Sequence[EvaluatorSpec]) -> tuple[tuple[str, str], ...]:
    """Read the injections; only judges can be led astray by them."""
    if not any(kind_of(spec).checks is Checks.MODELS for spec in specs):
        raise errors.UsageError("--attack is for judges, and none is named", hint="-e judge:PROVIDER/MODEL")
    return attacks()


def _load_examples(
    files: compared.TrainAndValOptions,
    chosen: compared.ChoiceOptions,
    keys: JsonMapping,
    places: Sequence[CandidatePath],
) -> Examples:
    part = {key: keys[key] for key in ("limit", "sample", "seed") if key in keys}
    paths = {"train": files.dataset, "val": files.valset}
    check_stdin(paths.values(), places)
    return load_splits(paths, output.say, selection=parse_selection(chosen.filters, chosen.ids), **part)


class _Subject(NamedTuple):
    """What is looked at: what a session would call."""

    specs: Sequence[EvaluatorSpec]
    sources: Sequence[SplitSource]
    candidates: Sequence[Candidate]
    models: Sequence[str | None]
    prompting: Prompting | None
    keys: JsonMapping

    @property
    def splits(self) -> dict[str, tuple[Example, ...]]:
        return {source.name: source.examples for source in self.sources}


def _check_together(
    named: Sequence[EvaluatorSpec],
    specs: Sequence[EvaluatorSpec],
    places: Sequence[CandidatePath],
    fields: Sequence[str],
    sources: Sequence[SplitSource],
    prompting: Prompting | None,
) -> None:
    """Refuse evaluators, candidates, rows and models that do not fit each other."""
    for source in sources:
        check_fields(source, fields)
    check_sight(sources, named)
    if prompting and prompting.prompts:
        prompting.check(sources, output.say)
        prompting.note_twice(output.say)
    check_headers(named, prompting.models if prompting else ())
    check_definitions(specs, [*places, *fields], prompting, sources)
    check_columns(specs, sources, output.say)


def _examine(
    subject: _Subject,
    material: Material,
    cluster: OnCluster | None,
    patience: float,
) -> "tuple[list[Examined], list[NodeExamined]]":
    """Look at all, in a folder that goes with them; nothing that is started is left."""
    with owned_processes(), TemporaryDirectory() as folder:
        scorers = called_in(Path(folder), subject.specs, subject.sources, subject.prompting)
        if subject.candidates and subject.sources:
            _note_reusable(scorers, subject)
        if subject.prompting and subject.prompting.prompts:
            examined = _examine_prompted(subject.specs, subject.prompting, material, patience)
        else:
            examined = examine_all(scorers, material, patience)
            scorers = ()  # nodes have them among those that were examined
        return examined, _examine_nodes(cluster, examined, patience, scorers) if cluster else []


def _put_on_trial(spec: EvaluatorSpec, given: TrialOptions) -> EvaluatorSpec:
    """Put an evaluator on trial by what flags say, else by what the sweep file says of it."""
    good = KnownGood(given.good, given.good) if given.good else spec.good
    return spec.change(good=good, bad=given.bad or spec.bad)


def _rows_by_evaluator(
    specs: Sequence[EvaluatorSpec],
    sources: Sequence[SplitSource],
    task_model: str | None,
    *,
    has_near_misses: bool,
) -> dict[str, Known]:
    """Find what each evaluator is tried by; where none is on trial, offer a field that may be the gold."""
    tried = [spec for spec in specs if kind_of(spec).checks is not Checks.TASKS]
    known = {
        spec.name: rows
        for spec in tried
        if (rows := known_of(spec, sources, task_model=task_model, has_near_misses=has_near_misses))
    }
    if tried and not known and (name := offer_gold(sources)):
        output.say(f"note: is `{name}` the gold? --good {name} puts the evaluator on trial")
    return known


def _examine_prompted(
    specs: Sequence[EvaluatorSpec], prompting: Prompting, material: Material, seconds: float
) -> list[Examined]:
    from optimize_eval.run.preflight.models import examine_prompted  # noqa: PLC0415  most have no models

    return examine_prompted(specs, prompting.models, material, seconds, extract=prompting.extract)


def _examine_nodes(
    cluster: OnCluster, examined: Sequence[Examined], seconds: float, scorers: Sequence[EvaluatorSpec]
) -> "list[NodeExamined]":
    with needing_ray():
        from optimize_eval.run.preflight.nodes import examine_nodes  # noqa: PLC0415  most have no cluster
        from optimize_eval.run.ray_engine import RayFleet  # noqa: PLC0415  the same

    fleet = RayFleet(cluster.address, cluster.working_dir)
    return examine_nodes(fleet, str(Path(cluster.working_dir).resolve()), examined, seconds, scorers)


def _note_reusable(specs: Sequence[EvaluatorSpec], subject: _Subject) -> None:
    """Note which run in runs/ has scored some of what a run would call."""
    repeats = subject.keys.get("repeats", 1)
    known = subject.prompting.identities if subject.prompting else ()
    plan = plan_run(
        specs,
        subject.candidates,
        subject.sources,
        task_models=subject.models,
        models=known,
        repeats=repeats,
    )
    if line := reusable(look_at(Path("runs", "new"), plan, document_of(plan, {}, {}), fresh=True)):
        output.say(f"note: of a run like this, {line}")


def _material(
    candidates: Sequence[Candidate],
    splits: dict[str, tuple[Example, ...]],
    task_models: Sequence[str | None],
    keys: JsonMapping,
    cluster: OnCluster | None,
    *,
    first: int,
) -> Material:
    """Put together what a run would send; where there is no candidate, placeholders vary in its place."""
    payloads = {
        split: tuple(
            Payload(
                candidate=_text(candidate, example),
                example=example.raw,
                task_model=model,
                line=example.line,
                split=split,
            )
            for index, example in enumerate(examples[:first])
            for candidate in candidates or [_PLACEHOLDERS[index % len(_PLACEHOLDERS)]]
            for model in task_models
        )
        for split, examples in splits.items()
    } or {
        "single": tuple(
            Payload(candidate=candidate.text, task_model=model)
            for candidate in candidates or _PLACEHOLDERS
            for model in task_models
        )
    }
    shown = next(iter(payloads.values()))[0]
    examples = sum(len(examples) for examples in splits.values()) or 1
    times = keys.get("repeats", 1) * len(task_models)
    return Material(
        splits=payloads,
        calls=(len(candidates) or 1) * examples * times,
        slots=cluster.slots if cluster else keys.get("concurrency", SLOTS),
        sentinel=None if candidates else replace(shown, candidate=SENTINEL),
    )


def _text(candidate: Candidate, example: Example) -> str:
    return output_of(example, candidate.field) if candidate.field else candidate.text


def _data_line(splits: dict[str, tuple[Example, ...]], known: Sequence[Split], prompts: int) -> str:
    if not splits:
        return "no examples: the evaluator is called with the candidate alone"
    parts = [f"{split} {_lines(len(examples))} ok" for split, examples in splits.items()]
    if len(splits) > 1:
        shared = sum(len(split.leaks or ()) for split in known)
        words = f"{shared:,} example{'s' * (shared != 1)} in both"
        parts.append(words if shared else "no example in both")
    if prompts:
        parts.append(f"{prompts:,} prompt{'s' * (prompts != 1)} rendered over all of them")
    return " · ".join(parts)


def _lines(count: int) -> str:
    return f"{count:,} line{'s' * (count != 1)}"
