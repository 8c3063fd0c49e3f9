"""What the records of one of two compared runs hold beside the scores that are compared.

Only of what both runs have: failures, side information and the means of each cell, as in a run's own summary.
"""

from dataclasses import replace

from optimize_eval.base.frozen import frozen
from optimize_eval.findings.scores import Scores
from optimize_eval.findings.shapes.side_info import SideInfoEntry
from optimize_eval.findings.shapes.summary import FailureGroup
from optimize_eval.findings.shaping import failure_groups
from optimize_eval.findings.some_examples import at_places
from optimize_eval.findings.summary.cells import ReadCells
from optimize_eval.store.beside import Paired
from optimize_eval.store.layout import Layout
from optimize_eval.store.stored import StoredRun


@frozen
class Beside:
    """One side of a comparison."""

    layout: Layout
    scores: tuple[Scores, ...]
    failures: tuple[FailureGroup, ...]
    side_info: tuple[SideInfoEntry, ...]


def in_common(run: StoredRun, paired: Paired, side: int) -> StoredRun:
    """Give one of two runs (0 is A) as if it had been about what both have, in the order of the second."""
    candidates = tuple(dict.fromkeys(names[side] for names in paired.candidates))
    part = at_places(run, {split.name: (split.a, split.b)[side] for split in paired.splits})
    layout = part.layout
    common = replace(
        layout,
        evaluators=paired.evaluators,
        score_ranges=tuple(map(layout.score_range, paired.evaluators)),
        candidates=candidates,
        task_models=paired.task_models,
        splits=tuple(layout.split(split.name) for split in paired.splits),
        baseline=layout.baseline if layout.baseline in candidates else candidates[0],
    )
    return replace(part, ledger=part.ledger.of(common))


def read_beside(run: StoredRun) -> Beside:
    """Read what a run in common has, each cell once."""
    with run.reader() as reader:
        cells = ReadCells.read(run.layout, reader.records)
    return Beside(
        layout=run.layout,
        scores=tuple(cells.scores.values()),
        failures=tuple(
            group for (_, name), scores in cells.scores.items() for group in failure_groups(name, scores)
        ),
        side_info=tuple(cells.side_info),
    )
