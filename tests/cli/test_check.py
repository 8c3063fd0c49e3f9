"""`report --check`: whatever is falsified in a document of a run is named, its sentences too."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.cli.printed.checked import NOT_CHECKED, unlike_keys
from optimize_eval.findings.board.stored import load_own_board
from optimize_eval.findings.summary.stored import summarise_stored
from optimize_eval.session.benching.boards import compute_again
from optimize_eval.store.stored import open_stored
from tests.front_door import Cli
from tests.tools import write_program

Way = tuple[str | int, ...]


def leaves(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Give all that is no list and no mapping, with the way to it."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*way, key))
    else:
        yield way, value


def falsified(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}, surely"
    return "something"


def put(document: Any, way: Way, value: Any) -> None:
    *before, last = way
    for step in before:
        document = document[step]
    document[last] = value


def unnamed(document: dict[str, Any], made: Any) -> set[Way]:
    """Falsify each leaf in turn; give those that nobody names."""
    found = set()
    for way, value in leaves(document):
        put(document, way, falsified(value))
        if not unlike_keys(document, made):
            found.add(way)
        put(document, way, value)
    return found


def test_every_leaf_of_a_summary_is_checked(cli: Cli, tmp_path: Path) -> None:
    lines = ["#!/bin/sh", "read -r line", "case $line in *bad*) exit 3;; *after*) s=1;; *) s=0.25;; esac"]
    write_program(tmp_path / "e.sh", [*lines, 'echo "{\\"score\\": $s, \\"why\\": \\"w\\"}"'])
    for name in ("before", "after"):
        (tmp_path / f"{name}.txt").write_text(name)
    for split in ("train", "val"):
        rows = [*({"n": f"{split} {n}"} for n in range(9)), {"n": f"{split} bad"}]
        (tmp_path / f"{split}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    words = ("--candidate", "before.txt", "--candidate", "after.txt", "--dataset", "train.jsonl")
    assert cli("run", "-e", "./e.sh", *words, "--valset", "val.jsonl", "--out", "r", "--quiet").status == 0
    document = orjson.loads((tmp_path / "r" / "summary.json").read_bytes())
    assert len([*leaves(document)]) > 200
    assert unnamed(document, summarise_stored(open_stored(tmp_path / "r"))) == set()


@pytest.fixture
def benched(cli: Cli, tmp_path: Path) -> Path:
    rows = [
        {"id": f"q{n}", "prompt": f"compute: {n} + 1", "targets": [str(n + 1)], "metric": "exact_match"}
        for n in range(6)
    ]
    (tmp_path / "sums.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert cli("bench", "sums.jsonl", "--model", "toy", "--model", "silent", "--out", "b").status == 0
    return tmp_path / "b"


def test_every_leaf_of_a_leaderboard_is_checked_but_what_only_it_knows(benched: Path) -> None:
    document = orjson.loads((benched / "leaderboard.json").read_bytes())
    again = compute_again(open_stored(benched), load_own_board(str(benched)))
    known = {name for name in NOT_CHECKED if " " not in name}
    assert {way for way in unnamed(document, again) if not known & {*way}} == set()


def test_a_forged_sentence_of_a_board_is_named_and_what_is_not_checked_is_said(
    cli: Cli, benched: Path
) -> None:
    fine = cli("report", "b", "--check")
    assert fine.status == 0, fine.stdout
    assert len(NOT_CHECKED) <= 15
    assert "not checked, as nothing else tells it: names and times of models, timestamp," in fine.stdout
    board = orjson.loads((benched / "leaderboard.json").read_bytes())
    board["verdict"]["text"] = "silent leads"
    (benched / "leaderboard.json").write_bytes(orjson.dumps(board))
    forged = cli("report", "b", "--check")
    assert (forged.status, forged.stdout.splitlines()[0]) == (
        1,
        "verdict: leaderboard.json is not what the journal gives",
    )
