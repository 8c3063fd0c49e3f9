"""`optimize-eval optimize`: a candidate improved by who proposes, believed only by a final sweep."""

import hashlib
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
import typer

from optimize_eval.candidates import Candidate, Named, load_candidates
from optimize_eval.cli import options, output
from optimize_eval.cli.host import Terminal
from optimize_eval.cli.interrupts import Interrupted
from optimize_eval.engines import SLOTS
from optimize_eval.errors import UsageError
from optimize_eval.protocol import ScoreRange
from optimize_eval.reach import DEFAULT_TIMEOUT, EvaluatorSpec
from optimize_eval.run.stop import instant_after
from optimize_eval.session.inputs import load_splits
from optimize_eval.session.settings import Handling

if TYPE_CHECKING:
    from optimize_eval.search.optimizing import Optimized, Task
    from optimize_eval.search.proposing.proposers import ProposerSpec
    from optimize_eval.search.task import Wanted

EXAMPLES = """\b
Examples:
  optimize-eval optimize prompt.txt -e ./judge.sh --dataset d.jsonl --valset v.jsonl --proposer ./propose.sh
  optimize-eval optimize p.txt -e ./judge.sh --dataset d.jsonl --val-share 0.3 --reflection-model ollama/qwen3
  optimize-eval optimize rules.txt -e @routing --dataset d.jsonl --valset v.jsonl --proposer ./p.sh --dry-run

\b
The same command again continues the same search; a larger --budget goes on from where it ended.
Exit codes: 0 done, 1 no gain shown (--require-better), 2 wrong option or data, 3 it could not go on,
4 the evaluator or the proposer failed, 130 interrupted.
"""

MODEL_VARIABLE = "OPTIMIZE_ANYTHING_MODEL"
_MISSED, _FAILED = 1, 4


class Acceptance(StrEnum):
    """What a proposal has to be on its minibatch."""

    STRICT = "strict"
    EQUAL = "equal"


class Selection(StrEnum):
    """From whom the next proposal is made."""

    PARETO = "pareto"
    CURRENT_BEST = "current_best"
    EPSILON_GREEDY = "epsilon_greedy"
    TOP_K_PARETO = "top_k_pareto"


def optimize(
    context: typer.Context,
    candidate: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CANDIDATE…",
            help="What to improve; further ones join the race. Or a sweep file with [optimize].",
            callback=options.take_sweep_of_search,
            is_eager=True,
        ),
    ] = None,
    evaluator: options.Evaluators = None,
    judge_model: options.JudgeModels = None,
    dataset: Annotated[
        str | None, typer.Option("--dataset", metavar="FILE", help="Train: what proposers learn from.")
    ] = None,
    valset: Annotated[
        str | None, typer.Option("--valset", metavar="FILE", help="Val: held out, decides what is kept.")
    ] = None,
    testset: Annotated[
        str | None, typer.Option("--testset", metavar="FILE", help="A third split, for the final sweep only.")
    ] = None,
    val_share: Annotated[
        float | None,
        typer.Option("--val-share", metavar="SHARE", help="Hold out a share of --dataset as val."),
    ] = None,
    proposer: Annotated[
        list[str] | None,
        typer.Option("--proposer", metavar="SPEC", help="[NAME=]COMMAND or URL; several take turns."),
    ] = None,
    reflection_model: Annotated[
        list[str] | None,
        typer.Option(
            "--reflection-model",
            metavar="MODEL",
            envvar=MODEL_VARIABLE,
            help="A language model that proposes.",
        ),
    ] = None,
    objective: Annotated[
        str | None, typer.Option("--objective", metavar="TEXT", help="What proposers are to reach.")
    ] = None,
    background: Annotated[
        str | None, typer.Option("--background", metavar="TEXT", help="What proposers should know.")
    ] = None,
    from_scratch: Annotated[
        bool, typer.Option("--from-scratch", "--no-seed", help="Let the proposer write the first candidate.")
    ] = False,
    components: Annotated[
        bool, typer.Option("--components", help="The candidate is a JSON object of texts.")
    ] = False,
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="N", min=1, help="Evaluator calls of the search, at most."),
    ] = None,
    max_time: options.MaxTime = None,
    early_stop: Annotated[
        bool | None,
        typer.Option(
            "--early-stop/--no-early-stop",
            help="Stop where nothing gets better (budget above 30).",
            show_default=False,
        ),
    ] = None,
    early_stop_window: Annotated[
        int, typer.Option("--early-stop-window", metavar="N", min=1, help="Proposals without a gain.")
    ] = 10,
    early_stop_threshold: Annotated[
        float,
        typer.Option("--early-stop-threshold", metavar="X", min=0.0, help="A gain, as a share of the range."),
    ] = 0.005,
    climb: Annotated[
        str | None, typer.Option("--climb", metavar="NAME", help="The evaluator that is climbed (first).")
    ] = None,
    goal: Annotated[
        list[str] | None, typer.Option("--goal", metavar="NAME=W", help="Climb a weighted mean instead.")
    ] = None,
    minibatch: Annotated[
        int | None, typer.Option("--minibatch", metavar="N", min=1, help="Train examples per proposal (3).")
    ] = None,
    proposals: Annotated[int, typer.Option("--proposals", metavar="N", min=1, help="Proposals at once.")] = 1,
    acceptance: Annotated[
        Acceptance, typer.Option("--acceptance", help="Better on its minibatch, or as good.")
    ] = Acceptance.STRICT,
    selection: Annotated[
        Selection, typer.Option("--selection", help="From whom the next proposal is made.")
    ] = Selection.PARETO,
    merge: Annotated[bool, typer.Option("--merge", help="Join components of good candidates.")] = False,
    search_val: Annotated[
        int | None, typer.Option("--search-val", metavar="N", min=1, help="Val examples used in the search.")
    ] = None,
    max_candidate_chars: Annotated[
        int | None, typer.Option("--max-candidate-chars", metavar="N", min=1, help="Refuse longer proposals.")
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Candidates in the final sweep.")] = 3,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", min=1, help="Calls per example, in the final sweep.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="For choices at random.")] = 0,
    task_model: options.TaskModel = None,
    concurrency: options.Concurrency = SLOTS,
    score_range: options.Range = ScoreRange.UNIT,
    timeout: options.Timeout = DEFAULT_TIMEOUT,
    proposer_timeout: Annotated[
        float, typer.Option("--proposer-timeout", metavar="SECONDS", help="How long one proposal may take.")
    ] = 300.0,
    cwd: options.Cwd = None,
    header: options.Headers = None,
    retries: options.Retries = None,
    persistent: options.Persistent = None,
    workers: options.Workers = None,
    judge_objective: Annotated[
        str | None, typer.Option("--judge-objective", metavar="TEXT", help="What a judge is to look for.")
    ] = None,
    rubric: Annotated[
        str | None,
        typer.Option(
            "--rubric", "--intake-file", metavar="FILE", help="TOML or JSON: how a judge is to judge."
        ),
    ] = None,
    api_base: options.ApiBase = None,
    out: Annotated[
        str | None, typer.Option("--out", "--run-dir", metavar="DIR", help="The search's folder.")
    ] = None,
    file: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the best candidate there.")
    ] = None,
    require_better: Annotated[
        bool, typer.Option("--require-better", help="Exit 1 and keep the seed where no gain is shown.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Delete what is in the folder and start over.")
    ] = False,
    spec_file: Annotated[
        str | None,
        typer.Option("--spec-file", metavar="FILE", hidden=True, callback=options.take_sweep, is_eager=True),
    ] = None,
    cache: Annotated[bool, typer.Option("--cache", hidden=True)] = False,
    diff: Annotated[bool, typer.Option("--diff", hidden=True)] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan; call nothing.")] = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Improve a candidate: train drives the search, val decides, a final sweep is believed."""
    from optimize_eval.search.plan import selection_of  # noqa: PLC0415  a plain --help needs no search
    from optimize_eval.search.stopping import EarlyStop  # noqa: PLC0415
    from optimize_eval.search.task import Wanted  # noqa: PLC0415

    if cache:
        output.say("note: --cache is always on: the journal is the cache, and nothing in it is called again")
    del spec_file, diff  # a sweep file, taken already; what changed is always shown
    has_judge = bool(judge_model) or _names_judge(evaluator)
    judge_told = judge_objective or (objective if has_judge else None)
    defaults = options.defaults(
        timeout=timeout,
        cwd=cwd,
        score_range=score_range,
        header=header,
        retries=retries,
        persistent=persistent,
        workers=workers,
        objective=judge_told,
        rubric=rubric,
        api_base=api_base if has_judge else None,  # proposers may be asked there alone
    )
    if judge_told and not judge_objective:
        output.say("note: the judge looks for --objective, too (--judge-objective TEXT says otherwise)")
    splits = {"train": dataset, "val": valset, "test": testset}
    wanted = Wanted(
        specs=options.evaluators(context, evaluator, judge_model, defaults),
        seeds=_seeds(context, candidate),
        examples=load_splits(splits, output.say, seed=seed),
        proposers=_proposers(proposer, reflection_model, api_base, proposer_timeout),
        components=components,
        from_scratch=from_scratch,
        objective=objective or "",
        background=background or "",
        climb=climb,
        goal=_weights(goal),
        budget=budget,
        early_stop=EarlyStop(window=early_stop_window, threshold=early_stop_threshold)
        if early_stop
        else None,
        no_early_stop=early_stop is False,
        minibatch=minibatch,
        proposals=proposals,
        acceptance=str(acceptance),
        merge=merge,
        selection=selection_of(str(selection)),
        search_val=search_val,
        val_share=val_share,
        max_candidate_chars=max_candidate_chars,
        top=top,
        repeats=repeats,
        seed=seed,
        task_model=task_model,
    )
    handling = Handling(concurrency=concurrency, ends_at=instant_after(max_time))
    folder = Path(out) if out else _default_folder(wanted, splits)
    task = wanted.task(folder, handling)
    if dry_run:
        from optimize_eval.cli import dry_search  # noqa: PLC0415  only here

        dry_search.show(task, as_json=as_json)
        return
    _carry_out(task, file, fresh=fresh, quiet=quiet, as_json=as_json, require_better=require_better)


def _carry_out(
    task: "Task", file: str | None, *, fresh: bool, quiet: bool, as_json: bool, require_better: bool
) -> None:
    from optimize_eval.search.optimizing import begin_anew, optimize_task  # noqa: PLC0415  see optimize

    if fresh:
        begin_anew(task.folder)
    _tell_plan(task)
    done = optimize_task(task, Terminal(quiet=quiet))
    written = _write(done, file, require_better=require_better)
    document = {**done.document, "output_file": written}
    if as_json:
        output.emit_json(document)
    elif quiet:
        output.emit(f"{document['verdict']['text']}\n{task.folder}")
    else:
        from optimize_eval.reports import search as report  # noqa: PLC0415  only for people

        output.emit(report.render(output.fitted(document), width=output.width()))
    _end(done, task, require_better=require_better)


def _tell_plan(task: "Task") -> None:
    """Say before the first call what it costs, and what the budget has room for."""
    from optimize_eval.search.result.final import final_calls  # noqa: PLC0415  see optimize

    needs = task.plan.needs
    most = final_calls(task.comparison, 1 + task.plan.top)
    output.say(
        f"search: at most {task.limits.budget:,} calls (one accepted proposal takes up to "
        f"{needs.calls(1) - needs.calls(0):,} after {needs.calls(0):,} for the seed); "
        f"final sweep: at most {most:,} more"
    )


def _write(done: "Optimized", file: str | None, *, require_better: bool) -> str | None:
    """Write the best; where a gain is required and none is shown, the seed, and the other beside it."""
    from optimize_eval.search.result.findings import BETTER  # noqa: PLC0415  see optimize

    if file is None or done.result is None:
        return None
    best, is_shown = done.result.best, done.result.state == BETTER
    if require_better and not is_shown:
        _write_text(Path(f"{file}.unproven"), best.texts)
        _write_text(Path(file), done.found.seed.texts)
    else:
        _write_text(Path(file), best.texts)
    return file


def _write_text(path: Path, texts: "dict[str, str] | object") -> None:
    from optimize_eval.search.components import shown  # noqa: PLC0415  see optimize

    value = shown(texts)  # type: ignore[arg-type]
    data = (
        value.encode() if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n"
    )
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint="choose another -o") from None


def _end(done: "Optimized", task: "Task", *, require_better: bool) -> None:
    from optimize_eval.cli.ending import end  # noqa: PLC0415  see optimize
    from optimize_eval.search.ending import FAILED, Why  # noqa: PLC0415
    from optimize_eval.search.result.findings import BETTER  # noqa: PLC0415

    if done.found.why is Why.INTERRUPTED:
        output.say("interrupted: nothing is lost; the same command again goes on")
        raise Interrupted
    if done.found.why in FAILED:
        output.say(f"error: {done.found.sentence}")
        output.say("  try: fix it, then give the same command again: it goes on where it ended")
        raise typer.Exit(_FAILED)
    if done.found.why is Why.TIME and not done.finished:
        output.say(f"out of time: {done.found.sentence}; the same command goes on where it ended")
        raise typer.Exit(_FAILED)
    if done.finished:
        end(done.finished, folder=task.folder, out=str(task.folder))
    if require_better and not (done.result and done.result.state == BETTER):
        output.say("no gain is shown (--require-better)")
        raise typer.Exit(_MISSED)


def _seeds(context: typer.Context, paths: Sequence[str] | None) -> tuple[Candidate, ...]:
    sweep = options.sweep_of(context)
    if not paths and sweep:
        return load_candidates(sweep.candidates)
    return load_candidates([Named(path) for path in paths or ()])


def _proposers(
    programs: Sequence[str] | None, models: Sequence[str] | None, api_base: str | None, timeout: float
) -> "tuple[ProposerSpec, ...]":
    from optimize_eval.search.proposing.proposers import parse_proposer, reflection_proposer  # noqa: PLC0415

    found = [parse_proposer(text, EvaluatorSpec(timeout=timeout)) for text in programs or ()]
    if models and not found:  # from the environment, too: a program that is named wins over it
        from optimize_eval.models import ModelSpec  # noqa: PLC0415  programs need none

        found += [
            reflection_proposer(ModelSpec(name=name, api_base=api_base or ""), timeout) for name in models
        ]
    return tuple(found)


def _weights(texts: Sequence[str] | None) -> dict[str, float] | None:
    if not texts:
        return None
    found: dict[str, float] = {}
    for text in texts:
        name, equals, weight = text.rpartition("=")
        try:
            found[name] = float(weight)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise UsageError(f"--goal {text!r} is not NAME=WEIGHT", hint="such as --goal judge=2")
    return found


def _names_judge(texts: Sequence[str] | None) -> bool:
    return any("judge:" in text for text in texts or ())


def _default_folder(wanted: "Wanted", splits: dict[str, str | None]) -> Path:
    """Name the folder after what is written, so that the same command finds it, also with other limits."""
    stem = wanted.seeds[0].name if wanted.seeds else "new"
    parts = [[one.name for one in wanted.seeds], [spec.text for spec in wanted.specs], splits]
    digest = hashlib.sha256(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return Path("runs", f"optimize-{stem}-{digest[:8]}")
