"""What people type by habit: python -m, short options, and commands of other tools."""

import subprocess
import sys
from pathlib import Path

import pytest

from optimize_eval.base.version import VERSION
from tests.front_door import Cli

SWEEP = (
    '[run]\ncandidates = ["a.txt"]\n[[evaluator]]\nname = "{name}"\ncommand = "echo \'{{\\"score\\": 1}}\'"\n'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").touch()
    (tmp_path / "mine.toml").write_text(SWEEP.format(name="mine"))
    return tmp_path


def test_the_package_is_a_program(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "optimize_eval", "-V"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"optimize-eval {VERSION}\n", "")


def test_short_options_are_the_long_ones(cli: Cli, folder: Path) -> None:
    assert cli("-V").stdout == cli("--version").stdout == f"optimize-eval {VERSION}\n"
    long = cli("run", "mine.toml", "--concurrency", "2", "--quiet", "--out", "r")
    short = cli("run", "-c", "mine.toml", "-j", "2", "-q", "--out", "r")
    assert (long.status, short.status) == (0, 0), short.stderr
    assert short.stdout == long.stdout == "a scores 1.000 on mine\nr\n"
    assert cli("run", "-c", "mine.toml", "-j", "0").stderr.startswith("error: Invalid value for '-j'")
    assert folder.is_dir()


def test_the_sweep_file_names_the_folder_however_it_is_given(cli: Cli, folder: Path) -> None:
    by_argument = cli("run", "mine.toml", "-q").stdout
    assert "runs/mine-" in by_argument
    assert cli("run", "--sweep", "mine.toml", "-q").stdout == by_argument
    assert cli("preflight", "-c", "mine.toml").stdout.endswith(" Ready to run.\n")
    assert folder.is_dir()


def test_the_file_of_the_folder_is_not_read_beside_another_and_two_are_refused(
    cli: Cli, folder: Path
) -> None:
    (folder / "optimize-eval.toml").write_text(SWEEP.format(name="usual"))
    named = cli("run", "-c", "mine.toml", "-q", "--out", "r")
    assert (named.stdout, "optimize-eval.toml" in named.stderr) == ("a scores 1.000 on mine\nr\n", False)
    for words in (("mine.toml", "-c", "mine.toml"), ("-c", "mine.toml", "mine.toml")):
        twice = cli("run", *words)
        assert (twice.status, twice.stdout) == (2, "")
        assert twice.stderr.startswith("error: mine.toml is a second sweep file\n")


WORDS = {
    ("init",): "`optimize-eval new` ",
    ("eval", "x"): "`optimize-eval run` ",
    ("list",): "`optimize-eval runs` ",
    ("help",): "optimize-eval --help\n",
    ("help", "run"): "optimize-eval run --help\n",
    ("help", "me"): "optimize-eval --help\n",
    ("test",): "`optimize-eval preflight` ",
    ("compare", "a", "b"): "`optimize-eval run` compares candidates, `optimize-eval diff A B` two runs",
    ("valdate",): "did you mean optimize-eval validate?",
    ("frobnicate",): "the commands are score, run, bench, ",
}


@pytest.mark.parametrize(("words", "ours"), WORDS.items(), ids=map(" ".join, WORDS))
def test_a_command_of_another_tool_is_answered_with_ours(cli: Cli, words: tuple[str, ...], ours: str) -> None:
    told = cli(*words)
    assert (told.status, told.stdout) == (2, "")
    assert told.stderr.startswith(f"error: there is no command {words[0]!r}\n  try: {ours}")
