"""What programs hand over in place of texts and files: functions and tables as models, rows as datasets."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import DataError, UsageError, bench, load_run, optimize, sweep
from tests.front_door import Cli

ROWS = [{"q": f"{n}+{n}", "target": str(2 * n)} for n in range(1, 7)]
asked: list[str] = []


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked.clear()


def adds(prompt: str) -> str:
    asked.append(prompt)
    left, right = prompt.removeprefix("Add ").split("+")
    return str(int(left) + int(right))


def tells(
    prompt: str, *, messages: Sequence[Mapping[str, str]], options: Mapping[str, Any]
) -> dict[str, Any]:
    said = f"{prompt == messages[-1]['content']} {dict(options)}"
    return {"text": said, "usage": {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.01}}


def is_right(reply: str, example: dict[str, Any]) -> bool:
    return bool(reply == example["target"])


def test_functions_reply_to_prompts_over_rows_and_a_function_scores(cli: Cli) -> None:
    call: dict[str, Any] = {"prompts": {"p": "Add {{q}}"}, "models": [adds, tells], "out": "r"}
    run = sweep(is_right, dataset=ROWS[:4], valset=iter(ROWS[4:]), **call)
    assert (run.exit_code, run.notes) == (0, ())
    means = {row.task_model: row.splits["val"].mean for row in run.summary.rows}
    assert means == {"adds": 1, "tells": 0}
    spent = json.loads(Path("r", "summary.json").read_text())["spent"]["models"]
    assert spent["tells"]["cost"] == pytest.approx(0.01 * len(ROWS))
    assert len(asked) == len(ROWS)
    sweep(is_right, dataset=tuple(ROWS[:4]), valset=ROWS[4:], **call)
    assert len(asked) == len(ROWS), "the same call goes on"
    assert cli("report", "r", "--check").status == 0
    assert "True {}" in Path("r", "outputs.jsonl").read_text()
    again = cli("rescore", "r", "-e", "@exact")
    assert (again.status, "were handed over by a program" in again.stderr) == (2, True)


def test_a_bench_takes_functions_and_tables(cli: Cli) -> None:
    tasks = [
        {"id": str(n), "prompt": f"Add {n}+1", "targets": [f"{n + 1}"], "metric": "exact_match"}
        for n in (1, 2)
    ]
    table = {"model": "openai/x", "base": "http://127.0.0.1:9/v1"}
    done = bench(
        {"t": tasks}, [adds, table], evaluators=lambda reply, _task: len(reply) / 10, out="b", max_failures=9
    )
    records = load_run("b").records
    assert {(one.task_model, one.outcome) for one in records} == {("adds", "scored"), ("openai/x", "failed")}
    assert {one.score for one in records if one.task_model == "adds"} == {1, 0.1}
    assert [*done.boards] == ["", "lambda"]
    assert cli("report", "b", "--check").status == 0
    assert bench({"t": tasks}, [adds, table], out="b", max_failures=9).exit_code == done.exit_code
    assert len(asked) == len(tasks), "the same call goes on"
    with pytest.raises(UsageError, match="stands in no list"):
        bench(tasks, adds)  # type: ignore[arg-type]


def test_a_search_learns_from_rows() -> None:
    def longer(candidate: str, _row: dict[str, Any]) -> float:
        return min(1, len(candidate) / 100)

    found = optimize(
        {"seed": "short"},
        longer,
        proposer=lambda request: {"candidate": request["candidate"] + " and more"},
        dataset=ROWS[:4],
        valset=ROWS[4:],
        budget=40,
        out="o",
    )
    assert "and more" in found.best


async def waits(_prompt: str) -> str:
    return ""


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"dataset": {"q": 1}}, UsageError, "dataset: write a path, or a list of rows"),
    ({"dataset": ["a"]}, UsageError, "dataset: row 1 is not a mapping but 'a'"),
    ({"dataset": [{"q": "1"}, {"q": {1}}]}, UsageError, "row 2: the example cannot be written as JSON"),
    ({"dataset": [{"q": float("nan")}]}, UsageError, "NaN is not a JSON number"),
    ({"dataset": []}, DataError, "the list holds no row"),
    ({"models": waits}, UsageError, "the model waits is async"),
    ({"models": lambda prompt, more: ""}, UsageError, r"the model lambda takes \(prompt, more\)"),  # noqa: ARG005
    ({"models": [7]}, UsageError, "model 1 is not a text, a table or a function: 7"),
    ({"models": {"model": "openai/x", "temprature": 1}}, DataError, "did you mean 'temperature'"),
    ({"models": {"name": "mine"}}, UsageError, "a model has a name and a model"),
    ({"modles": "toy"}, TypeError, "did you mean models"),
    ({"model": adds}, TypeError, "models twice"),
]


@pytest.mark.parametrize(("given", "error", "words"), WRONG, ids=[words for *_, words in WRONG])
def test_what_cannot_be_taken_is_told_before_anything_is_called(
    given: dict[str, Any], error: type[Exception], words: str
) -> None:
    usual = {"models": adds, "dataset": ROWS, "out": "r"}
    with pytest.raises(error, match=words):
        sweep(is_right, prompts={"p": "Add {{q}}"}, **{**usual, **given})
    assert not asked
    assert not Path("r").exists()


def test_names_may_be_in_the_singular_or_as_a_sweep_file_has_them() -> None:
    called: Any = sweep
    done = called(
        is_right, prompt={"p": "Add {{q}}"}, model=adds, dataset=ROWS, filter={"q": "1+1"}, repeat=2
    )
    assert (done.exit_code, len(done.records)) == (0, 2)
