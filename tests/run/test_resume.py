"""A run that was ended and goes on: the summary of an undisturbed one, and nothing scored is asked twice.

What the other tests of runs share stands here, too: the project folder, and the calls that were counted.
"""

import os
import random
import shlex
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.front_door import Cli, in_this_process
from tests.paths import PROGRAMS
from tests.processes import MARK, processes_with
from tests.run.projects import (
    Project,
    await_that,
    copied,
    edit_candidate,
    finished,
    project,
    records,
    scored,
    summary,
    undisturbed,
)
from tests.tools import behind_http, need

KILLS = 15


def test_killed_at_random_moments_it_ends_as_if_nothing_had_been(cli: Cli, tmp_path: Path) -> None:
    made, run = project(tmp_path, 150), tmp_path / "r"
    expected = undisturbed(150)
    journal, moments = run / "journal.jsonl", random.Random(7)
    mark = f"{MARK}={os.environ[MARK]}".encode()
    for _ in range(KILLS):
        known, asked_before = scored(run), made.asked()
        size = journal.stat().st_size if journal.exists() else 0
        grown = size + moments.choice([0, 1, 400, 1000, 3000, 5000])
        with made.started("--out", "r", "--concurrency", "4") as process:
            await_that(
                lambda: process.poll() is not None or (journal.exists() and journal.stat().st_size >= grown)  # noqa: B023
            )
            process.kill()
        await_that(lambda: not processes_with(mark))  # what the kill left ends by itself
        asked = made.asked()
        assert {unit: asked[unit] for unit in known} == {unit: asked_before[unit] for unit in known}
    asked_before, known = made.asked(), scored(run)
    last = cli(*made.command, "--out", "r", env=made.env())
    assert last.status == 0, last.stderr
    assert summary(run) == expected
    assert not known & (made.asked() - asked_before).keys()
    assert len(scored(run)) == 300
    assert made.asked().total() <= 300 + 4 * KILLS


def test_a_run_that_is_done_asks_nothing_more_and_prints_the_same(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    first = cli(*made.command, "--out", "r", env=made.env())
    written = (tmp_path / "r" / "summary.json").read_bytes()
    again = cli(*made.command, "--out", "r", env=made.env())
    assert (again.status, again.stdout) == (0, first.stdout)
    assert (tmp_path / "r" / "summary.json").read_bytes() == written
    assert made.asked().total() == 24


def test_without_out_the_same_command_finds_its_run(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    first, again = (cli(*made.command, "--quiet", env=made.env()) for _ in range(2))
    folder = first.stdout.splitlines()[-1]
    assert folder.startswith("runs/run-")
    assert (tmp_path / folder / "summary.json").exists()
    assert (again.stdout, made.asked().total()) == (first.stdout, 24)
    cli(*made.command, "--quiet", "--repeats", "2", env=made.env())
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert made.asked().total() == 48, "the second repeats only"


VARIOUS = (str(PROGRAMS / "counts_variously.pl"),)
VARIOUSLY = f"v={shlex.join(VARIOUS)}"
WAYS = {  # how a program is reached → the options, and what it declares
    "one slot": (["--concurrency", "1"], "{}"),
    "64 slots": (["--concurrency", "64"], "{}"),
    "kept alive": (["--concurrency", "8"], '{"persistent": true}'),
    "kept alive by the user's word": (["--concurrency", "8", "--persistent"], "{}"),
    "declared but not wanted": (["--no-persistent"], '{"persistent": true}'),
    "a window": (["--concurrency", "8"], '{"persistent": true, "concurrency": 4}'),
    "batches": (["--concurrency", "2"], '{"batch": 5}'),
    "kept-alive batches": (["--concurrency", "8"], '{"persistent": true, "batch": 5}'),
}


def essence(run: Path) -> list[dict[str, Any]]:
    """Read a journal's records without what a schedule may change, in the order of units."""
    told = [
        {k: v for k, v in r.items() if k not in {"seconds", "started_at", "attempts", "crc"}}
        for r in records(run)
    ]
    return sorted(told, key=lambda r: (r["candidate"], r["split"], r["line"]))


@pytest.fixture(scope="module")
def eight_slots(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("eight")
    made = project(folder, 10)
    done = in_this_process(folder)(*variously(made, VARIOUSLY), "--concurrency", "8")
    assert done.status == 0, done.stderr
    told = essence(folder / "r")
    assert {record["outcome"] for record in told} == {"scored", "failed", "skipped"}
    return summary(folder / "r"), told


def variously(made: Project, evaluator: str) -> list[str]:
    rest = [*made.command[3:], "--valset", "v.jsonl", "--out", "r"]
    (made.folder / "v.jsonl").write_text('{"id": 100}\n{"id": 101}\n')
    return ["run", "-e", evaluator, *rest]


@pytest.mark.parametrize(("options", "how"), WAYS.values(), ids=WAYS.keys())
@need("perl")
def test_no_way_of_asking_changes_a_digit(
    cli: Cli, tmp_path: Path, eight_slots: tuple[bytes, list[dict[str, Any]]], options: list[str], how: str
) -> None:
    made = project(tmp_path, 10)
    result = cli(*variously(made, VARIOUSLY), *options, env={"HOW": how})
    assert result.status == 0, result.stderr
    assert "note:" not in result.stderr
    assert (summary(tmp_path / "r"), essence(tmp_path / "r")) == eight_slots


@need("perl")
def test_over_http_the_numbers_are_the_same(
    cli: Cli, tmp_path: Path, eight_slots: tuple[bytes, list[dict[str, Any]]]
) -> None:
    made = project(tmp_path, 10)
    with behind_http(VARIOUS) as url:
        result = cli(*variously(made, f"v={url}"), "--concurrency", "4")
    assert result.status == 0, result.stderr
    assert summary(tmp_path / "r") == eight_slots[0]
    assert [r["outcome"] for r in essence(tmp_path / "r")] == [r["outcome"] for r in eight_slots[1]]


def edit_evaluator(made: Project) -> None:
    with (made.folder / "counts.sh").open("a") as file:
        file.write("# edited\n")


def nothing(_made: Project) -> None:
    pass


CONTRADICTIONS = {  # what changes → how, further options, what is said
    "evaluator file": (edit_evaluator, [], "evaluator counts has changed: counts.sh"),
    "score range": (nothing, ["--score-range", "any"], "score range"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory.mktemp("original"))


@pytest.fixture
def done(original: Project, tmp_path: Path) -> Project:
    return copied(original, tmp_path)


@pytest.mark.parametrize(("change", "options", "said"), CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_another_program_of_the_same_name_is_refused_with_what_differs(
    cli: Cli, done: Project, change: Callable[[Project], None], options: list[str], said: str
) -> None:
    before = {path.name: path.read_bytes() for path in (done.folder / "r").iterdir() if path.name != "lock"}
    change(done)
    result = cli(*done.command, "--out", "r", *options, env=done.env())
    assert (result.status, result.stdout) == (2, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 3, "one difference, and what to do"
    assert "--replace counts" in result.stderr
    assert "--fresh" in result.stderr
    after = {path.name: path.read_bytes() for path in (done.folder / "r").iterdir() if path.name != "lock"}
    assert (after, done.asked().total()) == (before, 0)


def test_fresh_starts_anew(cli: Cli, done: Project) -> None:
    edit_candidate(done)
    result = cli(*done.command, "--out", "r", "--fresh", env=done.env())
    assert result.status == 0
    assert done.asked() == Counter([f"{text}:{n}" for text in ("c", "bbb") for n in range(1, 13)])
    assert len(records(done.folder / "r")) == 24
    again = cli(*done.command, "--out", "r", env=done.env())
    assert (again.stdout, done.asked().total()) == (result.stdout, 24)


def test_a_dry_run_counts_what_is_owed_of_a_run_that_would_grow(cli: Cli, done: Project) -> None:
    edit_candidate(done)
    before = {path.name: path.read_bytes() for path in (done.folder / "r").iterdir()}
    result = cli(*done.command, "--out", "r", "--dry-run", "--json", env=done.env())
    assert (result.json["calls"], result.json["owed"]) == (24, 12), result.stderr
    fresh = cli(*done.command, "--out", "r", "--dry-run", "--fresh", "--json", env=done.env())
    assert fresh.status == 0, fresh.stderr
    assert fresh.json["owed"] == 24
    assert {path.name: path.read_bytes() for path in (done.folder / "r").iterdir()} == before


def test_a_pipeline_between_quotes_is_part_of_what_an_evaluator_is(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    for name, score in (("low", "0.1"), ("high", "0.9")):
        (tmp_path / name).write_text(f'{{"score": {score}}}')
    low, high = (f"e=sh -c 'cat {name} | cat'" for name in ("low", "high"))
    first = cli("run", "-e", low, *made.command[3:], "--out", "r")
    other = cli("run", "-e", high, *made.command[3:], "--out", "r")
    assert first.status == 0, first.stderr
    assert other.status == 2, "another command went on with the first one's scores"
    assert "evaluator e was" in other.stderr


CONTINUES = {
    "how calls are made": ["--timeout", "7", "--concurrency", "3", "--workers", "2", "--retries", "2"],
    "cluster by": ["--cluster-by", "id"],
    "group by": ["--group-by", "id"],
}


@pytest.mark.parametrize("options", CONTINUES.values(), ids=CONTINUES.keys())
def test_what_only_changes_how_it_is_done_continues(cli: Cli, done: Project, options: list[str]) -> None:
    result = cli(*done.command, "--out", "r", *options, env=done.env())
    assert result.status == 0, result.stderr
    assert not done.asked()
    assert cli("report", "r").stdout == result.stdout


def test_a_project_that_moved_goes_on_and_holds_no_path_of_where_it_was(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path / "here")
    command = [*made.command, "-e", f"abs={tmp_path}/here/counts.sh", "--out", "r", "--quiet"]
    first = in_this_process(made.folder)(*command, env=made.env())
    assert first.status == 0, first.stderr
    (tmp_path / "here").rename(tmp_path / "there")
    moved = [word.replace(f"{tmp_path}/here", f"{tmp_path}/there") for word in command]
    again = in_this_process(tmp_path / "there")(*moved, env={"COUNT": str(tmp_path / "again")})
    assert (again, (tmp_path / "again").exists()) == (first, False)
    for name in ("run.json", "journal.jsonl", "summary.json"):
        assert str(tmp_path) not in (tmp_path / "there" / "r" / name).read_text()
    assert cli("report", tmp_path / "there" / "r", "--check").status == 0
