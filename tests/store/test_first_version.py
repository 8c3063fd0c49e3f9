"""Runs that an earlier version made (fixtures, by the commit before run.json's second version)."""

import shutil
from collections import Counter
from pathlib import Path

import orjson
import pytest

from optimize_eval import load_run
from tests.front_door import Cli
from tests.run.projects import COUNTS, Project, summary

FIXTURES = Path(__file__).parent / "fixtures"
RUNS = ("plain", "rescored", "stopped", "sampled", "fixed")
CHANGED = b'optimize-eval.run.v2"'


@pytest.fixture
def made(tmp_path: Path) -> Project:
    """Give the folder in which the runs were made, as it was."""
    made = Project(tmp_path, 6)
    shutil.copytree(FIXTURES, tmp_path, dirs_exist_ok=True)
    return made


@pytest.mark.parametrize("run", RUNS)
def test_it_is_read_reported_and_checked(cli: Cli, made: Project, run: str) -> None:
    before = {path.name: path.read_bytes() for path in (made.folder / run).iterdir()}
    assert cli("report", run).status == 0
    assert cli("report", run, "--check").status == 0
    records = list(load_run(made.folder / run).records)
    assert len(records) == before["journal.jsonl"].count(b'"outcome"') - 3 * (run == "fixed")
    assert {path.name: path.read_bytes() for path in (made.folder / run).iterdir()} == before


@pytest.mark.parametrize(
    ("run", "options", "owed"),
    [
        ("plain", [], Counter()),
        ("rescored", ["-e", "again=./counts.sh once-more"], Counter()),
        ("stopped", [], Counter(["a:4", "a:5", "a:6", *(f"bbb:{n}" for n in range(1, 7))])),
        ("fixed", ["-e", "./judge.sh"], Counter()),
        ("plain", ["--repeats", "2"], Counter(f"{text}:{n}" for text in ("a", "bbb") for n in range(1, 7))),
        ("sampled", [], Counter(["a", "bbb"])),
    ],
)
def test_it_goes_on_and_grows_and_keeps_what_it_was(
    cli: Cli, made: Project, run: str, options: list[str], owed: Counter[str]
) -> None:
    first = (made.folder / run / "run.json").read_bytes()
    done = cli(*made.command, "--out", run, *options, env=made.env())
    assert done.status == 0, done.stderr
    if run == "sampled":
        assert made.asked().total() == 6, "three of six were there"
    else:
        assert made.asked() == owed
    assert (made.folder / run / "run.json.v1").read_bytes() == first
    assert CHANGED in (made.folder / run / "run.json").read_bytes()
    assert cli("report", run, "--check").status == 0
    assert cli(*made.command, "--out", "new", *options, env=made.env()).status == 0
    assert summary(made.folder / run) == summary(made.folder / "new")


def test_its_sample_stays_what_it_was(cli: Cli, made: Project) -> None:
    lines = orjson.loads((made.folder / "sampled" / "run.json").read_bytes())["splits"][0]["lines"]
    for _ in range(2):
        done = cli(*made.command, "--out", "sampled", "--sample", "3", env=made.env())
        assert (done.status, made.asked().total()) == (0, 0), done.stderr
    told = orjson.loads((made.folder / "sampled" / "run.json").read_bytes())
    assert told["selection"]["splits"][0]["lines"] == lines


def test_it_can_be_rescored(cli: Cli, made: Project) -> None:
    rescore = "-e", "again=./counts.sh once-more"
    done = cli("rescore", "plain", *rescore, env=made.env())
    assert (done.status, made.asked().total()) == (0, 12), done.stderr
    written_anew = cli("rescore", "rescored", *rescore, env=made.env())
    assert (written_anew.status, made.asked().total()) == (0, 12), written_anew.stderr
    assert summary(made.folder / "plain") == summary(made.folder / "rescored")
    told = orjson.loads((made.folder / "plain" / "run.json").read_bytes())
    assert told["selection"]["added"] == ["again"]
    assert COUNTS.startswith(told["evaluators"][0]["name"])


def test_it_is_listed_noted_seen_in_part_and_removed(cli: Cli, made: Project) -> None:
    listed = {one["run"]: one for one in cli("runs", ".", "--json").json["runs"]}
    assert listed.keys() == {*RUNS}
    assert (listed["plain"]["state"], listed["plain"]["candidates"]) == ("done", ["a", "b"])
    assert listed["stopped"]["units"] == {"total": 12}, "its summary does not name a journal's end"
    assert cli("runs", "note", "plain", "from before").status == 0
    assert b"run.v1" in (made.folder / "plain" / "run.json").read_bytes()
    assert cli("report", "plain", "--id", "3", "--json").json["selected"]["examples"] == {"train": 1}
    assert cli(*made.command, "--out", "plain", "--repeats", "2", env=made.env()).status == 0
    assert b"run.v2" in (made.folder / "plain" / "run.json").read_bytes()
    assert cli("report", "plain", "--json").json["note"] == "from before"
    assert cli("runs", "rm", *RUNS, "--yes").status == 0
    assert not [run for run in RUNS if (made.folder / run).exists()]
