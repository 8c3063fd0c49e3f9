"""`optimize-eval diff` from outside: real runs, refusals, and what --force makes of them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.store.journal import seal
from tests.front_door import Cli, Result, in_this_process
from tests.tools import write_program

LONG = "the answer of this length is what the evaluator takes offence at, and it says so at some length"


JUDGE = r"""#!/usr/bin/env -S awk -f
{
    match($0, /"n":[0-9]+/); n = substr($0, RSTART + 4, RLENGTH - 4)
    match($0, /"candidate":"[^"]*"/); split(substr($0, RSTART + 13, RLENGTH - 14), words, " ")
    for (place in words) if (words[place] == n) { print "no such word" > "/dev/stderr"; exit 1 }
    printf "{\"score\": %.17g, \"why\": \"LONG%s\"}\n", words[1] * (n + 1) / 20, words[1]
}
""".replace("LONG", LONG)


@pytest.fixture(scope="module")
def scored_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a run that scores most of twenty examples, with a program that fails where it is told to."""
    folder = tmp_path_factory.mktemp("scored_before")
    write_program(folder / "e.awk", JUDGE.splitlines())
    (folder / "d.jsonl").write_text("".join(f'{{"n":{n}}}\n' for n in range(20)))
    (folder / "v.txt").write_text("1.0 7")
    assert run(in_this_process(folder), "before").status == 0
    return folder


@pytest.fixture
def project(scored_before: Path, tmp_path: Path) -> Path:
    return shutil.copytree(scored_before, tmp_path, dirs_exist_ok=True)


ASK = ("run", "-e", "e=./e.awk", "--candidate", "v.txt", "--valset", "d.jsonl", "--quiet")


def run(cli: Cli, name: str) -> Result:
    return cli(*ASK, "--out", f"runs/{name}")


def test_what_became_worse_is_said_last_and_exits_0(cli: Cli, project: Path) -> None:
    (project / "v.txt").write_text("0.5 3 4")
    run(cli, "after")
    done = cli("diff", "runs/before", "runs/after", "--details", env={"COLUMNS": "100"})
    assert (done.status, done.stderr) == (0, "")
    text = " ".join(done.stdout.split())
    assert text.endswith("17 regressed, 2 newly failing, 1 fixed.")
    assert "v is worse on val by 0.2" in text
    short = cli("diff", "runs/before", "runs/after", env={"COLUMNS": "100"}).stdout.splitlines()
    assert len(short) <= 24
    assert short[-1] == " next       optimize-eval diff runs/before runs/after --details"
    assert " ".join(" ".join(short[:-1]).split()).endswith("17 regressed, 2 newly failing, 1 fixed.")
    assert "val 5 0.250 → exit_code" in text
    assert f"A said: {LONG}1.0" in text
    assert "val 20 1.000 → 0.500" in text


def test_the_same_plan_twice_differs_in_nothing(cli: Cli, project: Path) -> None:
    run(cli, "again")
    done = cli("diff", "runs/before", str(project / "runs" / "again" / "run.json"), "--json")
    assert done.status == 0
    (row,) = done.json["rows"]
    assert done.json["schema"] == "optimize-eval.diff.v1"
    assert (row["diff"], row["p"], row["ties"], row["failing_in_both"]) == (0, 1, 19, 1)
    assert done.json["verdict"] == {
        "text": "v scores the same on val in both runs: 19 unchanged, 1 failing in both",
        "points": [],
    }
    assert done.json["caveats"] == []


def test_that_a_candidate_is_the_same_text_is_said_where_its_scores_differ(cli: Cli, project: Path) -> None:
    write_program(project / "e.awk", ["#!/bin/sh", "echo '{\"score\": 0}'"])
    run(cli, "noisy")
    done = cli("diff", "runs/before", "runs/noisy", "--force", "--json")
    assert done.json["caveats"] == [
        "evaluator e has changed: e.awk: the scores come from different programs",
        "v is the same text in both runs, so its scores differ for another reason",
    ]


def test_other_data_and_another_program_are_refused_with_what_differs(cli: Cli, project: Path) -> None:
    write_program(project / "e.awk", [*JUDGE.splitlines(), "# more"])
    (project / "d.jsonl").write_text("".join(f'{{"n":{n}}}\n' for n in range(1, 20)))
    run(cli, "after")
    done = cli("diff", "runs/before", "runs/after")
    assert (done.status, done.stdout) == (2, "")
    assert "runs/before and runs/after were not run on the same inputs" in done.stderr
    assert "  evaluator e has changed: e.awk\n" in done.stderr
    assert "  split val has 19 changed examples (line 1, 2, 3…)\n" in done.stderr
    assert "--force" in done.stderr
    forced = cli("diff", "runs/before", "runs/after", "--force", "--details")
    text = " ".join(forced.stdout.split())
    assert forced.status == 0
    assert "! evaluator e has changed: e.awk: the scores come from different programs" in text
    assert "only in A 1 example of val" in text


def test_an_added_evaluator_that_changed_is_refused_like_any_other(cli: Cli, project: Path) -> None:
    run(cli, "after")
    rescore = ("rescore", "-e", "added=./added.sh", "--quiet")
    for folder, score in (("before", 0.9), ("after", 0.1)):
        write_program(project / "added.sh", ["#!/bin/sh", f"echo '{{\"score\": {score}}}'"])
        assert cli(*rescore, f"runs/{folder}").status == 0
    for command in (["diff", "runs/before"], ["report", "--no-regression-against=runs/before"]):
        done = cli(*command, "runs/after")
        assert (done.status, done.stdout) == (2, "")
        assert "  evaluator added has changed: added.sh\n" in done.stderr
    forced = cli("diff", "runs/before", "runs/after", "--force", "--json")
    assert "evaluator added has changed: added.sh" in forced.json["caveats"][0]


def test_a_journal_that_is_not_finished_is_compared(cli: Cli, project: Path) -> None:
    run(cli, "after")
    journal = project / "runs" / "after" / "journal.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:15]))
    done = cli("diff", "runs/before", "runs/after")
    assert done.status == 0
    assert "! B is not finished: 6 of 20 calls are missing" in done.stdout


def test_a_program_that_changed_while_it_was_asked_is_told(cli: Cli, project: Path) -> None:
    with (project / "runs" / "before" / "journal.jsonl").open("ab") as stream:
        stream.write(seal({"changed": ["e"]}))
    told = "e changed while being called in A: its scores come from different programs"
    run(cli, "after")
    assert cli("diff", "runs/before", "runs/after", "--json").json["caveats"] == [told]


@pytest.mark.parametrize(
    "arguments", [["runs/before", "nowhere"], ["v.txt", "runs/before"], ["", "runs/before"]]
)
def test_what_is_no_run_is_refused(cli: Cli, project: Path, arguments: list[str]) -> None:
    assert project.is_dir()
    done = cli("diff", *arguments)
    assert (done.status, done.stdout) == (2, "")
    assert "there is no run in " in done.stderr


def test_a_damaged_journal_exits_3(cli: Cli, project: Path) -> None:
    journal = project / "runs" / "before" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"line":1', b'"line":2', 1))
    done = cli("diff", "runs/before", "runs/before")
    assert (done.status, "not as it was written" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    "edit",
    [
        lambda document: document["selection"]["splits"][0].update(clusters=[["one"]] * 20),
        lambda document: document["candidates"].extend(document["candidates"]),
        lambda document: document["selection"].update(added=[5]),
        lambda document: document["selection"].update(lines=7, splits=[{}]),
        lambda document: document["cells"][0].pop("split"),
        lambda document: document["splits"][0]["sha256"].pop(),
    ],
    ids=["clusters", "candidates", "added", "splits", "cells", "lines"],
)
def test_axes_that_cannot_be_are_told_with_the_file_that_has_them(
    cli: Cli, project: Path, edit: Callable[[dict[str, Any]], None]
) -> None:
    run(cli, "after")
    path = project / "runs" / "after" / "run.json"
    manifest = orjson.loads(path.read_bytes())
    edit(manifest)
    path.write_bytes(orjson.dumps(manifest))
    for command in (["diff", "runs/before"], ["report"]):
        done = cli(*command, "runs/after")
        assert (done.status, done.stdout) == (2, "")
        assert "runs/after/run.json is not a run of optimize-eval, or was edited" in done.stderr


def test_a_manifest_that_was_edited_is_no_bug(cli: Cli, project: Path) -> None:
    run(cli, "after")
    path = project / "runs" / "after" / "run.json"
    manifest = orjson.loads(path.read_bytes())
    manifest["evaluators"][0] |= {"sha256": "another", "files": None}
    path.write_bytes(orjson.dumps(manifest))
    done = cli("diff", "runs/before", "runs/after")
    assert done.status == 2
    assert "its run.json is of another version, or was edited" in done.stderr
    assert cli("diff", "runs/before", "runs/after", "--force").status == 0


@pytest.mark.parametrize(
    ("other", "seen"), [("caf\u00e9", "caf\u00e9"), ("cafe\u0301\u200b", "cafe\\u0301\\u200b")]
)
def test_names_of_two_runs_that_look_alike_are_told_apart(
    cli: Cli, project: Path, other: str, seen: str
) -> None:
    named = "cafe\u0301"
    for name in (named, other):
        (project / f"{name}.txt").write_text("1.0")
    ask = [word for word in ASK if word not in {"--candidate", "v.txt"}]
    for run_of, names in (("one", [named]), ("two", [other]), ("more", [other, "v"])):
        given = [word for name in names for word in ("--candidate", f"{name}.txt")]
        assert cli(*ask, *given, "--out", run_of).status == 0
    told = " ".join(cli("diff", "one", "two", env={"COLUMNS": "200"}).stdout.split())
    assert f"no candidate's name is in both runs: cafe\\u0301 of A is compared with {seen} of B" in told
    assert f"cafe\\u0301 → {seen} on e (A → B)" in told or "on e (A → B)" not in told
    refused = cli("diff", "one", "more").stderr
    assert f"no candidate in common: cafe\\u0301 in the first, {seen}, v in the second" in refused
    assert cli(*ask, "--candidate", f"{named}.txt", "--candidate", "v.txt", "--out", "less").status == 0
    told = " ".join(cli("diff", "less", "more", env={"COLUMNS": "200"}).stdout.split())
    assert "only in A candidate cafe\\u0301" in told
    assert f"only in B candidate {seen}" in told
    assert cli("diff", "less", "more", "--json").json["only_in_a"]["candidates"] == [named], "exactly"
