"""Which cells of a bench hold the scores of a model, by split: what knows how a bench is laid out.

A bench's models are its task models. Each task, a split, has scorers, evaluators that are for it alone; the
first of them is the board's. An evaluator that was added scores the replies to all tasks once more. In
benches of earlier versions models were evaluators, and who scored their outputs once more was named
MODEL.SCORER.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.findings.metrics import counts_as
from optimize_eval.store.layout import Cell, Layout
from optimize_eval.store.ledger import OWED
from optimize_eval.store.manifest import Manifest
from optimize_eval.store.stored import StoredRun
from optimize_eval.store.view import JournalRecord, Reader
from optimize_eval.tasks.defined import TASKS


@frozen
class BenchedModel:
    """A model of a board: what it is called, how it is written, and where its scores are."""

    name: str
    text: str
    cells: Mapping[str, Cell]  # by split
    has_changed: bool = False  # it, or who scored it, was not one program throughout

    def without(self, splits: Collection[str]) -> "BenchedModel":
        cells = {split: cell for split, cell in self.cells.items() if split not in splits}
        return replace(self, cells=cells)


def benched_models(run: StoredRun) -> tuple[BenchedModel, ...]:
    """List the models of a bench as they were named, with the scores of the tasks' own scorers."""
    if is_of_former_layout(run.manifest):
        return former_models(run, {entry["name"]: entry["name"] for entry in run.manifest["evaluators"]})
    layout = run.layout
    scorers = {
        split: name for name in reversed(layout.evaluators) for split in layout.splits_of.get(name, ())
    }
    return _scored_by(run, scorers)


def models_scored_by(run: StoredRun, evaluator: str) -> tuple[BenchedModel, ...]:
    """List the models with the scores of an evaluator for all tasks; each model once."""
    models = _scored_by(run, {split.name: evaluator for split in run.layout.splits_for(evaluator)})
    distinct = {entry["sha256"]: entry["name"] for entry in reversed(run.manifest["models"])}
    return tuple(model for model in models if model.name in distinct.values())


def is_of_former_layout(manifest: Manifest) -> bool:
    """Return True if a bench is one of an earlier version, whose models were its evaluators."""
    return not manifest.get("models")


def _scored_by(run: StoredRun, scorers: Mapping[str, str]) -> tuple[BenchedModel, ...]:
    """List the models with the scores of one evaluator for each split."""
    changed = run.ledger.changed.intersection(scorers.values())
    return tuple(
        BenchedModel(
            name=entry["name"],
            text=entry["text"],
            cells={
                cell.split: cell
                for cell in run.layout.cells
                if (cell.evaluator, cell.task_model) == (scorers.get(cell.split), entry["name"])
            },
            has_changed=bool(changed) or entry["name"] in run.ledger.changed_models,
        )
        for entry in run.manifest["models"]
    )


def former_models(run: StoredRun, names: Mapping[str, str]) -> tuple[BenchedModel, ...]:
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


@frozen
class RanksNobody:
    """The scorer that a board would be about for a split, and why it is about none."""

    evaluator: str
    why: str


def unranked_in(run: StoredRun) -> Mapping[str, RanksNobody]:
    """Find the splits that no board can be about."""
    cells: dict[str, list[Cell]] = {cell.split: [] for cell in run.layout.cells}
    for model in benched_models(run):
        for split, cell in model.cells.items():
            cells[split].append(cell)
    checks = _quality_checks(run)
    with run.reader(counts_as(run)) as reader:
        reasons = {split: _why_none(run, theirs, checks, reader) for split, theirs in cells.items()}
    return {
        split.name: RanksNobody(evaluator=cells[split.name][0].evaluator, why=why)
        for split in run.layout.splits
        if (why := reasons.get(split.name))
    }


def _why_none(run: StoredRun, cells: Sequence[Cell], checks: Collection[str], reader: Reader) -> str:
    if any(cell.evaluator in checks for cell in cells):
        return "has the purpose qa"
    open_ended = (cell for cell in cells if run.layout.score_range(cell.evaluator) is ScoreRange.ANY)
    is_off = any(_is_off(record) for cell in open_ended for _, record in reader.records(cell))
    return "gives no numbers from 0 to 1" if is_off else ""


def _quality_checks(run: StoredRun) -> Collection[str]:
    """List the scorers that are looked at and rank nobody, as their tasks say."""
    settings = run.manifest["settings"]
    if TASKS not in settings:
        return ()
    from optimize_eval.tasks.kept import tasks_in  # noqa: PLC0415  most benches have none

    return {one.evaluator for task in tasks_in(settings) for one in task.scorers if one.purpose == "qa"}


def ranks_none(run: StoredRun) -> bool:
    """Return True if no split of a bench can be on a board."""
    return len(unranked_in(run)) == len(run.layout.splits)


def _is_off(record: JournalRecord) -> bool:
    if record["outcome"] != "scored":
        return False
    score: float | None = record["score"]
    return score is None or not 0.0 <= score <= 1.0


def is_owed(run: StoredRun, model: BenchedModel) -> bool:
    """Return True if a model has not been called for all of its tasks."""
    units = (range(cell.start, cell.start + cell.size) for cell in model.cells.values())
    return any(run.ledger.count(OWED, numbers) for numbers in units)


def model_names(layout: Layout) -> tuple[str, ...]:
    """Name the models of a bench that is planned."""
    return tuple(map(str, layout.task_models)) if layout.splits_of else layout.evaluators


def name_of(evaluator: str, task_model: str | None, layout: Layout) -> str:
    """Name a model as a board does; with its scorer, where that is not the task's own, as in gates."""
    if task_model is None:
        return evaluator
    return task_model if evaluator in layout.splits_of else f"{task_model}.{evaluator}"


def _cells_of(layout: Layout, evaluator: str) -> Iterator[tuple[str, Cell]]:
    return ((cell.split, cell) for cell in layout.cells if cell.evaluator == evaluator)
