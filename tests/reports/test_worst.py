"""The why: examples that got worse than the baseline, by name and input, with the evaluator's own reason."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.data.datasets import make_example
from optimize_eval.findings.side_info import reason_of
from optimize_eval.run.splits import LONGEST_INPUT, SplitSource, inputs_of, name_of
from optimize_eval.store.folder import MANIFEST
from tests.front_door import Cli, in_this_process
from tests.reports.reading import tables_of
from tests.tools import write_program

# Scores what the example says of this candidate, and gives a short reason.
JUDGE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    score = asked["example"][asked["candidate"]]
    said = {"_id": asked["_id"]} if "_id" in asked else {}
    said |= {"score": score, "label": "x" * 200, "reasoning": f"off topic by {1 - score:g}"}
    print(json.dumps(said | {"_capabilities": {"persistent": True}}), flush=True)
"""
EXAMPLES: list[dict[str, Any]] = [
    {"id": "t-1", "input": "Where is my parcel?", "old": 0.9, "new": 0.4},
    {"id": "t-2", "input": "I want my money back.", "old": 0.1, "new": 1.0},
    {"id": "t-3", "input": "The app is slow.", "old": 0.0, "new": 0.0},
    {"id": 4, "input": "Who are you?", "old": 0.5, "new": 0.3},
    {"name": "hello", "input": "Good\n day!", "old": 0.2, "new": 1.0},
    {"team": "sales", "input": "How much is it?", "old": 0.4, "new": 1.0},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a finished run `r` in which `new` leads, and lost on two examples."""
    folder = tmp_path_factory.mktemp("worst")
    write_program(folder / "judge.py", [f"#!{sys.executable} -S", JUDGE])
    (folder / "d.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in EXAMPLES))
    for name in ("old", "new"):
        (folder / f"{name}.txt").write_text(name)
    done = in_this_process(folder)(*command("r"))
    assert done.status == 0, done.stderr
    return folder


def command(out: str, *names: str) -> list[str]:
    candidates = [word for name in names or ("old", "new") for word in ("--candidate", f"{name}.txt")]
    return ["run", "-e", "./judge.py", *candidates, "--dataset", "d.jsonl", "--out", out]


@pytest.fixture
def run(folder: Path) -> Cli:
    return in_this_process(folder)


def worst_in(text: str) -> list[str]:
    lines = text.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith(" worst "))
    return [line[12:] for line in lines[start:] if line[1:12] in {"worst      ", " " * 11}][1:5]


def test_examples_that_got_worse_are_shown_by_name_and_input_with_a_reason_of_any_length(run: Cli) -> None:
    assert worst_in(run("report", "r", "--details").stdout) == [
        "train 1 t-1  0.900 → 0.400  off topic by 0.6",
        "  input: Where is my parcel?",
        "train 4 4  0.500 → 0.300  off topic by 0.7",
        "  input: Who are you?",
    ]


def test_a_comment_shows_the_same(run: Cli) -> None:
    page = run("report", "r", "--format", "md").stdout
    assert "<details><summary>Where new got worse than old on judge</summary>" in page
    *_, worst = tables_of(page)
    assert worst == [
        {
            "example": "train 1 t-1",
            "input": "Where is my parcel?",
            "baseline": "0.900",
            "score": "0.400",
            "what was said": "off topic by 0.6",
        },
        {
            "example": "train 4 4",
            "input": "Who are you?",
            "baseline": "0.500",
            "score": "0.300",
            "what was said": "off topic by 0.7",
        },
    ]


def test_where_nothing_got_worse_this_is_said(run: Cli, folder: Path) -> None:
    (folder / "even.jsonl").write_text('{"old": 0.1, "new": 0.2}\n{"old": 0.1, "new": 0.1}\n')
    words = ["even.jsonl" if word == "d.jsonl" else word for word in command("even")]
    assert (
        " worst      new is not below old on any of 2 train pairs"
        in run(*words, "--details").stdout.splitlines()
    )


def test_a_candidate_that_is_worse_than_the_leading_baseline_shows_where_it_lost(run: Cli) -> None:
    shown = run(*command("lost", "new", "old"), "--details").stdout
    lines = shown.splitlines()
    start = lines.index(" worst      old on judge (new → old)")
    assert [line[12:] for line in lines[start + 1 : start + 5]] == [
        "train 2 t-2  1.000 → 0.100  off topic by 0.9",
        "  input: I want my money back.",
        "train 5 hello  1.000 → 0.200  off topic by 0.8",
        "  input: Good day!",
    ]
    page = run("report", "lost", "--format", "md").stdout
    assert "<details><summary>Where old got worse than new on judge</summary>" in page
    *_, worst = tables_of(page)
    assert [(row["example"], row["what was said"]) for row in worst] == [
        ("train 2 t-2", "off topic by 0.9"),
        ("train 5 hello", "off topic by 0.8"),
        ("train 6 team=sales", "off topic by 0.6"),
    ]
    (told,) = (row for row in run("report", "lost", "--json").json["rows"] if row["candidate"] == "old")
    assert next((one["name"], one["text"]) for one in told["worst"]) == ("t-2", "off topic by 0.9")


def test_one_candidate_alone_shows_its_low_scores(run: Cli) -> None:
    found = worst_in(run(*command("alone", "new"), "--details").stdout)
    assert found[0] == "train 3 t-3  0.000  off topic by 1"


@pytest.fixture
def older(folder: Path) -> Iterator[Path]:
    """Let the run be one of an older version, whose run.json has neither names nor inputs."""
    file = folder / "r" / MANIFEST
    whole = file.read_bytes()
    manifest = orjson.loads(whole)
    for key in ("names", "inputs"):
        del manifest["selection"]["splits"][0][key]
    file.write_bytes(orjson.dumps(manifest))
    yield file
    file.write_bytes(whole)


def test_an_older_run_is_read_without_names_and_gets_them_when_it_goes_on(run: Cli, older: Path) -> None:
    assert worst_in(run("report", "r", "--details").stdout)[:2] == [
        "train 1  0.900 → 0.400  off topic by 0.6",
        "train 4  0.500 → 0.300  off topic by 0.7",
    ]
    assert run(*command("r")).status == 0
    assert orjson.loads(older.read_bytes())["selection"]["splits"][0]["names"][:2] == ["t-1", "t-2"]


@pytest.mark.parametrize("names", [["t-1"], [1] * 6, 7, None])
def test_edited_names_are_refused(run: Cli, older: Path, names: Any) -> None:
    manifest = orjson.loads(older.read_bytes())
    manifest["selection"]["splits"][0]["names"] = names
    older.write_bytes(orjson.dumps(manifest))
    done = run("report", "r")
    assert (done.status, done.stdout) == (2, "")
    assert "run.json is not a run of optimize-eval, or was edited" in done.stderr


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"feedback": "e", "message": "d", "explanation": "c", "reason": "b", "reasoning": "a"}, "a"),
        ({"feedback": "e", "message": "d", "explanation": "c", "reason": "b", "reasoning": " "}, "b"),
        ({"feedback": "e", "message": "d", "explanation": "c", "reason": None}, "c"),
        ({"feedback": "e", "message": "d", "long": "a longer text"}, "d"),
        ({"feedback": "e", "long": "a longer text"}, "e"),
        ({"short": "no", "deep": {"long": "a longer text"}, "reason": {"why": "x"}}, "a longer text"),
        ({"n": 1, "list": ["text"]}, None),
        ({"reason": "x" * 10_000}, "x" * 500),
    ],
)
def test_the_reason_is_found_by_its_usual_names_else_it_is_the_longest_text(
    said: dict[str, Any], reason: str | None
) -> None:
    assert reason_of(said) == reason


@pytest.mark.parametrize(
    ("example", "name", "shown"),
    [
        ({"id": 7, "name": "seven", "input": "a"}, "7", "a"),
        ({"name": "seven", "question": "Why?"}, "seven", "Why?"),
        ({"text": "Ada", "team": "billing"}, "team=billing", "Ada"),
        ({"id": "", "first": "a b", "second": 2}, "second=2", "a b"),
        ({"flag": True, "input": [1, {"a": None}]}, "", '[1,{"a":null}]'),
        ({"id": "x" * 41, "prompt": "y" * 161}, "", "y" * 159 + "…"),
        ({"answer": "recorded", "input": "Why?"}, "", "Why?"),
        ({"answer": "recorded"}, "", ""),
        ({}, "", ""),
    ],
)
def test_examples_have_a_name_and_the_start_of_their_input(
    example: dict[str, Any], name: str, shown: str
) -> None:
    fields = {"answer"}  # recorded outputs, which are candidates
    source = SplitSource(name="val", file="", examples=(make_example(example),))
    assert (name_of(example, fields), [*inputs_of(source, fields)]) == (name, [shown])


def test_of_many_examples_less_is_kept() -> None:
    example = make_example({"input": "x" * 1000})
    for many, most in ((1, LONGEST_INPUT), (10_000, 100), (1_000_000, 20)):
        first = next(inputs_of(SplitSource(name="val", file="", examples=(example,) * many), ()))
        assert len(first) == most
