"""Going back to what an evaluator was: its scores count again, and none of another program with them."""

from pathlib import Path

import orjson
import pytest

from tests.front_door import Cli
from tests.run.projects import Project, copied, finished, project, summary


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished(tmp_path_factory.mktemp("original"), 6)


@pytest.fixture
def done(original: Project, tmp_path: Path) -> Project:
    return copied(original, tmp_path)


@pytest.mark.parametrize(
    ("edit", "status"),
    [
        (lambda _: "#!/bin/sh\nexit 1\n", 4),
        (lambda text: text.replace("0.$(", "0.1$(") + "echo '# more' >> counts.sh\n", 3),
    ],
    ids=["one that scores nothing", "one that changes while it is called"],
)
def test_a_program_that_cannot_be_kept_leaves_nothing_to_the_one_before(
    cli: Cli, done: Project, edit: object, status: int
) -> None:
    assert callable(edit)
    before, program = summary(done.folder / "r"), (done.folder / "counts.sh").read_text()
    command = [*done.command, "--out", "r", "--replace", "counts"]
    (done.folder / "counts.sh").write_text(edit(program))
    assert cli(*command, env=done.env()).status == status
    (done.folder / "counts.sh").write_text(program)
    done.forget()
    back = cli(*command, env=done.env())
    assert (back.status, done.asked().total(), summary(done.folder / "r")) == (0, 0, before), back.stderr
    assert "note: counts is what it was before: its scores from then count again" in back.stderr
    assert cli("report", "r", "--check").status == 0
    cells = orjson.loads((done.folder / "r" / "run.json").read_bytes())["cells"]
    assert [(cell["candidate"], cell["scored"]) for cell in cells] == [("a", 6), ("b", 6)]


def test_what_a_program_failed_before_it_scored_is_of_this_run_when_it_is_back(
    cli: Cli, tmp_path: Path
) -> None:
    made = project(tmp_path, 3)
    command = ["run", "-e", "counts=./counts.sh", "--dataset", "d.jsonl", "--out", "r", "--replace", "counts"]
    works, fails = (tmp_path / "counts.sh").read_text(), "#!/bin/sh\nexit 1\n"
    told = []
    for program, name in ((fails, "b"), (works, "a"), (fails, "a"), (works, "a"), (fails, "b")):
        (tmp_path / "counts.sh").write_text(program)
        done = cli(*command, "--candidate", f"{name}.txt", env=made.env())
        told.append((done.status, "belongs to another run" in done.stderr))
        assert cli("report", "r", "--check").status == 0
    assert told == [(4, False), (0, False), (4, False), (0, False), (4, False)]
    assert sorted(made.asked().values()) == [1, 1, 1], "what is scored is not called again"


def test_scores_of_another_range_do_not_come_back_with_the_program(cli: Cli, tmp_path: Path) -> None:
    made = project(tmp_path, 3)
    program = (tmp_path / "counts.sh").read_text()
    large = program.replace('"score\\":0.', '"score\\":7.')
    assert large != program
    command = [*made.command, "--out", "r", "--replace", "counts", "--score-range"]
    (tmp_path / "counts.sh").write_text(large)
    assert cli(*command, "any", env=made.env()).status == 0
    (tmp_path / "counts.sh").write_text(program)
    assert cli(*command, "unit", env=made.env()).status == 0
    (tmp_path / "counts.sh").write_text(large)
    made.forget()
    refused = cli(*command, "unit", env=made.env())
    assert (refused.status, made.asked().total() > 0) == (4, True), "they are called, and are out of range"
    assert cli("report", "r", "--check").status == 0
    every = cli("report", "r", "--all", "--json")
    assert every.status == 0, every.stderr


def test_an_evaluator_of_another_range_is_not_said_to_have_scored_nothing(cli: Cli, done: Project) -> None:
    again = cli(*done.command, "--out", "r", "--score-range", "any", "--replace", "counts", env=done.env())
    assert "note: counts is called again: its earlier scores stay in the journal" in again.stderr
    assert "scored nothing" not in again.stderr


def test_a_candidate_that_is_called_as_an_earlier_version_is_refused(cli: Cli, done: Project) -> None:
    (done.folder / "b@3e744b9d.txt").write_text("bbb")
    (done.folder / "b.txt").write_text("dd")
    command = [*done.command, "--candidate", "b@3e744b9d.txt", "--out", "r"]
    refused = cli(*command, env=done.env())
    assert (refused.status, done.asked().total()) == (2, 0)
    assert "candidate b@3e744b9d: so the run calls what b was earlier" in refused.stderr
    (done.folder / "b@3e744b9d.txt").rename(done.folder / "old.txt")
    command[-3] = "old.txt"
    assert cli(*command, env=done.env()).status == 0
