"""`--wide`: one example a row, with its own fields and each candidate's score and reason."""

import csv
import io
import json
from pathlib import Path

import pytest

from tests.front_door import Result, in_this_process
from tests.page.made import make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    names = ["baseline", "v4-verbose"]
    return make_run(folder, train=8, val=4, candidates=names, options=["--repeats", "2"])


def wide(run: Path, *options: str) -> Result:
    return in_this_process(run.parent)("report", run.name, "--wide", *options)


def test_each_example_is_a_row_with_its_fields_and_each_candidates_score_and_reason(run: Path) -> None:
    done = wide(run, "--format", "csv", "--with", "question,topic")
    assert done.status == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == [
        *("split", "line", "repeat", "id", "question", "topic"),
        *("judge@baseline", "judge@baseline reason", "judge@v4-verbose", "judge@v4-verbose reason"),
        *("policy-check@baseline", "policy-check@baseline reason"),
        *("policy-check@v4-verbose", "policy-check@v4-verbose reason"),
    ]
    assert len(rows) == 2 * 12
    assert [(row["split"], row["line"], row["repeat"]) for row in rows[:3]] == [
        ("train", "1", "1"),
        ("train", "1", "2"),
        ("train", "2", "1"),
    ]
    examples = [json.loads(line) for line in (run.parent / "train.jsonl").read_text().splitlines()]
    assert (rows[0]["id"], rows[0]["question"]) == (examples[0]["id"], examples[0]["question"])


def test_the_scores_are_those_of_the_records_and_a_failure_is_no_number(run: Path) -> None:
    rows = {
        (row["split"], row["line"], row["repeat"]): row
        for row in map(json.loads, wide(run, "--format", "jsonl").stdout.splitlines())
    }
    records = in_this_process(run.parent)("report", run.name, "--format", "jsonl").stdout.splitlines()
    for record in map(json.loads, records):
        row = rows[record["split"], record["line"], record["repeat"]]
        name = f"{record['evaluator']}@{record['candidate']}"
        assert row[name] == record["score"]
        if record["outcome"] == "failed":
            assert row[f"{name} reason"] == f"failed: {record['kind']}: {record['message']}"
        elif record["evaluator"] == "judge":
            assert row[f"{name} reason"] == record["side_info.reasoning"]
    assert rows["train", 7, 1]["judge@v4-verbose"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "md"], "--wide belongs to --format csv or jsonl"),
        ([], "--wide belongs to --format csv or jsonl"),
        (["--format", "csv", "--with", "nothing"], "no example has the field 'nothing'"),
        (["--format", "csv", "--with", " , "], "--with names no field"),
    ],
    ids=" ".join,
)
def test_tables_that_cannot_be_made_are_refused(run: Path, options: list[str], said: str) -> None:
    done = wide(run, *options)
    assert (done.status, done.stdout) == (2, "")
    assert said in done.stderr


def test_fields_alone_are_refused(run: Path) -> None:
    done = in_this_process(run.parent)("report", run.name, "--format", "csv", "--with", "topic")
    assert done.status == 2
    assert "--with belongs to --wide" in done.stderr


def test_fields_are_refused_where_the_data_is_not_what_was_scored(tmp_path: Path) -> None:
    run = make_run(tmp_path, train=2, val=2, candidates=["baseline"])
    data = tmp_path / "val.jsonl"
    data.write_text(data.read_text().replace("topic", "theme", 1))
    done = wide(run, "--format", "csv", "--with", "topic")
    assert (done.status, done.stdout) == (2, "")
    assert "1 of 2 val examples changed or are gone" in done.stderr
    assert wide(run, "--format", "csv").status == 0
