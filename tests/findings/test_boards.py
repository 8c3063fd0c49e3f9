"""Leaderboards on disk: read whoever wrote them, refused in words where they are none, checked, compared."""

import copy
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.errors import UsageError
from optimize_eval.findings.board_shapes import differences
from optimize_eval.findings.diff_boards import compare_boards
from optimize_eval.findings.diff_shapes import BoardDiff
from optimize_eval.findings.stored_boards import check_files, load_board
from optimize_eval.reports.terminal.leaderboard import render_comparison
from optimize_eval.reports.text import Screen

Board = dict[str, Any]


def foreign(score: float | None = 0.5, **changed: object) -> Board:
    """Make a board that has the fields of leaderboard.v1, and no more."""
    task = {"task": "sums", "metric": "f1", "score": score, "correct": 1, "total": 2, "latency_ms": 1.5}
    whole = {"schema": "leaderboard.v1", "timestamp": "2026-01-01", "overall_score": score, "adapter": "toy"}
    return {**whole, "tasks": [task], **changed}


def with_examples(*scores: float | None, ids: str = "abcdefghijklmnopqrstuvwxyz") -> Board:
    board = foreign(sum(score or 0.0 for score in scores) / len(scores))
    board["tasks"][0]["per_example"] = [
        {"id": one, "prompt": "?", "prediction": str(score), "targets": ["1"], "score": score}
        for one, score in zip(ids, scores, strict=False)
    ]
    return board


def written(folder: Path, board: Any, name: str = "board.json") -> str:
    path = folder / name
    path.write_bytes(board if isinstance(board, bytes) else orjson.dumps(board))
    return str(path)


def compared(folder: Path, a: Any, b: Any, *, force: bool = False) -> BoardDiff:
    boards = load_board(written(folder, a, "a.json")), load_board(written(folder, b, "b.json"))
    return compare_boards(*boards, force=force)


def between(folder: Path, a: Any, b: Any) -> dict[str, Any]:
    return compared(folder, a, b).to_dict()


def test_boards_of_another_tool_are_compared_without_examples_and_with(tmp_path: Path) -> None:
    plain = between(tmp_path, foreign(0.5), foreign(0.75))
    (model,) = plain["models"]
    assert (model["overall"]["diff"], model["overall"]["ci"], model["paired"]) == (0.25, None, False)
    assert "too few examples to say more; 1 of 1 task moved" in plain["verdict"]["text"]
    paired = between(tmp_path, with_examples(*[0.0] * 12), with_examples(*[0.0, 1.0] * 6))
    overall = paired["models"][0]["overall"]
    assert (overall["diff"], overall["wins"], overall["ties"], overall["test"]) == (0.5, 6, 6, "mcnemar")
    assert overall["p"] == pytest.approx(2 / 2**6)
    assert paired["models"][0]["predictions_changed"] == 6


def test_what_has_no_score_on_one_board_is_told_and_takes_no_part(tmp_path: Path) -> None:
    found = between(tmp_path, with_examples(1.0, None, 0.0), with_examples(None, 1.0, 0.0))
    (task,) = found["models"][0]["tasks"]
    assert (task["newly_failing"], task["fixed"], task["n_pairs"], task["diff"]) == (1, 1, 1, 0.0)
    apart = between(tmp_path, with_examples(1.0, None), with_examples(None, 1.0))["verdict"]["text"]
    assert ": no example has a score on both boards; " in apart
    nothing = between(tmp_path, foreign(None), foreign(0.0))
    assert nothing["models"][0]["overall"]["diff"] is None
    assert "one of the boards has no overall score for it" in nothing["verdict"]["text"]


def test_examples_of_one_id_are_matched_in_their_order(tmp_path: Path) -> None:
    found = between(tmp_path, with_examples(0.0, 1.0, ids="aa"), with_examples(0.0, 0.0, ids="aa"))
    (task,) = found["models"][0]["tasks"]
    assert (task["ties"], task["losses"], task["predictions_changed"]) == (1, 1, 1)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"metric": "exact_match"}, "task sums has another metric: f1 in A, exact_match in B"),
        ({"metric_id": "f1"}, ""),
        (
            {"metric_id": "exact_match@strict"},
            "task sums has another metric: f1 in A, exact_match@strict in B",
        ),
        ({"sha256": "0" * 64}, "task sums is of another file: unknown in A, 00000000… in B"),
        ({"task": "other"}, "they have no task in common"),
    ],
)
def test_boards_that_do_not_measure_the_same_are_refused(
    tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    other = foreign()
    other["tasks"][0] |= changed
    boards = load_board(written(tmp_path, foreign())), load_board(written(tmp_path, other, "b.json"))
    reasons = differences(*boards)
    assert [reason.replace("exact_ma…", "exact_match@strict") for reason in reasons] == [told] * bool(told)


def test_tasks_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    board = foreign()
    (task,) = board["tasks"]
    board["tasks"] = [{**task, "path": path} for path in ("a.jsonl", "b.jsonl", "b.jsonl")]
    found = between(tmp_path, board, board)
    assert [one["task"] for one in found["models"][0]["tasks"]] == [
        "sums (a.jsonl)",
        "sums (b.jsonl)",
        "sums (b.jsonl)-2",
    ]


def test_only_a_file_that_is_what_every_digest_says_is_ok(tmp_path: Path) -> None:
    (tmp_path / "sums.jsonl").write_text("{}")
    digest = hashlib.sha256(b"{}").hexdigest()
    board = foreign(files=[{"path": "sums.jsonl", "sha256": digest}])
    board["tasks"][0] |= {"path": "sums.jsonl", "sha256": digest}

    def states(board: Board) -> list[str]:
        path = written(tmp_path, board)
        return [one.state for one in check_files(load_board(path), path)]

    assert states(board) == ["ok"]
    assert states({**board, "files": None}) == ["ok"]
    assert states({**board, "files": [{"path": "sums.jsonl", "sha256": "0" * 64}]}) == ["changed"]
    board["tasks"][0]["sha256"] = "0" * 64  # edited in the one place that people look at
    assert states(board) == ["changed"]
    assert states({**board, "files": [{"path": "none\0.jsonl", "sha256": digest}]}) == ["gone", "changed"]


def test_a_board_that_pins_no_file_is_not_verified(tmp_path: Path) -> None:
    path = written(tmp_path, foreign())
    with pytest.raises(UsageError, match="no sha256 of a task file"):
        check_files(load_board(path), path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "it is not JSON"),
        (b"\xff", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b'{"schema": "leaderboard.v1", "overall_score": NaN}', "it is not JSON"),
        (b"[]", "it has no schema"),
        (b'{"schema": "leaderboard.v2"}', "its schema is 'leaderboard.v2'"),
        (b'{"schema": "leaderboard.v1"}', "a model has no adapter"),
        (orjson.dumps(foreign(tasks=[])), "tasks of a model is an array of 0"),
        (orjson.dumps(foreign(tasks=[{"task": "a"}])), "a task has no score"),
        (orjson.dumps(foreign("high")), 'overall_score of a model is the text "high"'),  # type: ignore[arg-type]
        (orjson.dumps(foreign(models=[1])), "a model is the number 1"),
        (orjson.dumps(foreign() | {"lower_bound": "much"}), 'lower_bound of a model is the text "much"'),
        (orjson.dumps(foreign(files=[{"path": 5, "sha256": ""}])), "path of a file is the number 5"),
    ],
)
def test_what_is_no_board_is_refused_with_its_first_fault(tmp_path: Path, content: bytes, told: str) -> None:
    with pytest.raises(UsageError) as refused:
        load_board(written(tmp_path, content))
    assert told in refused.value.message


_ODD: list[Any] = [
    None,
    True,
    5,
    -1.5,
    1e308,
    10**19,
    "x",
    "\x1b[31m",
    [],
    {},
    [1],
    [None],
    [[]],
    [{}],
    {"a": 1},
]


def _edited(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from _edited(item, (*path, key))


def _ours() -> Board:
    board = with_examples(1.0, None)
    board["tasks"][0] |= {"metric_id": "f1", "path": "a.jsonl", "sha256": "0", "se": 0.1, "n": 2}
    spread = {"se": 0.1, "n": 2, "df": 1.0, "ci": [0.5, 1.0], "lower_bound": 1.0, "scored": 2, "failed": 0}
    model = {"adapter": "toy", "overall_score": 1.0, **spread, "tasks": board["tasks"]}
    return {**board, "models": [model], "files": [{"path": "a.jsonl", "sha256": "0"}]}


_PLACES = [path for path in _edited(_ours()) if path]


@given(path=st.sampled_from(_PLACES), odd=st.sampled_from(_ODD), gone=st.booleans())
def test_an_edited_board_is_refused_in_words_or_read(
    tmp_path_factory: pytest.TempPathFactory, path: tuple[Any, ...], odd: Any, *, gone: bool
) -> None:
    board = copy.deepcopy(_ours())
    holder: Any = board
    for key in path[:-1]:
        holder = holder[key]
    if gone:
        del holder[path[-1]]
    else:
        holder[path[-1]] = odd
    folder = tmp_path_factory.getbasetemp()
    for boards in ((board, _ours()), (_ours(), board)):
        try:
            found = compared(folder, *boards, force=True)
            check_files(load_board(written(folder, board)), str(folder))
        except UsageError:
            continue
        assert orjson.dumps(found.to_dict())
        assert render_comparison(found, screen=Screen(80))
