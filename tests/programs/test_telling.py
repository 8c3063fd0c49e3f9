"""The line that says why a program failed, of what programs in many languages write when they do."""

import shlex
from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tools import need

WRITTEN = {  # by what failed: the line that tells, and what was written to stderr, as it came
    title: section.removeprefix("=> ").partition("\n")
    for title, _, section in (
        part.partition("\n")
        for part in Path(__file__).with_name("stderrs.txt").read_text().removeprefix("=== ").split("\n=== ")
    )
}


@pytest.mark.parametrize("section", WRITTEN.values(), ids=WRITTEN)
def test_the_line_that_tells_why_is_the_message(
    cli: Cli, tmp_path: Path, section: tuple[str, str, str]
) -> None:
    line, _, stderr = section
    (tmp_path / "stderr.txt").write_text(stderr)
    (tmp_path / "candidate.txt").touch()
    done = cli("score", "candidate.txt", "-e", "sh -c 'cat stderr.txt >&2; exit 1'")
    assert done.json["message"] == f"exit status 1: {line}"
    assert done.json["stderr"] == stderr


PROGRAMS = {  # program, its text, what the message says
    "ruby": pytest.param("ruby", "raise ArgumentError, 'bad'", "bad (ArgumentError)", marks=need("ruby")),
    "perl": pytest.param("perl", "use No::Such;", "Can't locate No/Such.pm", marks=need("perl")),
    "lua": pytest.param("lua", "error('bad')", ": bad", marks=need("lua")),
}


@pytest.mark.parametrize(("language", "text", "said"), PROGRAMS.values(), ids=PROGRAMS)
def test_real_programs_say_the_same(cli: Cli, tmp_path: Path, language: str, text: str, said: str) -> None:
    (tmp_path / "program").write_text(text)
    done = cli("score", "-", "-e", f"{language} program")
    assert said in done.json["message"], done.json


@need("gcc")
def test_an_assertion_in_c_is_told_with_the_signal_that_it_ended_by(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#include <assert.h>\nint main() { assert(1 == 2); }\n")
    assert cli("score", "-", "-e", "sh -c 'gcc -o a a.c && exec ./a'").json["kind"] == "killed"
    said = cli("score", "-", "-e", "./a").json
    assert said["message"].startswith("ended by SIGABRT: a: a.c:2: main: Assertion ")
    assert "fix it" in said["hint"]


UNSET = {
    "Python": ("import os; os.environ['JUDGE_KEY']", "python3"),
    "a shell": ("set -u; echo $JUDGE_KEY", "sh"),
    "Ruby": pytest.param("ENV.fetch('JUDGE_KEY')", "ruby", marks=need("ruby")),
}


@pytest.mark.parametrize(("text", "language"), UNSET.values(), ids=UNSET)
def test_a_variable_that_is_not_set_is_named_with_the_line_that_sets_it(
    cli: Cli, tmp_path: Path, text: str, language: str
) -> None:
    (tmp_path / "program").write_text(text)
    hint = cli("score", "-", "-e", f"{language} program").json["hint"]
    line = f"env JUDGE_KEY=… {language} program"
    assert hint.startswith("it needs the variable JUDGE_KEY: export JUDGE_KEY=… before")
    assert shlex.split(hint)[-1] == line


def test_a_key_of_the_example_is_no_variable(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("{}['JUDGE_KEY']")
    assert "variable" not in cli("score", "-", "-e", "python3 p.py").json["hint"]
