"""`bench(…)`: what the command `bench` does, called from a program."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval import Run, UsageError, bench, load_run
from tests.cli.benches import OFTEN_WRONG, RIGHT, arithmetic, board_in, model, timeless
from tests.front_door import Cli
from tests.run.projects import summary
from tests.tools import write_program


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    arithmetic(tmp_path)
    write_program(tmp_path / "short.sh", ["#!/bin/sh", "cat > /dev/null", "echo '{\"score\": 0.5}'"])
    return [model(tmp_path / "right", RIGHT), model(tmp_path / "wrong", OFTEN_WRONG)]


def test_it_writes_what_the_command_writes(cli: Cli, models: list[str]) -> None:
    words = ["--limit", "9", "--repeats", "2", "-e", "short=./short.sh", "--include-per-example"]
    each = [word for one in models for word in ("--model", one)]
    assert cli("bench", "sums.jsonl", *each, *words, "--out", "by_command/r").status == 0
    run = bench(
        "sums.jsonl",
        models,
        limit=9,
        repeats=2,
        evaluators=["short=./short.sh"],
        include_per_example=True,
        out="by_call/r",
    )
    assert (run.status, run.exit_code, run.notes) == ("done", 0, ())
    assert summary(Path("by_call/r")) == summary(Path("by_command/r"))
    assert timeless(board_in(Path("by_call/r"))) == timeless(board_in(Path("by_command/r")))
    assert [*run.boards] == ["", "short"]
    assert orjson.loads(orjson.dumps(run.boards[""])) == board_in(Path("by_call/r"))
    assert load_run("by_call/r").boards == run.boards


def test_it_goes_on_where_it_was_and_calls_nothing_twice(
    models: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    first = bench([Path("sums.jsonl")], models[0])
    calls = (tmp_path / "calls").read_text()
    assert first.folder.parent == Path("runs")
    assert bench(Path("sums.jsonl"), models[:1]).boards == first.boards
    assert (tmp_path / "calls").read_text() == calls


def test_a_model_that_fails_is_in_the_run_and_there_is_no_board(models: list[str]) -> None:
    run = bench("sums.jsonl", [models[0], "cmd:./missing"], out="r")
    assert (run.status, run.exit_code) == ("too_many_failures", 4)
    assert any("missing failed on every call" in note for note in run.notes)
    assert not run.boards


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"files": "missing.jsonl"}, "missing.jsonl"),
        ({"files": []}, "no line of the task files is a task"),
        ({"models": "nonsense:x"}, "nonsense"),
        ({"sandbox": "loose"}, "sandbox: write one of: strict, best-effort, none"),
        ({"batch_size": 0}, "batch_size: write a whole number from 1"),
        ({"format": "yaml"}, "no format of task files is called 'yaml'"),
        ({"evaluators": [""]}, "names nothing to run"),
        ({"evaluators": [3]}, "evaluator 1 is not a text, a table or a function: 3"),
        ({"models": [3]}, "model 1 is not a text, a table or a function: 3"),
        ({"files": None}, "None is neither one task file nor a list of them"),
    ],
)
def test_what_cannot_be_done_raises_with_the_commands_words(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        bench(**{"files": "sums.jsonl", "models": "toy", **options})


def test_a_notebook_shows_the_boards(models: list[str]) -> None:
    run: Run = bench("sums.jsonl", models, out="r")
    assert run._repr_html_() == load_run("r")._repr_html_()
    assert "<td>right</td>" in run._repr_html_()


def test_a_bench_without_a_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arithmetic(tmp_path)
    with pytest.raises(UsageError, match="no model is named"):
        bench("sums.jsonl", [], out="r")
