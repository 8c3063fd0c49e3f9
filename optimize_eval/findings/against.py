"""All comparisons of a run: candidates with the baseline, by split and group; pairs; models.

Each p value is corrected within its family; which families there are is said in comparison.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings import comparison
from optimize_eval.findings.cells import CellFamily, Scores
from optimize_eval.findings.comparison import (
    MOST_FLIPPED_PAIRS,
    MOST_PAIRS,
    AlsoTried,
    Between,
    Compared,
    Held,
    Lost,
    WithFailures,
    are_held_against,
    compare,
    corrected_beside,
    corrected_by,
    corrected_failing,
    corrected_held,
    corrected_together,
    family_of,
    held_difference,
    highest_difference,
    lost_gain,
    may_be_favoured,
    model_family_of,
    sizes_by,
    state_of,
    tolerance_of,
    with_failures,
)
from optimize_eval.findings.difference_words import (
    AMONG_BOTH,
    MARKS,
    in_short,
    lead_holds,
    too_few,
    why_no_lead,
)
from optimize_eval.findings.summary_parts import ModelPair
from optimize_eval.findings.summary_shape import Point, Summary
from optimize_eval.findings.tried import NOTHING, Corrections
from optimize_eval.findings.wording import count
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.statistics.power import holm
from optimize_eval.store.layout import Layout, Split

if TYPE_CHECKING:
    from optimize_eval.statistics.bounds import Tolerance

CellKey = tuple[CellFamily, str]  # a family of cells and a candidate
GroupKey = tuple[CellFamily, str, str, str]  # and the path and label of a group


@frozen
class Against(Remembers):
    """The comparisons, made when they are first looked at."""

    layout: Layout
    splits: Mapping[str, Split]
    scores: Mapping[CellKey, Scores]
    tried: Corrections = NOTHING
    is_held_out: bool = True  # else nothing is confirmed, as in the verdict

    @cached_property
    def pairs_in_all(self) -> int:
        count = len(self.layout.candidates)
        return count * (count - 1) // 2

    @cached_property
    def baseline(self) -> dict[CellKey, ScoreDifference]:
        """Compare every candidate with the baseline."""
        compared = {
            key: self._between(
                (key[0], self.layout.baseline),
                key,
                tolerance=self._tolerance(key[0]),
                comparisons=self._sizes[key],
            )
            for key in self._keys()
        }
        return self._corrected(compared)

    @cached_property
    def _sizes(self) -> dict[CellKey, int]:
        """Count for each comparison how many it is corrected for."""
        families: dict[tuple[str, bool], list[CellKey]] = {}
        for key in self._keys():
            families.setdefault(family_of(key[0], self.layout), []).append(key)
        return {key: len(keys) + self._others(keys) for keys in families.values() for key in keys}

    @cached_property
    def failing(self) -> dict[CellKey, WithFailures]:
        """Compare once more where either failed or was skipped alone, with these as scores."""
        compared = {key: self._with_failures(key) for key in self.baseline if self._are_held_against(key)}
        return corrected_failing(self.baseline, compared, self._corrected)

    @cached_property
    def over_all_rows(self) -> dict[CellKey, ScoreDifference]:
        """Compare once more with what rules left out, where they may favour one of the two."""
        compared = {key: self._over_all(key) for key in self.baseline if may_be_favoured(*self._pair(key))}
        return corrected_beside(self.baseline, compared, self._corrected)

    def _corrected(self, compared: Mapping[CellKey, ScoreDifference]) -> dict[CellKey, ScoreDifference]:
        return corrected_by(compared, lambda key: family_of(key[0], self.layout), self._also)

    @cached_property
    def groups(self) -> dict[GroupKey, ScoreDifference]:
        """Compare within each group; the groups of a field are corrected together, split by split."""
        groups = {
            (where, name, path, label): places
            for where, name in self._keys()
            for path, label, places in self.group_places(where.split)
        }

        def family(key: GroupKey) -> tuple[str, str]:
            return key[0].split, key[2]

        many = sizes_by(list(groups), family)
        compared = {
            key: self._between((key[0], self.layout.baseline), key[:2], places, comparisons=many[key])
            for key, places in groups.items()
        }
        return corrected_by(compared, family, self._alone)

    @cached_property
    def lost(self) -> dict[CellKey, tuple[Lost, float | None, str | None]]:
        """Compute what of each gain is lost from train to val, its corrected p and what it may be called."""
        if not {"train", "val"} <= self.splits.keys():
            return {}
        others = len(self.layout.candidates) - 1
        lost_by_key = {
            key: lost_gain(self.baseline[key[0]._replace(split="train"), key[1]], d, others)
            for key, d in self.baseline.items()
            if key[0].split == "val"
        }
        known = [key for key, lost in lost_by_key.items() if lost.p is not None]
        p_holm = dict(zip(known, holm([lost_by_key[key].p or 0.0 for key in known]), strict=True))
        return {
            key: (lost, p_holm.get(key), self._state(key, lost, p_holm)) for key, lost in lost_by_key.items()
        }

    @cached_property
    def pairs(self) -> dict[CellFamily, list[tuple[str, str, Held]]]:
        """Compare all pairs of candidates, family by family; none where they are too many."""
        wheres = dict.fromkeys(where for where, _ in self.scores)
        return {where: self._pairs(where) if self.pairs_in_all <= MOST_PAIRS else [] for where in wheres}

    @cached_property
    def models(self) -> dict[CellKey, Held]:
        """Compare every model with the first one, prompt by prompt; keys name the other model."""
        first, *others = self.layout.task_models if self.layout.compares_models else (None,)
        keys = [key for key in self.scores if key[0].task_model in others]

        def family(key: CellKey) -> tuple[str, bool]:
            return model_family_of(key[0], self.layout)

        many = sizes_by(keys, family)
        more = {
            members: self._others([key for key in keys if family(key) == members])
            for members in set(map(family, keys))
        }
        compared = {
            key: self._held(
                (key[0]._replace(task_model=first), key[1]), key, comparisons=many[key] + more[family(key)]
            )
            for key in keys
        }
        return corrected_held(compared, lambda kind: corrected_by(kind, family, self._also_of_models))

    def highest(self, where: CellFamily, names: Iterable[str]) -> float:
        """Give what no mean difference from the baseline is above; quickest where the largest comes first."""
        most = -1.0
        for name in names:
            a, b = self.scores[where, self.layout.baseline].means, self.scores[where, name].means
            clusters = self.splits[where.split].clusters
            most = highest_difference(a, b, clusters, seed=self.layout.seed, least=most)
        return most

    def apart_from(self, where: CellFamily, winner: str) -> dict[str, str]:
        """Mark the winner with the other candidates alone, where all pairs are too many."""
        others = [name for name in self.layout.candidates if name not in {winner, self.layout.baseline}]
        held = {name: self._held((where, name), (where, winner)) for name in others}
        also = replace(self._alone_in(where), others=self.tried.others.get(where, 0))
        done = corrected_held(held, partial(corrected_together, also=also))
        return {name: held.mark for name, held in done.items()}

    def group_places(self, split: str) -> Iterator[tuple[str, str, list[int]]]:
        """Give each group of a split, of all labels that any split has."""
        for path in self.layout.group_by:
            labels = sorted(
                {label for split_of_run in self.splits.values() for label in split_of_run.groups[path]}
            )
            here = self.splits[split].groups[path]
            for label in labels:
                yield path, label, [index for index, other in enumerate(here) if other == label]

    def _pairs(self, where: CellFamily) -> list[tuple[str, str, Held]]:
        """Correct them for all pairs of what was tried."""
        named, others = len(self.layout.candidates), self.tried.others.get(where, 0)
        more = comb(named + others, 2) - comb(named, 2)
        first, also = self.layout.baseline, replace(self._alone_in(where), others=more)
        compared = {
            (a, b): self._held((where, a), (where, b), self._plain(where, b) if a == first else None)
            for a, b in combinations(self.layout.candidates, 2)
        }
        done = corrected_held(compared, partial(corrected_together, also=also))
        return [(a, b, held) for (a, b), held in done.items()]

    def _plain(self, where: CellFamily, name: str) -> ScoreDifference:
        """Give a comparison with the baseline as one of all pairs, which no margin is about."""
        return replace(self.baseline[where, name], margin=None)

    def _held(
        self, a: CellKey, b: CellKey, plain: ScoreDifference | None = None, *, comparisons: int = 1
    ) -> Held:
        """Compare, and once more where skips of one side or rules may have made it."""
        sides = Compared(
            a=self.scores[a],
            b=self.scores[b],
            between=self._values_between(b[0], comparisons),
            is_unit=self.layout.score_range(b[0].evaluator) is ScoreRange.UNIT,
        )
        return Held.of(plain or self._between(a, b, comparisons=comparisons), sides)

    @property
    def compared(self) -> int:
        """Count the comparisons among which the best one is picked."""
        return self.tried.deciding.k if self.tried.deciding else len(self.layout.candidates) - 1

    @property
    def tried_among(self) -> int:
        """Count them as strictly as this verdict is decided."""
        where = CellFamily(self.layout.evaluators[0], self.layout.task_models[0], self.layout.deciding)
        return len(self.layout.candidates) - 1 + self.tried.others.get(where, 0)

    def _others(self, keys: Sequence[CellKey]) -> int:
        return sum(self.tried.others.get(where, 0) for where in dict.fromkeys(where for where, _ in keys))

    def _also(self, keys: Sequence[CellKey]) -> AlsoTried:
        """Say what was tried besides a family of comparisons."""
        decides = family_of(keys[0][0], self.layout) == (self.layout.deciding, True)
        return AlsoTried(others=self._others(keys), can_confirm=self._can_confirm(decides=decides))

    def _also_of_models(self, keys: Sequence[CellKey]) -> AlsoTried:
        decides = model_family_of(keys[0][0], self.layout)[1]
        return AlsoTried(others=self._others(keys), can_confirm=self._can_confirm(decides=decides))

    def _alone(self, _keys: object = None) -> AlsoTried:
        """Say that nothing was tried besides a family of comparisons, and whether these may confirm."""
        return AlsoTried(can_confirm=self._can_confirm(decides=False))

    def _alone_in(self, where: CellFamily) -> AlsoTried:
        decides = family_of(where, self.layout) == (self.layout.deciding, True)
        return AlsoTried(can_confirm=self._can_confirm(decides=decides))

    def _can_confirm(self, *, decides: bool) -> bool:
        may = self.tried.can_confirm and self.is_held_out
        return may and not (decides and self.tried.is_steered)

    def _keys(self) -> list[CellKey]:
        return [key for key in self.scores if key[1] != self.layout.baseline]

    def _state(self, key: CellKey, lost: Lost, p_holm: Mapping[CellKey, float]) -> str | None:
        """Call nothing kept that failures or leaks may have hidden; a winner's state is looked at again."""
        state = state_of(lost, p_holm.get(key))
        splits = (key[0]._replace(split=split) for split in ("train", "val"))
        is_open = not self.is_held_out or any(self._are_held_against((where, key[1])) for where in splits)
        return "undecided" if state == "kept" and is_open else state

    def _are_held_against(self, key: CellKey) -> bool:
        return are_held_against(*self._pair(key))

    def _over_all(self, key: CellKey) -> ScoreDifference:
        return self._values_between(key[0], self._sizes[key])(
            *(scores.over_all_rows for scores in self._pair(key))
        )

    def _pair(self, key: CellKey) -> tuple[Scores, Scores]:
        where, name = key
        return self.scores[where, self.layout.baseline], self.scores[where, name]

    def _with_failures(self, key: CellKey) -> WithFailures:
        is_unit = self.layout.score_range(key[0].evaluator) is ScoreRange.UNIT
        return with_failures(
            *self._pair(key), self._values_between(key[0], self._sizes[key]), is_unit=is_unit
        )

    def _values_between(self, where: CellFamily, comparisons: int) -> Between:
        """Give what compares other scores of the same examples."""
        return partial(
            compare,
            clusters=self.splits[where.split].clusters,
            seed=self.layout.seed,
            may_flip=self._may_flip,
            comparisons=comparisons,
        )

    def _tolerance(self, where: CellFamily) -> "Tolerance | None":
        layout, name = self.layout, where.evaluator
        return tolerance_of(layout.margins.get(name), layout.score_range(name))

    def _between(
        self,
        a: CellKey,
        b: CellKey,
        places: Sequence[int] | None = None,
        *,
        tolerance: "Tolerance | None" = None,
        comparisons: int = 1,
    ) -> ScoreDifference:
        return compare(
            self.scores[a].means,
            self.scores[b].means,
            self.splits[b[0].split].clusters,
            seed=self.layout.seed,
            may_flip=self._may_flip,
            places=places,
            tolerance=tolerance,
            comparisons=comparisons,
        )

    @property
    def _may_flip(self) -> bool:
        return self.pairs_in_all <= MOST_FLIPPED_PAIRS


MOST_NAMED = 5  # of prompts

_WORDS = {
    comparison.BETTER: "is better than {a}",
    comparison.WORSE: "is worse than {a}",
    comparison.HINT_BETTER: "may be better than {a} (only a hint)",
    comparison.HINT_WORSE: "may be worse than {a} (only a hint)",
}


def model_pairs(against: Against) -> Iterator[ModelPair]:
    """Shape the comparisons of models."""
    first = against.layout.task_models[0]
    for (where, name), held in against.models.items():
        pair = against.scores[where._replace(task_model=first), name], against.scores[where, name]
        yield ModelPair(
            a=str(first),
            b=str(where.task_model),
            candidate=name,
            evaluator=where.evaluator,
            split=where.split,
            failed=sum(scores.failed for scores in pair),
            difference=held_difference(held),
        )


def points_about_models(summary: Summary, won_by: str | None, layout: Layout) -> Iterator[Point]:
    """Compare models within each of the first prompts, by the first evaluator where it decides."""
    pairs = [
        pair
        for pair in summary.models
        if (pair.evaluator, pair.split) == (layout.evaluators[0], layout.deciding)
    ]
    names = dict.fromkeys(filter(None, (won_by, *layout.candidates)))
    for name in [*names][:MOST_NAMED]:
        for pair in pairs:
            if pair.candidate == name:
                yield _point(pair)
    left = len(names) - MOST_NAMED
    if pairs and left > 0:
        yield _more(left)


def _point(pair: ModelPair) -> Point:
    d, where = pair.difference, f"With {pair.candidate},"
    if d.mark == comparison.TOO_FEW:
        return Point(
            mark="·", text=f"{where} too few examples to compare {pair.b} and {pair.a}: {too_few(d)}"
        )
    if d.mark == comparison.NO_DIFFERENCE:
        close = f"{where} {pair.b} and {pair.a} are too close to call"
        return Point(mark="·", text=f"{close} ({in_short(d)})")
    if pair.failed:
        side = "ahead of" if (d.diff or 0) > 0 else "behind"
        failed = f"{count(pair.failed, 'call')} failed"
        what = f"is {side} {pair.a} where both were scored, but {failed}"
        return Point(mark="!", text=f"{where} {pair.b} {what}: {in_short(d)}")
    if d.mark in {comparison.BETTER, comparison.WORSE} and not lead_holds(d):
        side = "ahead of" if d.mark == comparison.BETTER else "behind"
        what = f"is {side} {pair.a} {why_no_lead(d, d.despite_failures or '')}"
        return Point(mark="!", text=f"{where} {pair.b} {what}: {in_short(d)}")
    among = f" {AMONG_BOTH}" if d.skipped_for_one else ""
    what = _WORDS[d.mark].format(a=pair.a)
    return Point(mark=MARKS[d.mark], text=f"{where} {pair.b} {what}{among}: {in_short(d)}")


def _more(left: int) -> Point:
    return Point(mark="·", text=f"summary.json compares the models with {count(left, 'more prompt')}")
