"""promptfoo's results from outside: the same numbers as there where they are numbers, and no others."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.results import JSON, JSONL, numbers_of
from tests.front_door import Cli
from tests.reports.looks import HOSTILE


def line(prompt: str, test: int, *, score: object = 1, **more: Any) -> dict[str, Any]:
    return {
        "promptIdx": ["short", "long"].index(prompt),
        "testIdx": test,
        "success": bool(score),
        "score": score,
        "failureReason": 0,
        "prompt": {"label": prompt},
        "provider": {"id": "m"},
        "vars": {"q": f"question {test}"},
        **more,
    }


def write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path.name


def test_the_better_prompt_is_told_from_the_file_alone(cli: Cli, tmp_path: Path) -> None:
    done = cli("report", str(JSON))
    assert done.status == 0
    shown = " ".join(done.stdout.split())
    assert shown.startswith(
        "promptfoo 0.123.1 · promptfoo.json: 11 tests × 2 systems · 22 results · failures here: 2 errors and"
        " 2 failed tests without a verdict"
    )
    assert "long 0.09, here 0.10 over 10 of 11; short 0.73, here 1.00 over 8 of 11" in shown
    assert "long is worse than short on test data where both were scored" in shown
    assert "same command" not in shown
    assert f"optimize-eval report {JSON}" in shown
    assert [*tmp_path.iterdir()] == []


def test_errors_are_failures_and_on_request_the_numbers_of_promptfoo(cli: Cli) -> None:
    metrics = [prompt["metrics"] for prompt in json.loads(JSON.read_text())["results"]["prompts"]]
    mine = numbers_of(cli("report", str(JSON), "--json").json)
    assert mine["short", "pass"] == (1.0, 8, 3, 0)
    assert mine["short", "brevity"] == (1.0, 10, 1, 0)
    theirs = numbers_of(cli("report", str(JSON), "--errors", "as-tool", "--json").json)
    for name, of_prompt in zip(("short", "long"), metrics, strict=True):
        assert theirs[name, "pass"][0] == pytest.approx(of_prompt["testPassCount"] / 11, abs=1e-9)
        assert theirs[name, "score"][0] == pytest.approx(of_prompt["score"] / 11, abs=1e-9)
        assert theirs[name, "pass"][1:] == (11, 0, 0)


@pytest.mark.parametrize(
    ("test", "numbers"),
    [
        pytest.param({}, (0.0, 1, 0, 0), id="all have to pass"),
        pytest.param({"threshold": 0.5}, (None, 0, 1, 0), id="some may fail"),
        pytest.param({"assertScoringFunction": "file://f.js"}, (None, 0, 1, 0), id="code decides"),
        pytest.param({"assert": [{"type": "assert-set"}]}, (None, 0, 1, 0), id="a set may pass"),
    ],
)
def test_a_test_that_another_assertion_failed_failed_whatever_threw(
    cli: Cli, tmp_path: Path, test: dict[str, Any], numbers: tuple[Any, ...]
) -> None:
    threw = {"pass": False, "score": 0, "reason": "Custom function threw error: x"}
    failed = {"pass": False, "score": 0, "reason": "Expected output to equal 4"}
    row = line(
        "short",
        0,
        score=0,
        testCase={"assert": [{"type": "equals"}, {"type": "javascript"}], **test},
        gradingResult={"componentResults": [threw, failed]},
    )
    summary = cli("report", write(tmp_path / "x.jsonl", [row]), "--json").json
    assert numbers_of(summary)["short", "pass"] == numbers
    assert numbers_of(summary)["short", "score"] == (None, 0, 1, 0)
    assert ("another assertion" in " ".join(summary["origin"]["says"])) == (numbers[0] == 0)


def test_what_promptfoo_counts_of_what_is_a_failure_here_has_its_numbers(cli: Cli, tmp_path: Path) -> None:
    asserted = {"testCase": {"assert": [{"type": "javascript"}, {"type": "contains", "metric": "m"}]}}
    threw = {"pass": False, "score": 0, "reason": "Custom function threw error: x"}
    rows = [
        line("short", 0, namedScores={"m": 1}, **asserted),
        line("short", 1, score=0, failureReason=2, error="e", **asserted),
        line("short", 2, score=0.5, namedScores={"m": 1}, gradingResult={"componentResults": [threw]})
        | {"success": False},
    ]
    file = write(tmp_path / "x.jsonl", rows)
    assert "score" not in str(numbers_of(cli("report", file, "--metric", "pass", "--json").json))
    numbers = numbers_of(cli("report", file, "--errors", "as-tool", "--json").json)
    assert numbers["short", "pass"] == (pytest.approx(1 / 3), 3, 0, 0)
    assert numbers["short", "score"] == (0.5, 3, 0, 0)
    assert numbers["short", "m"] == (1, 2, 1, 0)  # a test with an error is in no sum of metrics there


def test_lines_say_the_same_as_the_file(cli: Cli) -> None:
    whole, lines = (cli("report", str(path), "--json").json for path in (JSON, JSONL))
    assert numbers_of(whole) == numbers_of(lines)
    assert whole["verdict"] == lines["verdict"]
    assert whole["origin"]["files"][0]["name"] == "promptfoo.json"


def test_a_folder_may_hold_one_file_of_it(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "package.json").write_text("{}")
    (tmp_path / "out" / "r.json").write_bytes(JSON.read_bytes())
    assert "r.json: 11 tests × 2 systems" in " ".join(cli("report", "out").stdout.split())
    (tmp_path / "out" / "r.jsonl").write_bytes(JSONL.read_bytes())
    refused = cli("report", "out")
    assert (
        refused.status,
        "2 files in it hold results of promptfoo (r.json, r.jsonl)" in refused.stderr,
    ) == (
        2,
        True,
    )


def test_it_is_kept_as_a_run_with_gates_a_check_and_a_page(cli: Cli) -> None:
    gate = cli("report", str(JSON), "--out", "r", "--baseline", "long", "--fail-under", "nobody=1")
    assert gate.status == 2
    gate = cli("report", str(JSON), "--out", "r", "--baseline", "long", "--fail-under", "pass@long=0.5")
    assert gate.status == 1
    assert cli("report", "r", "--check").status == 0
    assert "promptfoo.json: 11 tests" in cli("report", "r").stdout
    (run,) = cli("runs", ".", "--json").json["runs"]
    assert run["state"] == "done"
    assert cli("report", "r", "--format", "html", "-o", "r.html").status == 0
    again = cli("report", str(JSONL), "--out", "r")
    assert again.status == 0
    assert "promptfoo.jsonl" in cli("report", "r").stdout


def test_a_run_of_ones_own_is_not_written_over_nor_is_this_run_called(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "d.jsonl").write_text('{"target": "a"}\n')
    run = ["run", "-e", "@string_equals", "--candidate", "a", "--dataset", "d.jsonl", "--out"]
    assert cli(*run, "own").status == 0
    assert "own holds a run of its own" in cli("report", str(JSON), "--out", "own").stderr
    assert cli("report", str(JSON), "--out", "theirs").status == 0
    refused = cli(*run, "theirs")
    assert (refused.status, "promptfoo" in refused.stderr) == (2, True)


def test_repeats_are_told_from_copies(cli: Cli, tmp_path: Path) -> None:
    asked = {"vars": {"q": "the same"}}
    thrice = [line("short", test, **asked) for test in range(3)] + [line("long", 2, score=0, **asked)]
    summary = cli("report", write(tmp_path / "a.jsonl", thrice), "--json").json
    assert summary["rows"][0]["splits"]["test"]["n"] == 1
    some = [line("short", 0, **asked), line("short", 1, **asked), line("short", 2)]
    summary = cli("report", write(tmp_path / "b.jsonl", some), "--json").json
    assert numbers_of(summary)["short", "pass"] == (1.0, 3, 0, 0)


def test_two_files_are_paired_by_what_was_asked(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [line("short", test, score=0) for test in range(8)])
    ordered = [{**line("long", test), "testIdx": 9 - test} for test in range(1, 10)]
    write(tmp_path / "b.jsonl", ordered)
    shown = cli("report", "a.jsonl", "b.jsonl", "--as", "new=b.jsonl", "--json").json
    assert "new beats short" in shown["verdict"]["text"]
    assert numbers_of(shown)["new", "pass"] == (1.0, 9, 0, 1)
    assert "--as" in cli("report", "a.jsonl", "--as", "new").stderr


def test_prompts_and_providers_are_two_axes_where_all_pairs_are_there(cli: Cli, tmp_path: Path) -> None:
    rows = [
        {**line(prompt, test), "promptIdx": n, "provider": {"id": model}}
        for test in range(2)
        for n, (prompt, model) in enumerate([("short", "a"), ("short", "b"), ("long", "a"), ("long", "b")])
    ]
    axes = {(row["candidate"], row["task_model"]) for row in _rows(cli, tmp_path, rows)}
    assert axes == {("short", "a"), ("short", "b"), ("long", "a"), ("long", "b")}
    ragged = [row for row in rows if row["promptIdx"] != 3]
    assert {row["candidate"] for row in _rows(cli, tmp_path, ragged)} == {
        "a · short",
        "b · short",
        "a · long",
    }
    only = cli("report", "x.jsonl", "--system", "a · long", "--json").json["rows"]
    assert [row["candidate"] for row in only] == ["a · long"]


def _rows(cli: Cli, tmp_path: Path, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = cli("report", write(tmp_path / "x.jsonl", rows), "--json").json["rows"]
    return listed


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        pytest.param(
            {"promptIdx": -1}, "bad.jsonl:2: promptIdx is not an integer from 0", id="before the first"
        ),
        pytest.param({"testIdx": 10**12}, "testIdx is not an integer from 0", id="far too many tests"),
        pytest.param({"score": "1"}, "score is not a number", id="a text"),
        pytest.param({"success": 1}, "success is neither true nor false", id="a number"),
        pytest.param({"vars": [1]}, "vars is not an object", id="a list"),
        pytest.param({"gradingResult": "?"}, "gradingResult is not an object", id="words"),
        pytest.param({"vars": {"q": "deep"}, "metadata": 0}, "nested deeper than 200 levels", id="deep"),
        pytest.param({"promptIdx": 0, "testIdx": 0}, "two results of pass for one test", id="twice"),
    ],
)
def test_what_is_wrong_is_refused_by_line_and_key(
    cli: Cli, tmp_path: Path, wrong: dict[str, Any], words: str
) -> None:
    rows = [line("short", 0, vars={"q": 1}), {**line("short", 1, vars={"q": 1}), **wrong}]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    text = text.replace('"metadata": 0', f'"metadata": {"[" * 201}{"]" * 201}')
    (tmp_path / "bad.jsonl").write_text(text)
    done = cli("report", "bad.jsonl", "--out", "r")
    assert done.status == 2
    assert words in done.stderr
    assert not (tmp_path / "r" / "run.json").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("evalId: eval-1\nresults:\n", "its YAML has references: promptfoo export", id="yaml"),
        pytest.param("<!DOCTYPE html><title>promptfoo</title>", "a page for people: promptfoo", id="html"),
        pytest.param(
            '{"evalId": "x", "results": {"version": 2, "results": []}}', "version 2; known: 3", id="old"
        ),
        pytest.param('{"evalId": "x", "results": ', "it is not JSON", id="cut off"),
        pytest.param("hello\n", "nobody knows whose results it holds", id="no results"),
    ],
)
def test_other_forms_are_refused_with_what_to_do(cli: Cli, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "x.json").write_text(text)
    done = cli("report", "x.json")
    assert (done.status, words in done.stderr) == (2, True)


def test_a_score_that_is_no_number_is_a_failure(cli: Cli, tmp_path: Path) -> None:
    rows = [line("short", 0), {**line("short", 1, score=None), "success": True}, line("short", 2, score=9)]
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / "x.jsonl").write_text(text.replace('"score": 9', '"score": 1e999'))
    summary = cli("report", "x.jsonl", "--json").json
    assert numbers_of(summary)["short", "pass"] == (1.0, 1, 2, 0)
    assert summary["failures"][0]["kind"] == "score_not_finite"


def test_foreign_text_is_harmless(cli: Cli, tmp_path: Path) -> None:
    rows = [
        {
            **line("short", number, score=0),
            "prompt": {"label": text},
            "promptIdx": number,
            "vars": {text: text},
            "gradingResult": {"reason": text},
            "response": {"output": {"x": text}},
        }
        for number, text in enumerate([*HOSTILE.values(), "<script>alert(1)</script>", "=1+1"])
    ]
    name = write(tmp_path / "x.jsonl", rows)
    shown = cli("report", name, "--out", "r").stdout
    assert not {"\x1b", "\x07", "\u202e", "\x9b"} & {*shown}
    assert cli("report", "r", "--check").status == 0
    assert cli("report", "r", "--format", "csv").status == 0


def test_options_for_such_files_are_refused_for_runs(cli: Cli) -> None:
    done = cli("report", "runs/x", "--errors", "as-tool")
    assert (done.status, "--errors is for files of other tools" in done.stderr) == (2, True)
    done = cli("report", "a", "b")
    assert (done.status, "one is reported at a time" in done.stderr) == (2, True)
