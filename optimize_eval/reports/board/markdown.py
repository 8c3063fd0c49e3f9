"""Leaderboards as a comment on a pull request, in GitHub's Markdown: the verdict, then models and tasks.

Pure: boards → text. How foreign text is made inert, and what fits into a comment, is reports.markdown's.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from optimize_eval.findings.board_shapes import Board, ModelPair, ModelScores, scorers_on
from optimize_eval.findings.boards import seen_from
from optimize_eval.findings.gates import Gate
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.findings.wording import count, number, signed
from optimize_eval.reports.board.leads import lead
from optimize_eval.reports.cells import p_value
from optimize_eval.reports.inert import inert_code, inert_markdown
from optimize_eval.reports.markdown import (
    LONGEST,
    SENTENCE,
    failures_of,
    fitting,
    gates_block,
    head,
    interval_cell,
    layout,
    listed,
    metrics_of_tasks,
    more,
    name_cell,
    share_cell,
    skipped_column,
)

_MOST_ROWS = 30
_MOST_MODELS = 8  # beside each other


def render(
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
                chain(head(note), _blocks(boards, gates, summary), _of_tasks(summary, scorers_on(boards))),
                LONGEST - len(end),
            ),
            end,
        ]
    )


def _blocks(boards: Mapping[str, Board], gates: Sequence[Gate], summary: Summary | None) -> Iterator[str]:
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
        ("task", [name_cell(tasks[place].name) for place in shown]),
        ("metric", [name_cell(tasks[place].metric_name) for place in shown]),
    ]
    if any(task.evaluator for task in tasks):  # of tasks in YAML, as gates name them
        columns.append(("key", [name_cell(tasks[place].evaluator) for place in shown]))
    for model in models:  # which may be called as another column is
        scores = [_score(model.tasks[place].score) for place in shown]
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
