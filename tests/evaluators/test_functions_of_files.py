"""`-e judge.py:score`: what a function is given and may return, and what is told before any call."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import UsageError, load_run, sweep
from tests.front_door import Cli

JUDGE = """
import os, sys
from optimize_eval.base.errors import Skipped

with open("starts", "a") as starts:
    starts.write("x")

def score(candidate, example):
    print("noise", sys.stdin.read())
    return len(candidate) / 10, {"n": example["n"], "wide": "ü"}

def alone(candidate): return len(candidate) == 1
def whole(candidate, example=None): return {"score": 0.5, "none": example is None}
def model(candidate, *rest, task_model):
    return 1, {"m": task_model, "env": os.environ["OPTIMIZE_ANYTHING_TASK_MODEL"]}

def odd(candidate, example):
    match example["n"]:
        case 1: raise Skipped("the first")
        case 2: return {}["two"]
        case 3: return None
        case 4: return 1, {"x": object()}
        case 5: os._exit(3)
    return 1

calls = 0
def counts(candidate, example):
    global calls
    calls += 1
    return 1 / calls

first = None
def keeps(candidate, example):
    global first
    first = first or example["n"]
    return 1 / first

def three(candidate, example, gold): return 1
def swapped(example, candidate): return 1
async def waits(candidate): return 1
class Judge: pass
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "judge.py").write_text(JUDGE)
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "d.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(1, 8)))
    monkeypatch.chdir(tmp_path)


def run(cli: Cli, *words: str) -> tuple[int, dict[tuple[str, int | None], Any]]:
    options = ("--candidate", "a.txt", "--dataset", "d.jsonl", "--no-preflight", "--quiet", "--out", "r")
    done = cli("run", *options, *words)
    records = load_run("r").records
    return done.status, {(record.evaluator, record.line): record for record in records}


def test_a_function_is_called_about_each_example_by_processes_of_its_own(cli: Cli, tmp_path: Path) -> None:
    status, records = run(cli, "-e", "judge.py:score", "--workers", "1")
    assert (status, len(records)) == (0, 7)
    assert {record.score for record in records.values()} == {0.1}
    assert records["score", 7].side_info == {"n": 7, "wide": "ü"}
    assert (tmp_path / "starts").read_text() == "xx", "once, and once more to see that staying alive is fine"
    document = json.loads((tmp_path / "r" / "run.json").read_text())
    (evaluator,) = document["evaluators"]
    assert (evaluator["text"], [file["name"] for file in evaluator["files"]]) == (
        "judge.py:score",
        ["judge.py"],
    )
    assert cli("report", "r", "--check").status == 0


def test_functions_take_what_they_name_and_stand_beside_others(cli: Cli) -> None:
    words = [word for name in ("alone", "whole", "again=judge.py:model") for word in ("-e", _named(name))]
    status, records = run(cli, *words, "--task-model", "m", "--limit", "2")
    assert (status, len(records)) == (0, 6)
    assert records["alone", 1].score == 1
    assert records["whole", 1].side_info == {"none": False}
    assert records["again", 2].side_info == {"m": "m", "env": "m"}


def _named(name: str) -> str:
    return name if "=" in name else f"judge.py:{name}"


def test_what_goes_wrong_in_a_function_is_a_failure_of_that_call(cli: Cli) -> None:
    status, records = run(cli, "-e", "judge.py:odd", "--concurrency", "1")
    begins = (
        "the first",
        "KeyError: 'two' (judge.py, line 20)",
        "the function returned None: let it return a score, (score, {…}) or {…}",
        "what the function returned cannot be written as JSON: Object of type object",
        "exit status 3: it said nothing",
    )
    assert status == 4
    for line, words in enumerate(begins, 1):
        assert str(records["odd", line].message).startswith(words)
        assert records["odd", line].outcome == ("skipped" if line == 1 else "failed")
    assert (records["odd", 6].score, records["odd", 7].score) == (1, 1)


@pytest.mark.parametrize("name", ["counts", "keeps"])
def test_state_that_leaks_between_calls_changes_no_score_and_is_told(cli: Cli, name: str) -> None:
    done = cli(
        *("run", "-e", f"judge.py:{name}", "--candidate", "a.txt", "--dataset", "d.jsonl"),
        *("--no-preflight", "--quiet", "--out", "r", "--limit", "3"),
    )
    scores = [record.score for record in sorted(load_run("r").records, key=lambda record: record.line or 0)]
    assert scores == ([1, 1, 1] if name == "counts" else [1, 1 / 2, 1 / 3])
    assert "does state leak between calls?" in done.stderr


UNUSABLE = {
    "three": ("three takes (candidate, example, gold)", "(candidate, example)"),
    "swapped": ("swapped takes (example, candidate): the candidate comes first", "(candidate, example)"),
    "waits": ("waits is async", "asyncio.run"),
    "Judge": ("Judge is a class", "an object of it"),
    "scores": ("judge.py has no function scores", "did you mean score?"),
    "calls": ("judge.py: calls is not a function but a value of type int", "name one of score, alone, whole"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_function_that_cannot_be_called_so_is_told_before_any_call(cli: Cli, name: str) -> None:
    what, hint = UNUSABLE[name]
    done = cli("run", "-e", f"judge.py:{name}", "--candidate", "a.txt", "--dataset", "d.jsonl", "--out", "r")
    assert (done.status, done.stdout, Path("r").exists()) == (2, "", False)
    assert what in done.stderr
    assert hint in done.stderr
    assert cli("preflight", "-e", f"judge.py:{name}", "--candidate", "a.txt").status == 2


BROKEN = {
    "import nowhere": (
        "ModuleNotFoundError: No module named 'nowhere' (broken.py, line 1)",
        "-m pip install nowhere",
    ),
    "x = 1\ndef f(": ("SyntaxError: '(' was never closed (broken.py, line 2)", "imported before"),
    "import os\nos._exit(7)": ("cannot be imported: it ended with exit status 7", "when it is imported"),
}


@pytest.mark.parametrize("text", BROKEN, ids=["import", "syntax", "exit"])
def test_a_file_that_cannot_be_imported_is_told_before_any_call(cli: Cli, text: str) -> None:
    Path("broken.py").write_text(text)
    done = cli("score", "a.txt", "-e", "broken.py:f")
    assert (done.status, done.stdout) == (2, "")
    assert all(words in done.stderr for words in BROKEN[text]), done.stderr


def test_a_file_that_is_not_there_and_one_in_a_folder_with_a_blank(cli: Cli, tmp_path: Path) -> None:
    missing = cli("score", "a.txt", "-e", "juge.py:score")
    assert (missing.status, "no file juge.py; did you mean judge.py?" in missing.stderr) == (2, True)
    (tmp_path / "my files").mkdir()
    (tmp_path / "my files" / "beside.py").write_text("ONE = 1\n")
    (tmp_path / "my files" / "one.py").write_text("from beside import ONE\ndef f(candidate): return ONE\n")
    assert cli("score", "a.txt", "-e", "'my files/one.py:f'").json["score"] == 1
    Path("s.toml").write_text(
        '[run]\ncandidates = ["a.txt"]\n[[evaluator]]\nfunction = "my files/one.py:f"\n'
    )
    assert cli("run", "s.toml", "--quiet", "--no-preflight", "--out", "r").status == 0


def test_a_function_that_was_changed_is_another_evaluator(cli: Cli) -> None:
    assert run(cli, "-e", "judge.py:alone")[0] == 0
    with Path("judge.py").open("a") as file:
        file.write("# changed\n")
    done = cli("run", "-e", "judge.py:alone", "--candidate", "a.txt", "--dataset", "d.jsonl", "--out", "r")
    assert (done.status, "--replace alone" in done.stderr) == (2, True), done.stderr


def test_a_function_that_is_handed_over_is_called_and_refused_alike() -> None:
    spec: Any = importlib.util.spec_from_file_location("judge", "judge.py")
    judge = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(judge)
    done = sweep([judge.alone, judge.whole], "a.txt", dataset="d.jsonl", limit=1, out="p")
    assert {record.evaluator: record.score for record in done.records} == {"alone": 1, "whole": 0.5}
    for name, (what, _) in UNUSABLE.items():
        if callable(getattr(judge, name, None)):
            with pytest.raises(UsageError, match=what.partition(" (")[0]):
                sweep(getattr(judge, name), "a.txt", dataset="d.jsonl", out="q")
