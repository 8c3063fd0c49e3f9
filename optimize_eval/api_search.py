"""`optimize(…)`: what the command `optimize` does, for programs and notebooks; functions may be programs.

Arguments have the names of options; a wrong one raises UsageError before anything is called. Failures
never raise: they are in the Search that is returned.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Unpack

import orjson

from optimize_eval.api import (
    OneCandidate,
    OneEvaluator,
    OneModel,
    ProgramHost,
    Show,
    beside,
    evaluators_of,
    prompting_of,
)
from optimize_eval.base import errors
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.config.arguments import Keywords, OptimizeArguments
from optimize_eval.config.evaluators import JudgeOptions, judge_of, manners_of, starting_spec
from optimize_eval.config.prompts import given_of
from optimize_eval.config.search import OptimizeCommand
from optimize_eval.data.candidates import Candidate, CandidatePath, load_candidates
from optimize_eval.models.chat import ChatSpec
from optimize_eval.results import Run, load_run
from optimize_eval.run.begin_or_resume import handling_of
from optimize_eval.run.defining import scorers_among
from optimize_eval.run.ending import exit_code
from optimize_eval.search.optimizing import Optimized, begin_anew, optimize_task
from optimize_eval.search.proposers import (
    TIMEOUT,
    PlainProposer,
    ProposerSpec,
    parse_proposer,
    plain_proposer,
    reflection_proposer,
)
from optimize_eval.search.search_task import read_inputs

_OPTIMIZE = Keywords("optimize", OptimizeArguments, OptimizeCommand)

AProposer = str | PlainProposer


@dataclass(frozen=True, kw_only=True)
class Search:
    """What a search came to; `document` is what the command prints with --json."""

    folder: Path
    document: JsonMapping = field(repr=False)
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
    def verdict(self) -> JsonMapping:
        verdict: JsonMapping = self.document["verdict"]
        return verdict

    @cached_property
    def run(self) -> Run:
        """Load the final sweep; raises UsageError where there was none."""
        return load_run(self.folder)


@_OPTIMIZE.shown
def optimize(
    candidate: str | Path | Mapping[str, str] | None,
    evaluators: OneEvaluator | Iterable[OneEvaluator],
    *,
    proposer: AProposer | Iterable[AProposer] = (),
    reflection_model: str | Iterable[str] = (),
    prompts: OneCandidate | Iterable[OneCandidate] = (),
    models: OneModel | Iterable[OneModel] = (),
    out: str | Path,
    progress: Show | None = None,
    **options: Unpack[OptimizeArguments],
) -> Search:
    """Improve a candidate, as the command `optimize` does; the same call goes on.

    The candidate is a file's path, `{"name": "text"}`, or None: then the proposer writes the first one. A
    mapping of several texts, with `components=True`, is one candidate of components. Evaluators may be
    functions `evaluator(candidate, example)`, proposers functions of the request that programs are sent.
    With `prompts` and `models`, the candidate is None: the prompt is improved, and replies are scored.
    """
    given = _OPTIMIZE.read(options)
    host = ProgramHost(progress)
    listed: list[Any] = _list(evaluators)
    manners = manners_of(given, seeks_prices=given.max_cost is not None)
    starting = _starting(given, listed, manners)
    specs, has_tasks = scorers_among(evaluators_of(listed, starting, host.say), given_of(given), host.say)
    prompting = prompting_of(given, prompts, models, starting, has_tasks=has_tasks)
    wanted = read_inputs(
        specs,
        _seeds(candidate, components=given.components),
        _proposers(proposer, reflection_model, given.api_base, manners),
        host.say,
        what=given,
        from_scratch=candidate is None and not (prompting and prompting.prompts),
        prompting=prompting,
    )
    task = wanted.task(Path(out), handling_of(given))
    if given.fresh:
        begin_anew(task.folder)
    done = beside(partial(optimize_task, task, host), host)
    return Search(
        folder=task.folder, document=done.document, exit_code=_exit_code(done), notes=tuple(host.notes)
    )


def _starting(options: OptimizeCommand, evaluators: Sequence[Any], manners: Manners | None) -> EvaluatorSpec:
    """Make what evaluators that are given as texts start from; objective and base are for judges."""
    if not any(map(_is_judge, evaluators)):
        return starting_spec(options, None, manners)
    judging = JudgeOptions(objective=options.objective, api_base=options.api_base)
    return starting_spec(options, judge_of(judging), manners)


def _exit_code(done: Optimized) -> int:
    of_search = errors.of_search(done.outcome.why, has_sweep=bool(done.finished))
    return of_search or (exit_code(done.finished) if done.finished else errors.DONE)


def _list(given: Any) -> list[Any]:
    return [given] if callable(given) or isinstance(given, str | Mapping) else [*given]


def _is_judge(evaluator: object) -> bool:
    return (isinstance(evaluator, str) and "judge:" in evaluator) or (
        isinstance(evaluator, Mapping) and "judge" in evaluator
    )


def _seeds(candidate: str | Path | Mapping[str, str] | None, *, components: bool) -> tuple[Candidate, ...]:
    match candidate:
        case None:
            return ()
        case Mapping() if components:
            return (Candidate(name="seed", text=orjson.dumps(dict(candidate)).decode()),)
        case Mapping():
            return tuple(Candidate(name=name, text=text) for name, text in candidate.items())
    return load_candidates([CandidatePath(str(candidate))])


def _proposers(
    programs: AProposer | Iterable[AProposer],
    models: str | Iterable[str],
    api_base: str | None,
    manners: Manners | None,
) -> tuple[ProposerSpec, ...]:
    proposers = [
        plain_proposer(program)
        if callable(program)
        else parse_proposer(program, EvaluatorSpec(timeout=TIMEOUT))
        for program in _list(programs)
    ]
    names = [models] if isinstance(models, str) else models
    chats = [ChatSpec(name=name, api_base=api_base or "") for name in names]
    return (*proposers, *(reflection_proposer(chat, manners=manners) for chat in chats))
