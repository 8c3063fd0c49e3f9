"""Which comparisons are made together: each family holds a false claim in at most 5 of 100 runs.

The first evaluator on the deciding split is a family of its own, and the only one that makes a headline;
all others on that split are one; so is each other split, each grouping field by split, and all overfits.
Pairs of candidates are a family within one evaluator, task model and split. Models that reply to the same
prompts are compared apart from the prompts, in families of the same kind.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from optimize_eval.findings.summary.compare import NO_OTHERS, AlsoTried, Comparison, corrected
from optimize_eval.store.layout import Layout

_Key = TypeVar("_Key", bound=Hashable)


class CellFamily(NamedTuple):
    """The cells of one evaluator, task model and split."""

    evaluator: str
    task_model: str | None
    split: str


def family_of(where: CellFamily, layout: Layout) -> tuple[str, bool]:
    """Name the family of the comparisons with the baseline: its split, and whether it makes the headline."""
    is_primary = (where.evaluator, where.task_model) == (layout.evaluators[0], layout.task_models[0])
    return where.split, is_primary and where.split == layout.deciding


def model_family_of(where: CellFamily, layout: Layout) -> tuple[str, bool]:
    """Name the family of comparisons with the first model: its split, and whether it decides."""
    return where.split, where.evaluator == layout.evaluators[0] and where.split == layout.deciding


def sizes_by(keys: Sequence[_Key], family: Callable[[_Key], Hashable]) -> dict[_Key, int]:
    """Count for each comparison how many are made together with it."""
    many = Counter(map(family, keys))
    return {key: many[family(key)] for key in keys}


def corrected_by(
    found: Mapping[_Key, Comparison],
    family: Callable[[_Key], Hashable],
    also: Callable[[Sequence[_Key]], AlsoTried] = lambda _keys: NO_OTHERS,
) -> dict[_Key, Comparison]:
    """Correct all comparisons, each within its family, and for what was `also` tried besides it."""
    families: dict[Hashable, list[_Key]] = {}
    for key in found:
        families.setdefault(family(key), []).append(key)
    done: dict[_Key, Comparison] = {}
    for keys in families.values():
        done.update(zip(keys, corrected([found[key] for key in keys], also(keys)), strict=True))
    return {key: done[key] for key in found}
