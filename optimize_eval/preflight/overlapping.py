"""Datasets that are checked together: which rows of one are in another that comes before it.

What a file is a sweep file says, else its name (train, val, test), else the order in which files are named.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from optimize_eval.data.leaks import overlaps_of
from optimize_eval.findings.cells import leakages_of
from optimize_eval.preflight.data_files import CheckedFile
from optimize_eval.store.layout import Split
from optimize_eval.store.manifest import with_overlaps
from optimize_eval.tasks.task_files import DATASET

_RANKS = {"train": 0, "training": 0, "dev": 1, "val": 1, "valid": 1, "validation": 1, "test": 2}


def with_leaks(checked: Sequence[CheckedFile], *, keeps_leaks: bool = False) -> list[CheckedFile]:
    """Let datasets know which of their rows others hold; all else stays as it is."""
    datasets = {one.split or one.path: one for one in _in_order(checked)}
    if len(datasets) < 2:  # noqa: PLR2004  two are to be held against each other
        return [*checked]
    overlaps = overlaps_of({name: one.rows for name, one in datasets.items()}, {})
    splits = [
        Split(name=name, lines=tuple(row.line for row in one.rows), sha256=("",) * len(one.rows))
        for name, one in datasets.items()
    ]
    leaks = {split.name: split for split in with_overlaps(splits, overlaps) if split.leaks}
    told = leakages_of([*leaks.values()], keeps_leaks=keeps_leaks)

    def with_its_own(one: CheckedFile) -> CheckedFile:
        name = one.split or one.path
        if datasets.get(name) is not one or name not in leaks:
            return one
        rows = tuple(row._replace(split=datasets[row.split].path) for row in leaks[name].leaks or ())
        return replace(one, leaks=rows, leaked=told[name].point(name))

    return [*map(with_its_own, checked)]


def _in_order(checked: Sequence[CheckedFile]) -> list[CheckedFile]:
    """Put usable datasets in the order of splits; of one split they stay as they were named."""
    datasets = [one for one in checked if one.kind == DATASET and one.rows and not one.first_problem]
    return sorted(datasets, key=lambda one: _rank(one.split or one.path))


def _rank(path: str) -> int:
    """Read off a file's name which split it is, by default a second one."""
    words = re.split(r"[^a-z]+", Path(path).name.lower())
    return next((_RANKS[word] for word in words if word in _RANKS), _RANKS["val"])
