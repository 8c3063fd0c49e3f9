"""Which cells of a bench hold the scores of a model, by split: what knows how a bench is laid out.

Here models are a bench's evaluators; who scored their outputs once more are evaluators named MODEL.SCORER.
"""

from collections.abc import Iterator, Mapping

from optimize_eval.frozen import frozen
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.ledger import OWED
from optimize_eval.store.stored import StoredRun


@frozen
class BenchedModel:
    """A model of a board: what it is called, how it is written, and where its scores are."""

    name: str
    text: str
    cells: Mapping[str, Cell]  # by split
    has_changed: bool = False  # it, or who scored it, was not one program throughout


def benched_models(run: StoredRun) -> tuple[BenchedModel, ...]:
    """List the models of a bench as they were named."""
    return scored_by(run, {entry["name"]: entry["name"] for entry in run.manifest["evaluators"]})


def scored_by(run: StoredRun, names: Mapping[str, str]) -> tuple[BenchedModel, ...]:
    """List the models by the names of their evaluators."""
    texts = {entry["name"]: entry["text"] for entry in run.manifest["evaluators"]}
    return tuple(
        BenchedModel(
            name=name,
            text=texts.get(name, name),
            cells=dict(_cells_of(run.layout, evaluator)),
            has_changed=evaluator in run.ledger.changed,
        )
        for evaluator, name in names.items()
    )


def is_owed(run: StoredRun, model: BenchedModel) -> bool:
    """Return True if a model has not been called for all of its tasks."""
    units = (range(cell.start, cell.start + cell.size) for cell in model.cells.values())
    return any(run.ledger.count(OWED, numbers) for numbers in units)


def model_names(layout: Layout) -> tuple[str, ...]:
    """Name the models of a bench that is planned."""
    return layout.evaluators


def _cells_of(layout: Layout, evaluator: str) -> Iterator[tuple[str, Cell]]:
    return ((cell.split, cell) for cell in layout.cells if cell.evaluator == evaluator)
