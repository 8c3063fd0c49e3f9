"""What votes say of judges: which place they prefer, how far a panel agrees, who turns a comparison.

A vote that compares was given twice, once in each order; it flipped where the same place was better both
times. The unit of analysis is the example, as everywhere.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from optimize_eval.base.documents import JsonMapping
from optimize_eval.findings.cells import Ballot, ReadCells
from optimize_eval.findings.people import with_people
from optimize_eval.findings.summary_parts import Coefficient, JudgedPairs, MostVaried, Panel, PanelJudge
from optimize_eval.findings.summary_shape import Point, Summary
from optimize_eval.findings.wording import MINUS, count, interval, number, percent
from optimize_eval.models.judging.rubric import BASELINE, EVEN, Vote, score_of
from optimize_eval.statistics.agreement import INTERVAL, alpha, bootstrap
from optimize_eval.statistics.differences import difference_of
from optimize_eval.statistics.estimates import mean_of
from optimize_eval.store.labels import PEOPLE
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.run_document import RunDocument

MOST_FLIPPED = 0.25  # of verdicts: beyond that a judge is warned of

_MOST_NAMED = 5
_OF_FIRST = {"first": 1.0, "second": 0.0, "tie": EVEN}
_MARK, _WARNING = "≈", "!"
_ALPHA = "\N{GREEK SMALL LETTER ALPHA}"

_Column = tuple[str, str | None]  # candidate, task model

_alpha = partial(alpha, level=INTERVAL)


class _Unit(NamedTuple):
    """The votes of one call."""

    cell: Cell
    example: int
    cluster: tuple[str, object]
    ballots: Sequence[Ballot]

    @property
    def scores(self) -> list[float]:
        return [ballot.score for ballot in self.ballots]


def with_judges(summary: Summary, document: RunDocument, cells: ReadCells, layout: Layout) -> Summary:
    """Add what judges' votes say of them, and what people do."""
    if any(read.votes for read in cells.by_name.values()):
        summary = _with_votes(summary, document, cells)
    return with_people(summary, document, cells, layout) if PEOPLE in document.settings else summary


def _with_votes(summary: Summary, document: RunDocument, cells: ReadCells) -> Summary:
    judges = {entry.name: entry.judge for entry in document.selected_evaluators if entry.judge}
    named = [name for name in cells.layout.evaluators if name in judges and _heard_of(cells, name)]
    units = {name: list(_units(cells, name)) for name in named}
    pairs = (_pairs(name, judges[name], units[name], cells) for name in named if judges[name].get("against"))
    several = (name for name in named if any(ballot.judge for unit in units[name] for ballot in unit.ballots))
    panels = (_panel(name, judges[name], units[name], cells) for name in several)
    summary = replace(summary, judged_pairs=tuple(pairs), panels=tuple(panels))
    points = (*_points(summary, cells.layout), *summary.verdict.points)
    return replace(summary, verdict=replace(summary.verdict, points=points))


def _heard_of(cells: ReadCells, evaluator: str) -> bool:
    return any(read.votes for name, read in cells.by_name.items() if name[0] == evaluator)


def _units(cells: ReadCells, evaluator: str) -> Iterator[_Unit]:
    for read in cells.by_name.values():
        cell, clusters = read.scores.cell, cells.splits[read.scores.cell.split].clusters
        if cell.evaluator == evaluator and read.votes:
            for example, ballots in read.votes.units:
                cluster = cell.split, clusters[example] if clusters else example
                yield _Unit(cell, example, cluster, ballots)


def _pairs(name: str, judge: JsonMapping, units: Sequence[_Unit], cells: ReadCells) -> JudgedPairs:
    asked = [(unit, ballot.better) for unit in units for ballot in unit.ballots if ballot.better]
    shares = [sum(_OF_FIRST[answer] for answer in better) / len(better) for _, better in asked]
    first = mean_of(shares, [unit.cluster for unit, _ in asked], is_unit=True)
    heard = (read.votes for where, read in cells.by_name.items() if where[0] == name)
    return JudgedPairs(
        evaluator=name,
        against=judge["against"],
        votes=len(asked),
        first=first.mean,
        ci=first.ci,
        flipped=sum(better[0] == better[1] != "tie" for _, better in asked),
        same=sum(votes.same for votes in heard if votes),
    )


def _panel(name: str, judge: JsonMapping, units: Sequence[_Unit], cells: ReadCells) -> Panel:
    clusters: dict[object, list[list[float]]] = {}
    for unit in units:
        if len(unit.ballots) > 1:
            clusters.setdefault(unit.cluster, []).append(unit.scores)
    value = _alpha([scores for units in clusters.values() for scores in units])
    ci = None if value is None else bootstrap([*clusters.values()], _alpha, seed=cells.layout.seed)
    voting = dict.fromkeys(ballot.judge for unit in units for ballot in unit.ballots)
    failed = Counter[str]()
    for where, read in cells.by_name.items():
        failed += read.votes.failed if read.votes and where[0] == name else Counter()
    rule, several = Vote(judge.get("vote", Vote.MEAN)), len(voting) > 1
    return Panel(
        evaluator=name,
        vote=str(rule),
        units=sum(len(unit.ballots) > 1 for unit in units),
        alpha=None if value is None else Coefficient(value=value, ci=ci),
        judges=tuple(
            _judge(who, units, failed, turns=several and _turns(who, rule, name, units, cells))
            for who in sorted({*voting, *failed})
        ),
        most_varied=tuple(_most_varied(units, cells.layout)),
    )


def _judge(who: str, units: Sequence[_Unit], failed: Mapping[str, int], *, turns: bool) -> PanelJudge:
    """Say by how much a judge votes higher than its panel on average, and whether all hangs on it."""
    voted = [unit for unit in units if any(ballot.judge == who for ballot in unit.ballots)]
    above = mean_of(
        [_mean(_scores_of(unit, who)) - _mean(unit.scores) for unit in voted],
        [unit.cluster for unit in voted],
    )
    votes = sum(len(_scores_of(unit, who)) for unit in voted)
    return PanelJudge(
        judge=who, votes=votes, failed=failed.get(who, 0), bias=above.mean, ci=above.ci, turns=turns
    )


def _scores_of(unit: _Unit, who: str) -> list[float]:
    return [ballot.score for ballot in unit.ballots if ballot.judge == who]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _most_varied(units: Sequence[_Unit], layout: Layout) -> Iterator[MostVaried]:
    """Name the calls whose votes lie farthest apart, the first of those that do so alike."""
    spread = [(max(unit.scores) - min(unit.scores), unit) for unit in units if len(unit.ballots) > 1]
    for apart, unit in sorted(spread, key=lambda pair: -pair[0])[:_MOST_NAMED]:
        if apart > 0:
            yield MostVaried(
                candidate=unit.cell.candidate,
                task_model=unit.cell.task_model,
                split=unit.cell.split,
                line=layout.split(unit.cell.split).lines[unit.example],
                least=min(unit.scores),
                most=max(unit.scores),
            )


def _turns(who: str, rule: Vote, evaluator: str, units: Sequence[_Unit], cells: ReadCells) -> bool:
    """Return True if a difference to the baseline lies otherwise about 0 without a judge's votes."""
    split = cells.layout.deciding_for(evaluator)
    here = [unit for unit in units if unit.cell.split == split]
    return _sides(here, rule, cells) != _sides(here, rule, cells, without=who)


def _sides(units: Sequence[_Unit], rule: Vote, cells: ReadCells, without: str = "") -> dict[_Column, int]:
    """Say of each candidate whether its interval lies above 0, below it, or about it."""
    scores: dict[_Column, dict[int, list[float]]] = {}
    for unit in units:
        votes = [ballot.score for ballot in unit.ballots if ballot.judge != without]
        if votes or not unit.ballots:  # who compares a text with itself votes for neither
            of_example = scores.setdefault((unit.cell.candidate, unit.cell.task_model), {})
            of_example.setdefault(unit.example, []).append(score_of(rule, votes) if votes else EVEN)
    means = {
        column: {example: _mean(values) for example, values in by_example.items()}
        for column, by_example in scores.items()
    }
    clusters = {unit.example: unit.cluster for unit in units}
    baseline = cells.layout.baseline
    return {
        (name, model): _side(means[baseline, model], means[name, model], clusters)
        for name, model in means
        if name != baseline and (baseline, model) in means
    }


def _side(before: Mapping[int, float], after: Mapping[int, float], clusters: Mapping[int, object]) -> int:
    both = sorted(before.keys() & after.keys())
    values = [before[example] for example in both], [after[example] for example in both]
    d = difference_of(*values, [clusters[example] for example in both], may_flip=False)
    low, high = d.ci or (d.diff or 0.0, d.diff or 0.0)
    return (low > 0) - (high < 0)


def _points(summary: Summary, layout: Layout) -> Iterator[Point]:
    """Say of judges that compare whether places decide, and of panels how far they agree."""
    many = len(summary.score_ranges) > 1
    for pairs in summary.judged_pairs:
        subject = f"{pairs.evaluator}: " * many
        yield from (Point(mark=mark, text=f"{subject}{text}") for mark, text in _of_pairs(pairs))
        if pairs.against != BASELINE:
            yield from _against_field(pairs, summary, layout, subject)
    for panel in summary.panels:
        subject = f"{panel.evaluator}: " * many
        yield from (Point(mark=mark, text=f"{subject}{text}") for mark, text in _of_panel(panel))


def _of_pairs(pairs: JudgedPairs) -> Iterator[tuple[str, str]]:
    if pairs.first is None:
        return
    ci = f" (95 % CI {interval(pairs.ci, percent)})" if pairs.ci else ""
    share = pairs.flipped / pairs.votes
    flipped = (
        f"{pairs.flipped:,} of {count(pairs.votes, 'verdict')} flipped with the order ({percent(share)})"
    )
    yield _MARK, f"the judge chose the first place in {percent(pairs.first)}{ci}; {flipped}"
    if share > MOST_FLIPPED:
        yield (
            _WARNING,
            "the order decides too many verdicts: write the objective more clearly, or take another model",
        )
    if pairs.ci and not pairs.ci[0] <= EVEN <= pairs.ci[1]:
        which = "first" if pairs.first > EVEN else "second"
        yield (
            _WARNING,
            f"the judge prefers what stands {which}; as it is asked in both orders, no candidate gains by it",
        )


def _against_field(pairs: JudgedPairs, summary: Summary, layout: Layout, subject: str) -> Iterator[Point]:
    """Hold means against 0.5, which is as good as what they are compared with."""
    split = layout.deciding_for(pairs.evaluator)
    for row in summary.rows:
        mean = row.splits[split]
        if row.evaluator == pairs.evaluator and mean.ci and mean.mean is not None:
            low, high = mean.ci
            how = "better than" if low > EVEN else "worse than" if high < EVEN else "not shown to differ from"
            wins = f"{number(mean.mean)} ({number(low)} to {number(high)}), where 0.5 is as good"
            name = " ".join(filter(None, [row.candidate, row.task_model]))
            yield Point(mark=_MARK, text=f"{subject}{name} is {how} {pairs.against}: {wins}")


def _of_panel(panel: Panel) -> Iterator[tuple[str, str]]:
    if panel.alpha is None:
        yield _MARK, f"the panel's votes do not differ in {count(panel.units, 'call')}"
        return
    value = _two_digits(panel.alpha.value)
    ci = f" ({interval(panel.alpha.ci, _two_digits)})" if panel.alpha.ci else ""
    places = [f"{varied.split} {varied.line}" for varied in panel.most_varied if varied.line is not None]
    differ = f"; votes differ most on {', '.join(dict.fromkeys(places))}" if places else ""
    yield (
        _MARK,
        f"the panel agrees: {_ALPHA} {value}{ci}, {count(panel.units, 'call')}{differ}",
    )
    farthest = max(panel.judges, key=lambda judge: abs(judge.bias or 0.0))
    for judge in panel.judges:
        if judge is farthest and judge.bias and judge.ci and not judge.ci[0] <= 0 <= judge.ci[1]:
            how = "higher" if judge.bias > 0 else "lower"
            yield (
                _MARK,
                f"{judge.judge} votes {number(abs(judge.bias))} {how} than the panel ({interval(judge.ci)})",
            )
        if judge.turns:
            yield (
                _WARNING,
                f"without {judge.judge} the comparison comes out otherwise: look at where it differs",
            )
        if judge.failed:
            yield _MARK, f"{count(judge.failed, 'vote')} of {judge.judge} did not come"


def _two_digits(value: float) -> str:
    return f"{value:.2f}".replace("-", MINUS)
