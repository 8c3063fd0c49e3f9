"""Runs and leaderboards as a comment on a pull request, in GitHub's Markdown: the verdict first.

Pure. Foreign text is escaped, so that nothing in it is markup, a mention or a link; what does not fit into a
comment is left out and said to be.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from optimize_eval.data.candidates import THE_PROMPT
from optimize_eval.findings.board_shapes import Board, ModelPair, ModelScores, scorers_on
from optimize_eval.findings.boards import seen_from
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.summary_parts import Row
from optimize_eval.findings.summary_shape import SkipGroup, Summary
from optimize_eval.findings.wording import (
    count,
    evaluator_label,
    interval,
    number,
    percent,
    possible_interval,
    signed,
)
from optimize_eval.reports.cells_of_tables import (
    MOST_FAILURES,
    SHOWN_TEXT,
    Alike,
    Matrix,
    candidates_of,
    difference,
    is_baseline,
    lead,
    matrices_of,
    most_frequent,
    most_skipped,
    overfit,
    p_value,
    shown_rows,
    tables_of,
    title_of,
    why_skipped,
    words_of,
    worse_rows,
    worst_of,
)
from optimize_eval.reports.inert import inert_code, inert_markdown
from optimize_eval.reports.metric_tables import MetricsBlock, blocks_of
from optimize_eval.statistics.differences import ScoreDifference

LONGEST = 65_000  # letters; GitHub takes 65,536 in a comment

_NAME = 100
SENTENCE = 600
_MOST_METRICS = 50
_LEFT_OUT = "_The rest does not fit into a comment: see summary.json._"
_OF_TEXTS = {
    "candidate",
    "model",
    "task",
    "metric",
    "key",
    "of",
    "overfit?",
    "kind",
    "stage",
    "evaluator",
    "first",
    "what it said",
    "example",
    "input",
    "what was said",
}

Cells = Mapping[str, Sequence[str]]  # the columns of a table by their titles


def render(summary: Summary, gates: Sequence[Gate], run: str, note: str | None = None) -> str:
    """Write the comment, with what was noted of the run; `run` is the folder as people name it."""
    end = f"The whole result: {inert_code(f'optimize-eval report {run}')}"
    return "\n\n".join([*fitting(chain(head(note), _blocks(summary, gates)), LONGEST - len(end)), end])


def head(note: str | None) -> Iterator[str]:
    """Show what people noted of a run."""
    if note:
        yield f"Note: {inert_markdown(note, SENTENCE)}"


def fitting(blocks: Iterator[str], room: int) -> Iterator[str]:
    """Leave out what does not fit any more, and say so."""
    room -= len(_LEFT_OUT) + 4
    is_whole = True
    for block in blocks:
        if len(block) + 2 <= room:
            room -= len(block) + 2
            yield block
        else:
            is_whole = False
    if not is_whole:
        yield _LEFT_OUT


def _blocks(summary: Summary, gates: Sequence[Gate]) -> Iterator[str]:
    """Give what is divided by empty lines."""
    verdict = summary.verdict
    yield f"**{inert_markdown(verdict.text, SENTENCE)}.**"
    if verdict.points:
        yield listed((point.mark, point.text) for point in verdict.points)
    if gates:
        yield gates_block(gates)
    tables = tables_of(summary)
    for rows in tables:
        yield _table(rows, summary)
    for matrix in matrices_of(summary):
        yield _matrix(matrix, summary.decided_on)
    yield from metrics_of_tasks(summary)
    if summary.failures:
        yield failures_of(summary)
    if summary.skips:
        yield _skips(summary)
    if tables:
        for row in (tables[0][0], *worse_rows(tables[0], summary)):
            yield from _worst(row, summary)


def gates_block(gates: Sequence[Gate]) -> str:
    missed = sum(not gate.is_met for gate in gates)
    title = f"**Gates:** {missed} of {len(gates)} missed" if missed else f"**Gates:** {len(gates)} met"
    return f"{title}\n\n" + listed(
        ("✓", gate.text) if gate.is_met else ("✕", f"missed: {gate.text}") for gate in gates
    )


def listed(entries: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"- {mark} {inert_markdown(text, SENTENCE)}" for mark, text in entries)


def _table(rows: Sequence[Row], summary: Summary) -> str:
    split = summary.decided_on
    shown = shown_rows(rows, summary)
    has_others = len(rows) > 1
    where = name_cell(title_of(rows[0], summary))
    how = ", sorted by mean; Δ against the baseline" if has_others else ""
    how += "; intervals by cluster" * (split in summary.clusters)
    table = layout(
        {
            "candidate": [name_cell(row.candidate) for row in shown],
            split: [_score(row.splits[split].mean) for row in shown],
            "95 % CI": [interval_cell(row.splits[split].ci, number) for row in shown],
            **(_compared(shown, summary) if has_others else {}),
            "n": [f"{row.splits[split].n:,}" for row in shown],
            "failed": [f"{row.splits[split].failed:,}" for row in shown],
            **skipped_column([row.splits[split].skipped for row in shown]),
            "coverage": [share_cell(row.splits[split].coverage) for row in shown],
        }
    )
    return f"**{where}: {split}**{how}\n\n{table}{more(len(rows) - len(shown), 'candidate')}"


def _matrix(matrix: Matrix, split: str) -> str:
    """Lay out means of candidates by models."""
    models = {
        name_cell(model): [_score(means[index]) for means in matrix.means.values()]
        for index, model in enumerate(matrix.models)
    }
    table = layout({"candidate": [*map(name_cell, matrix.means)], **models})
    where = inert_markdown(matrix.evaluator, SENTENCE)
    return f"**{where}: {split}**, means of candidates by models\n\n{table}"


def metrics_of_tasks(summary: Summary | None, *, on_board: Collection[str] | None = None) -> Iterator[str]:
    """Lay out the metrics of tasks in YAML; most runs have none."""
    yield from map(_metrics, blocks_of(summary, on_board=on_board) if summary else ())


def _metrics(block: MetricsBlock) -> str:
    """Lay out a scorer's metrics, and how many rows they are of."""
    lines = block.lines[:_MOST_METRICS]
    cells = {title: [name_cell(text) for text in texts[:_MOST_METRICS]] for title, texts in block.columns}
    title = f"**{inert_markdown(block.title, SENTENCE)}**"
    table = layout({"metric": [name_cell(line.name) for line in lines], **cells}) if lines else ""
    rest = more(len(block.lines) - len(lines), "number")
    return "\n\n".join(
        filter(
            None,
            (
                title,
                table + rest,
                "\n".join(f"- {inert_markdown(remark, SENTENCE)}" for remark in block.remarks),
            ),
        )
    )


def more(many: int, what: str) -> str:
    return f"\n\n… and {count(many, f'more {what}')}: see summary.json" if many > 0 else ""


def _compared(rows: Sequence[Row], summary: Summary) -> dict[str, list[str]]:
    split = summary.decided_on
    against = [row.against_baseline(split) for row in rows]
    columns = {
        f"Δ {split}": ["baseline" if d is None else difference(d, summary) for d in against],
        "95 % CI of Δ": [_difference_cell(d, row, summary) for d, row in zip(against, rows, strict=True)],
        "p (Holm)": ["" if d is None else p_value(d.p_holm).replace("<", "&lt;") for d in against],
    }
    if "test" in rows[0].splits and split != "test":
        tested = [row.against_baseline("test") for row in rows]
        columns["Δ test"] = ["" if d is None else difference(d, summary) for d in tested]
    if {"train", "val"} <= rows[0].splits.keys():
        columns["overfit?"] = ["" if row.vs_baseline is None else _overfit(row) for row in rows]
    return columns


def _overfit(row: Row) -> str:
    return f"{overfit(row)} ({signed(row.overfit.value)})" if row.overfit else overfit(row)


def _difference_cell(d: ScoreDifference | None, row: Row, summary: Summary) -> str:
    if d is None or d.ci is None:
        return ""
    return interval(possible_interval(d.ci, summary.score_ranges[row.evaluator]))


def interval_cell(ci: Sequence[float] | None, write: Callable[[float], str]) -> str:
    return "" if ci is None else interval(ci, write)


def share_cell(share: float | None) -> str:
    return "" if share is None else percent(share)


def failures_of(summary: Summary) -> str:
    """Lay out the most frequent failures, with their stages, where calls have several."""
    entries = most_frequent(summary)
    shown = entries[:MOST_FAILURES]
    total = sum(entry.count for entry in entries)
    title = f"**{count(total, 'call')} failed**, left out of every mean"
    stages = [entry.first.stage for entry in shown]
    is_of_bench = all(entry.candidates == (THE_PROMPT.name,) for entry in shown)
    table = layout(
        {
            "calls": [f"{entry.count:,}" for entry in shown],
            "kind": [name_cell(entry.first.kind) for entry in shown],
            **({"stage": [name_cell(stage) for stage in stages]} if any(stages) else {}),
            "evaluator": [
                name_cell(evaluator_label(entry.first.evaluator, entry.first.task_model)) for entry in shown
            ],
            **({} if is_of_bench else {"candidate": [name_cell(candidates_of(entry)) for entry in shown]}),
            "first": [_place(entry.first.split, entry.first.lines[0]) for entry in shown],
            "what it said": [inert_markdown(words_of(entry.first), SHOWN_TEXT) for entry in shown],
        }
    )
    return f"{title}\n\n{table}{more(len(entries) - len(shown), 'kind')}"


def skipped_column(counts: Sequence[int]) -> dict[str, list[str]]:
    """Count the skipped calls, where there are any."""
    return {"skipped": [f"{many:,}" for many in counts]} if any(counts) else {}


def _skips(summary: Summary) -> str:
    entries = most_skipped(summary)
    title = f"**{count(sum(entry.count for entry in entries), 'call')} skipped**, in no mean and no pair"
    lines = listed((f"{entry.count:,} ×", _skip(entry)) for entry in entries[:MOST_FAILURES])
    return f"{title}\n\n{lines}{more(len(entries) - MOST_FAILURES, 'reason')}"


def _skip(entry: Alike[SkipGroup]) -> str:
    first = entry.first
    where = evaluator_label(first.evaluator, first.task_model), candidates_of(entry)
    return f"{' · '.join([*where, _place(first.split, first.lines[0])])}: {why_skipped(entry)}"


def _place(split: str, line: int | None) -> str:
    return split if line is None else f"{split} {line}"


def _worst(best: Row, summary: Summary) -> Iterator[str]:
    """Fold away where a candidate got worse than the baseline, and why."""
    low = worst_of(best, summary)
    if not low:
        return
    columns = {
        "example": [
            " ".join([_place(example.split, example.line), name_cell(example.name)]).strip()
            for example in low
        ],
        "input": [inert_markdown(example.input, SHOWN_TEXT) for example in low],
        **({} if is_baseline(best, summary) else {"baseline": [number(example.baseline) for example in low]}),
        "score": [number(example.score) for example in low],
        "what was said": [inert_markdown(example.text or "", SHOWN_TEXT) for example in low],
    }
    label = name_cell(evaluator_label(best.evaluator, best.task_model))
    baseline = name_cell(summary.baseline)
    did = "did worst" if is_baseline(best, summary) else f"got worse than {baseline}"
    title = f"Where {name_cell(best.candidate)} {did} on {label}"
    yield f"<details><summary>{title}</summary>\n\n{layout(columns)}\n\n</details>"


def name_cell(text: str) -> str:
    return inert_markdown(text, _NAME)


def layout(columns: Cells | Sequence[tuple[str, Sequence[str]]]) -> str:
    """Lay out a table: numbers stand at the right."""
    titles, cells = zip(*(columns.items() if isinstance(columns, Mapping) else columns), strict=True)
    sides = [":--" if title in _OF_TEXTS else "--:" for title in titles]
    rows = [titles, sides, *zip(*cells, strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


_MOST_ROWS = 30
_MOST_MODELS = 8  # beside each other


def render_boards(
    boards: Mapping[str, Board],
    gates: Sequence[Gate],
    run: str,
    note: str | None = None,
    summary: Summary | None = None,
) -> str:
    """Write the comment: the run's note, then boards by their metrics' names, the bench's own without one.

    `summary` has the metrics of tasks in YAML.
    """
    end = f"The whole result: {inert_code(f'optimize-eval report {run}')}"
    return "\n\n".join(
        [
            *fitting(
                chain(
                    head(note),
                    _blocks_of_board(boards, gates, summary),
                    _of_tasks(summary, scorers_on(boards)),
                ),
                LONGEST - len(end),
            ),
            end,
        ]
    )


def _blocks_of_board(
    boards: Mapping[str, Board], gates: Sequence[Gate], summary: Summary | None
) -> Iterator[str]:
    knows_stages = summary is not None and bool(summary.metrics)
    for metric, board in boards.items():
        heading = f"by {name_cell(metric)}: " if metric else ""
        yield f"**{heading}{inert_markdown(board.verdict.text, SENTENCE)}.**"
        if points := board.verdict.points:
            yield listed((point.mark, point.text) for point in points)
        if gates and not metric:
            yield gates_block(gates)
        if wrong := len(board.task_errors):
            yield f"{count(wrong, 'bad line')} left out (--allow-bad-tasks)"
        yield _models(board)
        yield _tasks(board)
        if any(model.failed for model in board.models) and not knows_stages:
            yield _failures(board.models)


def _of_tasks(summary: Summary | None, on_board: Collection[str]) -> Iterator[str]:
    """Give the metrics of tasks in YAML, and what failed at which stage; most benches have none."""
    if summary and summary.metrics:
        yield from metrics_of_tasks(summary, on_board=on_board)
        if summary.failures:
            yield failures_of(summary)


def _models(board: Board) -> str:
    models = board.models[:_MOST_ROWS]
    table = layout(
        {
            "model": [name_cell(model.adapter) for model in models],
            "overall": [_score(model.overall_score) for model in models],
            "95 % CI": [interval_cell(model.ci, number) for model in models],
            **(_against_first(board, models) if len(models) > 1 else {}),
            "perfect": [f"{model.perfect:,}/{model.applying:,}" for model in models],
            "failed": [f"{model.failed:,}" for model in models],
            **skipped_column([model.skipped for model in models]),
            "coverage": [share_cell(model.coverage) for model in models],
        }
    )
    return table + more(len(board.models) - len(models), "model")


def _against_first(board: Board, models: Sequence[ModelScores]) -> dict[str, list[str]]:
    pairs = [seen_from(model, models[0], board.pairs) for model in models[1:]]
    return {
        "Δ first": ["first", *map(lead, pairs)],
        "95 % CI of Δ": ["", *map(_interval, pairs)],
        "p (Holm)": ["", *map(_p_value, pairs)],
    }


def _interval(pair: ModelPair) -> str:
    return "" if pair.difference.diff is None else interval_cell(pair.difference.ci, signed)


def _p_value(pair: ModelPair) -> str:
    d = pair.difference
    return "" if d.diff is None else p_value(d.p_holm).replace("<", "&lt;")


def _tasks(board: Board) -> str:
    models, tasks = board.models[:_MOST_MODELS], board.models[0].tasks
    shown = range(min(len(tasks), _MOST_ROWS))
    columns = [
        ("task", [name_cell(tasks[index].name) for index in shown]),
        ("metric", [name_cell(tasks[index].metric_name) for index in shown]),
    ]
    if any(task.evaluator for task in tasks):  # of tasks in YAML, as gates name them
        columns.append(("key", [name_cell(tasks[index].evaluator) for index in shown]))
    for model in models:  # which may be called as another column is
        scores = [_score(model.tasks[index].score) for index in shown]
        columns.append((name_cell(model.adapter), scores))
    return layout(columns) + more(len(tasks) - len(shown), "task")


def _score(value: float | None) -> str:
    return "" if value is None else number(value)


def _failures(models: Sequence[ModelScores]) -> str:
    entries = [(model.adapter, kind, many) for model in models for kind, many in model.errors.items()]
    entries.sort(key=lambda entry: -entry[2])
    shown = entries[:_MOST_ROWS]
    title = f"**{count(sum(many for *_, many in entries), 'call')} failed**, left out of every mean"
    table = layout(
        {
            "calls": [f"{many:,}" for *_, many in shown],
            "kind": [name_cell(kind) for _, kind, _ in shown],
            "model": [name_cell(model) for model, *_ in shown],
        }
    )
    return f"{title}\n\n{table}{more(len(entries) - len(shown), 'kind')}"
