"""Folders, journals and terminals that are not what a run expects; found by reading, held by these."""

import os
import pty
import resource
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any
from zlib import crc32

import orjson
import pytest

from optimize_eval.base.errors import CannotGoOn
from optimize_eval.run.host import Stop
from optimize_eval.store.journal import Journal, seal
from tests.front_door import Cli, in_this_process
from tests.paths import PROGRAM
from tests.tools import need, write_program

SCORES = 'read -r line; echo "{\\"score\\": 0.5, \\"said\\": \\"ok\\"}"'


def made(folder: Path) -> Path:
    """Make an evaluator, a candidate and twelve examples."""
    write_program(folder / "ok.sh", ["#!/bin/sh", SCORES])
    (folder / "a.txt").write_text("a")
    (folder / "b.txt").write_text("b")
    lines = [orjson.dumps({"n": n, "doc": "one"}) for n in range(12)]
    (folder / "d.jsonl").write_bytes(b"\n".join(lines))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    done = in_this_process(made(folder))(*ASK)
    assert done.status == 0, done.stderr
    return folder


@pytest.fixture
def done(finished: Path, tmp_path: Path) -> Path:
    """Have a copy of a folder whose run `r` is done."""
    return shutil.copytree(finished, tmp_path, dirs_exist_ok=True)


ASK = ("run", "-e", "./ok.sh", "--candidate", "a.txt", "--dataset", "d.jsonl", "--out", "r")


def test_two_programs_of_the_same_name_are_not_one_that_changed(cli: Cli, folder: Path) -> None:
    for name in ("x", "y"):
        (folder / name).mkdir()
        write_program(folder / name / "m.sh", ["#!/bin/sh", f"# {name}", SCORES])
    done = cli("run", "-e", "sh x/m.sh y/m.sh", *ASK[3:])
    assert (done.status, "changed" in done.stderr) == (0, False)


def test_a_program_that_changes_while_it_is_asked_leaves_no_verdict(cli: Cli, folder: Path) -> None:
    write_program(folder / "ok.sh", ["#!/bin/sh", "echo '# once more' >> ok.sh", SCORES])
    done = cli(*ASK)
    assert done.status == 3
    assert "ok changed while being called" in done.stderr
    assert done.stdout.startswith(" No verdict")
    assert cli("report", "r").stdout == done.stdout


@pytest.mark.parametrize("name", ["run.json", "journal.jsonl", "summary.json"])
@pytest.mark.parametrize("content", ["mine", '{"hello": "this is a document of somebody else"}\n'])
def test_files_of_somebody_else_are_left_alone(cli: Cli, folder: Path, name: str, content: str) -> None:
    (folder / "r").mkdir()
    (folder / "r" / name).write_text(content)
    for fresh in ([], ["--fresh"]):
        done = cli(*ASK, *fresh)
        assert done.status == 2, done.stderr
        assert "choose another folder" in done.stderr
    assert (folder / "r" / name).read_text() == content


MANIFESTS: dict[str, dict[str, Any]] = {
    "no repeats": {"repeats": None},
    "too many repeats": {"repeats": 10**13},
    "no evaluators": {"evaluators": []},
    "no candidates": {"candidates": None},
    "another baseline": {"selection": {"baseline": "z"}},
    "groups without labels": {"selection": {"group_by": ["x"]}},
    "a selection of nothing": {"selection": {"candidates": []}},
    "a cell of no split": {
        "cells": [{"evaluator": "ok", "candidate": "a", "task_model": None, "split": "x"}]
    },
    "no plan": {"plan": None, "splits": 5},
    "another version": {"schema": "optimize-eval.run.v9"},
}


WRITTEN_ANEW = {"no evaluators", "another baseline", "groups without labels", "a selection of nothing"}


@pytest.mark.parametrize("edit", MANIFESTS)
def test_an_edited_manifest_is_told_and_is_no_bug(cli: Cli, done: Path, edit: str) -> None:
    path = done / "r" / "run.json"
    told = orjson.loads(path.read_bytes())
    for key, value in MANIFESTS[edit].items():
        told[key] = told[key] | value if isinstance(value, dict) else value
    path.write_bytes(orjson.dumps(told))
    report = cli("report", "r")
    assert report.status == 2, report.stderr
    assert "run.json is" in report.stderr
    again = cli(*ASK)
    assert again.status == (0 if edit in WRITTEN_ANEW else 2), "a command names what it wants itself"


RECORDS: dict[str, dict[str, Any]] = {
    "no score": {"outcome": "scored", "side_info": {}, "seconds": 0.1},
    "a text for a score": {"outcome": "scored", "score": "1", "side_info": {}, "seconds": 0.1},
    "a number for side info": {"outcome": "scored", "score": 1, "side_info": 5, "seconds": 0.1},
    "an outcome that is a list": {"outcome": ["scored"]},
    "a failure without a kind": {"outcome": "failed", "message": "x", "seconds": 0.1},
    "changed by a number": {"changed": 5, "outcome": "lost"},
}


@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_sealed_lines_that_are_no_records_are_refused(cli: Cli, done: Path, record: dict[str, Any]) -> None:
    place = {"evaluator": "ok", "candidate": "a", "split": "train", "line": 1, "repeat": 1}
    with (done / "r" / "journal.jsonl").open("ab") as stream:
        stream.write(seal(place | record))
    report = cli("report", "r")
    assert report.status == 3, report.stderr
    assert "the line belongs to another run" in report.stderr


def test_a_score_that_is_no_number_is_refused(cli: Cli, done: Path) -> None:
    body = b'{"evaluator":"ok","candidate":"a","split":"train","line":1,"repeat":1,"score":NaN'
    with (done / "r" / "journal.jsonl").open("ab") as stream:
        stream.write(b'%s,"crc":"%08x"}\n' % (body, crc32(body)))
    assert cli("report", "r").status == 3


@need("perl")
def test_one_cluster_gives_no_interval_and_says_so(cli: Cli, folder: Path) -> None:
    (folder / "v.pl").write_text(
        '$_ = <STDIN>; my ($n) = /"n":(\\d+)/; my $is_b = /"candidate":"b"/;\n'
        'print "{\\"score\\": ", $n / 20 + $is_b * 0.01 * $n, "}\\n";\n'
    )
    asked = ("run", "-e", "perl v.pl", "--dataset", "d.jsonl", "--cluster-by", "doc", "--candidate")
    assert "one example" not in cli(*asked, "a.txt").stdout
    both = " ".join(cli(*asked, "a.txt", "--candidate", "b.txt").stdout.split())
    assert "12 train examples in 1 cluster; a verdict takes at least 6 clusters, usually many more" in both


def test_a_great_many_candidates_are_compared_with_the_baseline_and_that_is_said(
    cli: Cli, folder: Path
) -> None:
    (folder / "many.jsonl").write_bytes(
        b"\n".join(orjson.dumps({"id": f"c{n}", "candidate": f"text {n}"}) for n in range(70))
    )
    asked = ("-e", "./ok.sh", "--candidates", "many.jsonl", "--dataset", "d.jsonl", "--limit", "1", "--json")
    summary = cli("run", *asked).json["summary"]
    assert (summary["pairs"], summary["pairs_left_out"]) == ([], 2415)
    assert len(summary["rows"]) == 70


def test_the_check_agrees_on_scores_that_only_rounding_tells_apart(cli: Cli, folder: Path) -> None:
    write_program(folder / "ok.sh", ["#!/bin/sh", "echo '{\"score\": 1000000000.1}'"])
    assert cli(*ASK, "--score-range", "any").status == 0
    done = cli("report", "r", "--check")
    assert (done.status, done.stderr) == (0, "")


def test_of_lines_written_together_those_that_fit_stay(tmp_path: Path) -> None:
    lines = [seal({"outcome": "scored", "n": n, "text": "x" * 50}) for n in range(5)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writer = Journal(tmp_path / "j", 0)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(lines[0]) * 3 + 10, before[1]))
        with pytest.raises(CannotGoOn):
            writer.append(b"".join(lines))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, former)
        with pytest.raises(CannotGoOn):
            writer.close()
    assert (tmp_path / "j").read_bytes() == b"".join(lines[:3])


def test_a_second_signal_within_the_first_does_not_hang() -> None:
    stop = Stop()
    former = signal.signal(signal.SIGUSR1, lambda *_: stop.request())
    try:
        for _ in range(50):
            signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert stop.is_requested
    assert stop.is_over


def test_a_terminal_that_goes_away_does_not_end_a_run(folder: Path) -> None:
    """The calls wait until the terminal is gone, so that there is something left to draw."""
    write_program(folder / "ok.sh", ["#!/bin/sh", "read -r gate < gate", SCORES])
    os.mkfifo(folder / "gate")
    gate = os.open(folder / "gate", os.O_RDWR)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [PROGRAM, *ASK, "--concurrency", "1"],
        cwd=folder,
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(theirs)
    os.read(ours, 1)  # something was drawn
    os.close(ours)
    os.write(gate, b"go\n" * 12)
    assert process.wait(timeout=50) == 0
    os.close(gate)
    units = orjson.loads((folder / "r" / "summary.json").read_bytes())["units"]
    assert (units["scored"], units["failed"]) == (12, 0)
