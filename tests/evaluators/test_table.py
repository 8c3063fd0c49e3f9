"""Evaluator text: what `-e` accepts, what each evaluator is called, and what is refused with advice."""

import pickle
import sys
from pathlib import Path

import pytest

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.secrets import mask, redact
from optimize_eval.evaluators.kinds import parse_evaluator, parse_evaluators
from optimize_eval.programs.exchange import argv_of
from tests.front_door import Cli

TEXTS = {  # text → name, argv
    "a program": ("./judge.sh", "judge", ("./judge.sh",)),
    "named": ("style=./judge.sh --x=y", "style", ("./judge.sh", "--x=y")),
    "an equals sign in a path is no name": ("./a=b", "a-b", ("./a=b",)),
    "an option is no name": ("--x=y", "x-y", ("--x=y",)),
    "named like a variable": ("LANG=C ./e", "LANG", ("C", "./e")),
    "a script": (
        "python3 -u lib/my_judge.py --n 3",
        "my_judge",
        ("python3", "-u", "lib/my_judge.py", "--n", "3"),
    ),
    "env and a script": ("env X=1 node judge.mjs", "judge", ("env", "X=1", "node", "judge.mjs")),
    "a colon in a program's name": ("lint:all x", "lint-all", ("lint:all", "x")),
    "a drive of Windows": ("C:/judge.exe", "judge.exe", ("C:/judge.exe",)),
    "a program with a script as argument": ("./grade rubric.py", "grade", ("./grade", "rubric.py")),
    "a shell line": ("bash -c 'jq . | tee x'", "bash", ("bash", "-c", "jq . | tee x")),
    "dots in names": ("v1.2-a=./e", "v1.2-a", ("./e",)),
    "a URL is no name": ("x y=http://z", "x", ("x", "y=http://z")),
}


@pytest.mark.parametrize(("text", "name", "argv"), TEXTS.values(), ids=TEXTS.keys())
def test_a_text_becomes_a_name_and_a_command(text: str, name: str, argv: tuple[str, ...]) -> None:
    spec = parse_evaluator(text, EvaluatorSpec())
    assert (spec.name, argv_of(spec)) == (name, argv)


def test_names_are_made_unique() -> None:
    specs = parse_evaluators(["./a", "x/a.py", "a=./b", "a-2=./c"], EvaluatorSpec())
    assert [spec.name for spec in specs] == ["a", "a-2", "a-3", "a-2-2"]


def test_a_shipped_metric_runs_with_this_python() -> None:
    spec = parse_evaluator("@exact_match@strict --help", EvaluatorSpec())
    assert spec.name == "exact_match@strict"
    assert argv_of(spec)[0] == sys.executable
    assert argv_of(spec)[1].endswith("evaluators/exact_match.py")
    assert argv_of(spec)[2:] == ("--variant", "strict", "--help")


REFUSED = {
    "": "names nothing to run",
    "x=": "names nothing to run",
    "bash -c 'oops": "no closing quotation",
    "@exat_match": "no shipped evaluator is called @exat_match",
    "judge:openai/x": "has no objective",
    "judge:": "names no model",
    "gopher://judge": "no kind of evaluator is written gopher://",
    "'' x": "is empty",
    "a\0b": "not a text that a program could be given",
}


@pytest.mark.parametrize(("text", "said"), REFUSED.items())
def test_a_text_that_cannot_be_an_evaluator_is_refused_with_advice(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_evaluator(text, EvaluatorSpec())
    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("target", ["unix:/tmp/x", "unix:./judge.sock", "unix://judge.sock"])
@pytest.mark.parametrize("words", [("score", "a.txt"), ("run", "--candidate", "a.txt")], ids=["score", "run"])
def test_a_kind_that_there_is_none_of_is_refused_with_those_there_are(
    cli: Cli, tmp_path: Path, target: str, words: tuple[str, ...]
) -> None:
    (tmp_path / "a.txt").write_text("hello")
    refused = cli(*words, "-e", target)
    assert (refused.status, refused.stdout) == (2, "")
    assert "error: no kind of evaluator is written unix:" in refused.stderr
    assert "try: an evaluator is a command" in refused.stderr
    assert "a URL (http://…)" in refused.stderr
    assert not (tmp_path / "runs").exists()


def test_a_misspelt_metric_gets_its_neighbour() -> None:
    with pytest.raises(UsageError) as caught:
        parse_evaluator("@exat_match", EvaluatorSpec())
    assert caught.value.hint == "did you mean @exact_match?"


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), 1e300])
def test_a_timeout_must_be_a_time(seconds: float) -> None:
    with pytest.raises(UsageError, match="cannot be kept"):
        parse_evaluator("./e", EvaluatorSpec(timeout=seconds))


def test_a_specification_travels_between_processes() -> None:
    spec = parse_evaluator("x=./e", EvaluatorSpec(environment={"A": "b"}))
    assert pickle.loads(pickle.dumps(spec)) == spec


@pytest.mark.parametrize(
    "command",
    [
        "./judge --credent\u0131al sk-1",  # letters that a pattern takes for others in any case
        "./judge --\u017fecret sk-1",
        "./judge --api-\u212aEY sk-1",
        "./judge ToKeN=sk-1",
        "./judge -h 'X-Thing: sk-1'",
        "./judge http://me:sk-1@host/",
        "http://host/x?sk-1",
    ],
)
def test_a_secret_in_a_command_line_is_struck_out_however_it_is_named(command: str) -> None:
    assert "sk-1" not in mask(command)


@pytest.mark.parametrize(
    "command",
    ["key" * 100_000, "http://" * 50_000, "--key " * 50_000, "a-key-" * 50_000 + ":", "key='" * 50_000],
    ids=["a word", "URLs", "options", "a header", "quotes"],
)
def test_a_command_line_of_any_length_is_read_once(command: str) -> None:
    assert "sk-" not in mask(f"{command} --token sk-1 http://me:sk-2@h/")


def test_numbers_of_characters_may_have_any_number_of_digits() -> None:
    secret = ("sk-canary-0123",)
    assert redact(f"&#{'0' * 5_000}115;k-canary-0123", secret) == "***"
    assert "sk-canary" not in redact(f"&#{'9' * 5_000}; &#x{'f' * 5_000}; sk-canary-0123", secret)
