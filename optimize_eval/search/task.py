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
from optimize_eval.config.compared import Leaks
from optimize_eval.data.candidates import Candidate
from optimize_eval.evaluators.addressed import check_headers
from optimize_eval.evaluators.kinds import identify, kind_of
from optimize_eval.models.model_kinds import program_of
from optimize_eval.run.defining import unranked_among
from optimize_eval.run.examining import rules_of
from optimize_eval.run.inputs import Examples
from optimize_eval.run.prompting import Prompting
from optimize_eval.run.settings import Handling, check_prices
from optimize_eval.run.splits import check_labels, sighted
from optimize_eval.run.sweeps import SweepInputs
from optimize_eval.search.callables import is_function
from optimize_eval.search.components import Texts, of_json, plain
from optimize_eval.search.goal import Goal, make_goal
from optimize_eval.search.optimizing import SearchTask
from optimize_eval.search.plan import MINIBATCH, TOP, SearchPlan, Selection
from optimize_eval.search.prompted import SearchedPrompt, searched_prompt, seed_texts
from optimize_eval.search.proposing.proposers import ProposerSpec
from optimize_eval.search.result.final import final_calls
from optimize_eval.search.roles import RoleArguments, Roles, roles_of
from optimize_eval.search.searching import SearchLimits, check
from optimize_eval.search.stopping import ON_ABOVE, EarlyStop

_OF_A_PROPOSAL = re.compile(r"p\d+")


@frozen
class SearchArguments:
    """The arguments, by the names of options."""

    specs: tuple[EvaluatorSpec, ...]
    seeds: tuple[Candidate, ...]
    examples: Examples
    proposers: tuple[ProposerSpec, ...]
    components: bool = False
    from_scratch: bool = False
    objective: str = ""
    background: str = ""
    climb: str | None = None
    goal: Mapping[str, float] | None = None
    budget: int | None = None
    early_stop: EarlyStop | None = None
    no_early_stop: bool = False
    minibatch: int | None = None
    proposals: int = 1
    acceptance: str = "strict"
    merge: bool = False
    selection: Selection = "pareto"
    choose_share: float | None = None
    choose_rows: int | None = None
    val_chooses: bool = False
    max_candidate_chars: int | None = None
    top: int = TOP
    repeats: int = 1
    seed: int = 0
    task_model: str | None = None
    cluster_by: str | None = None
    leaks: str = Leaks.DROP
    prompting: Prompting | None = (
        None  # where the seeds are prompts, or tasks in YAML call models: who replies
    )

    def task(self, folder: Path, handling: Handling) -> SearchTask:
        """Make the task; raises UsageError where its parts do not fit."""
        _check_one_model(self.prompting)
        goal, given = _ordered(self.specs, self.climb, self.goal)
        specs = sighted(given, (), self.examples.sources, has_models=bool(self.task_model or self.prompting))
        check_labels(self.examples.sources, self.cluster_by, ())
        roles = roles_of(self.examples.sources, self._roles)
        comparison = SweepInputs(
            specs=specs,
            candidates=(),
            examples=self.examples,
            task_models=[self.task_model] if self.task_model else (),
            repeats=self.repeats,
            seed=self.seed,
            cluster_by=self.cluster_by,
            leaks=self.leaks,
            prompting=replace(self.prompting, prompts=())
            if self.prompting
            else None,  # each candidate is one
        )
        check_headers(comparison.called)
        prompting = self.prompting
        prompt = None
        if prompting and prompting.prompts:
            prompt = searched_prompt(prompting, self.examples.sources)
        plan = self._plan(goal, comparison.called, roles, prompt)
        check(plan)
        _refuse_missing(specs, self.proposers, self.prompting.models if self.prompting else ())
        if handling.max_cost is not None:
            check_prices(handling.max_cost, comparison.called, [self.task_model])
            _refuse_unpriced(self.proposers)
        budget = plan.needs.choose(self.budget)
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

    @property
    def _roles(self) -> RoleArguments:
        return RoleArguments(
            share=self.choose_share,
            rows=self.choose_rows,
            val_chooses=self.val_chooses,
            cluster_by=self.cluster_by,
            seed=self.seed,
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
        return SearchPlan(
            seed=plain("") if self.from_scratch else read[0],
            others=tuple(read) if self.from_scratch else tuple(read[1:]),
            goal=goal,
            roles=roles,
            proposers=self.proposers,
            evaluators=tuple(identify(spec).sha256 for spec in specs),
            objective=self.objective,
            background=self.background,
            from_scratch=self.from_scratch,
            minibatch=min(self.minibatch or MINIBATCH, len(roles.learn)),
            proposals=self.proposals,
            selection=self.selection,
            accepts_equal=self.acceptance == "equal",
            merge=self.merge,
            random_seed=self.seed,
            most_letters=self.max_candidate_chars,
            top=self.top,
            model=self.prompting.identities[0].sha256 if self.prompting else "",
            rules=rules_of(specs),
            prompt=prompt,
        )

    def _texts(self, seed: Candidate, prompt: SearchedPrompt | None) -> Texts:
        if prompt:
            return seed_texts(prompt, seed)
        return of_json(seed.text, seed.name) if self.components else plain(seed.text)

    def _early(self, budget: int) -> EarlyStop | None:
        if self.no_early_stop:
            return None
        return self.early_stop or (EarlyStop() if budget > ON_ABOVE else None)


def _check_one_model(prompting: Prompting | None) -> None:
    if prompting and len(prompting.models) != 1:
        names = ", ".join(model.name for model in prompting.models)
        raise UsageError(
            f"a search has one model, and {len(prompting.models)} are named: {names}",
            hint="search with each of them; run … --model … --model … compares models",
        )


def _refuse_missing(
    specs: Sequence[EvaluatorSpec], proposers: Sequence[ProposerSpec], models: Sequence[EvaluatorSpec]
) -> None:
    """Refuse programs that are not there: a search would find that out only after its first calls."""
    programs = [one.program for one in proposers if one.program]
    named = [*(("--proposer", one) for one in programs), *(("-e", one) for one in specs)]
    named += [("--model", one) for one in map(program_of, models) if one]
    for option, spec in named:
        fault = "" if is_function(spec) else kind_of(spec).missing(spec)
        if fault:
            raise UsageError(
                f"{option} {spec.text!r}: {fault}",
                hint="nothing was called; fix it, then run the same command",
            )


def _refuse_unpriced(proposers: Sequence[ProposerSpec]) -> None:
    """Refuse a model that proposes whose price is not known."""
    models = [(one.model.name, one.manners) for one in proposers if one.model]
    if models:
        from optimize_eval.models.turns import known_prices  # noqa: PLC0415  most searches have no such budget

        known_prices([name for name, _ in models], next((one.prices for _, one in models if one), {}))


def _seed_name(seeds: Sequence[Candidate]) -> str:
    """Name the seed as its file, unless that is how proposals are named."""
    name = seeds[0].name if seeds else "seed"
    return f"seed-{name}" if _OF_A_PROPOSAL.fullmatch(name) else name


def _ordered(
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
    ordered = tuple(specs[place] for place in places)
    return replace(
        goal,
        names=tuple(goal.names[place] for place in places),
        ranges=tuple(goal.ranges[place] for place in places),
        weights=tuple(goal.weights[place] for place in places),
    ), ordered
