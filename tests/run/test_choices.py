"""`sweep` and `bench` with examples chosen, a time after which no call begins, and a note; as the options."""

import json
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import Run, UsageError, bench, load_run, sweep
from tests.front_door import Cli
from tests.run.projects import COUNTS, Project, project, records, summary

TASKS = [
    {"id": "one", "prompt": "1 + 1 =", "targets": ["2"], "metric": "exact_match"},
    {"id": "two", "prompt": "1 - 1 =", "targets": ["0"], "metric": "exact_match"},
]


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = project(tmp_path)
    (tmp_path / "t.jsonl").write_text("".join(f"{json.dumps(task)}\n" for task in TASKS))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COUNT", str(made.counted))
    return made


def swept(**options: Any) -> Run:
    return sweep(COUNTS, ["a.txt", "b.txt"], dataset="d.jsonl", **{"out": "r", **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"filters": {"id": 3}}, ["--filter=id=3"]),
        ({"filters": ["id=3"], "note": "N"}, ["--filter=id=3", "--note=N"]),
        ({"ids": [3, "5"], "limit": 1}, ["--id=3", "--id=5", "--limit=1"]),
        ({"max_time": 600, "note": "a"}, ["--max-time=10m", "--note=a"]),
    ],
)
def test_it_does_what_the_command_does(
    cli: Cli, made: Project, options: dict[str, Any], words: list[str]
) -> None:
    run = swept(**options)
    calls = made.asked()
    made.forget()
    assert cli(*made.command, "--out", "s", *words, env=made.env()).status == 0
    assert (made.asked(), summary(Path("s"))) == (calls, summary(Path("r")))
    assert run.note == load_run("s").note == options.get("note")


def test_a_run_that_is_out_of_time_says_so_and_goes_on(made: Project) -> None:
    run = swept(max_time="0s")
    assert (run.status, run.exit_code, made.asked().total()) == ("out_of_time", 4, 0)
    assert run.notes[0].startswith("out of time (--max-time): 0 of 24 calls are done; to resume:")
    assert (load_run("r").status, load_run("r").exit_code) == ("out_of_time", 4)
    assert (swept().status, made.asked().total()) == ("done", 24)


def test_a_bench_takes_tasks_by_their_ids_and_ends_in_time() -> None:
    run = bench("t.jsonl", "toy", ids=["two"], note="N", out="b")
    assert (run.status, run.note) == ("done", "N")
    assert [record["line"] for record in records(Path("b"))] == [2]
    assert bench("t.jsonl", "toy", max_time=0, out="c").status == "out_of_time"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"filters": ["id"]}, "filters: .*FIELD=VALUE"),
        ({"filters": {"nr": 3}}, "no example has the field 'nr'"),
        ({"ids": "3"}, "ids: write a list of ids"),
        ({"max_time": "soon"}, "max_time: write a duration"),
        ({"note": 3}, "note: write a text"),
    ],
)
def test_wrong_arguments_raise_before_any_call(made: Project, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        swept(**options)
    assert not made.asked()
