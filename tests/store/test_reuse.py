"""Scores that another run has: told, never taken silently, and copied where that was asked for."""

from collections import Counter
from pathlib import Path

import orjson
import pytest

from optimize_eval import sweep
from optimize_eval.store.journal import seal
from tests.cli.benches import OFTEN_WRONG, arithmetic, model
from tests.faults.servers import served
from tests.front_door import Cli
from tests.run.projects import COUNTS, Project, copied, finished, project, records, summary


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory.mktemp("original"), 10)


@pytest.fixture
def done(original: Project, tmp_path: Path) -> Project:
    """Give a project whose run `r` is done, and a third candidate."""
    made = copied(original, tmp_path)
    (tmp_path / "c.txt").write_text("cc")
    made.command += ["--candidate", "c.txt"]
    return made


def test_what_is_scored_elsewhere_is_told_and_not_taken(cli: Cli, done: Project) -> None:
    dry = cli(*done.command, "--out", "new", "--dry-run", env=done.env())
    assert " reuse       r already has 20 of these 30 scores. To copy them, add --reuse r\n" in dry.stdout
    told = cli(*done.command, "--out", "new", env=done.env())
    assert "note: r already has 20 of these 30 scores. To copy them, add --reuse r\n" in told.stderr
    assert done.asked().total() == 30
    again = cli(*done.command, "--out", "new", env=done.env())
    assert "scored in" not in again.stderr, "nothing is owed"


@pytest.mark.parametrize("named", ["r", "auto"])
def test_scores_of_the_same_calls_are_copied_and_marked(cli: Cli, done: Project, named: str) -> None:
    reused = cli(*done.command, "--out", "new", "--reuse", named, env=done.env())
    assert reused.status == 0, reused.stderr
    assert "note: 20 scored calls of r reused\n" in reused.stderr
    assert done.asked() == Counter(f"cc:{n}" for n in range(1, 11))
    marked = [one for one in records(done.folder / "new") if "reused_from" in one]
    assert {one["reused_from"] for one in marked} == {"r"}
    assert {one["key"]: one["side_info"] for one in marked} == {
        one["key"]: one["side_info"] for one in records(done.folder / "r")
    }
    assert cli("report", "new", "--check").status == 0
    assert cli(*done.command, "--out", "alone", env=done.env()).status == 0
    assert summary(done.folder / "new") == summary(done.folder / "alone")


def test_a_dry_run_counts_what_would_be_reused_and_writes_nothing(cli: Cli, done: Project) -> None:
    before = {path: path.stat().st_mtime_ns for path in done.folder.rglob("*")}
    dry = cli(*done.command, "--out", "new", "--reuse", "r", "--dry-run", env=done.env())
    assert dry.stderr == "note: 20 scored calls of r would be reused\n"
    assert "30 calls, 20 of them done" in dry.stdout
    assert "already scored" not in dry.stdout
    assert {path: path.stat().st_mtime_ns for path in done.folder.rglob("*")} == before
    planned = cli(
        *done.command, "--out", "new", "--reuse", "auto", "--dry-run", "--json", env=done.env()
    ).json
    assert (planned["calls"], planned["owed"], planned["reuse"]) == (30, 10, None)


def test_a_score_outside_the_range_is_not_reused_and_not_counted(cli: Cli, done: Project) -> None:
    journal = done.folder / "r" / "journal.jsonl"
    record = next(one for one in records(done.folder / "r") if one["outcome"] == "scored")
    later = {**record, "score": 7.0, "started_at": "2999-01-01T00:00:00.000+00:00"}
    del later["crc"]
    with journal.open("ab") as file:
        file.write(seal(later))
    reused = cli(*done.command, "--out", "new", "--reuse", "r", env=done.env())
    assert (reused.status, "note: 19 scored calls of r reused\n" in reused.stderr) == (0, True), reused.stderr
    assert done.asked().total() == 11


def test_a_neighbour_whose_run_json_was_edited_is_passed_over(cli: Cli, done: Project) -> None:
    path = done.folder / "r" / "run.json"
    document = orjson.loads(path.read_bytes())
    changes: list[dict[str, object]] = [
        {"cells": 3},
        {"splits": [{}]},
        {"repeats": "x"},
        {"candidates": None},
    ]
    for change in changes:
        path.write_bytes(orjson.dumps(document | change))
        dry = cli(*done.command, "--out", "new", "--dry-run", env=done.env())
        assert (dry.status, "already scored" in dry.stdout) == (0, False), dry.stderr
    path.write_bytes(path.read_bytes()[:-1])
    assert cli(*done.command, "--out", "new", "--dry-run", env=done.env()).status == 0


def test_a_run_that_is_reused_as_a_whole_is_done(cli: Cli, done: Project) -> None:
    done.command = done.command[:-2]
    reused = cli(*done.command, "--out", "new", "--reuse", "r", "--repeats", "1", env=done.env())
    assert (reused.status, done.asked().total()) == (0, 0), reused.stderr
    (state,) = {one["state"] for one in cli("runs", ".", "--json").json["runs"]}
    assert state == "done"


def test_only_the_same_program_range_text_and_example_count(cli: Cli, done: Project) -> None:
    any_range = cli(*done.command, "--out", "any", "--reuse", "r", "--score-range", "any", env=done.env())
    assert (any_range.status, done.asked().total()) == (0, 30)
    done.forget()
    (done.folder / "b.txt").write_text("dddd")
    (done.folder / "d.jsonl").write_text((done.folder / "d.jsonl").read_text().replace('"id":3}', '"id":33}'))
    some = cli(*done.command, "--out", "some", "--reuse", "r", env=done.env())
    assert some.status == 0
    assert done.asked().total() == 1 + 10 + 10


def test_what_is_not_sound_is_left_out_of_auto_with_a_note(cli: Cli, done: Project) -> None:
    journal = done.folder / "r" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"line":1', b'"line":2', 1))
    told = cli(*done.command, "--out", "new", "--reuse", "auto", env=done.env())
    assert told.status == 0
    assert "note: r is not reused: r/journal.jsonl:" in told.stderr
    assert done.asked().total() == 30
    named = cli(*done.command, "--out", "other", "--reuse", "r", env=done.env())
    assert (named.status, "not as it was written" in named.stderr) == (3, True)


@pytest.mark.parametrize("options", [[], ["--dry-run"]], ids=["run", "dry run"])
def test_a_damaged_reply_is_left_out_of_auto_with_a_note(
    cli: Cli, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "p.md").write_text("Say {{target}}")
    (tmp_path / "d.jsonl").write_text('{"target": "x"}\n{"target": "y"}\n')
    command = [
        *("run", "--prompt", "p.md", "--model", "toy"),
        *("-e", "@contains", "--dataset", "d.jsonl", "--out"),
    ]
    assert cli(*command, "runs/one").status == 0
    outputs = tmp_path / "runs" / "one" / "outputs.jsonl"
    outputs.write_bytes(outputs.read_bytes().replace(b'{"', b'{ "', 2))
    auto = cli(*command, "runs/two", "--reuse", "auto", *options)
    assert auto.status == 0, auto.stderr
    assert "note: runs/one is not reused: runs/one/outputs.jsonl:" in auto.stderr
    assert "calls of" not in auto.stderr, "no score is copied without its reply"
    named = cli(*command, "runs/three", "--reuse", "runs/one", *options)
    assert (named.status, "not as it was written" in named.stderr) == (3, True)


def test_a_url_is_reused_by_name_only(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 2)
    with served() as server:
        command = ["run", "-e", f"judge={server.url}/good", *made.command[3:], "--out"]
        assert cli(*command, "r").status == 0
        auto = cli(*command, "auto", "--reuse", "auto")
        named = cli(*command, "named", "--reuse", "r")
    assert "reused" not in auto.stderr
    assert "note: 4 scored calls of r reused" in named.stderr


def test_replies_of_models_come_along(cli: Cli, tmp_path: Path) -> None:
    arithmetic(tmp_path)
    often, calls = model(tmp_path / "often", OFTEN_WRONG), tmp_path / "calls"
    bench = ["bench", "sums.jsonl", "--model", often]
    assert cli(*bench, "--out", "first", env={"CALLS": str(calls)}).status == 0
    before = calls.read_text()
    again = cli(*bench, "--model", "silent", "--out", "second", "--reuse", "first", env={"CALLS": str(calls)})
    assert (again.status, calls.read_text()) == (0, before), again.stderr
    outputs = [
        orjson.loads(line) for line in (tmp_path / "second" / "outputs.jsonl").read_bytes().splitlines()
    ]
    assert len({one["key"] for one in outputs[1:]}) == len(outputs) - 1 == 24
    rescored = cli("rescore", "second", "-e", "@f1", "--json", env={"CALLS": str(calls)})
    assert (rescored.status, calls.read_text()) == (0, before), rescored.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--fresh", "--reuse", "r"], "--fresh starts over and --reuse takes what is there"),
        (["--reuse", "nowhere"], "there is no run in 'nowhere'"),
    ],
)
def test_misuse_is_refused(cli: Cli, done: Project, options: list[str], said: str) -> None:
    result = cli(*done.command, "--out", "new", *options, env=done.env())
    assert (result.status, said in result.stderr, (done.folder / "new").exists()) == (2, True, False)


def test_python_can_say_it(done: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(done.folder)
    monkeypatch.setenv("COUNT", str(done.counted))
    run = sweep([COUNTS], [Path("a.txt"), Path("b.txt")], dataset="d.jsonl", out="new", reuse=[Path("r")])
    assert (run.exit_code, done.asked().total()) == (0, 0), run.notes
    assert "note: 20 scored calls of r reused" in run.notes


@pytest.mark.parametrize(
    ("limit", "many"), [(6, "4 of these 6"), (5, "3 to 4 of these 5"), (2, "up to 2 of these 2")]
)
def test_where_some_of_a_run_is_scored_it_is_said_how_much_of_it_can_be_reused(
    cli: Cli, tmp_path: Path, limit: int, many: str
) -> None:
    """The other run has scored four of six, and run.json does not say which."""
    fails = "#!/bin/sh\ncase $(cat) in *fails*) exit 1;; esac\necho '{\"score\": 1}'\n"
    (tmp_path / "e.sh").write_text(fails)
    (tmp_path / "e.sh").chmod(0o755)
    (tmp_path / "a.txt").write_text("a")
    rows = [f'{{"q": "{n} fails"}}' if n > 4 else f'{{"q": {n}}}' for n in range(1, 7)]
    (tmp_path / "d.jsonl").write_text("\n".join(rows))
    command = ("run", "-e", "./e.sh", "--candidate", "a.txt", "--dataset", "d.jsonl")
    assert cli(*command, "--out", "one").status == 0
    dry = cli(*command, "--out", "two", "--limit", str(limit), "--dry-run")
    told = " ".join(dry.stdout.split())
    assert f" one already has {many} scores. To copy them, add --reuse one " in told


def test_a_sweep_file_can_say_it(cli: Cli, done: Project) -> None:
    sweep = '[run]\ndataset = "d.jsonl"\ncandidates = ["a.txt", "b.txt"]\nreuse = ["r"]\nout = "new"\n'
    program = COUNTS.partition("=")
    sweep += f'[[evaluator]]\nname = "{program[0]}"\ncommand = "{program[2]}"\n'
    (done.folder / "s.toml").write_text(sweep)
    result = cli("run", "s.toml", env=done.env())
    assert (result.status, done.asked().total()) == (0, 0), result.stderr


def test_examples_that_the_other_run_never_had_are_not_said_to_be_scored_there(
    cli: Cli, tmp_path: Path
) -> None:
    made = project(tmp_path, 6)
    for name in ("one", "two"):
        assert cli(*made.command, "--limit", "4", "--out", f"runs/{name}", env=made.env()).status == 0
    grown = cli(*made.command, "--limit", "6", "--out", "runs/two", env=made.env())
    assert (grown.status, "already scored" in grown.stderr) == (0, False), grown.stderr
    more = cli(*made.command, "--repeats", "2", "--out", "runs/one", "--dry-run", env=made.env())
    assert "runs/two already has 4 of these 16 scores" in more.stdout
