"""How far a judge agrees with people, and what its scores become once its error is taken out of them.

Every label is held against the judge's score of the same text: one pair for each person who gave one. Labels
that were chosen by chance weigh as they were chosen, and where any was not, all count as a random sample.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import Remembers, frozen
from optimize_eval.findings.cells import CellFamily, ReadCells, Scores
from optimize_eval.findings.difference_words import is_primary
from optimize_eval.findings.gates import Gate, on_its_side, plain, reaches
from optimize_eval.findings.summary_parts import (
    Agreement,
    Coefficient,
    CorrectedDifference,
    CorrectedScores,
    JudgesBias,
    Row,
)
from optimize_eval.findings.summary_shape import Point, Summary, Verdict, WonBy
from optimize_eval.findings.verdict import BETTER, NO_DIFFERENCE, NOT_SHOWN, WORSE, on_split
from optimize_eval.findings.wording import MINUS, count, interval, number, signed
from optimize_eval.statistics.agreement import (
    INTERVAL,
    NOMINAL,
    CorrectedMean,
    LabelledError,
    alpha,
    bootstrap,
    corrected_mean,
    kappa,
    quadratic_kappa,
)
from optimize_eval.store.labels import NAMES, PeopleOfJudge, Series, StoredLabel, labels_of_cells, people_in
from optimize_eval.store.layout import Layout
from optimize_eval.store.run_document import RunDocument

FEWEST_LABELS = 20  # for anything to be said of agreement
KAPPA, QUADRATIC, ALPHA = "kappa", "quadratic_kappa", "alpha"

_SIGNS = {KAPPA: "κ", QUADRATIC: "κ", ALPHA: "\N{GREEK SMALL LETTER ALPHA}"}
_MARK = "≈"

_Pair = tuple[float, float]  # a judge's score, and what a person says

_STATISTICS: Mapping[str, Callable[[Sequence[_Pair]], float | None]] = {
    KAPPA: kappa,
    QUADRATIC: quadratic_kappa,
    ALPHA: partial(alpha, level=INTERVAL),
}


@frozen
class _Labelled:
    """An example that people labelled, and what the judge says of it."""

    series: Series
    index: int
    cluster: tuple[str, object]
    score: float
    label: StoredLabel

    @property
    def error(self) -> float:
        return self.label.value - self.score


@frozen
class PeopleBesideJudge(Remembers):
    """One judge, and what people say of what it scored."""

    evaluator: str
    people: PeopleOfJudge
    cells: ReadCells
    labels: Mapping[Series, Mapping[int, StoredLabel]]  # by the places of examples

    @cached_property
    def rows(self) -> dict[Series, list[_Labelled]]:
        """List what both have said something of, cell by cell."""
        return {series: [*self._rows(series)] for series in self.labels}

    def scores(self, series: Series) -> Scores:
        candidate, model, split = series
        return self.cells.scores[CellFamily(self.evaluator, model, split), candidate]

    def clusters(self, split: str) -> Sequence[object] | None:
        return self.cells.splits[split].clusters

    def _rows(self, series: Series) -> Iterator[_Labelled]:
        means, clusters = self.scores(series).means, self.clusters(series[2])
        for index, label in sorted(self.labels[series].items()):
            if not math.isnan(means[index]):
                cluster = series[2], clusters[index] if clusters else index
                yield _Labelled(series=series, index=index, cluster=cluster, score=means[index], label=label)

    @property
    def every(self) -> list[_Labelled]:
        return [row for rows in self.rows.values() for row in rows]

    @cached_property
    def chances(self) -> dict[Series, Mapping[str, float]]:
        """Give the chances of having been labelled, where all labels of a cell have one."""
        known = {cell.series: cell.chances for cell in self.people.asked}
        return {
            series: known[series]
            for series, rows in self.rows.items()
            if series in known and all(known[series].get(str(row.label.line)) for row in rows)
        }

    def weight(self, row: _Labelled) -> float:
        chances = self.chances.get(row.series)
        return 1 / chances[str(row.label.line)] if chances else 1.0

    def errors(self, rows: Iterable[_Labelled], at: Mapping[int, int]) -> list[LabelledError]:
        """List errors by the places that examples have among those that are compared."""
        return [LabelledError(at[row.index], row.error, self.weight(row)) for row in rows if row.index in at]

    @property
    def step(self) -> float:
        """Give the least by which labels differ, where they are few."""
        levels = self.people.levels
        return min((b - a for a, b in pairwise(levels)), default=0.0)

    def nearest(self, score: float) -> float:
        """Give the level that a score is next to; of two the higher one."""
        levels = self.people.levels
        return min(reversed(levels), key=lambda level: abs(level - score)) if levels else score


def _agreements(document: RunDocument, cells: ReadCells, summary: Summary) -> tuple[Agreement, ...]:
    """Hold each judge of a run against people, if any labelled what it scored."""
    layout = cells.layout
    known = people_in(document.settings)
    beside = (
        beside_judge(name, people, document, cells)
        for name, people in known.items()
        if name in layout.evaluators
    )
    return tuple(_agreement(judge, summary) for judge in beside if judge.every)


def beside_judge(
    evaluator: str, people: PeopleOfJudge, document: RunDocument, cells: ReadCells
) -> PeopleBesideJudge:
    """Put what people say beside a judge's cells."""
    labels = labels_of_cells(people, document, _part_for(cells.layout, evaluator))
    return PeopleBesideJudge(evaluator=evaluator, people=people, cells=cells, labels=labels)


def _part_for(layout: Layout, evaluator: str) -> Layout:
    return replace(layout, splits=layout.splits_for(evaluator))


def _agreement(judge: PeopleBesideJudge, summary: Summary) -> Agreement:
    raters = sorted({who for row in judge.every for who in row.label.said})
    kind = KAPPA if judge.people.kind == NAMES else QUADRATIC if judge.people.levels else ALPHA
    seed = judge.cells.layout.seed
    value, ci = _coefficient(judge, kind, seed)
    return Agreement(
        evaluator=judge.evaluator,
        kind=kind,
        value=value,
        ci=ci,
        labels=len(judge.every),
        raters=tuple(raters),
        ceiling=_ceiling(judge, seed) if len(raters) > 1 else None,
        bias=_bias(judge),
        chosen=bool(judge.rows) and judge.chances.keys() == judge.rows.keys(),
        looks=judge.people.looks,
        corrected=tuple(_correct_cells(judge, summary)),
    )


def _by_cluster(rows: Iterable[_Labelled]) -> list[list[_Labelled]]:
    clusters: dict[object, list[_Labelled]] = {}
    for row in rows:
        clusters.setdefault(row.cluster, []).append(row)
    return [*clusters.values()]


def _coefficient(
    judge: PeopleBesideJudge, kind: str, seed: int
) -> tuple[float | None, tuple[float, float] | None]:
    statistic = _STATISTICS[kind]
    clusters = [
        [(judge.nearest(row.score), said) for row in rows for said in row.label.said.values()]
        for rows in _by_cluster(judge.every)
    ]
    value = statistic([pair for pairs in clusters for pair in pairs])
    return value, None if value is None else bootstrap(clusters, statistic, seed=seed)


def _ceiling(judge: PeopleBesideJudge, seed: int) -> Coefficient | None:
    """Say how far people agree with each other, beyond whom no judge can be held to agree."""
    statistic = partial(alpha, level=NOMINAL if judge.people.kind == NAMES else INTERVAL)
    clusters = [[tuple(row.label.said.values()) for row in rows] for rows in _by_cluster(judge.every)]
    value = statistic([unit for units in clusters for unit in units])
    if value is None:
        return None
    return Coefficient(value=value, ci=bootstrap(clusters, statistic, seed=seed))


def _bias(judge: PeopleBesideJudge) -> JudgesBias | None:
    """Say by how much the judge scores higher than people, over what they labelled."""
    rows = judge.every
    errors = [LabelledError(index, -row.error, judge.weight(row)) for index, row in enumerate(rows)]
    clusters = [row.cluster for row in rows]
    bias = corrected_mean([0.0] * len(rows), [(1.0, errors)], clusters)
    return JudgesBias(mean=bias.mean, ci=bias.ci) if bias else None


def _correct_cells(judge: PeopleBesideJudge, summary: Summary) -> Iterator[CorrectedScores]:
    """Correct each mean, and each difference to the baseline, that has labels enough on all its sides."""
    rows = {(row.candidate, row.task_model): row for row in summary.rows if row.evaluator == judge.evaluator}
    for series, labelled in judge.rows.items():
        means = judge.scores(series).means
        places = [index for index, mean in enumerate(means) if not math.isnan(mean)]
        corrected = _correct(judge, [means[index] for index in places], [(1.0, labelled)], places)
        if corrected:
            yield CorrectedScores(
                candidate=series[0],
                task_model=series[1],
                split=series[2],
                labels=len(labelled),
                mean=corrected.mean,
                se=corrected.se,
                ci=corrected.ci,
                vs_baseline=_corrected_difference(judge, series, rows[series[:2]]),
            )


def _corrected_difference(judge: PeopleBesideJudge, series: Series, row: Row) -> CorrectedDifference | None:
    layout = judge.cells.layout
    before = layout.baseline, series[1], series[2]
    plain = row.vs_baseline and row.vs_baseline[series[2]]
    if not plain or before not in judge.rows:
        return None
    pairs = enumerate(zip(judge.scores(before).means, judge.scores(series).means, strict=True))
    gains = {index: b - a for index, (a, b) in pairs if not math.isnan(b - a)}
    sides = [(-1.0, judge.rows[before]), (1.0, judge.rows[series])]
    times = plain.comparisons * looks_counted(judge.people.looks)
    corrected = _correct(judge, [*gains.values()], sides, [*gains], times)
    if corrected is None:
        return None
    return CorrectedDifference(diff=corrected.mean, se=corrected.se, ci=corrected.ci, comparisons=times)


def looks_counted(looks: int) -> int:
    """Count for how many an interval has to hold that was looked at before: the j-th look for j (j + 1)."""
    return looks * (looks + 1) if looks > 1 else 1


def _correct(
    judge: PeopleBesideJudge,
    judged: Sequence[float],
    sides: Sequence[tuple[float, Sequence[_Labelled]]],
    places: Sequence[int],
    times: int = 1,
) -> CorrectedMean | None:
    at = {index: number for number, index in enumerate(places)}
    errors = [(sign, judge.errors(rows, at)) for sign, rows in sides]
    if min(len(rows) for _, rows in errors) < FEWEST_LABELS:
        return None
    clusters = judge.clusters(sides[0][1][0].series[2])
    return corrected_mean(
        judged,
        errors,
        clusters and [clusters[index] for index in places],
        step=judge.step,
        times=times,
    )


def points_about_people(summary: Summary) -> Iterator[Point]:
    """Say of each judge how far it agrees with people."""
    for agreement in summary.people:
        subject = f"{agreement.evaluator} " * (len(summary.people) > 1 or len(summary.score_ranges) > 1)
        yield Point(mark=_MARK, text=f"{subject}{agreement_in_words(agreement)}")


def agreement_in_words(agreement: Agreement) -> str:
    labels = count(agreement.labels, "label")
    if agreement.labels < FEWEST_LABELS:
        return f"{labels} are too few to say how well it agrees with people: it takes {FEWEST_LABELS}"
    if agreement.value is None:
        return f"agreement with people is unknown, because nothing varies in {labels}"
    parts = [f"agrees with people: {coefficient_in_words(agreement)}, {labels}"]
    if agreement.ceiling:
        parts.append(f"people with each other: {_SIGNS[ALPHA]} {two_digits(agreement.ceiling.value)}")
    bias = agreement.bias
    if bias and (bias.ci[0] > 0 or bias.ci[1] < 0):
        how = "higher" if bias.mean > 0 else "lower"
        parts.append(f"scores {number(abs(bias.mean))} {how} than people do ({interval(bias.ci)})")
    return "; ".join(parts)


def coefficient_in_words(agreement: Agreement) -> str:
    dash = " to " if agreement.ci and agreement.ci[0] < 0 else "\N{EN DASH}"
    ends = dash.join(map(two_digits, agreement.ci or ()))
    ci = f" ({ends})" if ends else ""
    return f"{_SIGNS[agreement.kind]} {two_digits(agreement.value or 0.0)}{ci}"


def two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)


_DECIDED = {BETTER, NOT_SHOWN, WORSE, NO_DIFFERENCE}  # states that what people say may make another


def with_people(summary: Summary, document: RunDocument, cells: ReadCells, layout: Layout) -> Summary:
    """Add what people say of what the run's judges scored, if any labelled it."""
    summary = replace(summary, people=_agreements(document, cells, summary))
    return replace(summary, verdict=_beside_people(summary, layout)) if summary.people else summary


def _beside_people(summary: Summary, layout: Layout) -> Verdict:
    """Let what people would say decide, where labels tell it: a judge's own lead is worth no more."""
    verdict = summary.verdict
    split = verdict.by.from_ if verdict.by else layout.deciding
    corrected = _corrected_on(split, summary, layout) or _corrected_on(layout.deciding, summary, layout)
    decided = None
    if verdict.state in _DECIDED and corrected:
        decided = _decide(corrected, verdict, summary, layout)
    said = decided.text if decided else ""
    points = [
        point for name in corrected if (point := _point_about(name, corrected[name], layout)).text not in said
    ]
    means = _points_about_means(layout.deciding, summary, layout)
    every = (*points_about_people(summary), *points, *means, *verdict.points)
    return replace(decided or verdict, points=every)


def corrected_of(summary: Summary, layout: Layout, candidate: str) -> CorrectedScores | None:
    """Find what people make of a candidate where it decides."""
    where = layout.evaluators[0], candidate, layout.task_models[0], layout.deciding
    return next(
        (
            cell
            for agreement in summary.people
            for cell in agreement.corrected
            if (agreement.evaluator, cell.candidate, cell.task_model, cell.split) == where
        ),
        None,
    )


def _corrected_on(split: str, summary: Summary, layout: Layout) -> dict[str, CorrectedDifference]:
    """Give what people make of candidates on a split, by the evaluator that decides."""
    return {
        cell.candidate: cell.vs_baseline
        for agreement in summary.people
        for cell in agreement.corrected
        if cell.vs_baseline
        and (agreement.evaluator, cell.task_model, cell.split)
        == (layout.evaluators[0], layout.task_models[0], split)
    }


def _decide(
    corrected: Mapping[str, CorrectedDifference], verdict: Verdict, summary: Summary, layout: Layout
) -> Verdict | None:
    """Decide by what people say; None where that leaves the verdict as it is."""
    if verdict.winner:
        lead = corrected.get(verdict.winner)
        return _taken_back(verdict, lead, layout) if lead and lead.ci[0] <= 0 else None
    rows = {row.candidate: row for row in summary.rows if is_primary(row, layout) and row.vs_baseline}
    sound = [name for name in corrected if name in rows and _is_sound(rows[name], layout)]
    best = max(sound, key=lambda name: corrected[name].diff, default="")
    if best and corrected[best].ci[0] > 0 and "test" not in rows[best].splits:
        return _won_by_people(best, corrected[best], rows[best], layout)
    if verdict.state == WORSE and any(d.ci[1] >= 0 for d in corrected.values()):
        return _taken_back(verdict, corrected[best or next(iter(corrected))], layout)
    return None


def _is_sound(row: Row, layout: Layout) -> bool:
    """Return True if nothing but the judge's error stands between a difference and a claim."""
    d = row.against_baseline(layout.deciding)
    return bool(d and d.with_failures is None and d.over_all_rows is None)


def _won_by_people(name: str, d: CorrectedDifference, row: Row, layout: Layout) -> Verdict:
    alone = row.against_baseline(layout.deciding)
    raw = f"; the judge alone has it {signed(alone.diff)}" if alone else ""
    beats = f"{name} beats {layout.baseline}{on_split(layout.deciding)} by what people say"
    by = WonBy(diff=d.diff, ci=d.ci, p=None, from_=layout.deciding)
    text = f"{beats}: {_corrected_in_words(d, layout)}{raw}"
    return Verdict(text=text, state=BETTER, winner=name, by=by)


def _taken_back(verdict: Verdict, d: CorrectedDifference, layout: Layout) -> Verdict:
    """Claim nothing that the judge says alone."""
    alone = f"{verdict.text[:1].lower()}{verdict.text[1:]}" if verdict.winner is None else verdict.text
    words = f"corrected for the judge's error it is {_corrected_in_words(d, layout)}"
    text = f"No winner: by the judge alone {alone}; {words}"
    return Verdict(text=text, state=WORSE if d.ci[1] < 0 else NOT_SHOWN)


def _corrected_in_words(d: CorrectedDifference, layout: Layout) -> str:
    return f"{signed(d.diff)} {layout.evaluators[0]} (95 % CI {interval(d.ci)})"


def _points_about_means(split: str, summary: Summary, layout: Layout) -> Iterator[Point]:
    """Put the means that people would give beside the judge's own."""
    for agreement in summary.people:
        series = agreement.evaluator, layout.task_models[0], split
        means = {
            row.candidate: row.splits[split].mean for row in summary.rows if _series_of(row, split) == series
        }
        for cell in agreement.corrected:
            if (agreement.evaluator, cell.task_model, cell.split) == series:
                told = f"{number(cell.mean)} ({interval(cell.ci, number)})"
                alone = f"{number(means[cell.candidate])} by {agreement.evaluator} alone"
                yield Point(mark=_MARK, text=f"{cell.candidate} by what people say: {told}; {alone}")


def _series_of(row: Row, split: str) -> tuple[str, str | None, str]:
    return row.evaluator, row.task_model, split


def _point_about(name: str, d: CorrectedDifference, layout: Layout) -> Point:
    words = f"corrected for the judge's error {_corrected_in_words(d, layout)}"
    return Point(mark=_MARK, text=f"{name} against {layout.baseline}, {words}")


@frozen
class LeastAgreement:
    """The lowest that a judge may agree with people, by the lower end of the interval."""

    evaluator: str
    least: float


def parse_agreement(text: str, document: RunDocument) -> LeastAgreement:
    """Read NAME=LEAST; raises UsageError, also where too few labels could ever tell."""
    name, _, said = text.rpartition("=")
    try:
        least = float(said)
    except ValueError:
        least = math.nan
    if not name or not 0 < least <= 1:
        raise UsageError(
            f"--min-agreement needs NAME=NUMBER, above 0 and at most 1, not {text!r}",
            hint="write --min-agreement judge=0.6",
        )
    judges = [entry.name for entry in document.selected_evaluators if entry.judge]
    if name not in judges:
        raise UsageError(
            f"--min-agreement {text}: the run has no judge {name!r}",
            hint=f"its judges are {', '.join(judges)}" if judges else "it has none",
        )
    labels = len(people_in(document.settings).get(name, PeopleOfJudge()).labels)
    if labels < FEWEST_LABELS:
        raise UsageError(
            f"--min-agreement {text}: people gave {count(labels, 'label')}, and {FEWEST_LABELS} are needed",
            hint='name the field in which they are: human = "human_score"',
        )
    return LeastAgreement(evaluator=name, least=least)


def agreement_gate(summary: Summary, bound: LeastAgreement) -> Gate:
    """Hold the lower end of a judge's agreement with people against the lowest that it may be."""
    name, least = f"min-agreement {bound.evaluator}", plain(bound.least)
    agreement = next((each for each in summary.people if each.evaluator == bound.evaluator), None)
    low = agreement.ci[0] if agreement and agreement.ci and agreement.labels >= FEWEST_LABELS else None
    if agreement is None or low is None:
        why = agreement_in_words(agreement) if agreement else "nothing that people labelled was scored"
        text = f"{bound.evaluator}: without enough data: {why}, so it may be below {least}"
        return Gate(name=name, is_met=False, text=text)
    is_met = reaches(low, bound.least)
    where = f"{bound.evaluator}: agrees with people by {coefficient_in_words(agreement)}"
    lower = on_its_side(low, two_digits, lambda value: reaches(value, bound.least))
    verdict = f"the lower end {lower} is {'at least' if is_met else 'below'} {least}"
    return Gate(name=name, is_met=is_met, text=f"{where}; {verdict}")
