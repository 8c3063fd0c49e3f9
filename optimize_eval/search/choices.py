"""What options of a search make: a task's parts by the names of options, for commands and programs alike."""

from collections.abc import Mapping, Sequence
from dataclasses import fields

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.config.search import SearchOptions
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.selection import parse_selection
from optimize_eval.run.defining import check_columns, check_definitions
from optimize_eval.run.host import Say
from optimize_eval.run.inputs import load_splits
from optimize_eval.run.prompting import Prompting
from optimize_eval.search.plan import selection_of
from optimize_eval.search.proposing.proposers import ProposerSpec
from optimize_eval.search.roles import with_val
from optimize_eval.search.stopping import EarlyStop
from optimize_eval.search.task import SearchArguments


def wanted_of(
    specs: tuple[EvaluatorSpec, ...],
    seeds: tuple[Candidate, ...],
    proposers: tuple[ProposerSpec, ...],
    say: Say,
    *,
    what: SearchOptions,
    from_scratch: bool,
    task_model: str | None = None,
    prompting: Prompting | None = None,
) -> SearchArguments:
    """Load the examples, and put options together; prompts that `prompting` has are the seeds."""
    chosen = parse_selection(what.filters, what.ids)
    examples = load_splits(what.files, say, seed=what.seed, selection=chosen)
    examples = with_val(examples, what.val_share, what.seed, what.cluster_by)
    check_definitions(specs, [*seeds] or [True] * from_scratch, prompting, examples.sources)
    check_columns(specs, examples.sources, say)
    if prompting and prompting.prompts:
        prompting.check(examples.sources, say)
        check_prompts_alone(seeds, what, from_scratch=from_scratch)
        seeds = prompting.candidates
    window = EarlyStop(window=what.early_stop_window, threshold=what.early_stop_threshold)
    given = {one.name: getattr(what, one.name) for one in fields(SearchArguments) if hasattr(what, one.name)}
    made = {
        "objective": what.objective or "",
        "background": what.background or "",
        "goal": weights(what.goal),
        "choose_rows": what.choose_rows or what.search_val,
        "early_stop": window if what.early_stop else None,
        "no_early_stop": what.early_stop is False,
        "acceptance": str(what.acceptance),
        "selection": selection_of(str(what.selection)),
        "from_scratch": from_scratch,
        "task_model": task_model,
        "prompting": prompting,
    }
    parts = {"specs": specs, "seeds": seeds, "examples": examples, "proposers": proposers}
    return SearchArguments(**{**given, **made, **parts})


def check_prompts_alone(seeds: Sequence[Candidate], what: SearchOptions, *, from_scratch: bool) -> None:
    """Refuse what else would say where a search of prompts begins."""
    if seeds:
        raise UsageError(
            "--prompt names what is improved, and so does a candidate",
            hint=f"omit {seeds[0].name}, or name it with --prompt",
        )
    if from_scratch:
        raise UsageError("--from-scratch starts without a prompt", hint="omit it: --prompt is the start")
    if what.components:
        raise UsageError("a prompt's components are its messages", hint="omit --components")


def weights(texts: Sequence[str]) -> Mapping[str, float] | None:
    """Read --goal, which may be repeated."""
    if not texts:
        return None
    read: dict[str, float] = {}
    for text in texts:
        name, equals, weight = text.rpartition("=")
        try:
            read[name] = float(weight)
        except ValueError:
            equals = ""
        if not (name and equals):
            raise UsageError(f"--goal {text!r} is not NAME=WEIGHT", hint="such as --goal judge=2")
    return read
