"""What the page of a comparison is made from: two runs as one, in which each candidate stands twice.

The candidates at even places are those of A, each followed by the one of B that it is compared with. Two
leaderboards have no records, so theirs is a page of numbers alone.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from optimize_eval.base.documents import JsonDict, JsonMapping, to_dict
from optimize_eval.base.shipped import VERSION
from optimize_eval.findings.cells import ReadCells
from optimize_eval.findings.diff_shapes import REGRESSIONS, BoardDiff, RunDiff, Standing
from optimize_eval.findings.diff_verdict import sign
from optimize_eval.findings.some_examples import at_places
from optimize_eval.reports.page import document
from optimize_eval.reports.source import (
    PageRun,
    PageSource,
    PlacedLine,
    PlacedRecords,
    all_records,
    evaluators_of,
    reader_of_lines,
    without_records,
)
from optimize_eval.store.beside import Paired
from optimize_eval.store.layout import Cell
from optimize_eval.store.opened_run import StoredRun
from optimize_eval.store.run_json import selected_json

RUNS, BOARDS = "diff", "board-diff"  # kinds of pages

_SIDES = "AB"
_LONGEST_PREDICTION = 4_000  # letters


def _in_common(run: StoredRun, paired: Paired, side: int) -> StoredRun:
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


def _read_cells(run: StoredRun) -> ReadCells:
    with run.reader() as reader:
        return ReadCells.read(run.layout, reader.records)


@dataclass(frozen=True, kw_only=True)
class _Sides:
    """Both runs as if they had been about what both have."""

    runs: tuple[StoredRun, StoredRun]
    names: tuple[tuple[str, str], ...]  # of candidates

    @cached_property
    def readers(self) -> list[Callable[[str, list[int]], Iterator[PlacedLine]]]:
        return [reader_of_lines(run) for run in self.runs]

    @property
    def repeats(self) -> int:
        return max(run.layout.repeats for run in self.runs)

    @property
    def candidates(self) -> list[str]:
        return [_named(side, pair[side]) for pair in self.names for side in range(2)]

    def cell(self, side: int, cell: Cell) -> Cell:
        """Name a cell of one side as the page does."""
        return cell._replace(candidate=_named(side, cell.candidate))

    def unit(self, side: int, unit: int) -> int:
        """Put a unit of one side where the page has it."""
        example, repeat = divmod(unit, self.runs[side].layout.repeats)
        return example * self.repeats + repeat

    def records(self) -> Iterator[tuple[Cell, PlacedRecords]]:
        for side, run in enumerate(self.runs):
            for cell, records in all_records(run):
                yield self.cell(side, cell), ((self.unit(side, unit), record) for unit, record in records)

    def lines_of(self, split: str, places: Iterable[int]) -> Iterator[PlacedLine]:
        for side, lines_of in enumerate(self.readers):
            for cell, unit, line, reply in lines_of(split, [*places]):
                yield self.cell(side, cell), self.unit(side, unit), line, reply

    def run(self) -> PageRun:
        """Write down what run.json would say of both as one; the examples are where B has them."""
        a, b = (selected_json(run.document) for run in self.runs)
        texts = [{entry["name"]: entry for entry in run["candidates"]} for run in (a, b)]
        return {
            "kind": RUNS,
            "version": b.get("version", VERSION),
            "evaluators": evaluators_of(b),
            "candidates": [
                {**texts[side][pair[side]], "name": _named(side, pair[side])}
                for pair in self.names
                for side in range(2)
            ],
            **{key: b[key] for key in ("task_models", "splits")},
            "repeats": self.repeats,
            **{key: b[key] for key in ("seed", "cluster_by")},
            "group_by": [],
            "settings": b["settings"],
            **{key: b[key] for key in ("models",) if key in b},
        }


def runs_source(a: StoredRun, b: StoredRun, paired: Paired, diff: RunDiff, options: str) -> PageSource:
    """Say what the page of two runs is made from; `options` are those of the command, as a shell has them."""
    sides = _Sides(runs=(_in_common(a, paired, 0), _in_common(b, paired, 1)), names=paired.candidates)
    both = sides.run()
    cells = [_read_cells(run) for run in sides.runs]
    return PageSource(
        run=both,
        summary=_summary(diff, sides, cells),
        records=sides.records,
        lines_of=sides.lines_of,
        against=[index - index % 2 for index in range(len(sides.candidates))],
        more={"diff": _told(diff), "commands": _commands(sides, both, diff, options)},
    )


def boards_source(a: str, b: str, diff: BoardDiff, options: str) -> PageSource:
    """Say the same of two leaderboards."""
    return without_records(
        BOARDS,
        _verdict(diff),
        {
            "diff": {**_cut(diff.with_names_apart().to_dict()), "a": {"run": a}, "b": {"run": b}},
            "commands": _commands_of(a, b, options),
        },
    )


def _cut(diff: JsonDict) -> JsonDict:
    """Shorten predictions that nobody reads in a table."""
    for change in (change for model in diff["models"] for change in model["changed"]):
        for side in (change["a"], change["b"]):
            text = side["prediction"]
            if isinstance(text, str) and len(text) > _LONGEST_PREDICTION:
                side["prediction"] = f"{text[:_LONGEST_PREDICTION]}…"
    return diff


def _named(side: int, name: str) -> str:
    return f"{_SIDES[side]} · {name}"


def _told(diff: RunDiff) -> JsonDict:
    """Give the comparison with what each row amounts to, the worst of the deciding split first."""
    shown = diff.with_names_apart()
    rows = [
        {
            **to_dict(row),
            "shown": [seen.candidate_in_a, seen.candidate],
            "sign": sign(row),
            "severity": row.standing.severity,
        }
        for row, seen in sorted(
            zip(diff.rows, shown.rows, strict=True),
            key=lambda both: (
                both[0].split != diff.decided_on,
                both[0].standing.severity,
                both[0].difference.diff or 0.0,
            ),
        )
    ]
    only = {"only_in_a": to_dict(shown.only_in_a), "only_in_b": to_dict(shown.only_in_b)}
    return {**diff.to_dict(), **only, "rows": rows}


def _verdict(diff: RunDiff | BoardDiff, state: str | None = None) -> JsonDict:
    """Give the verdict with what is to be known beside it."""
    conclusion = to_dict(diff.verdict)
    caveats = [{"mark": "!", "text": caveat} for caveat in diff.caveats]
    return {**conclusion, "points": [*conclusion["points"], *caveats], "state": state, "winner": None}


def _state(diff: RunDiff) -> str | None:
    """Say of the sentence that comes first whether it is good or bad."""
    first = min(
        (row.standing for row in diff.rows if row.split == diff.decided_on),
        key=lambda one: one.severity,
    )
    return "worse" if first in REGRESSIONS else "better" if first is Standing.BETTER else None


def _summary(diff: RunDiff, sides: _Sides, cells: list[ReadCells]) -> JsonDict:
    """Write what the page's parts read of a run's summary."""
    layout = sides.runs[1].layout
    outcomes = {
        name: sum(getattr(scores, name) for read in cells for scores in read.scores.values())
        for name in ("scored", "failed", "skipped")
    }
    total = sum(read.layout.size for read in cells)
    return {
        "verdict": _verdict(diff, _state(diff)),
        "baseline": None,
        "decided_on": diff.decided_on,
        "score_ranges": dict(zip(layout.evaluators, map(str, layout.score_ranges), strict=True)),
        "units": {"total": total, **outcomes, "owed": total - sum(outcomes.values())},
        "rows": [row for side, read in enumerate(cells) for row in _rows(side, read)],
        "pairs": [_pair(to_dict(row)) for row in diff.rows],
        "failures": [_of_side(side, to_dict(group)) for side in range(2) for group in cells[side].failures()],
        "side_info": [_of_side(side, to_dict(entry)) for side in range(2) for entry in cells[side].side_info],
        "latency": [],
    }


def _rows(side: int, cells: ReadCells) -> Iterator[JsonDict]:
    """Count what became of each cell's calls."""
    for scores in cells.scores.values():
        cell = scores.cell
        counts = {"scored": scores.scored, "failed": scores.failed, "skipped": scores.skipped}
        yield {
            "evaluator": cell.evaluator,
            "candidate": _named(side, cell.candidate),
            "task_model": cell.task_model,
            "splits": {cell.split: counts},
        }


def _of_side(side: int, entry: JsonDict) -> JsonDict:
    return {**entry, "candidate": _named(side, entry["candidate"])}


def _pair(row: JsonMapping) -> JsonDict:
    return {**row, "a": _named(0, row["candidate_in_a"]), "b": _named(1, row["candidate"])}


def _commands(sides: _Sides, both: PageRun, diff: RunDiff, options: str) -> dict[str, object]:
    """Write the commands of the page; an example is called again as B has it."""
    known = [document.commands_of(selected_json(run.document), str(run.folder)) for run in sides.runs]
    paths = [
        dict(zip(run.document.selection.candidates, of["candidates"], strict=True))
        for run, of in zip(sides.runs, known, strict=True)
    ]
    return {
        **document.commands_of(both, diff.b.run),
        **_commands_of(diff.a.run, diff.b.run, options),
        "candidates": [paths[side][pair[side]] for pair in sides.names for side in range(2)],
        "records": [of["records"] for of in known],
    }


def _commands_of(a: str, b: str, options: str) -> dict[str, object]:
    command = f"optimize-eval diff {shlex.quote(a)} {shlex.quote(b)}{options}"
    return {"report": command, "json": f"{command} --json", "full": f"{command} --format html --full"}
