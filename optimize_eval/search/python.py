"""`optimize(…)`: what the command `optimize` does, for programs and notebooks; functions may be programs.

Arguments have the names of options; a wrong one raises UsageError before anything is called. Failures
never raise: they are in the Search that is returned.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import orjson

from optimize_eval.candidates import Candidate, Named, load_candidates
from optimize_eval.engines import SLOTS
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.names import distinct
from optimize_eval.results import Run, load_run
from optimize_eval.run.stop import instant_after
from optimize_eval.search.callables import Function, connecting, function_spec
from optimize_eval.search.ending import FAILED, Why
from optimize_eval.search.optimizing import Optimized, begin_anew, optimize_task
from optimize_eval.search.plan import TOP, selection_of
from optimize_eval.search.proposing.proposers import (
    TIMEOUT,
    PlainProposer,
    ProposerSpec,
    parse_proposer,
    plain_proposer,
    reflection_proposer,
)
from optimize_eval.search.stopping import THRESHOLD, WINDOW, EarlyStop
from optimize_eval.search.task import Wanted
from optimize_eval.session.arguments import OneEvaluator, checked, defaults_of, evaluators_of
from optimize_eval.session.background import Program, Show, beside
from optimize_eval.session.ending import DONE, INTERRUPTED, TOO_MANY_FAILURES, exit_code
from optimize_eval.session.inputs import load_splits
from optimize_eval.session.settings import Handling

AnEvaluator = OneEvaluator | Function
AProposer = str | PlainProposer


@dataclass(frozen=True, kw_only=True)
class Search:
    """What a search came to; `document` is what the command prints with --json."""

    folder: Path
    document: Mapping[str, Any] = field(repr=False)
    exit_code: int
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Any:
        """Give the best candidate: a text, or texts by their names."""
        return self.document["best_artifact"]

    @property
    def status(self) -> str:
        """Say why the search ended."""
        return str(self.document["status"])

    @property
    def verdict(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.document["verdict"]
        return found

    @cached_property
    def run(self) -> Run:
        """Load the final sweep; raises UsageError where there was none."""
        return load_run(self.folder)


def optimize(
    candidate: str | Path | Mapping[str, str] | None,
    evaluators: AnEvaluator | Iterable[AnEvaluator],
    *,
    dataset: str | Path | None = None,
    valset: str | Path | None = None,
    testset: str | Path | None = None,
    val_share: float | None = None,
    proposer: AProposer | Iterable[AProposer] = (),
    reflection_model: str | Iterable[str] = (),
    objective: str | None = None,
    background: str | None = None,
    components: bool = False,
    budget: int | None = None,
    max_time: float | str | None = None,
    early_stop: bool | None = None,
    early_stop_window: int = WINDOW,
    early_stop_threshold: float = THRESHOLD,
    climb: str | None = None,
    goal: Mapping[str, float] | None = None,
    minibatch: int | None = None,
    proposals: int = 1,
    acceptance: Literal["strict", "equal"] = "strict",
    selection: str = "pareto",
    merge: bool = False,
    search_val: int | None = None,
    max_candidate_chars: int | None = None,
    top: int = TOP,
    repeats: int = 1,
    seed: int = 0,
    concurrency: int | None = None,
    score_range: str | None = None,
    timeout: float | None = None,
    cwd: str | Path | None = None,
    api_base: str | None = None,
    out: str | Path,
    fresh: bool = False,
    progress: Show | None = None,
) -> Search:
    """Improve a candidate, as the command `optimize` does; the same call goes on.

    The candidate is a file's path, `{"name": "text"}`, or None: then the proposer writes the first one. A
    mapping of several texts, with `components=True`, is one candidate of components. Evaluators may be
    functions `evaluator(candidate, example)`, proposers functions of the request that programs are sent.
    """
    given = checked({**locals(), "evaluators": None})
    host = Program(progress)
    listed: list[Any] = _listed(evaluators)
    of_judges = {"objective", "api_base"} if not any(map(_is_judge, listed)) else set[str]()
    defaults = defaults_of({name: value for name, value in given.items() if name not in of_judges})
    functions, specs = _evaluators(listed, defaults, host)
    splits = {"train": given.get("dataset"), "val": given.get("valset"), "test": given.get("testset")}
    window = EarlyStop(window=early_stop_window, threshold=early_stop_threshold)
    wanted = Wanted(
        specs=specs,
        seeds=_seeds(candidate, components=components),
        examples=load_splits(splits, host.say, seed=seed),
        proposers=_proposers(proposer, reflection_model, api_base),
        components=components,
        from_scratch=candidate is None,
        objective=objective or "",
        background=background or "",
        climb=climb,
        goal=goal,
        budget=budget,
        early_stop=window if early_stop else None,
        no_early_stop=early_stop is False,
        minibatch=minibatch,
        proposals=proposals,
        acceptance=acceptance,
        merge=merge,
        selection=selection_of(selection),
        search_val=search_val,
        val_share=val_share,
        max_candidate_chars=max_candidate_chars,
        top=top,
        repeats=repeats,
        seed=seed,
    )
    handling = Handling(
        concurrency=SLOTS if concurrency is None else concurrency,
        ends_at=instant_after(given.get("max_time")),
    )
    task = wanted.task(Path(out), handling)
    if fresh:
        begin_anew(task.folder)
    done = beside(partial(optimize_task, task, host, connecting(functions)), host)
    return Search(
        folder=task.folder, document=done.document, exit_code=_exit_code(done), notes=tuple(host.notes)
    )


def _exit_code(done: Optimized) -> int:
    if done.found.why in FAILED or (done.found.why is Why.TIME and not done.finished):
        return TOO_MANY_FAILURES
    if done.found.why is Why.INTERRUPTED:
        return INTERRUPTED
    return exit_code(done.finished) if done.finished else DONE


def _listed(given: Any) -> list[Any]:
    return [given] if callable(given) or isinstance(given, str | Mapping) else [*given]


def _is_judge(evaluator: Any) -> bool:
    return (isinstance(evaluator, str) and "judge:" in evaluator) or (
        isinstance(evaluator, Mapping) and "judge" in evaluator
    )


def _evaluators(
    listed: Sequence[Any], defaults: EvaluatorSpec, host: Program
) -> tuple[dict[str, Function], tuple[EvaluatorSpec, ...]]:
    specs = [
        function_spec(one, defaults) if callable(one) else evaluators_of(one, defaults, host.say)[0]
        for one in listed
    ]
    names = distinct(spec.name for spec in specs)
    named = tuple(replace(spec, name=name) for spec, name in zip(specs, names, strict=True))
    return {name: one for name, one in zip(names, listed, strict=True) if callable(one)}, named


def _seeds(candidate: str | Path | Mapping[str, str] | None, *, components: bool) -> tuple[Candidate, ...]:
    match candidate:
        case None:
            return ()
        case Mapping() if components:
            return (Candidate(name="seed", text=orjson.dumps(dict(candidate)).decode()),)
        case Mapping():
            return tuple(Candidate(name=name, text=text) for name, text in candidate.items())
    return load_candidates([Named(str(candidate))])


def _proposers(
    programs: AProposer | Iterable[AProposer], models: str | Iterable[str], api_base: str | None
) -> tuple[ProposerSpec, ...]:
    found = [
        plain_proposer(one) if callable(one) else parse_proposer(one, EvaluatorSpec(timeout=TIMEOUT))
        for one in _listed(programs)
    ]
    names = [models] if isinstance(models, str) else [*models]
    if names:
        from optimize_eval.models import ModelSpec  # noqa: PLC0415  programs need none

        found += [reflection_proposer(ModelSpec(name=name, api_base=api_base or "")) for name in names]
    return tuple(found)
