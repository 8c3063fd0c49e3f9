"""What a shell offers after Tab: the names of our own things, as bash asks for them."""

from pathlib import Path

import pytest

from tests.cli.made_runs import make
from tests.front_door import Cli


def offered(cli: Cli, words: str) -> list[str]:
    typed = words.split(" ")
    asked = {
        "_OPTIMIZE_EVAL_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(typed) - 1),
    }
    return cli(env=asked).stdout.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("run -e @exact_", ["@exact_match"]),
        ("preflight -e tas", ["task:"]),
        ("evaluators show json_v", ["json_valid"]),
        ("evaluators show @json_v", ["@json_valid"]),
        ("bench --model open", ["openai/", "openrouter/"]),
        ("optimize --judge-model anth", ["anthropic/"]),
    ],
)
def test_names_that_ship_are_offered(cli: Cli, words: str, names: list[str]) -> None:
    assert offered(cli, f"optimize-eval {words}") == names


@pytest.mark.parametrize(
    "words",
    ["report", "view", "diff", "diff runs/b", "rescore", "runs note", "runs rm", "verify", "run --reuse"],
)
def test_runs_are_offered_where_one_is_asked_for(cli: Cli, tmp_path: Path, words: str) -> None:
    (tmp_path / "runs" / "notes").mkdir(parents=True)
    for name in "ab":
        make(tmp_path / "runs" / name)
    assert offered(cli, f"optimize-eval {words} ru") == ["runs/a", "runs/b"]
    assert offered(cli, f"optimize-eval {words} runs/b") == ["runs/b"]
