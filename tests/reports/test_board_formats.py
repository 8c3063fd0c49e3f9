"""A bench in every format is its board: what is read back is what leaderboard.json has."""

import csv
import io
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.findings.wording import number
from tests.cli.benches import OFTEN_WRONG, arithmetic, board_in, model
from tests.front_door import Cli, in_this_process
from tests.paths import ROOT
from tests.reports.reading import cases_of, read_csv, read_jsonl, read_junit, tables_of, tokens_of

HOSTILE = "=1|<b>&@me"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run three models, of which one fails often, over both dialects."""
    folder = tmp_path_factory.mktemp("bench")
    arithmetic(folder)
    often = model(folder / "often", f"{{'error': 'no'}} if '?' in asked['prompt'] else {OFTEN_WRONG}")
    command = ["bench", "sums.jsonl", ROOT / "datasets" / "tasks.jsonl", "--model", "toy", "--model", often]
    done = in_this_process(folder)(*command, "--model", "silent", "--out", "run", "--no-preflight")
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture
def here(bench: Path) -> Cli:
    return in_this_process(bench)


@pytest.fixture
def board(bench: Path) -> dict[str, Any]:
    return board_in(bench / "run")


def test_json_is_the_board(here: Cli, board: dict[str, Any]) -> None:
    done = here("report", "run", "--format", "json")
    assert (done.status, done.json) == (0, board)
    assert here("report", "run/leaderboard.json", "--json").json == board


def test_csv_has_a_row_for_each_model_overall_by_category_and_by_task(
    here: Cli, board: dict[str, Any]
) -> None:
    done = here("report", "run", "--format", "csv")
    assert (done.status, done.stderr) == (0, "")
    rows = {
        (row["model"], row["scope"], row["name"]): row for row in csv.DictReader(io.StringIO(done.stdout))
    }
    wanted = {
        (one["adapter"], "overall", ""): {**one, "score": one["overall_score"]} for one in board["models"]
    }
    for told in board["models"]:
        wanted |= {(told["adapter"], "category", one["category"]): one for one in told["categories"]}
        wanted |= {(told["adapter"], "task", one["task"]): one for one in told["tasks"]}
    assert rows.keys() == wanted.keys()
    for key, told in wanted.items():
        ci = told["ci"] or ["", ""]
        assert (rows[key]["ci_low"], rows[key]["ci_high"]) == (str(ci[0]), str(ci[1]))
        for name in {
            "score",
            "se",
            "n",
            "correct",
            "failed",
            "coverage",
            "win_rate",
            "lower_bound",
        } & told.keys():
            assert rows[key][name] == ("" if told[name] is None else str(told[name])), (key, name)


def test_jsonl_are_the_records(here: Cli) -> None:
    rows = read_jsonl(here("report", "run", "--format", "jsonl").stdout)
    assert len(rows) == 3 * 22
    assert {row["task_model"] for row in rows} == {"toy", "often", "silent"}
    assert {(row["evaluator"], row["split"]) for row in rows} == {
        ("sums", "sums.jsonl"),
        ("tasks", "tasks.jsonl"),
    }


def test_markdown_has_the_verdict_models_with_intervals_tasks_and_failures(
    here: Cli, board: dict[str, Any]
) -> None:
    done = here("report", "run", "--format", "md", "--fail-under", "toy=1")
    assert done.status == 1
    assert done.stdout.startswith(f"**{board['verdict']['text']}.**\n")
    assert "**Gates:** 1 of 1 missed" in done.stdout
    models, tasks, failures = tables_of(done.stdout)
    assert [row["model"] for row in models] == [model["adapter"] for model in board["models"]]
    for row, told in zip(models, board["models"], strict=True):
        assert row["overall"].split(" ")[0] == number(told["overall_score"])
        ends = told["ci"] and [number(end) for end in told["ci"]]
        assert row["95 % CI"] == (" to ".join(ends) if ends else "")
        assert row["perfect"] == f"{told['perfect']}/{told['total']}"
    assert [row["task"] for row in tasks] == [task["task"] for task in board["tasks"]]
    assert {row["toy"] for row in tasks if row["task"] != "sums"} == {"1.000"}
    assert {row["model"] for row in failures} == {"often"}


def test_junit_has_a_suite_for_each_model_and_a_case_for_each_task(here: Cli, board: dict[str, Any]) -> None:
    done = here("report", "run", "--format", "junit", "--fail-under", "toy=1")
    assert done.status == 1
    root = read_junit(done.stdout)
    assert [suite.get("name") for suite in root] == ["gates", *(one["adapter"] for one in board["models"])]
    cases = {(kind, name): properties for kind, name, properties in cases_of(root)}
    for told in board["models"]:
        of_model = cases[told["adapter"], "overall"]
        assert of_model["score"] == str(told["overall_score"])
        ends = [str(end) for end in told["ci"]] if told["ci"] else [None, None]
        assert [of_model.get("ci.low"), of_model.get("ci.high")] == ends
        assert all((told["adapter"], task["task"]) in cases for task in told["tasks"])
    assert (root.get("failures"), root.get("errors")) == ("1", "0")  # what failed is not what missed the gate
    (kinds,) = (len(told["errors"]) for told in board["models"] if told["errors"])
    root = read_junit(here("report", "run", "--format", "junit", "--fail-under", "often=1").stdout)
    assert (root.get("failures"), root.get("errors")) == ("1", str(kinds))


def test_names_are_inert_in_every_format_and_a_model_may_be_called_task(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path, size=2, name=f"{HOSTILE}.jsonl")
    command = ["bench", f"{HOSTILE}.jsonl", "--model", "task=toy", "--model", "silent", "--out", "run"]
    assert cli(*command).status == 0
    page = cli("report", "run", "--format", "md").stdout
    assert not {token.type for token in tokens_of(page)} & {"html_inline", "html_block", "link_open"}
    assert "| task | metric | task | silent |" in page
    assert f"'{HOSTILE}" in [row["name"] for row in read_csv(cli("report", "run", "--format", "csv").stdout)]
    assert HOSTILE in [
        name for _, name, _ in cases_of(read_junit(cli("report", "run", "--format", "junit").stdout))
    ]


def test_a_bench_that_did_not_come_to_its_end_has_no_csv_and_is_a_run_elsewhere(
    cli: Cli, tmp_path: Path
) -> None:
    arithmetic(tmp_path)
    bench = ["bench", "sums.jsonl", "--model", "cmd:./nothing", "--out", "run", "--no-preflight"]
    assert cli(*bench, "--concurrency", "1", "--max-failures", "2").status == 4
    refused = cli("report", "run", "--format", "csv")
    assert (refused.status, refused.stdout) == (2, "")
    assert "the csv of a bench is its board, and there is none yet" in refused.stderr
    for form in ("terminal", "md", "junit", "jsonl", "json"):
        assert cli("report", "run", "--format", form).status == 0


@pytest.mark.parametrize("form", ["terminal", "md", "csv", "junit", "json"])
def test_a_board_that_was_edited_is_told_in_every_format(here: Cli, bench: Path, form: str) -> None:
    path = bench / "run" / "leaderboard.json"
    whole = path.read_bytes()
    edited = orjson.loads(whole)
    for one in edited["models"]:
        del one["ci"]
    path.write_bytes(orjson.dumps(edited))
    try:
        done = here("report", "run", "--format", form)
    finally:
        path.write_bytes(whole)
    assert (done.status, "is not as bench wrote it" in done.stderr) == (2, True), done.stderr
