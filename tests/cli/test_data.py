"""What commands say of data and options that fit badly: long files, copies, options that nothing uses."""

from pathlib import Path

import pytest

from optimize_eval.data.datasets import MAX_RECORDS
from tests.front_door import Cli

NO_URL = "note: --header has no effect: it is for URLs, and none is named\n"
NO_PROGRAM = "note: --cwd has no effect: it is for programs, and none is named\n"
RUN = ["run", "-e", "@exact_match", "--candidate", "c.txt"]


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write more records than a run calls."""
    path = tmp_path_factory.mktemp("long") / "long.jsonl"
    path.write_text("".join(f'{{"target": "{n}"}}\n' for n in range(MAX_RECORDS + 1)))
    return path


@pytest.fixture(autouse=True)
def candidate(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("7")


@pytest.mark.parametrize("option", ["--limit", "--sample"])
def test_of_a_long_file_so_many_can_be_run_and_scored_again(cli: Cli, long: Path, option: str) -> None:
    done = cli(*RUN, "--dataset", long, option, "2", "--out", "r", "--json")
    assert done.status == 0, done.stderr
    assert done.json["summary"]["units"]["scored"] == 2
    again = cli("rescore", "r", "-e", "@contains", "--json")
    assert again.status == 0, again.stderr
    assert again.json["summary"]["units"]["scored"] == 4


def test_a_long_file_is_refused_whole_and_told_what_works(cli: Cli, long: Path, tmp_path: Path) -> None:
    done = cli(*RUN, "--dataset", long, "--out", "r")
    assert done.status == 2
    assert "more than 10,000 records: `run --sample 10000` or --limit takes so many of them" in done.stderr
    assert cli(*RUN, "--dataset", long, "--out", "r", "--sample", "10000", "--dry-run").status == 0
    done = cli(*RUN, "--dataset", long, "--out", "r", "--limit", "10001")
    assert done.status == 2
    assert "10,001 records are too many for one run" in done.stderr
    assert not (tmp_path / "r").exists()


def test_a_sweep_file_may_sample_a_long_file(cli: Cli, long: Path, tmp_path: Path) -> None:
    text = f'run = {{dataset = "{long}", candidates = ["c.txt"]SAMPLE}}\n[[evaluator]]\nuse = "@contains"\n'
    (tmp_path / "s.toml").write_text(text.replace("SAMPLE", ", sample = 3"))
    assert cli("validate", "s.toml").status == 0
    assert cli("run", "s.toml", "--dry-run").status == 0
    (tmp_path / "s.toml").write_text(text.replace("SAMPLE", ""))
    assert cli("validate", "s.toml").status == 2


def test_records_that_are_copies_are_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"target": "7"}\n{"target": "8"}\n{"target": "7"}\n')
    said = "d.jsonl: 1 of 3 records is a copy of another: line 3 equals line 1\n"
    checked = cli("validate", "d.jsonl")
    assert (checked.status, checked.stdout) == (0, f"d.jsonl: ok, 3 records\n{said}")
    assert cli("validate", "d.jsonl", "--json").json["files"][0]["copies"] == [{"line_number": 3, "of": 1}]
    assert cli(*RUN, "--dataset", "d.jsonl", "--dry-run").stderr == f"note: {said}"
    assert cli(*RUN, "--dataset", "d.jsonl", "--limit", "2", "--dry-run").stderr == ""


@pytest.mark.parametrize(
    ("options", "notes"),
    [
        (["-e", "http://127.0.0.1:9/", "--cwd", "."], NO_PROGRAM),
        (["-e", "true", "--header", "A: b"], NO_URL),
        (["-e", "true", "-e", "http://127.0.0.1:9/", "--cwd", ".", "--header", "A: b"], ""),
        (["-e", "true", "--cwd", "."], ""),
        (
            ["--judge-model", "vllm/m", "--objective", "It greets", "--cwd", ".", "--header", "A: b"],
            NO_PROGRAM + NO_URL,
        ),
    ],
)
def test_options_that_nothing_named_uses_are_told(cli: Cli, options: list[str], notes: str) -> None:
    done = cli("run", *options, "--candidate", "c.txt", "--dry-run")
    assert (done.status, done.stderr) == (0, notes)


SUMS = "id,q,target,level\n1,1+1,2,easy\n2,2+2,4,hard\n3,3+4,7,hard\n"


def test_a_table_is_a_dataset_for_every_command(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(SUMS)
    (tmp_path / "v.json").write_text('[{"target": "7"}, {"target": "8"}]')
    assert cli("validate", "d.csv", "v.json").stdout == "d.csv: ok, 3 records\nv.json: ok, 2 records\n"
    assert cli("score", "c.txt", "-e", "@exact_match", "--example", "d.csv:3").json["score"] == 1.0
    files = ("--dataset", "d.csv", "--valset", "v.json")
    assert cli("preflight", "-e", "@exact_match", "--candidate", "c.txt", *files).status == 0
    done = cli(*RUN, *files, "--out", "r", "--json")
    assert done.status == 0, done.stderr
    (row,) = done.json["summary"]["rows"]
    assert (row["splits"]["train"]["mean"], row["splits"]["val"]["mean"]) == (1 / 3, 0.5)
    assert cli(*RUN, *files, "--out", "r", "--json").json["summary"] == done.json["summary"], (
        "nothing is owed"
    )
    assert cli("report", "r", "--check").status == 0
    assert cli("rescore", "r", "-e", "@contains", "--json").json["summary"]["units"]["scored"] == 10
    wide = cli("report", "r", "--format", "csv", "--wide", "--with", "q")
    assert "3+4" in wide.stdout, wide.stderr
    (tmp_path / "d.csv").write_text(SUMS.replace("3+4,7", "3+5,8"))
    changed = cli(*RUN, *files, "--out", "r", "--json")
    assert "1 example of train changed (record 3)" in changed.stderr
    assert changed.json["summary"]["rows"][0]["splits"]["train"]["mean"] == 0.0


def test_recorded_outputs_of_a_table_may_be_numbers(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("target,old,new\n2,2,2\n4,5,4\n7,,8\n")
    fields = ("--candidate-field", "old", "--candidate-field", "new", "--dataset", "d.csv")
    empty = cli("run", "-e", "@exact_match", *fields, "--out", "r")
    assert empty.status == 2
    assert "d.csv:3:1: no text in the field 'old', which is to be the candidate" in empty.stderr
    (tmp_path / "d.csv").write_text("target,old,new\n2,2,2\n4,5,4\n7,8,8\n")
    done = cli("run", "-e", "@exact_match", *fields, "--out", "r", "--json")
    assert done.status == 0, done.stderr
    rows = done.json["summary"]["rows"]
    assert [row["splits"]["train"]["mean"] for row in rows] == [1 / 3, 2 / 3]
    assert cli("preflight", "-e", "@exact_match", *fields).status == 0
    assert cli("report", "r", "--check").status == 0


def test_what_is_wrong_with_tables_is_listed_for_all_files_before_a_call(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(SUMS + "4,5\n")
    (tmp_path / "v.json").write_text("[{}, 7]")
    done = cli(*RUN, "--dataset", "d.csv", "--valset", "v.json", "--out", "r")
    assert (done.status, (tmp_path / "r").exists()) == (2, False)
    assert "d.csv:4:3: the row has 2 cells, and the header 4 columns (line 5 of the file)\n" in done.stderr
    assert "v.json:2:1: a record must be a JSON object, this is a number" in done.stderr
    told = cli("validate", "d.csv", "--json").json["files"][0]["errors"][0]
    assert (told["line_number"], told["column"], told["rule"]) == (4, 3, "bad_row")


@pytest.mark.parametrize("command", [RUN, ["preflight", *RUN[1:]]], ids=["run", "preflight"])
def test_examples_of_a_table_are_chosen_by_field_and_id(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "d.csv").write_text(SUMS)
    files = (*command, "--dataset", "d.csv")
    hard = cli(*files, "--filter", "level=hard", "--id", "3")
    assert hard.status == 0, hard.stderr
    assert "note: d.csv: 1 of 3 examples take part: level=hard, id 3" in hard.stderr
    for wrong, words in {
        "--filter=levl=hard": "no example has the field 'levl'\n  try: did you mean 'level'?",
        "--filter=level=hrd": "no example has level=hrd\n  try: level is hard (2), easy (1)",
        "--id=4": "no example has the id '4'\n  try: ids: 1, 2, 3",
    }.items():
        refused = cli(*files, wrong)
        assert (refused.status, words in refused.stderr) == (2, True), refused.stderr


def test_a_candidate_with_a_field_of_the_data_in_braces_is_asked_about(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.md").write_text("Answer: {{question}}")
    (tmp_path / "plain.md").write_text("Answer: {{other}}")
    (tmp_path / "d.jsonl").write_text('{"question": "Why?", "target": "x"}\n')
    command = ("run", "-e", "@exact_match", "--dataset", "d.jsonl", "--dry-run", "--candidate")
    told = "with {{question}}, a field of the data, in it: did you mean --prompt p.md --model MODEL?"
    assert told in cli(*command, "p.md").stderr
    assert "did you mean" not in cli(*command, "plain.md").stderr
