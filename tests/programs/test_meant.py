"""A command that does not work: what is advised is the one that does, and nothing of another kind."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.tools import need

ANSWERS = "#!/bin/sh\necho '{\"score\": 1}'\n"
PRINTS = "print('{\"score\": 1}')\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a folder with programs of several kinds, and files that are none."""
    texts = {
        "judge.py": PRINTS,
        "judge.sh": ANSWERS,
        "noext": ANSWERS,
        "my dir/judge.sh": ANSWERS,
        "my dir/judge.py": PRINTS,
        "notes.txt": "",
        "score.c": "int main() {}\n",
        "Score.java": "class Score {}\n",
        "score.go": "package main\n",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "my dir/judge.sh").chmod(0o755)
    return tmp_path


@pytest.fixture
def hint(cli: Cli, folder: Path) -> Callable[[str], str]:
    """Give what is advised for `-e COMMAND`."""

    def advised(command: str) -> str:
        told = cli("score", "-", "-e", command).json
        assert told["outcome"] == "failed", told
        return str(told["hint"])

    assert folder.is_dir()
    return advised


MEANT = {  # what was written → the command that works
    "judge.py": "python3 judge.py",
    "judge.py --strict": "python3 judge.py --strict",
    "./judge.py": "python3 ./judge.py",
    "judge.sh": "sh judge.sh",
    "noext": "sh noext",
    "judgee.py": "python3 judge.py",
    "./jugde.py": "python3 ./judge.py",
    "python3 judgee.py": "python3 judge.py",
    "./my dir/judge.sh": "'./my dir/judge.sh'",
    "./my dir/judge.sh 2": "'./my dir/judge.sh' 2",
    "python3 my dir/judge.py": "python3 'my dir/judge.py'",
    "python3 ./my dir/judge.py 2": "python3 './my dir/judge.py' 2",
    "FOO=1 python3 judge.py": "env FOO=1 python3 judge.py",
    "exact_match": "@exact_match",
}


@pytest.mark.parametrize(("written", "meant"), MEANT.items(), ids=MEANT)
def test_the_command_that_is_advised_works(
    cli: Cli, hint: Callable[[str], str], written: str, meant: str
) -> None:
    advised = shlex.split(hint(written).partition("did you mean ")[2].removesuffix("?"))
    assert advised == [meant]
    payload = ("--example", '{"targets": ["a"]}')
    assert cli("score", "-", "-e", advised[0], *payload, stdin=b"a").json["outcome"] == "scored"


LAUNCHED = {
    "localhost:8000": "http://localhost:8000",
    "localhost:8000/score": "http://localhost:8000/score",
    "127.0.0.1:8000": "http://127.0.0.1:8000",
    "judge.example.org:80/x": "http://judge.example.org:80/x",
    "score.go": "'go run score.go'",
    "./Score.java": "'java ./Score.java'",
    "pyton3 judge.py": "'python3 judge.py'",
}


@pytest.mark.parametrize(("written", "meant"), LAUNCHED.items(), ids=LAUNCHED)
def test_a_url_without_its_scheme_and_what_runs_a_source_are_known(
    hint: Callable[[str], str], written: str, meant: str
) -> None:
    assert hint(written) == f"did you mean {meant}?"


@pytest.mark.parametrize(
    "written", ["./notes.tx", "./scor.txt", "readme", "note.txt", "judge.rb", "scoree", "j"]
)
def test_nothing_of_another_kind_is_suggested(hint: Callable[[str], str], written: str) -> None:
    assert "did you mean" not in hint(written)


NO_PROGRAMS = {
    "notes.txt": "it has no #! line, so it is not a program",
    "./notes.txt": "it has no #! line, so it is not a program",
    "./score.c": "compile it, and name the program that comes of it",
    "score.c": "compile it, and name the program that comes of it",
    "nowhere.py": "no such file is in this folder either: write its path, 'python3 DIR/nowhere.py'",
}


@pytest.mark.parametrize(("written", "said"), NO_PROGRAMS.items(), ids=NO_PROGRAMS)
def test_a_file_that_is_no_program_is_told_as_that(
    hint: Callable[[str], str], written: str, said: str
) -> None:
    assert hint(written).startswith(said)


@pytest.mark.parametrize("written", ["$HOME/judge.py", "python3 $HOME/judge.py", "cat ${HOME}/x"])
def test_a_variable_that_no_shell_puts_in_is_told(hint: Callable[[str], str], written: str) -> None:
    variable = "${HOME}" if "{" in written else "$HOME"
    said = f'no shell is used, so {variable} means nothing: let yours put it in, "{written}"'
    assert hint(written).endswith(said)


def test_a_home_folder_that_no_shell_puts_in_is_told(hint: Callable[[str], str]) -> None:
    home = Path.home()
    assert hint("~/x.py") == f"no shell expands ~ here: did you mean {home}/x.py?"
    said = f"there is no file ~/x.py: no shell expands ~ here; did you mean 'python3 {home}/x.py'?"
    assert hint("python3 ~/x.py") == said


@need("jq")
def test_a_variable_of_another_language_in_quotes_is_no_shells(hint: Callable[[str], str]) -> None:
    assert "no shell" not in hint("jq -n '$ENV.HOME + $HOME'")
