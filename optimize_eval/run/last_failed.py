"""`run --lf`: the examples on which a call failed, or a candidate lost to the baseline, in an earlier run.

They are known by their bytes, so the data may have grown or moved since. They were chosen by their results:
what is said of them is numbers, never a verdict.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from statistics import fmean

from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.run.splits import SplitSource
from optimize_eval.run.sweeps import SweepInputs
from optimize_eval.store.opened_run import open_stored
from optimize_eval.store.records import Records, RunRecord

_Place = tuple[str, int | None]  # a split, and a line of it


@frozen
class LastFailed:
    """What is to be run again."""

    run: str
    inputs: SweepInputs
    many: int


def choose_last_failed(inputs: SweepInputs, run: str) -> LastFailed | None:
    """Keep the examples that failed or got worse in a run; None where there is none."""
    stored = open_stored(run)
    places = {*_failed_calls(Records(stored)), *_lost_to_baseline(Records(stored), stored.layout.baseline)}
    digests = {
        digest
        for split in stored.layout.splits
        for line, digest in zip(split.lines, split.sha256, strict=True)
        if (split.name, line) in places
    }
    if not digests:
        return None
    sources = tuple(_only(source, digests) for source in inputs.examples.sources)
    many = sum(len(source.examples) for source in sources)
    if not many:
        raise UsageError(
            f"no example of this command is among the {len(digests):,} that failed or got worse in {run}",
            hint="name that run's data, or omit --lf",
        )
    examples = replace(inputs.examples, sources=tuple(source for source in sources if source.examples))
    return LastFailed(run=run, inputs=replace(inputs, examples=examples), many=many)


def _failed_calls(records: Iterable[RunRecord]) -> Iterable[_Place]:
    return ((record.split, record.line) for record in records if record.outcome == "failed")


def _lost_to_baseline(records: Iterable[RunRecord], baseline: str) -> Iterable[_Place]:
    """Find where a candidate's mean over its repeats is below the baseline's."""
    scores: defaultdict[tuple[str, str | None, _Place], defaultdict[str, list[float]]]
    scores = defaultdict(lambda: defaultdict(list))
    for record in records:
        if record.score is not None:
            where = record.split, record.line
            scores[record.evaluator, record.task_model, where][record.candidate].append(record.score)
    for (_, _, where), by_candidate in scores.items():
        means = {name: fmean(values) for name, values in by_candidate.items()}
        if baseline in means and min(means.values()) < means[baseline]:
            yield where


def _only(source: SplitSource, digests: set[str]) -> SplitSource:
    kept = tuple(example for example in source.examples if sha256(example.raw).hexdigest() in digests)
    return replace(source, examples=kept)
