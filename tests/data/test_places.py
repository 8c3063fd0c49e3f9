"""Whatever is said of a row of a table names its record, and the line on which an editor finds it."""

from pathlib import Path

from tests.cli.defined import task
from tests.cli.prompted import COUNTED
from tests.front_door import Cli

ROWS = 'id,input,target\n1,"a\nb",x\n2,"c\n\nd",y\n3,"a\nb",x\n'  # records 1, 2, 3 begin in lines 2, 4, 7


def told(cli: Cli, *words: str, status: int = 2) -> str:
    done = cli(*words, env=COUNTED)
    assert done.status == status, done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_what_is_said_of_a_row_names_the_line_of_the_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(ROWS.replace("3,", "1,"))
    where = "record 3 (line 7 of the file) equals record 1 (line 2 of the file)"
    assert where in told(cli, "validate", "d.csv", status=0)
    (tmp_path / "d.csv").write_text(f"{ROWS}4,z\n")
    assert "d.csv:4:3: the row has 2 cells, and the header 3 columns (line 9 of the file)" in told(
        cli, "validate", "d.csv"
    )
    (tmp_path / "long.csv").write_text("a\n" + '"1\n2"\n' * 10_001)
    words = told(cli, "validate", "long.csv")
    assert "long.csv:10001:1: more than 10,000 records" in words
    assert "(head -n 10000) (line 20002 of the file)" in words
    (tmp_path / "list.json").write_text('[{"a": 1},\n {"a": 1}]')
    assert "record 2 (line 2 of the file) equals record 1 (line 1 of the file)" in told(
        cli, "validate", "list.json", status=0
    )


def test_a_prompt_and_a_filter_name_it_too(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(ROWS)
    (tmp_path / "p.txt").write_text("{{ {'a\nb': 1}[input] }}")
    called = ("--model", "m=cmd:cat", "-e", "@exact_match", "--dry-run")
    assert "d.csv:2 (line 4 of the file)" in told(
        cli, "run", "--prompt", "p.txt", "--dataset", "d.csv", *called
    )
    task(tmp_path)
    (tmp_path / "rows.yaml").write_text(
        "key: rows\ndisplay_name: Rows\nsource:\n  type: local\n  file_path: d.csv\n  filters:\n"
        '    - {op: greater_than, expression: "{{ input }}", value: 1}\n'
    )
    words = told(cli, "bench", "sums.yaml", "--model", "m=cmd:./m", "--data", "sums=rows.yaml")
    assert "d.csv:2: filter rows.yaml: {{ input }} greater_than 1" in words
    assert "(line 4 of the file)" in words


def test_a_run_that_grows_or_is_scored_again_tells_of_records(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(ROWS)
    (tmp_path / "c.txt").write_text("x")
    run = ("run", "-e", "@exact_match", "--candidate", "c.txt", "--dataset", "d.csv", "--out", "r")
    told(cli, *run, status=0)
    (tmp_path / "d.csv").write_text(ROWS.replace("c\n", "e\n"))
    again = told(cli, "rescore", "r", "-e", "@contains")
    assert "d.csv:2: the example has changed since the run (line 4 of the file)" in again
    assert "1 example of train changed (record 2)" in told(cli, *run, status=0)
