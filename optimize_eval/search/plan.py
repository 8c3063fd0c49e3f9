"""The inputs of a search: the seed, its examples, what is climbed, and how; nothing here is live.

`digest` names what leads a search: a change of any of it is another search. How long it may go on is no
part of it.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Literal, Protocol, get_args

import orjson

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.search.budget import Needs
from optimize_eval.search.components import Texts, text_of
from optimize_eval.search.goal import Goal
from optimize_eval.search.prompted import SearchedPrompt
from optimize_eval.search.proposing.proposers import ProposerSpec
from optimize_eval.search.roles import Roles

MINIBATCH = 3
TOP = 3

Selection = Literal["pareto", "current_best", "epsilon_greedy", "top_k_pareto"]


class Searched(Protocol):
    """What a result has to know of the search that it is of."""

    @property
    def goal(self) -> Goal: ...

    @property
    def roles(self) -> Roles: ...


@frozen
class SearchPlan:
    """A search."""

    seed: Texts
    goal: Goal
    roles: Roles
    proposers: tuple[ProposerSpec, ...]
    evaluators: tuple[str, ...]  # their identities
    others: tuple[Texts, ...] = ()  # further candidates to start from, proposed before all else
    objective: str = ""
    background: str = ""
    from_scratch: bool = False
    minibatch: int = MINIBATCH
    proposals: int = 1
    selection: Selection = "pareto"
    accepts_equal: bool = False
    merge: bool = False
    random_seed: int = 0
    most_letters: int | None = None
    top: int = TOP
    model: str = ""  # the digest of the one that replies
    rules: Sequence[Any] = ()  # of tasks in YAML, which leave rows out
    prompt: SearchedPrompt | None = None  # where the candidates are prompts

    @property
    def finalists(self) -> int:
        """Count the candidates that meet the seed at the end; before a test set it is the best alone."""
        return 1 if self.roles.has_test else self.top

    @property
    def needs(self) -> Needs:
        return Needs(
            evaluators=len(self.goal.names),
            minibatch=self.minibatch,
            choosing=len(self.roles.choose),
            is_apart=self.roles.is_apart,
        )

    def text_of(self, texts: Texts) -> str:
        """Write a candidate as evaluators are given it."""
        return self.prompt.text(texts) if self.prompt else text_of(texts)

    def fault(self, texts: Texts) -> str:
        """Say why a proposal cannot be called; empty where it can."""
        return self.prompt.fault(texts) if self.prompt else ""

    def settings(self) -> dict[str, Any]:
        """Name everything that decides the course of the search."""
        return {
            "seed candidate": _digest(dict(self.seed)) if not self.from_scratch else "from scratch",
            "further candidates": _digest([dict(other) for other in self.others]),
            "learning examples": self.roles.learn.sha256,
            "choosing examples": self.roles.choose.sha256,
            "evaluators": _digest([self.evaluators, self.goal.names, self.goal.weights]),
            "proposers": _digest([proposer.identity for proposer in self.proposers]),
            "objective": _digest([self.objective, self.background]),
            "--seed": self.random_seed,
            "--minibatch": self.minibatch,
            "--proposals": self.proposals,
            "--selection": self.selection,
            "--acceptance": "equal" if self.accepts_equal else "strict",
            "--merge": self.merge,
            "--max-candidate-chars": self.most_letters,
            **({"--model": self.model[:16]} if self.model else {}),
            **({"rules": _digest(list(self.rules))} if self.rules else {}),
            **self._settings_of_prompt(),
        }

    def about(self) -> dict[str, Any]:
        """Give what a result says of the plan, for who makes it again."""
        goal, roles = self.goal, self.roles
        told = {
            "names": goal.names,
            "ranges": [str(one) for one in goal.ranges],
            "weights": goal.weights,
            "unranked": sorted(goal.unranked),
            "learn": (roles.learn.split, len(roles.learn)),
            "choose": (roles.choose.split, len(roles.choose)),
            "is_divided": roles.is_divided,
            "steered_by": roles.steered_by,
            "has_test": roles.has_test,
        }
        return {"plan": told}

    def _settings_of_prompt(self) -> dict[str, Any]:
        if self.prompt is None:
            return {}
        before = [list(message) for message in self.prompt.before]
        return {"--system": _digest([before, self.prompt.roles])}


def selection_of(name: str) -> Selection:
    """Take a selection by its name; raises UsageError where there is none of it."""
    for selection in get_args(Selection):
        if name == selection:
            return selection  # type: ignore[no-any-return]
    raise UsageError(f"unknown selection {name!r}", hint=f"use one of: {', '.join(get_args(Selection))}")


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
