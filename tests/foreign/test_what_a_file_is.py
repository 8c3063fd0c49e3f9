"""`validate` on results of other tools: what a file is, and the line to use."""

import shlex

import pytest

from tests.foreign.results import DATA
from tests.front_door import Cli


@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param("promptfoo.json", "results of promptfoo", id="promptfoo"),
        pytest.param("promptfoo.jsonl", "results of promptfoo", id="promptfoo's lines"),
        pytest.param("promptfoo.csv", "results of promptfoo", id="promptfoo's table"),
        pytest.param("inspect-sums.eval", "a log of Inspect", id="inspect"),
    ],
)
def test_a_file_of_results_is_known_and_the_line_works(cli: Cli, name: str, what: str) -> None:
    done = cli("validate", str(DATA / name))
    said = done.stdout + done.stderr
    line = f"optimize-eval report {shlex.quote(str(DATA / name))}"
    assert f"it holds {what}: `{line}`" in said


def test_a_run_of_results_is_not_called_scored_again_or_cut(cli: Cli) -> None:
    assert cli("report", str(DATA / "promptfoo.json"), "--out", "r").status == 0
    for command in (["rescore", "r", "-e", "@string_equals"], ["report", "r", "--filter", "a=b"]):
        done = cli(*command)
        assert done.status == 2
        assert "the run has results of promptfoo, and not the examples themselves" in done.stderr
