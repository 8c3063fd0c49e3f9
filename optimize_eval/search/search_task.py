"""An optimization as options name it, made ready: examples split, the goal chosen, the budget checked.

Commands and programs that call us both come through here; nothing is called yet.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import check_task_model
from optimize_eval.config.compared import ComparisonOptions
from optimize_eval.config.search import SearchOptions
from optimize_eval.data.candidates import Candidate
from optimize_eval.data.selection import parse_selection
from optimize_eval.evaluators.endpoint_kind import check_headers
from optimize_eval.evaluators.kinds import identify, kind_of
from optimize_eval.models.model_kinds import ModelSpec, program_of
from optimize_eval.run.begin_or_resume import Handling, check_prices, find_prices
from optimize_eval.run.defining import check_columns, check_definitions, rules_of, unranked_among
from optimize_eval.run.host import Say
from optimize_eval.run.inputs import Examples, load_splits
from optimize_eval.run.prompting import Prompting
from optimize_eval.run.splits import check_labels, hide_from_judges
from optimize_eval.run.sweeps import SweepInputs
from optimize_eval.search.components import (
    SearchedPrompt,
    Texts,
    of_json,
    plain,
    searched_prompt,
    seed_texts,
)
from optimize_eval.search.goal import Goal, make_goal
from optimize_eval.search.optimizing import SearchTask, final_calls
from optimize_eval.search.proposers import ProposerSpec
from optimize_eval.search.search_plan import (
    MINIBATCH,
    Roles,
    SearchPlan,
    roles_of,
    selection_of,
    with_val,
)
from optimize_eval.search.searching import check
from optimize_eval.search.stopping import ON_ABOVE, EarlyStop, SearchLimits

_OF_A_PROPOSAL = re.compile(r"p\d+")


@frozen
class SearchInputs:
    """What was read for a search, and the options that say what it is for."""

    specs: tuple[EvaluatorSpec, ...]
    seeds: tuple[Candidate, ...]
    examples: Examples
    proposers: tuple[ProposerSpec, ...]
    what: SearchOptions
    from_scratch: bool = False
    task_model: str | None = None
    prompting: Prompting | None = None  # who replies, where the seeds are prompts or tasks call models

    def task(self, folder: Path, handling: Handling) -> SearchTask:
        """Make the task; raises UsageError where its parts do not fit."""
        what, prompting = self.what, self.prompting
        _check_one_model(prompting)
        goal, given = _order(self.specs, what.climb, weights(what.goal))
        specs = hide_from_judges(
            given, (), self.examples.sources, has_models=bool(self.task_model or prompting)
        )
        check_labels(self.examples.sources, what.cluster_by, ())
        roles = roles_of(self.examples.sources, what)
        comparison = self._comparison(specs)
        check_headers(comparison.called)
        is_of_prompts = prompting and prompting.prompts
        prompt = searched_prompt(prompting, self.examples.sources) if prompting and is_of_prompts else None
        plan = self._plan(goal, comparison.called, roles, prompt)
        check(plan)
        _refuse_missing(specs, self.proposers, prompting.models if prompting else ())
        if handling.max_cost is not None:
            check_prices(handling.max_cost, comparison.called, [self.task_model])
            _refuse_unpriced(self.proposers)
        budget = plan.needs.choose(what.budget)
        limits = SearchLimits(
            budget=budget,
            early=self._early(budget),
            ends_at=handling.ends_at,
            final_calls=final_calls(comparison, 1 + plan.finalists),
        )
        return SearchTask(
            plan=plan,
            comparison=comparison,
            seed_name=_seed_name(self.seeds),
            limits=limits,
            handling=handling,
            folder=folder,
            task_model=check_task_model(self.task_model),
        )

    def _comparison(self, specs: tuple[EvaluatorSpec, ...]) -> SweepInputs:
        """Say what the final sweep compares, but for its candidates: each is a prompt, where prompts are."""
        return SweepInputs(
            specs=specs,
            candidates=(),
            examples=self.examples,
            what=ComparisonOptions(
                task_models=(self.task_model,) if self.task_model else (),
                repeats=self.what.repeats,
                seed=self.what.seed,
                cluster_by=self.what.cluster_by,
                leaks=self.what.leaks,
            ),
            prompting=replace(self.prompting, prompts=()) if self.prompting else None,
        )

    def _plan(
        self,
        goal: Goal,
        specs: Sequence[EvaluatorSpec],
        roles: Roles,
        prompt: SearchedPrompt | None,
    ) -> SearchPlan:
        read = [self._texts(seed, prompt) for seed in self.seeds]
        if not read and not self.from_scratch:
            raise UsageError(
                "there is no candidate to improve",
                hint="name one: optimize-eval optimize prompt.txt …; without one: --from-scratch",
            )
        if any(item.keys() != read[0].keys() for item in read):
            raise UsageError("the candidates have different components", hint="name the same in each")
        what = self.what
        return SearchPlan(
            seed=plain("") if self.from_scratch else read[0],
            others=tuple(read) if self.from_scratch else tuple(read[1:]),
            goal=goal,
            roles=roles,
            proposers=self.proposers,
            evaluators=tuple(identify(spec).sha256 for spec in specs),
            objective=what.objective or "",
            background=what.background or "",
            from_scratch=self.from_scratch,
            minibatch=min(what.minibatch or MINIBATCH, len(roles.learn)),
            proposals=what.proposals,
            selection=selection_of(str(what.selection)),
            accepts_equal=what.acceptance == "equal",
            merge=what.merge,
            random_seed=what.seed,
            most_letters=what.max_candidate_chars,
            top=what.top,
            model=self.prompting.identities[0].sha256 if self.prompting else "",
            rules=rules_of(specs),
            prompt=prompt,
        )

    def _texts(self, seed: Candidate, prompt: SearchedPrompt | None) -> Texts:
        if prompt:
            return seed_texts(prompt, seed)
        return of_json(seed.text, seed.name) if self.what.components else plain(seed.text)

    def _early(self, budget: int) -> EarlyStop | None:
        what = self.what
        if what.early_stop:
            return EarlyStop(window=what.early_stop_window, threshold=what.early_stop_threshold)
        return EarlyStop() if what.early_stop is None and budget > ON_ABOVE else None


def _check_one_model(prompting: Prompting | None) -> None:
    if prompting and len(prompting.models) != 1:
        names = ", ".join(model.name for model in prompting.models)
        raise UsageError(
            f"a search has one model, and {len(prompting.models)} are named: {names}",
            hint="search with each of them; run … --model … --model … compares models",
        )


def _refuse_missing(
    specs: Sequence[EvaluatorSpec], proposers: Sequence[ProposerSpec], models: Sequence[ModelSpec]
) -> None:
    """Refuse programs that are not there: a search would find that out only after its first calls."""
    programs = [proposer.program for proposer in proposers if proposer.program]
    named = [*(("--proposer", program) for program in programs), *(("-e", spec) for spec in specs)]
    named += [("--model", spec) for spec in map(program_of, models) if spec]
    for option, spec in named:
        if fault := kind_of(spec).missing(spec):
            raise UsageError(
                f"{option} {spec.text!r}: {fault}",
                hint="nothing was called; fix it, then run the same command",
            )


def _refuse_unpriced(proposers: Sequence[ProposerSpec]) -> None:
    """Refuse a model that proposes whose price is not known."""
    models = [(proposer.model.name, proposer.manners) for proposer in proposers if proposer.model]
    if models:
        manners = next((manners for _, manners in models if manners), None)
        find_prices([name for name, _ in models], manners)


def _seed_name(seeds: Sequence[Candidate]) -> str:
    """Name the seed as its file, unless that is how proposals are named."""
    name = seeds[0].name if seeds else "seed"
    return f"seed-{name}" if _OF_A_PROPOSAL.fullmatch(name) else name


def _order(
    specs: Sequence[EvaluatorSpec], climb: str | None, weights: Mapping[str, float] | None
) -> tuple[Goal, tuple[EvaluatorSpec, ...]]:
    """Put what is climbed first: the final sweep's verdict is about its first evaluator."""
    goal = make_goal(
        [spec.name for spec in specs],
        [spec.score_range for spec in specs],
        climb=climb,
        weights=weights,
        unranked=unranked_among(specs),
    )
    places = sorted(range(len(specs)), key=lambda place: -goal.weights[place])
    ordered = tuple(specs[index] for index in places)
    return replace(
        goal,
        names=tuple(goal.names[index] for index in places),
        ranges=tuple(goal.ranges[index] for index in places),
        weights=tuple(goal.weights[index] for index in places),
    ), ordered


def read_inputs(
    specs: tuple[EvaluatorSpec, ...],
    seeds: tuple[Candidate, ...],
    proposers: tuple[ProposerSpec, ...],
    say: Say,
    *,
    what: SearchOptions,
    from_scratch: bool,
    task_model: str | None = None,
    prompting: Prompting | None = None,
) -> SearchInputs:
    """Load the examples, and check what they are for; prompts that `prompting` has are the seeds."""
    chosen = parse_selection(what.filters, what.ids)
    examples = load_splits(what.files, say, seed=what.seed, selection=chosen)
    examples = with_val(examples, what.val_share, what.seed, what.cluster_by)
    check_definitions(specs, [*seeds] or [True] * from_scratch, prompting, examples.sources)
    check_columns(specs, examples.sources, say)
    if prompting and prompting.prompts:
        prompting.check(examples.sources, say)
        check_prompts_alone(seeds, what, from_scratch=from_scratch)
        seeds = prompting.candidates
    return SearchInputs(
        specs=specs,
        seeds=seeds,
        examples=examples,
        proposers=proposers,
        what=what,
        from_scratch=from_scratch,
        task_model=task_model,
        prompting=prompting,
    )


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
