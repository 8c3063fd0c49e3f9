"""`validate` on results of other tools: what a file is, and the line to use."""

import gzip
import shlex
from pathlib import Path

import pytest

from tests.foreign.results import DATA
from tests.front_door import Cli
from tests.tools import need_module


@pytest.mark.parametrize(
    ("name", "what"),
    [
        pytest.param("promptfoo.json", "results of promptfoo", id="promptfoo"),
        pytest.param("promptfoo.jsonl", "results of promptfoo", id="promptfoo's lines"),
        pytest.param("promptfoo.csv", "results of promptfoo", id="promptfoo's table"),
        pytest.param("inspect-sums.eval", "a log of Inspect", id="inspect", marks=need_module("pyarrow")),
    ],
)
def test_a_file_of_results_is_known_and_the_line_works(cli: Cli, name: str, what: str) -> None:
    done = cli("validate", str(DATA / name))
    line = f"optimize-eval report {shlex.quote(str(DATA / name))}"
    assert (done.status, ": ok, " in done.stdout) == (0, True)
    assert f"it holds {what}: `{line}`" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("results.json", '{"evalId": "e", "results": {"version": 2}}', "of version 2; known: 3"),
        (
            "log.json",
            '{"version": 2, "status": "success", "eval": {"run_id": "r"}}',
            "eval.task is not a text",
        ),
        ("results_1.json", '{"results": {"t": {}}, "configs": {}}', "has no samples: `lm-eval run"),
    ],
)
def test_what_a_report_would_refuse_is_wrong(
    cli: Cli, tmp_path: Path, name: str, text: str, words: str
) -> None:
    (tmp_path / name).write_text(text)
    done = cli("validate", name)
    assert (done.status, words in done.stdout) == (2, True)
    assert cli("validate", name, "--json").json["files"][0]["kind"] == "other_tool"


def test_a_run_of_results_is_not_called_scored_again_or_cut(cli: Cli) -> None:
    assert cli("report", str(DATA / "promptfoo.json"), "--out", "r").status == 0
    for command in (["rescore", "r", "-e", "@string_equals"], ["report", "r", "--filter", "a=b"]):
        done = cli(*command)
        assert done.status == 2
        assert "the run has results of promptfoo, and not the examples themselves" in done.stderr


@pytest.mark.parametrize(
    ("name", "data", "advice"),
    [
        ("r.csv", b"", "it is empty"),
        ("r.csv.gz", gzip.compress(b"id,a"), "gunzip -k r.csv.gz"),
        ("r.json", b'[{"id": 1, "a": 0.5}]', "jq -c '.[]' r.json > r.jsonl"),
        ("r.txt", b"hello", "records of OpenAI Evals"),
    ],
    ids=["empty", "compressed", "a list", "words"],
)
def test_what_nobody_knows_comes_with_what_to_do(
    cli: Cli, tmp_path: Path, name: str, data: bytes, advice: str
) -> None:
    (tmp_path / name).write_bytes(data)
    done = cli("report", name)
    assert (done.status, done.stdout) == (2, "")
    assert advice in done.stderr


def test_results_of_two_tools_have_nothing_to_compare(cli: Cli) -> None:
    done = cli("diff", str(DATA / "promptfoo.json"), str(DATA / "openai-evals.jsonl"))
    assert (done.status, done.stdout) == (2, "")
    assert "have no metric in common: 'pass', 'score', 'brevity' and 'match'" in done.stderr
