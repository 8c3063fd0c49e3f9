"""The summary of a run: everything that reports are made from, from the journal's records alone.

Reads each cell once, in the order of units, and puts the numbers of the other modules into the shape that
others rely on. An addition that is not complete, or whose files changed, is left out as a whole, so that what
was known before stays what it was. What the numbers are called in words is verdict's.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.against import Against, model_pairs
from optimize_eval.findings.cells import (
    CellFamily,
    Keep,
    ReadCells,
    Scores,
    known,
    split_scores,
    worst_places,
)
from optimize_eval.findings.comparison import (
    FEWEST_PAIRS,
    MOST_PAIRS,
    Held,
    beside,
    gap_between,
    held_difference,
    overfit,
    with_power,
)
from optimize_eval.findings.doubts import points_about_repeats, points_about_skips
from optimize_eval.findings.leakage import (
    Counted,
    Leakages,
    RecordsByCell,
    copies_in,
    counted_in,
    leakage_of,
    sentence_of,
)
from optimize_eval.findings.side_info import reason_of_lowest
from optimize_eval.findings.summary_parts import CandidatePair, GroupScores, LowScore, Overfit, Row
from optimize_eval.findings.summary_shape import NO_VERDICT, SCHEMA, LeftOut, Point, Summary, Units
from optimize_eval.findings.tried import NOTHING, Corrections, points_about_tried
from optimize_eval.findings.verdict import judge
from optimize_eval.findings.winner import claims_of
from optimize_eval.statistics.differences import ScoreDifference, ScoreGap
from optimize_eval.statistics.estimates import Estimate, mean_of
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.ledger import OWED, SCORED
from optimize_eval.store.opened_run import StoredRun


def additions_left_out(run: StoredRun) -> list[LeftOut]:
    """List additions that are not complete, or whose files changed while they were called."""
    counted = (_counted(run, name) for name in run.document.added)
    return [entry for entry in counted if entry.done < entry.calls or entry.changed]


def without(layout: Layout, left_out: Sequence[LeftOut]) -> Layout:
    names = {entry.evaluator for entry in left_out}
    kept = [pair for pair in zip(layout.evaluators, layout.score_ranges, strict=True) if pair[0] not in names]
    return replace(
        layout,
        evaluators=tuple(name for name, _ in kept),
        score_ranges=tuple(score_range for _, score_range in kept),
    )


def points_about(left_out: Sequence[LeftOut]) -> Iterator[Point]:
    """Name those that have scored something; one that never did is nobody's concern."""
    for entry in left_out:
        name = entry.evaluator
        if entry.changed:
            text = f"{name}, added later, is left out: it changed while being called"
        elif entry.scored:
            text = f"{name}, added later, is left out: {entry.done:,} of {entry.calls:,} calls done"
        else:
            continue
        yield Point(mark="!", text=text)


def _counted(run: StoredRun, name: str) -> LeftOut:
    units = run.layout.units_of(name)
    return LeftOut(
        evaluator=name,
        calls=len(units),
        done=len(units) - run.ledger.count(OWED, units),
        scored=run.ledger.count(SCORED, units),
        changed=name in run.ledger.changed,
    )


def summarise(
    layout: Layout,
    records: RecordsByCell,
    changed: Iterable[str] = (),
    left_out: Sequence[LeftOut] = (),
    judges: Mapping[str, str] = MappingProxyType({}),
    tried: Corrections = NOTHING,
    *,
    keep: Keep | None = None,
) -> tuple[Summary, ReadCells]:
    """Compute the summary, and give its cells; `records` gives their newest records by places in them.

    `changed` are evaluators that were not the same program from the first call to the last; `left_out` are
    additions that the layout does not have; `judges` are the models of evaluators that are some; `tried` is
    what else was tried, and `keep` what is kept of each record.
    """
    judging = {name: judges[name] for name in layout.evaluators if name in judges}
    counted = counted_in(layout)
    reading = counted.reading(records)
    cells = ReadCells.read(counted.layout, reading, keep)
    summing = _Summing(cells, reading, tried, leakage_of(layout))
    return summing.summary(sorted(changed), left_out, judging, counted), cells


class _Summing:
    """A run's cells, read, and what is made of them."""

    def __init__(
        self, cells: ReadCells, records: RecordsByCell, tried: Corrections, leakage: Leakages
    ) -> None:
        self._layout = layout = cells.layout
        self._leakage = leakage
        self._records = records
        self._cells = cells
        self._splits, self._scores = cells.splits, cells.scores
        self._against = Against(
            layout=layout,
            splits=self._splits,
            scores=self._scores,
            tried=tried,
            is_held_out=not sentence_of(leakage, layout.deciding, "test"),
        )

    def summary(
        self, changed: Sequence[str], left_out: Sequence[LeftOut], judges: Mapping[str, str], run: Counted
    ) -> Summary:
        """Put everything together, and say what came out."""
        layout = self._layout
        claims = claims_of(self._rows(), self._against, layout)
        pairs_in_all = self._against.pairs_in_all
        measured = self._cells.measured()
        summary = Summary(
            schema=SCHEMA,
            verdict=NO_VERDICT,
            baseline=layout.baseline,
            decided_on=layout.deciding,
            score_ranges=dict(zip(layout.evaluators, map(str, layout.score_ranges), strict=True)),
            margins=dict(layout.margins),
            judges=judges,
            units=self._units(run),
            rows=claims.rows,
            selection=claims.selection,
            not_told_apart=claims.not_told_apart,
            carry_over=claims.carry_over,
            largest_gain=claims.largest_gain,
            pairs=tuple(pair for family in self._families() for pair in self._all_pairs(family)),
            pairs_left_out=pairs_in_all if pairs_in_all > MOST_PAIRS else 0,
            leakage=self._leakage,
            duplicates={split.name: many for split in layout.splits if (many := copies_in(split.contents))},
            clusters={s.name: len(set(s.clusters)) for s in self._splits.values() if s.clusters},
            changed=tuple(changed),
            additions_left_out=tuple(left_out),
            failures=tuple(self._cells.failures()),
            skips=tuple(skips for scores in self._scores.values() for skips in scores.skips),
            side_info=tuple(self._cells.side_info),
            latency=tuple(self._cells.latency()),
            passes=measured.passes,
            calibration=measured.calibration,
            corpus_bleu=measured.corpus_bleu,
            replies=measured.replies,
            models=tuple(model_pairs(self._against)),
            tried=self._against.tried.told(claims.winner),
        )
        return self._judged(summary, claims.winner, left_out)

    def _judged(self, summary: Summary, winner: str | None, left_out: Sequence[LeftOut]) -> Summary:
        """Say what came out."""
        layout = self._layout
        verdict = judge(summary, winner, layout, self._against.tried)
        skips = points_about_skips(summary, self._scores, layout)
        points = (
            *verdict.points,
            *skips,
            *points_about(left_out),
            *points_about_repeats(summary, layout),
            *points_about_tried(summary, verdict.state),
        )
        return replace(summary, verdict=replace(verdict, points=points))

    def _families(self) -> Iterable[CellFamily]:
        return dict.fromkeys(where for where, _ in self._scores)

    def _units(self, run: Counted) -> Units:
        every = self._scores.values()
        scored, failed, skipped = (
            run.apart["scored"] + sum(scores.scored for scores in every),
            run.apart["failed"] + sum(scores.failed for scores in every),
            run.apart["skipped"] + sum(scores.skipped for scores in every),
        )
        total = run.whole.size
        owed = total - scored - failed - skipped
        return Units(total=total, scored=scored, failed=failed, skipped=skipped, owed=owed)

    def _rows(self) -> list[Row]:
        return [
            self._row(evaluator, candidate, task_model)
            for evaluator in self._layout.evaluators
            for task_model in self._layout.task_models
            for candidate in self._layout.candidates
        ]

    def _row(self, evaluator: str, candidate: str, task_model: str | None) -> Row:
        layout = self._layout
        families = {
            split.name: CellFamily(evaluator, task_model, split.name)
            for split in layout.splits_for(evaluator)
        }
        scores = {name: self._scores[family, candidate] for name, family in families.items()}
        means = {name: self._mean(own) for name, own in scores.items()}
        is_baseline = candidate == self._layout.baseline
        return Row(
            candidate=candidate,
            evaluator=evaluator,
            task_model=task_model,
            splits={name: split_scores(own, means[name], self._layout) for name, own in scores.items()},
            vs_baseline=None
            if is_baseline
            else {name: self._difference(family, candidate) for name, family in families.items()},
            gap=_gap(means),
            overfit=None if is_baseline else self._overfit(families, candidate),
            groups=self._groups(families, candidate),
            worst=tuple(self._worst(scores[layout.deciding_for(evaluator)].cell)),
        )

    def _overfit(self, families: Mapping[str, CellFamily], candidate: str) -> Overfit | None:
        lost = self._against.lost.get((families["val"], candidate)) if "val" in families else None
        return overfit(*lost) if lost else None

    def _difference(self, family: CellFamily, candidate: str) -> ScoreDifference:
        """Shape a comparison with the baseline: its power, its failures, its margin."""
        plain = self._against.baseline[family, candidate]
        failing, over_all = self._against.failing, self._against.over_all_rows
        d = beside(plain, failing.get((family, candidate)), over_all.get((family, candidate)))
        return with_power(d) if family.split == self._layout.deciding else d

    def _mean(self, scores: Scores, places: Sequence[int] | None = None) -> Estimate:
        at = known(scores.means, places)
        clusters = self._splits[scores.cell.split].clusters
        return mean_of(
            [scores.means[place] for place in at],
            clusters and [clusters[place] for place in at],
            is_unit=self._layout.score_range(scores.cell.evaluator) is ScoreRange.UNIT,
        )

    def _all_pairs(self, family: CellFamily) -> list[CandidatePair]:
        return [
            CandidatePair(a=a, b=b, **family._asdict(), difference=_pair_difference(held))
            for a, b, held in self._against.pairs[family]
        ]

    def _groups(self, families: Mapping[str, CellFamily], candidate: str) -> dict[str, GroupScores]:
        means = defaultdict[str, dict[str, Estimate]](dict)
        against = defaultdict[str, dict[str, ScoreDifference]](dict)
        for name, family in families.items():
            for path, label, places in self._against.group_places(name):
                group = f"{path}={label}"
                mean = self._mean(self._scores[family, candidate], places)
                means[group][name] = mean
                if candidate != self._layout.baseline:
                    compared = self._against.groups[family, candidate, path, label]
                    against[group][name] = compared
        return {
            group: GroupScores(splits=splits, vs_baseline=against[group]) for group, splits in means.items()
        }

    def _worst(self, cell: Cell) -> Iterable[LowScore]:
        """List the examples that got worse than the baseline, and why; of the baseline its lowest scores."""
        family = CellFamily(cell.evaluator, cell.task_model, cell.split)
        means = self._scores[family, cell.candidate].means
        before = self._scores[family, self._layout.baseline].means
        split = self._splits[cell.split]
        for place in worst_places(means, None if cell.candidate == self._layout.baseline else before):
            yield LowScore(
                split=split.name,
                line=split.lines[place],
                name=split.names[place] if split.names else "",
                input=split.inputs[place] if split.inputs else "",
                score=means[place],
                baseline=_or_none(before[place]),
                text=self._reason(cell, place),
            )

    def _reason(self, cell: Cell, example: int) -> str | None:
        start = example * self._layout.repeats
        units = range(start, start + self._layout.repeats)
        return reason_of_lowest([record for _, record in self._records(cell, units)])


def _pair_difference(held: Held) -> ScoreDifference:
    """Shape a difference, which is a hint where skips of one side or rules may have made it."""
    return replace(held_difference(held), mark=held.mark)


def _gap(means: Mapping[str, Estimate]) -> ScoreGap | None:
    if not {"train", "val"} <= means.keys():
        return None
    train, val = means["train"], means["val"]
    gap = gap_between(train, val)
    return replace(gap, flag=min(train.n, val.n) >= FEWEST_PAIRS and gap.excludes_zero) if gap else None


def _or_none(value: float) -> float | None:
    return value if value == value else None  # noqa: PLR0124  only NaN is not itself
