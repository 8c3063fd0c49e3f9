"""A run that was ended and goes on: the summary of an undisturbed one, and nothing scored is asked twice.

What the other tests of runs share stands here, too: the project folder, and the calls that were counted.
"""

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MARK, PROGRAM, ROOT, Cli, processes_with
from tests.reach.test_same_answers import behind_http

PROGRAMS = ROOT / "tests" / "faults" / "programs"
COUNTS = "counts=./counts.sh"
KILLS = 30


class Project:
    """A folder with an evaluator that counts its calls, candidates of one and of three letters, a dataset."""

    def __init__(self, folder: Path, examples: int) -> None:
        self.folder = folder
        self.examples = examples
        self.counted = folder / "asked"
        folder.mkdir(exist_ok=True)
        (folder / "counts.sh").write_bytes((PROGRAMS / "counts.sh").read_bytes())
        (folder / "counts.sh").chmod(0o755)
        (folder / "a.txt").write_text("a")
        (folder / "b.txt").write_text("bbb")
        (folder / "d.jsonl").write_text("".join(f'{{"id":{n}}}\n' for n in range(1, examples + 1)))
        self.command = [
            "run",
            "-e",
            COUNTS,
            "--candidate",
            "a.txt",
            "--candidate",
            "b.txt",
            "--dataset",
            "d.jsonl",
        ]

    def env(self, **traits: str) -> dict[str, str]:
        return {"COUNT": str(self.counted), **traits}

    def asked(self) -> Counter[str]:
        """Count the calls so far, each as CANDIDATE:ID."""
        return Counter(self.counted.read_text().split() if self.counted.exists() else [])

    def forget(self) -> None:
        self.counted.unlink(missing_ok=True)

    @contextmanager
    def started(
        self, *arguments: str, before: tuple[str, ...] = (), **traits: str
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start the run beside the test, its words after `before`; its streams go to files of their names."""
        with (self.folder / "stdout").open("wb") as out, (self.folder / "stderr").open("wb") as err:
            command = [*before, str(PROGRAM), *self.command, *arguments]
            env = {**os.environ, **self.env(**traits)}
            process = subprocess.Popen(
                command, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def said(self) -> str:
        return (self.folder / "stderr").read_text()


def project(folder: Path, examples: int = 12) -> Project:
    return Project(folder, examples)


def await_that(holds: Callable[[], object], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.003)


def summary(run: Path) -> bytes:
    """Read a summary's bytes up to the latencies, which come last."""
    told, latency, _ = (run / "summary.json").read_bytes().partition(b'\n  "latency": ')
    assert latency
    return told


def records(run: Path) -> list[dict[str, Any]]:
    """Read the whole lines of a journal that are outcomes."""
    lines = (run / "journal.jsonl").read_bytes().splitlines(keepends=True) if run.exists() else []
    read = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [record for record in read if "outcome" in record]


def scored(run: Path) -> set[str]:
    """Name the calls that a journal has as scored, as the evaluator counts them."""
    texts = {"a": "a", "b": "bbb"}
    known = records(run) if (run / "journal.jsonl").exists() else []
    return {f"{texts[r['candidate']]}:{r['line']}" for r in known if r["outcome"] == "scored"}


def finished(folder: Path, examples: int = 12) -> Project:
    """Make a project whose run `r` is done, its units in order, and nothing counted."""
    made = project(folder, examples)
    command = [str(PROGRAM), *made.command, "--out", "r", "--concurrency", "1"]
    env = {**os.environ, **made.env()}
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    made.forget()
    return made


def copied(made: Project, folder: Path) -> Project:
    shutil.copytree(made.folder, folder, dirs_exist_ok=True)
    return Project(folder, made.examples)


@cache
def undisturbed(examples: int = 12) -> bytes:
    """Give the summary of a run that nothing happened to."""
    with tempfile.TemporaryDirectory() as folder:
        return summary(finished(Path(folder), examples).folder / "r")


def test_killed_at_thirty_random_moments_it_ends_as_if_nothing_had_been(cli: Cli, tmp_path: Path) -> None:
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
    assert len(list((tmp_path / "runs").iterdir())) == 2


VARIOUS = (sys.executable, "-IS", str(PROGRAMS / "counts_variously.py"))
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
    command = [str(PROGRAM), *variously(made, VARIOUSLY), "--concurrency", "8"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return summary(folder / "r"), essence(folder / "r")


def variously(made: Project, evaluator: str) -> list[str]:
    rest = [*made.command[3:], "--valset", "v.jsonl", "--out", "r"]
    (made.folder / "v.jsonl").write_text('{"id": 100}\n{"id": 101}\n')
    return ["run", "-e", evaluator, *rest]


@pytest.mark.parametrize(("options", "how"), WAYS.values(), ids=WAYS.keys())
def test_no_way_of_asking_changes_a_digit(
    cli: Cli, tmp_path: Path, eight_slots: tuple[bytes, list[dict[str, Any]]], options: list[str], how: str
) -> None:
    made = project(tmp_path, 10)
    result = cli(*variously(made, VARIOUSLY), *options, env={"HOW": how})
    assert result.status == 0, result.stderr
    assert "note:" not in result.stderr
    assert (summary(tmp_path / "r"), essence(tmp_path / "r")) == eight_slots


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


def edit_candidate(made: Project) -> None:
    (made.folder / "a.txt").write_text("c")


def edit_example(made: Project) -> None:
    text = (made.folder / "d.jsonl").read_text()
    (made.folder / "d.jsonl").write_text(text.replace('{"id":3}', '{"id":33}'))


def add_example(made: Project) -> None:
    with (made.folder / "d.jsonl").open("a") as file:
        file.write('{"id":99}\n')


def nothing(_made: Project) -> None:
    pass


OTHER_PLANS = {  # what changes → how, further options, what is said
    "evaluator file": (edit_evaluator, [], "evaluator counts has changed: counts.sh"),
    "candidate": (edit_candidate, [], "candidate a has changed"),
    "example": (edit_example, [], "split train has 1 changed example (line 3)"),
    "example added": (add_example, [], "split train has 13 examples, and had 12"),
    "limit": (nothing, ["--limit", "5"], "split train has 5 examples, and had 12"),
    "repeats": (nothing, ["--repeats", "2"], "repeats: 1 → 2"),
    "baseline": (nothing, ["--baseline", "b"], "baseline: a → b"),
    "seed": (nothing, ["--seed", "3"], "seed: 0 → 3"),
    "task model": (nothing, ["--task-model", "m"], "task models: "),
    "score range": (nothing, ["--score-range", "any"], "score range"),
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory.mktemp("original"))


@pytest.fixture
def done(original: Project, tmp_path: Path) -> Project:
    return copied(original, tmp_path)


@pytest.mark.parametrize(("change", "options", "said"), OTHER_PLANS.values(), ids=OTHER_PLANS.keys())
def test_another_plan_is_refused_with_what_differs(
    cli: Cli, done: Project, change: Callable[[Project], None], options: list[str], said: str
) -> None:
    before = {path.name: path.read_bytes() for path in (done.folder / "r").iterdir() if path.name != "lock"}
    change(done)
    result = cli(*done.command, "--out", "r", *options, env=done.env())
    assert (result.status, result.stdout) == (2, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 3, "one difference, and what to do"
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


def test_a_dry_run_over_another_plan_says_so_and_with_fresh_shows_the_plan(cli: Cli, done: Project) -> None:
    edit_candidate(done)
    result = cli(*done.command, "--out", "r", "--dry-run", env=done.env())
    assert result.status == 2, result.stderr
    assert "candidate a has changed" in result.stderr
    fresh = cli(*done.command, "--out", "r", "--dry-run", "--fresh", "--json", env=done.env())
    assert fresh.status == 0, fresh.stderr
    assert fresh.json["owed"] == 24
    assert len(records(done.folder / "r")) == 24


def test_a_pipeline_between_quotes_is_part_of_what_an_evaluator_is(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path)
    for name, score in (("low", "0.1"), ("high", "0.9")):
        (tmp_path / name).write_text(f'{{"score": {score}}}')
    low, high = (f"e=bash -c '/bin/cat {name} | /bin/cat'" for name in ("low", "high"))
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
    command = [str(PROGRAM), *made.command, "-e", f"abs={tmp_path}/here/counts.sh", "--out", "r", "--quiet"]
    first = subprocess.run(
        command, cwd=made.folder, env={**os.environ, **made.env()}, capture_output=True, check=True
    )
    (tmp_path / "here").rename(tmp_path / "there")
    moved = [word.replace(f"{tmp_path}/here", f"{tmp_path}/there") for word in command]
    counted = {"COUNT": str(tmp_path / "again")}
    again = subprocess.run(
        moved, cwd=tmp_path / "there", env={**os.environ, **counted}, capture_output=True, check=True
    )
    assert (again.stdout, (tmp_path / "again").exists()) == (first.stdout, False)
    for name in ("run.json", "journal.jsonl", "summary.json"):
        assert str(tmp_path) not in (tmp_path / "there" / "r" / name).read_text()
    assert cli("report", tmp_path / "there" / "r", "--check").status == 0
