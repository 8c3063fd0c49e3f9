"""What a reader must know before believing a verdict: failures, coverage, noise, power, skips."""

import math
from collections.abc import Iterator, Mapping, Sequence

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings import comparison
from optimize_eval.findings.cells import SAME, CellFamily, Scores
from optimize_eval.findings.difference_words import about_rules, is_primary
from optimize_eval.findings.leakage import FEWEST_COPIES, RECORDED
from optimize_eval.findings.replies import doubts
from optimize_eval.findings.summary_parts import MeasuredCell, Row, SideInfoEntry, SplitScores
from optimize_eval.findings.summary_shape import Point, Summary
from optimize_eval.findings.wording import count, evaluator_label, number, percent
from optimize_eval.statistics.differences import ScoreDifference
from optimize_eval.statistics.estimates import Components, components_of, pooled_sd
from optimize_eval.statistics.power import examples_needed, examples_needed_for_shares
from optimize_eval.store.layout import SINGLE, Layout

NOTABLE_FAILURES = 0.01
FEWEST_CLUSTERS = 20

_WANTED = 0.05  # the difference for which the needed number of examples is told
_LOPSIDED = 0.25  # of skewness over the root of the units, from which on intervals are off
_SKEWED = 1.5
_MUCH_NOISIER = 1.3
_MOST_NAMED = 5
_SHOWN_ERROR = 80


def caveats(summary: Summary, layout: Layout, digests: Mapping[str, str]) -> Iterator[Point]:
    """List them, the most telling first; `digests` are of the candidates' texts, where these are known."""
    for text in [
        *_failures(summary, layout),
        *_doubtful(summary, layout),
        *doubts(summary),
        *_coverage(summary, layout),
        *_rules(summary, layout),
        *_same_texts(layout, digests),
        *alike(summary, layout, digests),
        *_leakage(summary),
        *_copies(summary, layout),
        *_pairs(summary),
        *_clusters(summary, layout),
        *lopsided(summary, layout),
        *_keys(summary, layout),
    ]:
        yield Point(mark="!", text=text)
    for text in [*front(summary, layout), *noise(summary, layout)]:
        yield Point(mark="·", text=text)
    yield from power(summary, layout)


def _failures(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name each candidate that an evaluator failed on in more than one call of a hundred."""
    told = 0
    for row in summary.rows:
        calls = sum(s.scored + s.failed for s in row.splits.values())
        failed = sum(s.failed for s in row.splits.values())
        if all(s.failed <= NOTABLE_FAILURES * (s.scored + s.failed) for s in row.splits.values()):
            continue
        told += 1
        if told <= _MOST_NAMED:
            yield _failure(row, failed, calls, layout)
    if told > _MOST_NAMED:
        yield f"{count(told - _MOST_NAMED, 'more row')} had failures above {percent(NOTABLE_FAILURES)}"


def _failure(row: Row, failed: int, calls: int, layout: Layout) -> str:
    kinds: dict[str, int] = {}
    for s in row.splits.values():
        for kind, many in s.failures.items():
            kinds[kind] = kinds.get(kind, 0) + many
    main = max(kinds, key=lambda kind: kinds[kind])
    label = evaluator_label(row.evaluator, row.task_model)
    why = f"{percent(failed / calls)}, {'mostly ' * (len(kinds) > 1)}{main}"
    told = f"{row.candidate}: {failed:,} of {calls:,} {label} calls failed ({why}) and are in no mean"
    deciding = row.splits.get(layout.deciding)
    if deciding is not None and deciding.failed and deciding.bounds is not None:
        return f"{told}. Counted as 0, its {layout.deciding} mean would be {number(deciding.bounds[0])}"
    return told


def _doubtful(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name each evaluator that reported errors beside its scores, or gave no score but 0."""
    for evaluator in layout.evaluators:
        entries = (entry for entry in summary.side_info if entry.where.evaluator == evaluator)
        errors = [entry.errors for entry in entries if entry.errors]
        splits = [s for r in summary.rows if r.evaluator == evaluator for s in r.splits.values()]
        scored = sum(s.scored for s in splits)
        if errors:
            with_error = sum(error.n for error in errors)
            first = errors[0].first[:_SHOWN_ERROR]
            yield f"{with_error:,} of {scored:,} {evaluator} scores came with an error: {first}"
        if zero := every_score_is_zero(evaluator, splits):
            yield zero


def every_score_is_zero(evaluator: str, splits: Sequence[SplitScores]) -> str:
    """Say that an evaluator gave nothing but 0, where that is so."""
    scored = sum(s.scored for s in splits)
    if scored > 1 and all(_is_zero(s) for s in splits if s.scored):
        return f"Every {evaluator} score is 0 (all {scored:,}). Check that {evaluator} works"
    return ""


def _is_zero(s: SplitScores) -> bool:
    return s.mean == 0 and not s.between_sd and not s.within_sd


def _coverage(summary: Summary, layout: Layout) -> Iterator[str]:
    for evaluator in layout.evaluators:
        known = [
            (s.coverage, _named(row, layout), s)
            for row in summary.rows
            if row.evaluator == evaluator
            and (s := row.splits.get(layout.deciding))
            and s.coverage is not None
        ]
        if known and len(layout.candidates) > 1 and len({coverage for coverage, *_ in known}) > 1:
            _, who, s = min(known, key=lambda one: one[:2])
            rule = "To win it must win even if its failed calls count as 0 and the baseline's as 1"
            if layout.score_range(evaluator) is not ScoreRange.UNIT:
                rule = "As no score is the worst, no winner can be named"
            what = "examples" if layout.repeats == 1 else "calls"
            calls = f"{s.scored:,} of {s.scored + s.failed:,} {layout.deciding} {what}"
            kind = f"{evaluator} scores" if len(layout.evaluators) > 1 else "scores"
            yield f"{who} has {kind} for only {calls}. {rule}"


def _named(of: Row | MeasuredCell, layout: Layout) -> str:
    """Name a candidate, with its task model where there are several: they differ in what is said of it."""
    return evaluator_label(of.candidate, of.task_model) if len(layout.task_models) > 1 else of.candidate


def _rules(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name the candidates that rules may favour: they leave out other rows, or look at scores or replies."""
    for row in summary.rows:
        d = row.against_baseline(layout.deciding) if is_primary(row, layout) else None
        if d and d.over_all_rows:
            yield about_rules(row.candidate, layout.baseline, d)


def _same_texts(layout: Layout, digests: Mapping[str, str]) -> Iterator[str]:
    if same := [name for name in layout.candidates if _has_text_of_baseline(name, layout, digests)]:
        yield f"{_listed(same)} and {layout.baseline} are the same text"


def _has_text_of_baseline(name: str, layout: Layout, digests: Mapping[str, str]) -> bool:
    first = layout.baseline
    return name != first and first in digests and digests.get(name) == digests[first]


def alike(summary: Summary, layout: Layout, digests: Mapping[str, str]) -> Iterator[str]:
    """Point out other texts whose every score is the baseline's: that is hardly ever meant."""
    for evaluator in layout.evaluators:
        own = [row for row in summary.rows if row.evaluator == evaluator]
        rows = [row for row in own if row.vs_baseline]
        names = dict.fromkeys(row.candidate for row in rows)
        others = [name for name in names if not _has_text_of_baseline(name, layout, digests)]
        same = [name for name in others if all(_is_same(row) for row in rows if row.candidate == name)]
        is_zero = every_score_is_zero(evaluator, [s for row in own for s in row.splits.values()])
        if same and not is_zero and layout.deciding != SINGLE:
            pairs = next(row.vs_baseline for row in rows if row.candidate == same[0]) or {}
            many = sum(d.n_pairs for d in pairs.values())
            every = f"all {many:,} examples" if many > 1 else "the only example"
            yield (
                f"{evaluator} gave {_listed(same)} and {layout.baseline} the same score on {every}: "
                "it probably does not look at what you changed"
            )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + ", …" * (len(names) > _MOST_NAMED)


def _is_same(row: Row) -> bool:
    return all(d.n_pairs and d.ties == d.n_pairs for d in (row.vs_baseline or {}).values())


def _leakage(summary: Summary) -> Iterator[str]:
    """Say what leaked; of a run that was not looked at only how much, as its numbers are of all."""
    for split, leakage in summary.leakage.items():
        if leakage.state != RECORDED:
            yield leakage.point(split)
    if leaked := sum(len(one.rows) for one in summary.leakage.values() if one.state == RECORDED):
        where = (
            "among the train or val examples"
            if "test" in summary.rows[0].splits
            else "among the train examples"
        )
        are = "are" if leaked != 1 else "is"
        yield f"{count(leaked, 'held-out example')} {are} also {where}, and {are} counted"


def _copies(summary: Summary, layout: Layout) -> Iterator[str]:
    for split in layout.splits:
        copies, lines = summary.duplicates.get(split.name, 0), len(split.lines)
        if copies:
            told = f"{copies:,} of {lines:,} {split.name} examples are copies of earlier lines"
            distinct = count(summary.clusters.get(split.name, lines), "independent unit")
            yield f"{told}; they count together, as {distinct}" if copies > FEWEST_COPIES * lines else told


def _pairs(summary: Summary) -> Iterator[str]:
    if left_out := summary.pairs_left_out:
        yield f"Candidates are compared with the baseline only, because {left_out:,} pairs are too many"


def _clusters(summary: Summary, layout: Layout) -> Iterator[str]:
    for split in layout.splits:
        if split.clusters and (many := summary.clusters[split.name]) < FEWEST_CLUSTERS:
            yield (
                f"{split.name} has only {count(many, 'cluster')} by {layout.cluster_by}: they count, not its "
                f"{count(len(split.lines), 'line')}, and below {FEWEST_CLUSTERS} intervals are rough"
            )


def lopsided(summary: Summary, layout: Layout) -> Iterator[str]:
    """Point out claims that hang on a few examples."""
    split = layout.deciding
    for row in _primary(summary, layout):
        d = row.difference(split)
        is_claim = d.mark not in {comparison.NO_DIFFERENCE, comparison.TOO_FEW}
        if is_claim and d.test != "mcnemar" and _is_lopsided(d):
            yield (
                f"A few examples decide between {row.candidate} and {layout.baseline} (skewness "
                f"{number(d.skew)}), so the interval and p are rough"
            )


def _primary(summary: Summary, layout: Layout) -> list[Row]:
    return [row for row in summary.rows if is_primary(row, layout) and row.vs_baseline]


def _is_lopsided(d: ScoreDifference) -> bool:
    skew = abs(float(d.skew or 0.0))
    return skew >= _SKEWED and skew >= _LOPSIDED * math.sqrt(d.units)


def _keys(summary: Summary, layout: Layout) -> Iterator[str]:
    """Point out side information that some candidates or splits have and others never."""
    for evaluator in layout.evaluators:
        entries = [entry for entry in _scored_entries(summary, evaluator) if SAME not in entry.keys]
        if any(entry.values_left_out for entry in entries):
            continue  # what was left out may have been there
        keys = [set(entry.keys) for entry in entries]
        everywhere = set.intersection(*keys) if keys else set()
        if differing := sorted(set().union(*keys) - everywhere):
            key = differing[0]
            has = next(entry.where for entry in entries if key in entry.keys)
            lacks = next(entry.where for entry in entries if key not in entry.keys)
            more = f" (and {count(len(differing) - 1, 'more key')})" if len(differing) > 1 else ""
            yield (
                f"{evaluator} gave the side info {key} for {_named(has, layout)} on {has.split}, but never "
                f"for {_named(lacks, layout)} on {lacks.split}{more}"
            )


def _scored_entries(summary: Summary, evaluator: str) -> Iterator[SideInfoEntry]:
    """Give the side information of cells that have scores."""
    rows = [row for row in summary.rows if row.evaluator == evaluator]
    scored = {(r.candidate, r.task_model, name) for r in rows for name, s in r.splits.items() if s.scored}
    for entry in summary.side_info:
        where = entry.where
        if where.evaluator == evaluator and (where.candidate, where.task_model, where.split) in scored:
            yield entry


def front(summary: Summary, layout: Layout) -> Iterator[str]:
    """Name the candidates that no other one matches or exceeds on all evaluators, by their means."""
    if len(layout.evaluators) < 2 or len(layout.candidates) < 2:  # noqa: PLR2004  nothing to weigh
        return
    means = {name: _means(summary, name, layout) for name in layout.candidates}
    known = {name: values for name, values in means.items() if None not in values}
    best = [name for name in known if not any(_exceeds(other, known[name]) for other in known.values())]
    if len(best) == 1:
        yield f"{best[0]} has the highest mean on every evaluator"
    elif best:
        yield _tops(known, layout)


def _tops(known: Mapping[str, Sequence[float | None]], layout: Layout) -> str:
    """Say who is best on what, of candidates of which none is on all."""
    tops: dict[str, list[str]] = {}
    means = len(next(iter(known.values())))
    labels = [evaluator_label(name, model) for name in layout.evaluators for model in layout.task_models]
    for place, label in zip(range(means), labels, strict=False):
        tops.setdefault(max(known, key=lambda name: known[name][place] or 0.0), []).append(label)
    verbs = [" is best", *[""] * (len(tops) - 1)]
    shown = zip(tops.items(), verbs, strict=True)
    each = [f"{who}{verb} on {' and '.join(on[:_MOST_NAMED])}" for (who, on), verb in shown]
    is_pair = len(tops) == means == 2  # noqa: PLR2004  two, each with one
    return (
        f"{', '.join(each[:_MOST_NAMED])}; {'neither is best on both' if is_pair else 'none is best on all'}"
    )


def _means(summary: Summary, candidate: str, layout: Layout) -> list[float | None]:
    rows = [row for row in summary.rows if row.candidate == candidate]
    return [s.mean for row in rows if (s := row.splits.get(layout.deciding))]


def _exceeds(other: Sequence[float | None], values: Sequence[float | None]) -> bool:
    pairs = [(a or 0.0, b or 0.0) for a, b in zip(other, values, strict=True)]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def noise(summary: Summary, layout: Layout) -> Iterator[str]:
    """Say how much an evaluator's scores vary when the same call is repeated, and where most."""
    for evaluator in layout.evaluators:
        rows = [row for row in summary.rows if row.evaluator == evaluator]
        by_candidate = {name: _noise([r for r in rows if r.candidate == name]) for name in layout.candidates}
        typical = _noise(rows)
        if not typical:
            continue
        noisiest = max(by_candidate, key=lambda name: by_candidate[name])
        is_much = len(by_candidate) > 1 and by_candidate[noisiest] >= _MUCH_NOISIER * typical
        most = f"; {noisiest} varies most, by {number(by_candidate[noisiest])}" if is_much else ""
        yield f"{evaluator} is noisy: repeating a call changes its score by {number(typical)} (sd){most}"


def _noise(rows: Sequence[Row]) -> float:
    """Pool the variances between repeats over all cells; each counts by its examples."""
    cells = (s for row in rows for s in row.splits.values())
    return pooled_sd((s.within_sd, s.n) for s in cells if s.within_sd is not None)


def power(summary: Summary, layout: Layout) -> Iterator[Point]:
    """Say which difference so many examples would show, for the candidate that is in question."""
    split = layout.deciding
    rows = [row for row in _primary(summary, layout) if _has_power(row.difference(split))]
    if not rows:
        return
    settled = {comparison.BETTER, comparison.WORSE}
    open_ones = [row for row in rows if row.difference(split).mark not in settled]
    row = max(open_ones or rows, key=lambda row: row.difference(split).diff or 0.0)
    d = row.difference(split)
    many = count(d.n_pairs, f"{split} example" if split != SINGLE else "example")
    many += f" in {count(d.units, 'cluster')}" if d.units < d.n_pairs else ""
    least = f"a difference of about {_about(d.mde or 0.0)} (4 times out of 5)"
    if (d.mde or 0.0) <= _WANTED or layout.score_range(row.evaluator) is not ScoreRange.UNIT:
        yield Point(mark="·", text=f"{many} are enough to find {least}")
    else:
        more = f"to find {_WANTED}, take about {_needed(d):,}"
        has_better = any(row.difference(split).mark == comparison.BETTER for row in rows)
        yield Point(mark="·" if has_better else "?", text=f"{many} are enough to find {least}; {more}")


def _about(difference: float) -> str:
    """Write what is no more than a guess with two digits at most.

    >>> _about(0.1544), _about(0.022), _about(0.0042)
    ('0.15', '0.02', '0.004')
    """
    return f"{difference:.2f}" if 0.01 <= difference < 1 else f"{difference:.1g}"  # noqa: PLR2004


def _has_power(d: ScoreDifference) -> bool:
    """Return True where power says something: not where all pairs differ, and by the same."""
    return bool(d.mde) and (d.ci is not None or not d.diff)


def _needed(d: ScoreDifference) -> int:
    if d.test == "mcnemar":
        share = (d.wins + d.losses) / d.n_pairs
        return examples_needed_for_shares(_WANTED, discordance=share, comparisons=d.comparisons)
    sd = (d.se or 0.0) * math.sqrt(d.units)
    needed = examples_needed(_WANTED, sd=sd, comparisons=d.comparisons)
    return math.ceil(needed * d.n_pairs / d.units)


def points_about_skips(
    summary: Summary, scores: Mapping[tuple[CellFamily, str], Scores], layout: Layout
) -> Iterator[Point]:
    """Point out where an evaluator skips examples for some candidates, and not for others."""
    if summary.units.owed or summary.changed or not summary.units.skipped:
        return
    for family in dict.fromkeys(family for family, _ in scores):
        told = {name: scores[family, name] for name in layout.candidates}
        if differing := _differing(list(told.values())):
            yield Point(mark="!", text=_unlike(family, told, differing))


def _differing(cells: list[Scores]) -> int:
    """Count the examples of which not every candidate has as many skipped calls."""
    return sum(len(set(skipped)) > 1 for skipped in zip(*(cell.skipped_calls for cell in cells), strict=True))


def _unlike(family: CellFamily, told: Mapping[str, Scores], differing: int) -> str:
    least, most = (pick(told, key=lambda name: told[name].skipped) for pick in (min, max))
    calls = f"from {told[least].skipped:,} ({least}) to {told[most].skipped:,} ({most})"
    if told[least].skipped == told[most].skipped:
        calls = f"{told[most].skipped:,} for each candidate, but not the same"
    examples = count(len(told[most].skipped_calls), "example")
    label = evaluator_label(family.evaluator, family.task_model)
    return (
        f"{label} skipped different {family.split} calls, {calls}: {differing:,} of {examples} differ. "
        "A pair counts only if neither side was skipped"
    )


def all_skipped(rows: Sequence[Row], split: str) -> bool:
    """Return True if every call of these rows was skipped."""
    parts = [row.splits[split] for row in rows]
    return all(s.skipped and not s.scored and not s.failed for s in parts)


def why_skipped(summary: Summary, row: Row, split: str) -> str:
    """Say why the calls of a row were skipped."""
    where = row.evaluator, row.task_model, row.candidate, split
    told = ((s.evaluator, s.task_model, s.candidate, s.split, s.why) for s in summary.skips)
    return "; ".join(why for *here, why in told if tuple(here) == where)


_TWICE = 1 - 0.5**0.5  # of an interval's width goes with twice the examples


def points_about_repeats(summary: Summary, layout: Layout) -> Iterator[Point]:
    """Say it of the candidate with the largest gain, or of the only one there is."""
    rows = [row for row in summary.rows if is_primary(row, layout)]
    base = next(row for row in rows if row.candidate == summary.baseline)
    split = summary.decided_on
    gains = [(d.diff, row) for row in rows if (d := row.against_baseline(split)) and d.diff is not None]
    best = max(gains, key=lambda gain: gain[0])[1] if gains else None
    parts = _of_mean(base, split) if best is None else _of_difference(base, best, split)
    if parts is None or parts.gain_of_repeats is None:
        return
    whose = "its interval" if best is None else f"the interval of {best.candidate}"
    most, twice = (percent(round(share, 2)) for share in (parts.gain_of_repeats, _TWICE))
    text = f"More repeats would narrow {whose} by about {most} at most, twice the examples by {twice}"
    yield Point(mark="·", text=text)


def _of_mean(row: Row, split: str) -> Components | None:
    s = row.splits[split]
    return None if s.se is None else components_of(s.se, s.n, s.repeats, s.within_sd)


def _of_difference(base: Row, row: Row, split: str) -> Components | None:
    d, own, theirs = row.difference(split), row.splits[split], base.splits[split]
    if d.se is None:
        return None
    return components_of(d.se, d.n_pairs, own.repeats, own.within_sd, theirs.within_sd)
