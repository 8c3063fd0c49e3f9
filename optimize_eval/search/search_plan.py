"""The inputs of a search: the seed, which examples teach and which choose, and how; nothing is live.

The dataset is split into both once, by clusters, so that what the valset says at the end chose nothing. Where
a test set decides, or somebody wants it so, the valset chooses.

`digest` names what leads a search: a change of any of it is another search. How long it may go on is no
part of it.
"""

import hashlib
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import orjson

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.config.search import SearchOptions
from optimize_eval.data.example import Example
from optimize_eval.data.leaks import find_together
from optimize_eval.findings.leakage import joined
from optimize_eval.run.inputs import Examples
from optimize_eval.run.splits import SplitSource, label_at
from optimize_eval.search.components import SearchedPrompt, Texts, components_as_text
from optimize_eval.search.goal import Goal
from optimize_eval.search.proposers import ProposerSpec
from optimize_eval.search.stopping import Needs
from optimize_eval.store.layout import SINGLE

FEWEST = 10  # examples to learn from, and to choose by
SHARE = 0.5

LEARN, CHOOSE = "learn", "choose"


@frozen
class SearchSplit:
    """Examples of a search by their lines, and their split; without any, the one is (None, None)."""

    name: str
    split: str
    examples: tuple[tuple[int | None, JsonMapping | None], ...]
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.examples)


WITHOUT_EXAMPLES = SearchSplit(name=LEARN, split=SINGLE, examples=((None, None),))


@frozen
class Roles:
    """The two parts of a search, and what becomes of that in the end."""

    learn: SearchSplit  # minibatches, and records for proposers
    choose: SearchSplit  # which candidates are kept; the same where there are too few for two
    steered_by: str | None = None  # the split that both chose and is all that there is to decide
    has_test: bool = False

    @property
    def is_apart(self) -> bool:
        """Return True if other examples choose than proposers learn from."""
        return self.choose is not self.learn

    @property
    def is_divided(self) -> bool:
        """Return True if no example is in both parts."""
        learn, choose = ({line for line, _ in part.examples} for part in (self.learn, self.choose))
        return self.learn.split != self.choose.split or learn.isdisjoint(choose)


def roles_of(sources: Sequence[SplitSource], what: SearchOptions) -> Roles:
    """Say who learns and who chooses; raises UsageError where the splits do not fit that."""
    named = {source.name: source.examples for source in sources}
    _check(named, what)
    if not named:
        return Roles(learn=WITHOUT_EXAMPLES, choose=WITHOUT_EXAMPLES, steered_by=SINGLE)
    has_test = "test" in named
    if "val" in named and (has_test or what.val_chooses):
        learn, choose = split_of(LEARN, "train", named["train"]), split_of(CHOOSE, "val", named["val"])
        steered_by = None if has_test else "val"
    else:
        learn, choose = _divide_in_parts(named["train"], what)
        steered_by = None if has_test or "val" in named else "train"
    choose = sample(choose, _rows(what), what.seed)
    return Roles(learn=learn, choose=choose, steered_by=steered_by, has_test=has_test)


def _check(named: JsonMapping, what: SearchOptions) -> None:
    if named and "train" not in named:
        raise UsageError("there is no train data to learn from", hint="give --dataset, too")
    if what.val_chooses and "val" not in named:
        raise UsageError("--val-chooses needs val data", hint="give --valset, or omit it")
    if what.choose_share is not None:
        check_share("--choose-share", what.choose_share)
        if what.val_chooses or {"val", "test"} <= named.keys():
            raise UsageError("--choose-share is of the dataset, and val chooses here", hint="omit it")
    if not named and (what.choose_share is not None or _rows(what) is not None):
        raise UsageError("there are no examples that could choose", hint="give --dataset")


def _rows(what: SearchOptions) -> int | None:
    return what.choose_rows or what.search_val


def check_share(option: str, share: float) -> None:
    if not 0 < share < 1:
        raise UsageError(
            f"{option} {share:g} is not a share", hint="give a number between 0 and 1, such as 0.3"
        )


def _divide_in_parts(examples: Sequence[Example], what: SearchOptions) -> tuple[SearchSplit, SearchSplit]:
    """Split the dataset in two; all of it is both where one of them would have too few."""
    share = SHARE if what.choose_share is None else what.choose_share
    kept, chosen = divide(examples, share, what.seed, what.cluster_by)
    if min(len(kept), len(chosen)) < FEWEST:
        both = split_of(LEARN, "train", examples)
        return both, both
    return split_of(LEARN, "train", kept), split_of(CHOOSE, "train", chosen)


def split_of(name: str, split: str, examples: Sequence[Example]) -> SearchSplit:
    digest = hashlib.sha256()
    for example in examples:
        digest.update(b"%d %s\n" % (example.line, example.raw))
    return SearchSplit(
        name=name,
        split=split,
        examples=tuple((example.line, example.value) for example in examples),
        sha256=digest.hexdigest(),
    )


def sample(split: SearchSplit, most: int | None, seed: int) -> SearchSplit:
    """Choose a sample (`--choose-rows`): by the digest of each line, so that samples nest."""
    if most is None or most >= len(split):
        return split

    def rank(one: tuple[int | None, Any]) -> bytes:
        return hashlib.sha256(f"{seed} {split.split} {one[0]}".encode()).digest()

    chosen = {line for line, _ in sorted(split.examples, key=rank)[:most]}
    kept = tuple(example for example in split.examples if example[0] in chosen)
    return replace(split, name=CHOOSE, examples=kept, sha256=f"{split.sha256} {most}")


def with_val(examples: Examples, share: float | None, seed: int, cluster_by: str | None) -> Examples:
    """Split one file into train and val where a share of it is to be held out."""
    if share is None:
        return examples
    names = [source.name for source in examples.sources]
    if "train" not in names or "val" in names:
        raise UsageError("--val-share splits one file", hint="give --dataset, and no --valset")
    check_share("--val-share", share)
    (train,) = (source for source in examples.sources if source.name == "train")
    kept, held_out = divide(train.examples, share, seed, cluster_by)
    if not kept or not held_out:
        raise UsageError(f"--val-share {share:g} leaves train or val empty", hint="give more examples")
    sources = (replace(train, examples=tuple(kept)), replace(train, name="val", examples=tuple(held_out)))
    others = tuple(source for source in examples.sources if source.name != "train")
    files = {**examples.files, "val": train.file}
    rows = examples.rows and examples.rows.with_parts({source.name: source.examples for source in sources})
    return replace(examples, sources=(*sources, *others), files=files, rows=rows)


def divide(
    examples: Sequence[Example], share: float, seed: int, cluster_by: str | None
) -> tuple[list[Example], list[Example]]:
    """Split examples in two, those of a cluster, equal ones and near ones on the same side."""
    groups: dict[Hashable, list[Example]] = {}
    for label, example in zip(_labels(examples, cluster_by), examples, strict=True):
        groups.setdefault(label, []).append(example)
    wanted, taken = round(share * len(examples)), set[int]()
    for _, together in sorted(groups.items(), key=lambda item: _lot(seed, item[1])):
        if len(taken) < wanted:
            taken.update(example.line for example in together)
    return (
        [example for example in examples if example.line not in taken],
        [example for example in examples if example.line in taken],
    )


def _lot(seed: int, together: Sequence[Example]) -> bytes:
    return hashlib.sha256(f"{seed} ".encode() + together[0].raw).digest()


def _labels(examples: Sequence[Example], cluster_by: str | None) -> Iterator[Hashable]:
    """Name the cluster of each example; those that say the same go together, however few they are."""
    firsts = [*map(str, find_together(examples))]
    if cluster_by is None:
        yield from firsts
        return
    labels = [label_at(example.value, cluster_by) for example in examples]
    yield from joined(firsts, labels, fewest=0) or ()


MINIBATCH = 3
TOP = 3

Selection = Literal["pareto", "current_best", "epsilon_greedy", "top_k_pareto"]


@frozen
class Aim:
    """What is climbed, and by which examples."""

    goal: Goal
    roles: Roles

    @classmethod
    def read(cls, told: JsonMapping) -> "Aim":
        """Read what a search's journal says of its plan; which examples it had does not matter here."""
        goal = Goal(
            names=tuple(told["names"]),
            ranges=tuple(map(ScoreRange, told["ranges"])),
            weights=tuple(told["weights"]),
            unranked=frozenset(told["unranked"]),
        )
        learn = _so_many(told["learn"], 0)
        is_whole = told["choose"] == told["learn"] and not told["is_divided"]
        choose = learn if is_whole else _so_many(told["choose"], len(learn) if told["is_divided"] else 0)
        roles = Roles(learn=learn, choose=choose, steered_by=told["steered_by"], has_test=told["has_test"])
        return cls(goal=goal, roles=roles)

    def to_dict(self) -> JsonDict:
        """Give what a result says of the plan, for who makes it again."""
        goal, roles = self.goal, self.roles
        return {
            "names": goal.names,
            "ranges": [str(score_range) for score_range in goal.ranges],
            "weights": goal.weights,
            "unranked": sorted(goal.unranked),
            "learn": (roles.learn.split, len(roles.learn)),
            "choose": (roles.choose.split, len(roles.choose)),
            "is_divided": roles.is_divided,
            "steered_by": roles.steered_by,
            "has_test": roles.has_test,
        }


def _so_many(told: tuple[str, int], start: int) -> SearchSplit:
    split, many = told
    examples = tuple((line, None) for line in range(start, start + many))
    return SearchSplit(name=split, split=split, examples=examples)


@frozen
class SearchPlan(Aim):
    """A search."""

    seed: Texts
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
        return self.prompt.text(texts) if self.prompt else components_as_text(texts)

    def fault(self, texts: Texts) -> str:
        """Say why a proposal cannot be called; empty where it can."""
        return self.prompt.fault(texts) if self.prompt else ""

    def settings(self) -> JsonDict:
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

    def _settings_of_prompt(self) -> JsonDict:
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


def _digest(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]
