"""Two results of another tool against each other: paired by names and contents, not by places."""

from pathlib import Path

import pytest

from tests.foreign.results import JSON
from tests.front_door import Cli

MONDAY = "id,a,b\n1,0,1\n2,0,1\n3,1,1\n4,0,0\n5,0,1\n6,0,1\n7,0,1\n"
TUESDAY = "id,a,c\n7,1,1\n2,1,1\n3,1,1\n4,1,0\n5,1,1\n6,1,1\n8,1,0\n1,1,1\n"


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "monday.csv").write_text(MONDAY)
    (tmp_path / "tuesday.csv").write_text(TUESDAY)


def test_examples_are_paired_by_what_they_are_in_any_order(cli: Cli, tmp_path: Path) -> None:
    done = cli("diff", "monday.csv", "tuesday.csv")
    shown = " ".join(done.stdout.split())
    assert done.status == 0
    assert "0.143 → 1.000" in shown
    assert "1 example of test" in shown
    assert "--map b=c compares them" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"monday.csv", "tuesday.csv"}


def test_systems_of_other_names_are_mapped(cli: Cli) -> None:
    compared = cli("diff", "monday.csv", "tuesday.csv", "--map", "b=c", "--json")
    assert (compared.json["a"]["run"], compared.json["b"]["run"]) == ("monday.csv", "tuesday.csv")
    assert "compares them" not in compared.stderr
    assert "there is no system 'x'" in cli("diff", "monday.csv", "tuesday.csv", "--map", "x=c").stderr
    assert "this is not OLD=NEW" in cli("diff", "monday.csv", "tuesday.csv", "--map", "b").stderr


def test_a_run_that_was_kept_is_compared_with_a_file(cli: Cli) -> None:
    assert cli("report", "monday.csv", "--out", "kept").status == 0
    files = cli("diff", "monday.csv", "tuesday.csv", "--json").json
    kept = cli("diff", "kept", "tuesday.csv", "--json").json
    assert kept["verdict"] == files["verdict"]


def test_what_cannot_be_compared_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "d.jsonl").write_text('{"target": "a"}\n')
    cli("run", "-e", "@string_equals", "--candidate", "a", "--dataset", "d.jsonl", "--out", "own")
    assert "the examples of own cannot be matched with those of" in cli("diff", "own", "monday.csv").stderr
    assert "name two" in cli("diff", "monday.csv").stderr
    assert "--map is for files of other tools" in cli("diff", "own", "own", "--map", "a=b").stderr


def test_files_of_json_are_two_runs_and_their_page_stays(cli: Cli, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(JSON.read_bytes())
    done = cli("diff", "a.json", "b.json")
    assert done.status == 0, done.stderr
    assert "optimize-eval diff a.json b.json --details" in done.stdout
    assert cli("report", "a.json", "--format", "html").stdout == "report.html\n"
    assert cli("diff", "a.json", "b.json", "--format", "html").stdout == "diff.html\n"
    assert (tmp_path / "report.html").is_file()
    assert (tmp_path / "diff.html").is_file()


def test_of_another_tools_system_nothing_is_said_of_its_text(cli: Cli) -> None:
    done = cli("diff", "monday.csv", "tuesday.csv", "--json")
    assert done.json["rows"][0]["diff"] > 0
    assert "same text" not in done.stdout


def test_the_next_line_of_a_report_has_its_options(cli: Cli) -> None:
    line = cli("report", "monday.csv", "--baseline", "b").stdout.splitlines()[-1]
    assert line.split() == ["next", "optimize-eval", "report", "monday.csv", "--baseline", "b", "--details"]
