"""What a wrong answer says besides its score is kept: in the journal, in reports, from Python."""

import csv
import io
import json
import sys
from pathlib import Path

import orjson
import pytest

from optimize_eval import EvaluationError, command_evaluator, load_run
from optimize_eval.store import journal
from tests.front_door import Cli, in_this_process
from tests.tools import write_program

BIG = 2**100 + 1  # which no float is

REPLIES = {
    1: {"score": 0.5, "note": "fine"},
    2: {"score": 1.5, "reasoning": "too good, by far", "n": BIG},
    3: {"error": "no key", "reasoning": "TOKEN is not set"},
    4: {"score": None, "error": {"message": "quota"}, "retry": True},
}
EVALUATOR = [
    f"#!{sys.executable} -S",
    "import json, sys",
    f"REPLIES = {REPLIES!r}",
    "print(json.dumps(REPLIES[json.load(sys.stdin)['example']['do']]))",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replies")
    write_program(folder / "judge.py", EVALUATOR)
    (folder / "c.txt").write_text("hello")
    (folder / "data.jsonl").write_text("".join(f'{{"do": {number}}}\n' for number in REPLIES))
    return folder


@pytest.fixture(scope="module")
def done(folder: Path) -> Cli:
    """Call the program in the folder of a run whose replies were wrong."""
    call = in_this_process(folder)
    result = call("run", "-e", "./judge.py", "--candidate", "c.txt", "--dataset", "data.jsonl", "--out", "r")
    assert result.status == 4, result.stderr
    said = "error: judge failed on 3 of 4 calls, more than half; the last one, "
    assert said in result.stderr
    return call


def test_score_prints_it(done: Cli) -> None:
    outcome = done("score", "c.txt", "-e", "./judge.py", "--example", "data.jsonl:2")
    assert outcome.status == 4
    said = json.loads(outcome.stdout)
    assert (said["kind"], said["side_info"]) == (
        "score_out_of_range",
        {"reasoning": "too good, by far", "n": BIG},
    )


def test_journal_python_jsonl_and_csv_have_it(done: Cli, folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "r" / "journal.jsonl").read_text().splitlines()]
    kept = {one["line"]: one.get("side_info") for one in lines if one.get("outcome") == "failed"}
    assert kept == {
        2: {"reasoning": "too good, by far", "n": BIG},
        3: {"reasoning": "TOKEN is not set"},
        4: {"error": {"message": "quota"}, "retry": True},
    }
    records = {record.line: record for record in load_run(folder / "r").records}
    assert {line: record.side_info for line, record in records.items() if line != 1} == kept
    rows = [json.loads(line) for line in done("report", "r", "--format", "jsonl").stdout.splitlines()]
    assert rows[1]["side_info.n"] == BIG
    assert rows[2]["side_info.reasoning"] == "TOKEN is not set"
    table = list(csv.DictReader(io.StringIO(done("report", "r", "--format", "csv").stdout)))
    assert [row["side_info.reasoning"] for row in table] == ["", "too good, by far", "TOKEN is not set", ""]
    assert table[1]["side_info.n"] == str(BIG)


@pytest.mark.parametrize("report", ["text", "md", "junit"])
def test_reports_show_it_with_the_failure(done: Cli, report: str) -> None:
    chosen = ("--details",) if report == "text" else ("--format", report)
    shown = " ".join(done("report", "r", *chosen).stdout.split())
    assert "too good, by far" in shown
    assert "TOKEN" in shown
    assert "it says: quota" in shown


def test_it_is_in_no_number(done: Cli) -> None:
    summary = done("report", "r", "--json").json
    (entry,) = summary["side_info"]
    assert entry["keys"].keys() == {"note"}
    assert json.loads(summary["failures"][0]["first_side_info"])["reasoning"] == "too good, by far"
    assert done("report", "r", "--check").status == 0


def test_a_journal_with_other_side_info_than_an_object_is_refused(done: Cli, folder: Path) -> None:
    copy = folder / "copy"
    copy.mkdir()
    (copy / "run.json").write_bytes((folder / "r" / "run.json").read_bytes())
    lines = (folder / "r" / "journal.jsonl").read_bytes().splitlines()
    records = [{k: v for k, v in orjson.loads(line).items() if k != "crc"} for line in lines]
    records = [one | ({"side_info": [1]} if one.get("line") == 3 else {}) for one in records]
    (copy / "journal.jsonl").write_bytes(b"".join(map(journal.seal, records)))
    refused = done("report", "copy")
    assert (refused.status, refused.stdout) == (3, "")


def test_a_failed_call_from_python_has_it(folder: Path) -> None:
    with command_evaluator([str(folder / "judge.py")]) as evaluator:
        with pytest.raises(EvaluationError) as caught:
            evaluator("hello", {"do": 3})
    assert (caught.value.message, caught.value.side_info) == ("no key", {"reasoning": "TOKEN is not set"})
    with command_evaluator([str(folder / "judge.py")], on_failure=0.0) as evaluator:
        assert evaluator("hello", {"do": 3}) == (
            0.0,
            {"reasoning": "TOKEN is not set", "failure": "reported", "error": "no key"},
        )
