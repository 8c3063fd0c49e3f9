"""Another evaluator over a run that is there: its scores join the run's, and what was known stays."""

import os
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.protocol import ScoreRange
from optimize_eval.store.command_units import View
from optimize_eval.store.layout import Layout, Split
from optimize_eval.store.ledger import Ledger
from tests.findings.made import document_of
from tests.front_door import Cli
from tests.processes import MARK, processes_with
from tests.run.projects import (
    COUNTS,
    Project,
    await_that,
    copied,
    edit_candidate,
    edit_example,
    finished,
    project,
    records,
    summary,
)
from tests.tools import write_program

AGAIN = "again=./counts.sh once-more"  # another text: another evaluator
RESCORE = ("rescore", "r", "-e", AGAIN)
KILLS = 8


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory.mktemp("original"))


@pytest.fixture
def done(original: Project, tmp_path: Path) -> Project:
    return copied(original, tmp_path)


@cache
def both_from_the_start(examples: int = 12) -> bytes:
    """Give the summary of a run that had both evaluators in its plan."""
    with tempfile.TemporaryDirectory() as folder:
        made = project(Path(folder), examples)
        made.run("-e", AGAIN)
        return summary(made.folder / "r")


def manifest(run: Path) -> dict[str, Any]:
    told: dict[str, Any] = orjson.loads((run / "run.json").read_bytes())
    return told


def added(run: Path) -> list[str]:
    names: list[str] = manifest(run)["selection"]["added"]
    return names


def rows(told: Any, evaluator: str) -> list[Any]:
    return [row for row in told["rows"] if row["evaluator"] == evaluator]


def test_the_summary_is_that_of_a_run_that_had_it_from_the_start(cli: Cli, done: Project) -> None:
    result = cli(*RESCORE, env=done.env())
    assert result.status == 0, result.stderr
    assert done.asked() == Counter(f"{text}:{n}" for text in ("a", "bbb") for n in range(1, 13))
    assert summary(done.folder / "r") == both_from_the_start()
    assert (cli("report", "r").stdout, cli("report", "r", "--check").status) == (result.stdout, 0)


def test_a_run_that_does_not_name_it_leaves_it_out_and_keeps_its_scores(cli: Cli, done: Project) -> None:
    before, rescored = cli("report", "r"), cli(*RESCORE, env=done.env())
    done.forget()
    again = cli(*done.command, "--out", "r", env=done.env())
    assert (again.status, again.stdout, done.asked().total()) == (0, before.stdout, 0), again.stderr
    back = cli(*RESCORE, env=done.env())
    assert (back.status, back.stdout, done.asked().total()) == (0, rescored.stdout, 0), back.stderr
    assert summary(done.folder / "r") == both_from_the_start()
    dry = cli(*done.command, "--out", "r", "--dry-run", "--json", env=done.env())
    assert (dry.json["calls"], dry.json["owed"]) == (24, 0)
    fresh = cli(*done.command, "--out", "r", "--fresh", "--json", env=done.env())
    assert [row["evaluator"] for row in fresh.json["summary"]["rows"]] == ["counts", "counts"]
    assert added(done.folder / "r") == []


def test_the_plan_and_the_first_records_stay_as_they_were(cli: Cli, done: Project) -> None:
    run = done.folder / "r"
    before, journal = manifest(run), (run / "journal.jsonl").read_bytes()
    assert cli(*RESCORE, env=done.env()).status == 0
    after = manifest(run)
    own, again = after["evaluators"]
    assert [own] == before["evaluators"]
    assert {key for key in after if after[key] != before[key]} - {"ended_at"} == {
        *("evaluators", "cells", "selection", "command")
    }
    assert (again["name"], again["text"], again["score_range"]) == ("again", "./counts.sh once-more", "unit")
    assert again["files"] == own["files"]
    assert (run / "journal.jsonl").read_bytes().startswith(journal)


def test_the_same_command_again_asks_nothing_and_needs_no_file(cli: Cli, done: Project) -> None:
    first = cli(*RESCORE, env=done.env())
    done.forget()
    (done.folder / "d.jsonl").unlink()
    for evaluator in (AGAIN, "./counts.sh once-more", "other=./counts.sh once-more"):
        again = cli("rescore", "r/run.json", "-e", evaluator, env=done.env())
        assert (again.status, again.stdout) == (0, first.stdout)
        assert again.stderr == "note: the run already has again, and none of its calls is owed\n"
    assert not done.asked()


def test_an_evaluator_of_the_run_itself_is_asked_for_what_it_owes(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    first = cli(*made.command, "--out", "r", "--json", env=made.env(FAILS="a:[34]"))
    assert first.json["summary"]["units"]["failed"] == 2
    made.forget()
    result = cli("rescore", "r", "-e", COUNTS, "--json", env=made.env())
    assert result.status == 0, result.stderr
    assert made.asked() == Counter(["a:3", "a:4"])
    assert result.json["summary"]["units"]["scored"] == 24
    assert added(tmp_path / "r") == []


def test_killed_at_random_moments_it_goes_on_where_it_was(cli: Cli, tmp_path: Path) -> None:
    made, run = finished(tmp_path, 60), tmp_path / "r"
    before = cli("report", "r").stdout
    made.command = [*RESCORE, "--concurrency", "4"]
    journal = run / "journal.jsonl"
    mark = f"{MARK}={os.environ[MARK]}".encode()
    for number in range(KILLS):
        grown = journal.stat().st_size + 900 * (number % 3) + (number == 0)
        with made.started() as process:
            await_that(lambda: process.poll() is not None or journal.stat().st_size >= grown)  # noqa: B023
            process.kill()
        await_that(lambda: not processes_with(mark))
        assert cli("report", "r").status == 0
    between = cli("report", "r").stdout
    assert "again, added later, is left out: " in between
    assert between.splitlines()[0] == before.splitlines()[0], "what was known stays known"
    known = {(r["candidate"], r["line"]) for r in records(run) if r["evaluator"] == "again"}
    made.forget()
    last = cli(*RESCORE, env=made.env())
    assert last.status == 0, last.stderr
    assert made.asked().total() == 120 - len(known)
    assert summary(run) == both_from_the_start(60)
    assert cli("report", "r", "--check").status == 0


def test_ctrl_c_leaves_the_first_summary_and_says_how_to_go_on(cli: Cli, done: Project) -> None:
    run = done.folder / "r"
    rows_before = cli("report", "r", "--json").json["rows"]
    done.command = [*RESCORE, "--concurrency", "2"]
    with done.started(WAITS="a:[5-9]") as process:
        await_that(lambda: {"a:5", "a:6"} <= done.asked().keys())
        process.send_signal(signal.SIGINT)
        await_that(lambda: "stopping: " in done.said())
        Path(f"{done.counted}.go").touch()
        assert process.wait(30) == 130
    assert "interrupted: 6 of 24 calls are done; to resume:" in done.said()
    assert "  optimize-eval rescore r -e 'again=./counts.sh once-more'" in done.said()
    told = cli("report", "r", "--json").json
    assert told["rows"] == rows_before
    assert told["additions_left_out"] == [
        {"evaluator": "again", "calls": 24, "done": 6, "scored": 6, "changed": False}
    ]
    assert cli("report", "r", "--check").status == 0
    later = cli("run", *finished_command(done), "--out", "r", env=done.env())
    assert (later.status, done.asked().total()) == (0, 6)
    assert cli(*RESCORE, env=done.env()).status == 0
    assert (done.asked().total(), summary(run)) == (24, both_from_the_start())


def finished_command(made: Project) -> list[str]:
    return Project(made.folder, made.examples).command[1:]


def test_what_the_run_was_made_with_may_be_gone(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    write_program(tmp_path / "first.sh", (tmp_path / "counts.sh").read_text().splitlines())
    first = ["run", "-e", "counts=./first.sh", *made.command[3:], "--out", "r"]
    assert cli(*first, env=made.env()).status == 0
    for name in ("first.sh", "a.txt", "b.txt"):
        (tmp_path / name).unlink()
    result = cli(*RESCORE, env=made.env())
    assert result.status == 0, result.stderr
    assert summary(tmp_path / "r") == both_from_the_start()


def shorten(made: Project) -> None:
    (made.folder / "d.jsonl").write_text('{"id":1}\n')


def remove_examples(made: Project) -> None:
    (made.folder / "d.jsonl").unlink()


def break_a_line(made: Project) -> None:
    text = (made.folder / "d.jsonl").read_text()
    (made.folder / "d.jsonl").write_text(text.replace('{"id":3}', '{"id":'))


def forget_paths(made: Project) -> None:
    run = made.folder / "r" / "run.json"
    told = manifest(made.folder / "r")
    del told["settings"]["paths"]
    run.write_bytes(orjson.dumps(told))


def swap_candidates(made: Project) -> None:
    (made.folder / "b.txt").write_text("another text")
    edit_candidate(made)


CHANGED: dict[
    str, tuple[Callable[[Project], None], list[str], list[str]]
] = {  # what is said, and the way out
    "example": (edit_example, ["d.jsonl:3: the example has changed"], ["--dataset"]),
    "fewer examples": (
        shorten,
        ["d.jsonl:2: there is no example on this line any more", "… and 1 more"],
        ["--dataset"],
    ),
    "no file": (remove_examples, ["d.jsonl: no such file"], ["--dataset"]),
    "no JSON": (break_a_line, ["d.jsonl:3:"], ["--dataset"]),
    "no path": (forget_paths, ["does not say where the train examples (d.jsonl) are"], ["--dataset"]),
    "candidates": (swap_candidates, ["candidate a has changed", "candidate b has changed"], ["--candidate"]),
}


@pytest.mark.parametrize(("change", "said", "hints"), CHANGED.values(), ids=CHANGED.keys())
def test_what_is_not_as_it_was_is_refused_by_its_place(
    cli: Cli, done: Project, change: Callable[[Project], None], said: list[str], hints: list[str]
) -> None:
    run = done.folder / "r"
    change(done)
    before = {path.name: path.read_bytes() for path in run.iterdir() if path.name != "lock"}
    result = cli(*RESCORE, env=done.env())
    assert (result.status, result.stdout) == (2, "")
    assert all(words in result.stderr for words in [*said, *hints, "nothing was called"]), result.stderr
    after = {path.name: path.read_bytes() for path in run.iterdir() if path.name != "lock"}
    assert (after, done.asked().total()) == (before, 0)


def test_options_say_where_examples_and_candidates_are_now(cli: Cli, done: Project) -> None:
    (done.folder / "now").mkdir()
    (done.folder / "d.jsonl").rename(done.folder / "now" / "e.jsonl")
    (done.folder / "a.txt").rename(done.folder / "now" / "renamed.txt")
    (done.folder / "a.txt").write_text("another text of the same name")
    moved = ("--dataset", "now/e.jsonl", "--candidate", "now/*.txt")
    result = cli(*RESCORE, *moved, env=done.env())
    assert result.status == 0, result.stderr
    assert summary(done.folder / "r") == both_from_the_start()


def test_examples_that_came_since_are_not_asked_about(cli: Cli, done: Project) -> None:
    with (done.folder / "d.jsonl").open("a") as file:
        file.write('{"id":99}\n')
    assert cli(*RESCORE, env=done.env()).status == 0
    assert summary(done.folder / "r") == both_from_the_start()


def test_a_long_text_that_is_gone_cannot_be_asked_about(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    (tmp_path / "b.txt").write_text("x" * 10_000)  # which counts.sh makes short
    assert cli(*made.command, "--out", "r", env=made.env()).status == 0
    (tmp_path / "b.txt").unlink()
    result = cli(*RESCORE, env=made.env())
    assert result.status == 2
    assert "candidate b is missing, and was too long to be kept in run.json" in result.stderr


SHAPES = {
    "from stdin": ("--candidate - --candidate b.txt --dataset d.jsonl", b"a"),
    "a list": ("--candidates c.jsonl --dataset d.jsonl", b""),
    "a sample": (
        "--candidate *.txt --dataset d.jsonl --valset v.jsonl --sample 4 --limit 9 --seed 3",
        b"",
    ),
    "fields": ("--candidate-field old --candidate-field new --dataset f.jsonl", b""),
    "no examples": ("--candidate a.txt --candidate b.txt", b""),
    "task models": ("--candidate ?.txt --dataset v.jsonl --task-model m --task-model n --baseline b", b""),
    "clusters, groups, repeats": (
        "--candidate ?.txt --dataset v.jsonl --testset f.jsonl --cluster-by id --group-by id --repeats 2",
        b"",
    ),
}


@pytest.mark.parametrize(("options", "stdin"), SHAPES.values(), ids=SHAPES.keys())
def test_whatever_a_run_is_about_is_found_again(cli: Cli, tmp_path: Path, options: str, stdin: bytes) -> None:
    made = project(tmp_path)
    (tmp_path / "v.jsonl").write_text('{"id": 5}\n\n{"id": 6}\n')
    recorded = ({"id": 7, "old": "x", "new": "yy"}, {"id": 8, "old": "z", "new": ""})
    (tmp_path / "f.jsonl").write_bytes(b"\n".join(map(orjson.dumps, recorded)))
    (tmp_path / "c.jsonl").write_text('{"id": "one", "candidate": "1"}\n{"id": "two", "candidate": "22"}\n')
    both = cli(
        "run", "-e", COUNTS, "-e", AGAIN, *options.split(), "--out", "both", stdin=stdin, env=made.env()
    )
    assert both.status == 0, both.stderr
    made.forget()
    assert cli("run", "-e", COUNTS, *options.split(), "--out", "r", stdin=stdin, env=made.env()).status == 0
    asked = made.asked()
    result = cli(*RESCORE, env=made.env())
    assert result.status == 0, result.stderr
    assert made.asked() - asked == asked, "the same is asked once more"
    assert summary(tmp_path / "r") == summary(tmp_path / "both")
    keys = {record["key"] for record in records(tmp_path / "both")}
    assert {record["key"] for record in records(tmp_path / "r")} == keys


def test_names_are_told_apart_from_all_that_are_there(cli: Cli, done: Project) -> None:
    for arguments in ("two", "three"):
        result = cli("rescore", "r", "-e", f"./counts.sh {arguments}", env=done.env())
        assert result.status == 0, result.stderr
    assert added(done.folder / "r") == ["counts-2", "counts-3"]
    asked = ("rescore", "r", "-e", "./counts.sh two", "-e", "./counts.sh 4", "-e", "x=./counts.sh 4")
    assert cli(*asked, env=done.env()).status == 0
    names = added(done.folder / "r")
    assert names == ["counts-2", "counts-3", "counts-4"]
    taken = cli("rescore", "r", "-e", "counts-2=./counts.sh 5", env=done.env())
    assert (taken.status, taken.stdout) == (2, "")
    assert "the run has another evaluator counts-2" in taken.stderr
    other_range = cli(
        "rescore", "r", "-e", "counts-2=./counts.sh two", "--score-range", "any", env=done.env()
    )
    assert other_range.status == 2, "scores of another range are of another evaluator"


def test_an_evaluator_that_fails_takes_nothing_away_and_mended_takes_its_name(
    cli: Cli, done: Project
) -> None:
    before = cli("report", "r")
    program = write_program(done.folder / "judge.sh", ["#!/bin/sh", "exit 7"])
    broken = cli("rescore", "r", "-e", "./judge.sh", env=done.env())
    assert broken.status == 4
    assert "error: judge failed on every call (3), exit_code" in broken.stderr
    assert broken.stdout == before.stdout
    assert cli("report", "r", "--check").status == 0
    program.write_text((done.folder / "counts.sh").read_text() + "# mended\n")
    mended = cli("rescore", "r", "-e", "./judge.sh", "--json", env=done.env(FAILS="a:2"))
    assert mended.status == 0, mended.stderr
    told = mended.json["summary"]
    assert [row["evaluator"] for row in told["rows"]] == ["counts", "counts", "judge", "judge"]
    assert [(one["kind"], one["count"], one["lines"]) for one in told["failures"]] == [("exit_code", 1, [2])]
    assert cli("report", "r", "--check").status == 0
    program.write_text(program.read_text() + "# changed\n")
    assert cli("rescore", "r", "-e", "./judge.sh", "--json", env=done.env()).status == 0
    names = added(done.folder / "r")
    assert names == ["judge", "judge-2"], "a name that stands for scores is not given away"


def test_what_a_former_program_failed_at_is_not_its_successors(cli: Cli, done: Project) -> None:
    program = write_program(done.folder / "judge.sh", ["#!/bin/sh", "exit 7"])
    assert cli("rescore", "r", "-e", "./judge.sh", "--no-preflight", env=done.env()).status == 4
    program.write_text((done.folder / "counts.sh").read_text() + "# mended\n")
    done.command = ["rescore", "r", "-e", "./judge.sh", "--concurrency", "1"]
    run = done.folder / "r"
    with done.started(WAITS="a:[3-9]") as process:
        await_that(lambda: "a:3" in done.asked())
        await_that(lambda: sum(r["evaluator"] == "judge" and "score" in r for r in records(run)) == 2)
        process.kill()
        Path(f"{done.counted}.go").touch()
        await_that(lambda: not processes_with(f"{MARK}={os.environ[MARK]}".encode()))
    (left_out,) = cli("report", "r", "--json").json["additions_left_out"]
    assert (left_out["done"], left_out["calls"]) == (2, 24)


def test_a_program_that_changes_while_it_is_asked_is_left_out(cli: Cli, done: Project) -> None:
    before = cli("report", "r", "--json").json["rows"]
    lines = (done.folder / "counts.sh").read_text().splitlines()
    write_program(done.folder / "own.sh", [*lines, "echo '# more' >> own.sh"])
    result = cli("rescore", "r", "-e", "./own.sh", "--json", env=done.env())
    assert (result.status, "own changed while being called" in result.stderr) == (3, True)
    assert "--fresh" not in result.stderr, "that would cost the run's own scores"
    assert result.json["summary"]["rows"] == before
    told = cli("report", "r")
    assert told.status == 0
    assert "own, added later, is left out: it changed while being called" in told.stdout
    assert cli("report", "r", "--check").status == 0


def test_a_run_that_is_not_done_can_be_rescored_and_go_on(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    flags = ("--out", "r", "--on-failure", "abort", "--concurrency", "1")
    assert cli(*made.command, *flags, env=made.env(FAILS="a:6")).status == 4
    rescored = cli(*RESCORE, env=made.env())
    assert rescored.status == 0
    assert "Unfinished: 30 of 48 calls done" in rescored.stdout
    own = cli(*made.command, "--out", "r", env=made.env())
    assert own.status == 0
    assert "note: left out, as this command does not name it: evaluator again; " in own.stderr
    assert cli(*RESCORE, env=made.env()).status == 0
    assert summary(tmp_path / "r") == both_from_the_start()


def test_a_folder_that_a_living_rescore_holds_is_refused(cli: Cli, done: Project) -> None:
    command, done.command = done.command, [*RESCORE]
    with done.started(WAITS="a:3") as first:
        await_that(lambda: "a:3" in done.asked())
        for other in (command, RESCORE):
            out = ("--out", "r") if other is command else ()
            second = cli(*other, *out, env=done.env())
            assert second.status == 2
            assert f"the run r is in use by process {first.pid}" in second.stderr
        Path(f"{done.counted}.go").touch()
        assert first.wait(30) == 0, done.said()


MISUSE = {
    "no run": (["rescore", "nowhere", "-e", AGAIN], "there is no run in 'nowhere'"),
    "no such split": ([*RESCORE, "--valset", "d.jsonl"], "the run has no val examples"),
    "no such candidate": ([*RESCORE, "--candidate", "z.txt"], "z.txt: no such file"),
    "no evaluator": (["rescore", "r"], "no evaluator is named"),
    "too many slots": ([*RESCORE, "--concurrency", "5000"], "--concurrency 5000 is too many"),
}


@pytest.mark.parametrize(("command", "said"), MISUSE.values(), ids=MISUSE.keys())
def test_misuse_is_told_and_changes_nothing(cli: Cli, done: Project, command: list[str], said: str) -> None:
    before = (done.folder / "r" / "run.json").read_bytes()
    result = cli(*command, env=done.env())
    assert (result.status, result.stdout, said in result.stderr) == (2, "", True), result.stderr
    assert (done.folder / "r" / "run.json").read_bytes() == before
    assert not (done.folder / "nowhere").exists()


SPLITS = (
    Split(name="train", lines=(1, 2, 3), sha256=("",) * 3),
    Split(name="val", lines=(4,), sha256=("",)),
)


def layout_with(*evaluators: str) -> Layout:
    return Layout(
        evaluators=evaluators,
        score_ranges=(ScoreRange.UNIT,) * len(evaluators),
        candidates=("a", "b"),
        task_models=("m", "n"),
        splits=SPLITS,
        repeats=2,
        baseline="a",
        seed=0,
    )


@given(st.permutations(["e0", "e1", "e2", "e3"]), st.integers(1, 4), st.data())
def test_a_view_of_a_ledger_is_numbered_by_its_own_layout(
    names: list[str], many: int, data: st.DataObject
) -> None:
    whole, own = layout_with("e0", "e1", "e2", "e3"), layout_with(*names[:many])
    every = View(Ledger(document_of(whole)), whole)
    part = every.of(own)
    numbers = data.draw(st.sets(st.integers(0, own.size - 1)))
    for number in numbers:
        part.enter(number, "scored", 0)
    expected = {place_of(own, number) for number in numbers}
    scored = {place_of(whole, n) for name in whole.evaluators for n in every.scored(whole.units_of(name))}
    assert scored == expected
    assert {n for name in own.evaluators for n in part.scored(own.units_of(name))} == numbers
    owed = part.owed(*map(own.units_of, own.evaluators))
    assert [*owed] == sorted({*range(own.size)} - numbers)
    begin, end = sorted(data.draw(st.tuples(st.integers(0, own.size), st.integers(0, own.size))))
    assert (len(owed), [*owed[begin:end]]) == (len([*owed]), [*owed][begin:end])
    assert {n for n in range(own.size) if n in owed} == {*owed}
    assert part.is_complete == (not owed)


def test_a_record_may_stand_beyond_four_gigabytes_of_a_journal() -> None:
    view = View(Ledger(document_of(layout_with("e"))), layout_with("e"))
    view.enter(1, "scored", 5 << 32 | 7)
    assert [*view.offsets(view.layout.cells[0], None)] == [(1, 5 << 32 | 7)]


def place_of(layout: Layout, number: int) -> tuple[Any, ...]:
    place = layout.place(number)
    return (*layout.cells[place.cell][:4], place.example, place.repeat)
