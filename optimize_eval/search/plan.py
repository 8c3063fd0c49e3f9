"""The inputs of a search: the seed, its examples, what is climbed, and how; nothing here is live.

`digest` names what leads a search: a change of any of it is another search. How long it may go on is no
part of it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import orjson

from optimize_eval.errors import UsageError
from optimize_eval.frozen import frozen
from optimize_eval.rows.datasets import Example
from optimize_eval.search.budget import Needs
from optimize_eval.search.components import Texts, text_of
from optimize_eval.search.goal import Goal
from optimize_eval.search.prompted import SearchedPrompt
from optimize_eval.search.proposing.proposers import ProposerSpec
from optimize_eval.store.layout import SINGLE

MINIBATCH = 3
TOP = 3

Selection = Literal["pareto", "current_best", "epsilon_greedy", "top_k_pareto"]


@frozen
class SearchSplit:
    """Examples of a search by their lines; one without any is (None, None)."""

    name: str
    examples: tuple[tuple[int | None, Mapping[str, Any] | None], ...]
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.examples)


@frozen
class SearchPlan:
    """A search."""

    seed: Texts
    goal: Goal
    train: SearchSplit
    deciding: SearchSplit  # the same as train where nothing is held out
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
    def is_held_out(self) -> bool:
        return self.deciding is not self.train

    @property
    def needs(self) -> Needs:
        return Needs(
            evaluators=len(self.goal.names),
            minibatch=self.minibatch,
            deciding=len(self.deciding),
            is_held_out=self.is_held_out,
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
            "dataset": self.train.sha256,
            "valset": self.deciding.sha256,
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


def split_of(name: str, examples: Sequence[Example]) -> SearchSplit:
    digest = hashlib.sha256()
    for example in examples:
        digest.update(b"%d %s\n" % (example.line, example.raw))
    return SearchSplit(
        name=name,
        examples=tuple((example.line, example.value) for example in examples),
        sha256=digest.hexdigest(),
    )


WITHOUT_EXAMPLES = SearchSplit(name=SINGLE, examples=((None, None),))


def sampled(split: SearchSplit, most: int | None, seed: int) -> SearchSplit:
    """Choose a sample for the search (`--search-val`): by the digest of each line, so that samples nest."""
    if most is None or most >= len(split):
        return split

    def rank(one: tuple[int | None, Any]) -> bytes:
        return hashlib.sha256(f"{seed} {split.name} {one[0]}".encode()).digest()

    chosen = {line for line, _ in sorted(split.examples, key=rank)[:most]}
    kept = tuple(example for example in split.examples if example[0] in chosen)
    return replace(split, examples=kept, sha256=f"{split.sha256} {most}")


def shared(examples: Sequence[Example], share: float, seed: int) -> tuple[list[Example], list[Example]]:
    """Split one file into train and val (`--val-share`), equal lines on the same side."""
    by_bytes: dict[bytes, list[Example]] = {}
    for example in examples:
        by_bytes.setdefault(example.raw, []).append(example)
    groups = sorted(by_bytes, key=lambda raw: hashlib.sha256(f"{seed} ".encode() + raw).digest())
    wanted, held_out = round(share * len(examples)), set[bytes]()
    taken = 0
    for raw in groups:
        if taken < wanted:
            held_out.add(raw)
            taken += len(by_bytes[raw])
    return (
        [example for example in examples if example.raw not in held_out],
        [example for example in examples if example.raw in held_out],
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
