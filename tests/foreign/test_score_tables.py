"""Tables of scores from outside: wide, long and of conversations; what can be read in two ways is refused."""

from pathlib import Path
from typing import Any

import pytest

from tests.foreign.results import DATA, JSON, numbers_of
from tests.front_door import Cli
from tests.tools import need


def write(tmp_path: Path, text: str, name: str = "m.csv") -> str:
    (tmp_path / name).write_text(text)
    return name


def test_a_column_of_numbers_is_a_system(cli: Cli, tmp_path: Path) -> None:
    rows = "".join(f"{n},question {n},0.{n},1\n" for n in range(1, 9))
    name = write(tmp_path, f"id,question,old,new\n{rows}")
    done = cli("report", name, "--json")
    assert "new beats old on test data: +0.550 score" in done.json["verdict"]["text"]
    assert numbers_of(done.json)["old", "score"] == (pytest.approx(0.45), 8, 0, 0)
    assert "m.csv: 8 tests × 2 systems · 16 results" in done.stderr
    assert "old beats" not in cli("report", name, "--system", "new").stdout


@need("jq")
def test_the_verdict_is_that_of_a_run_on_the_same_numbers(cli: Cli, tmp_path: Path) -> None:
    rows = [f'{{"id": {n}, "old": 0.{n}, "new": {0.3 + n / 20}}}\n' for n in range(1, 9)]
    (tmp_path / "m.jsonl").write_text("".join(rows))
    (tmp_path / "e.sh").write_text("#!/bin/sh\nexec jq --unbuffered -c '{score: .example[.candidate]}'\n")
    (tmp_path / "e.sh").chmod(0o755)
    for name in ("old", "new"):
        (tmp_path / name).write_text(name)
    run = ["run", "-e", "score=./e.sh", "--candidate", "old", "--candidate", "new", "--dataset", "m.jsonl"]
    made, read = cli(*run, "--json").json["summary"], cli("report", "m.jsonl", "--json").json
    theirs = {row["candidate"]: row["splits"]["train"] for row in made["rows"]}
    assert {row["candidate"]: row["splits"]["test"] for row in read["rows"]} == theirs
    words = made["verdict"]["text"].replace("the train data", "test data")
    assert read["verdict"]["text"] == words


def test_what_was_tried_and_seen_in_a_folder_counts_when_it_is_made_anew(cli: Cli, tmp_path: Path) -> None:
    def report(systems: int, rows: int) -> dict[str, Any]:
        names = ["base", *(f"v{n}" for n in range(1, systems))]
        lines = [",".join(f"{(row * 7 + n * n) % 10 / 10}" for n in range(systems)) for row in range(rows)]
        table = "".join(f"q{row},{line}\n" for row, line in enumerate(lines))
        file = write(tmp_path, f"id,{','.join(names)}\n{table}")
        summary: dict[str, Any] = cli("report", file, "--out", "r", "--json").json
        return summary

    assert report(5, 30)["tried"]["k"] == 4
    fewer = report(2, 30)
    assert (fewer["tried"]["k"], fewer["tried"]["look"]) == (4, 1)
    assert "4 candidates were tried on these examples" in str(fewer["verdict"]["points"])
    assert report(2, 40)["tried"]["look"] == 2
    more = report(11, 40)
    assert (more["tried"]["k"], more["tried"]["steps"]) == (10, 6)
    assert "No verdict: 6 versions were made after these results were seen" in more["verdict"]["text"]
    assert cli("report", "r", "--check").status == 0


def test_rows_may_name_systems_metrics_and_repeats(cli: Cli, tmp_path: Path) -> None:
    lines = [
        f"{model},{test},{metric},{epoch},{score}\n"
        for model, metric, score in (("a", "f1", 0.5), ("b", "f1", 1), ("a", "ok", "0"), ("b", "ok", "1"))
        for test in range(3)
        for epoch in (1, 2)
    ]
    name = write(tmp_path, "model,test_id,metric,epoch,score\n" + "".join(lines))
    numbers = numbers_of(cli("report", name, "--json").json)
    assert numbers == {
        ("a", "f1"): (0.5, 6, 0, 0),
        ("b", "f1"): (1.0, 6, 0, 0),
        ("a", "ok"): (0.0, 6, 0, 0),
        ("b", "ok"): (1.0, 6, 0, 0),
    }


def test_words_are_scores_where_a_column_has_no_others(cli: Cli, tmp_path: Path) -> None:
    name = write(tmp_path, "q,a,b\nx,PASS,yes\ny,fail,no\nz,pass,maybe\n")
    assert numbers_of(cli("report", name, "--json").json) == {("a", "score"): (pytest.approx(2 / 3), 3, 0, 0)}


def test_empty_cells_are_failures_or_on_request_skips(cli: Cli, tmp_path: Path) -> None:
    name = write(tmp_path, "id,a\n1,0.5\n2,\n3,N/A\n4,NaN\n")
    done = cli("report", name, "--json")
    assert numbers_of(done.json)["a", "score"] == (0.5, 1, 3, 0)
    assert "2 empty cells are failures; --empty skip" in done.stderr
    assert numbers_of(cli("report", name, "--empty", "skip", "--json").json)["a", "score"] == (0.5, 1, 1, 2)


def test_numbers_beside_questions_and_answers_are_metrics(cli: Cli, tmp_path: Path) -> None:
    text = "user_input,retrieved_contexts,response,faithfulness,answer_relevancy\nq1,c,r,0.5,1\nq2,c,r,,0.8\n"
    numbers = numbers_of(cli("report", write(tmp_path, text, "rag.csv"), "--json").json)
    assert numbers["rag", "faithfulness"] == (0.5, 1, 1, 0)
    assert numbers["rag", "answer_relevancy"] == (pytest.approx(0.9), 2, 0, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("id,a\n1,50%\n2,70%\n", "divide by 100", id="per cent"),
        pytest.param('id,a\n1,"0,5"\n2,"0,7"\n', "write points", id="decimal commas"),
        pytest.param("id;a\n1;2\n", "separated by semicolons", id="semicolons"),
        pytest.param("id,a,b\n1,0.5\n", "m.csv:2: the row has 2 cells, and the header 3", id="ragged"),
        pytest.param("id,a\n1,\0\n", "it holds NUL", id="nul"),
        pytest.param('id,a\n1,"0.5\n', "a quote is opened, and none closes it", id="open quote"),
        pytest.param("id,a\n1,0.5\n2,0.6\n3,oops\n", "m.csv:4: 'a' is 'oops'", id="a word among numbers"),
        pytest.param("id,a,A\n1,0.5,1\n", "two columns are called 'a'", id="equal names"),
        pytest.param("question,one,two\nq,text,words\n", "--candidate-field one", id="outputs"),
        pytest.param("n,a,b\n0,1,0\n1,0,1\n", "name the id with --id-column", id="a counter or a system"),
        pytest.param("model,score\na,1\nb,0\n", "name one with --id-column", id="long without ids"),
        pytest.param(
            "id,model,run,score\n1,a,1,1\n1,a,1,0\n", "two scores for one example and repeat", id="twice"
        ),
    ],
)
def test_what_cannot_be_read_in_one_way_is_refused(cli: Cli, tmp_path: Path, text: str, words: str) -> None:
    done = cli("report", write(tmp_path, text))
    assert (done.status, done.stdout) == (2, "")
    assert words in done.stderr


def test_the_id_may_be_named(cli: Cli, tmp_path: Path) -> None:
    name = write(tmp_path, "n,a,b\n0,1,0\n1,0,1\n")
    numbers = numbers_of(cli("report", name, "--id-column", "n", "--json").json)
    assert numbers == {("a", "score"): (0.5, 2, 0, 0), ("b", "score"): (0.5, 2, 0, 0)}


def test_promptfoo_s_csv_has_its_passes_and_rounded_scores(cli: Cli) -> None:
    done = cli("report", str(DATA / "promptfoo.csv"), "--json")
    whole = numbers_of(cli("report", str(JSON), "--json").json)
    numbers = numbers_of(done.json)
    assert "rounded to 0.01" in done.stderr
    assert numbers["short", "pass"][1:3] == (9, 2)  # a grader's failure does not stand in the CSV
    assert whole["short", "pass"][1:3] == (8, 3)


def test_a_test_that_was_not_for_a_system_has_empty_cells_in_promptfoo_s_csv(
    cli: Cli, tmp_path: Path
) -> None:
    parts = "Status,Score,Named Scores,Grader Reason,Comment"
    rows = "1,b,PASS,1.00,,,,c,FAIL,0.00,,,\n2,b,PASS,1.00,,,,,,,,,\n"
    file = write(tmp_path, f"q,[m1] p,{parts},[m2] p,{parts}\n{rows}")
    numbers = numbers_of(cli("report", file, "--json").json)
    assert (numbers["m1", "pass"], numbers["m2", "pass"]) == ((1, 2, 0, 0), (0, 1, 0, 1))
