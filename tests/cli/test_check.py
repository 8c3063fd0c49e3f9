"""`report --check`: whatever is falsified in a document of a run is named, its sentences too."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval.audit.__main__ import differences
from optimize_eval.audit.journaled import read
from optimize_eval.audit.leaderboard import expected_boards
from optimize_eval.audit.summary import expected
from optimize_eval.cli.checked import NOT_CHECKED, unlike_paths
from optimize_eval.findings.board_models import said_in
from optimize_eval.findings.stored_boards import load_own_board
from optimize_eval.findings.stored_summary import Findings, summarise_stored, unlike_keys
from optimize_eval.run.bench_boards import remake_board
from optimize_eval.search.result import make_again
from optimize_eval.store import journal
from optimize_eval.store.folder import LEADERBOARD, SUMMARY
from optimize_eval.store.listing import sessions
from optimize_eval.store.opened_run import open_stored
from tests.cli import defined
from tests.cli.benches import model
from tests.cli.defined import TASK
from tests.cli.searches import WITH_VAL, project
from tests.front_door import Cli, in_this_process
from tests.tools import write_program

Way = tuple[str | int, ...]


def leaves(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Give all that is not a list and no mapping, with the way to it."""
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


def edited(document: Any) -> Iterator[Way]:
    """Falsify each leaf, delete each key, add one to each mapping, in turn; give the way to the change."""
    for way, value in leaves(document):
        put(document, way, falsified(value))
        yield way
        put(document, way, value)
    for way, table in tables(document):
        for key, value in [*table.items()]:
            del table[key]
            yield (*way, key, "deleted")
            table[key] = value
        table["foreign"] = 0
        yield (*way, "foreign")
        del table["foreign"]


def tables(value: Any, way: Way = ()) -> Iterator[tuple[Way, dict[str, Any]]]:
    """Give all mappings, with the way to them."""
    if isinstance(value, dict):
        yield way, value
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tables(inner, (*way, key))


def unnamed(document: dict[str, Any], again: Any) -> set[Way]:
    """Edit a document in every way; give the edits that nobody names."""
    return {way for way in edited(document) if not unlike_keys(document, again)}


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


def derived_otherwise(folder: Path, name: str) -> set[str]:
    """Falsify each number of a document in turn; give the keys of those that the script does not name."""
    run = read(folder)
    summary = {SUMMARY: expected(run)}
    again = orjson.loads(orjson.dumps((summary | expected_boards(folder, run))[name]))
    document = orjson.loads((folder / name).read_bytes())
    passed = set()
    for way, value in leaves(document):
        if isinstance(value, int | float):
            put(document, way, falsified(value))
            passed |= set() if [*differences(document, again, Counter())] else {str(_named(way))}
            put(document, way, value)
    return passed


def _named(way: Way) -> str | int:
    return next((key for key in way if key in {"side_info", "latency", "files", "settings"}), way[-1])


@pytest.fixture
def benched(cli: Cli, tmp_path: Path) -> Path:
    rows = [
        {"id": f"q{n}", "prompt": f"compute: {n} + 1", "targets": [str(n + 1)], "metric": "exact_match"}
        for n in range(6)
    ]
    (tmp_path / "sums.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert cli("bench", "sums.jsonl", "--model", "toy", "--model", "silent", "--out", "b").status == 0
    return tmp_path / "b"


def test_every_number_of_repeats_and_rules_is_derived_by_separate_code(cli: Cli, tmp_path: Path) -> None:
    task = TASK + "  actions:\n    - {key: even, action: exclude_from_metrics, filter: {op: equals, "
    defined.task(tmp_path, task + 'expression: "{{ sample.id }}", value: s2}}\n')
    model(tmp_path / "w", "str(len(asked['prompt']) % 2 + 1)")
    models = ("--model", "m=cmd:./m", "--model", "w=cmd:./w", "--repeats", "2", "--out", "r")
    done = cli("bench", "sums.yaml", *models)
    assert done.status == 0, done.stderr
    alone = {"latency_ms", "skew", "mde", "side_info", "latency", "files", "settings"}
    assert derived_otherwise(tmp_path / "r", SUMMARY) <= alone
    assert derived_otherwise(tmp_path / "r", LEADERBOARD) <= alone
    board = orjson.loads((tmp_path / "r" / LEADERBOARD).read_bytes())
    assert board["models"][0]["passes"]


def test_every_leaf_of_a_leaderboard_is_checked_but_what_only_it_knows(benched: Path) -> None:
    document = orjson.loads((benched / "leaderboard.json").read_bytes())
    again = remake_board(Findings(run=open_stored(benched), keep=said_in), load_own_board(str(benched)))
    known = {name for name in NOT_CHECKED if " " not in name}
    assert {way for way in unnamed(document, again) if not known & {*way}} == set()


def test_a_forged_sentence_of_a_board_is_named_and_what_is_not_checked_is_said(
    cli: Cli, benched: Path
) -> None:
    fine = cli("report", "b", "--check")
    assert fine.status == 0, fine.stdout
    assert len(NOT_CHECKED) <= 15
    words = "not checked, because nothing else records it: names and times of models, timestamp,"
    assert words in " ".join(fine.stdout.split())
    board = orjson.loads((benched / "leaderboard.json").read_bytes())
    (benched / "leaderboard.json").write_bytes(orjson.dumps({**board, "foreign": 0}))
    assert "foreign: leaderboard.json is not what the journal gives" in cli("report", "b", "--check").stdout
    board["verdict"]["text"] = "silent leads"
    (benched / "leaderboard.json").write_bytes(orjson.dumps(board))
    for change, named in ((None, "verdict"), (Path.unlink, "all of it is gone")):
        if change:
            change(benched / "leaderboard.json")
        forged = cli("report", "b", "--check")
        expected = f"{named}: leaderboard.json is not what the journal gives"
        assert (forged.status, forged.stdout.splitlines()[0]) == (1, expected)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = project(tmp_path_factory.mktemp("searched"))
    done = in_this_process(folder)(*WITH_VAL, "--budget", "40", "--json")
    assert done.json["verdict"]["state"] == "better", done.stderr
    return folder


def test_every_leaf_of_a_search_is_checked(searched: Path) -> None:
    document = orjson.loads((searched / "r" / "search.json").read_bytes())
    stored = open_stored(searched / "r")
    summary = summarise_stored(stored)
    (ended,) = sessions(searched / "r")
    again = make_again(ended, stored, summary, document["run_dir"])
    assert [*unlike_paths(document, again, summary)] == []
    document["summary"]["verdict"]["text"] = "p1 beats seed"
    assert [*unlike_paths(document, again, summary)] == ["summary.verdict"]
    document["summary"] = None
    assert len([*leaves(document)]) > 100
    assert [way for way in edited(document) if not [*unlike_paths(document, again, None)]] == []


def _rewrite(path: Path, change: Any) -> None:
    """Change records of a journal, and seal them as if they had been written so."""
    records = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    for record in records:
        record.pop("crc")
        change(record)
    path.write_bytes(b"".join(map(journal.seal, records)))


def _lift(record: dict[str, Any]) -> None:
    if record.get("name") == "p2":
        record["search_mean"] += 0.5


def _orphan(record: dict[str, Any]) -> None:
    if record.get("name") == "p2":
        record["parents"] = ["p3"]


def _cheapen(record: dict[str, Any]) -> None:
    if record.get("name") == "p2":
        record["calls"] -= 1


def _score(record: dict[str, Any]) -> None:
    if record["line"] == 4:
        record["score"] = 1.0


def _equal_before(record: dict[str, Any]) -> None:
    if record["candidate"] == sha256(b"1").hexdigest()[:8]:  # p2 was better than it
        record["score"] = 1.0


def _hide(record: dict[str, Any]) -> None:
    if record["candidate"] == sha256(b"2").hexdigest()[:8]:
        record["candidate"] = "somebody"


def test_means_that_evaluations_do_not_tell_are_said_to_be_taken(searched: Path, tmp_path: Path) -> None:
    shutil.copytree(searched / "r", tmp_path / "r")
    expected = "1 of 6 means of the search are taken from search.jsonl"
    assert "taken from search.jsonl" not in in_this_process(tmp_path)("report", "r", "--check").stdout
    _rewrite(tmp_path / "r" / "evaluations.jsonl", _hide)
    assert expected in in_this_process(tmp_path)("report", "r", "--check").stdout


def _drop_reply(record: dict[str, Any]) -> None:
    if record.get("candidate") == "2" and "request" in record:
        del record["candidate"]


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("search.jsonl", _lift, "candidates[2].search_mean"),
        ("search.jsonl", _orphan, "candidates[2].parents"),
        ("search.jsonl", _cheapen, "candidates[2].calls"),
        ("search.jsonl", _drop_reply, "proposals.failed"),
        ("evaluations.jsonl", _score, "search_mean"),
        ("evaluations.jsonl", _equal_before, "proposals.accepted is 5, the journal gives 4"),
    ],
)
def test_records_of_a_search_that_are_falsified_and_sealed_again_are_named(
    searched: Path, tmp_path: Path, file: str, change: Any, named: str
) -> None:
    shutil.copytree(searched / "r", tmp_path / "r")
    cli = in_this_process(tmp_path)
    fine = cli("report", "r", "--check")
    assert fine.status == 0, fine.stdout
    _rewrite(tmp_path / "r" / file, change)
    forged = cli("report", "r", "--check")
    assert (forged.status, named in forged.stdout) == (1, True), forged.stdout


def test_a_summary_that_no_longer_says_what_was_tried_is_named(searched: Path, tmp_path: Path) -> None:
    shutil.copytree(searched / "r", tmp_path / "r")
    summary = json.loads((tmp_path / "r" / "summary.json").read_bytes())
    del summary["tried"], summary["journal"]
    (tmp_path / "r" / "summary.json").write_text(json.dumps(summary))
    told = in_this_process(tmp_path)("report", "r", "--check")
    assert (told.status, "summary.json: tried is missing" in told.stdout) == (1, True), told.stdout


def test_a_search_that_found_nothing_is_checked_too_and_what_it_is_is_said(tmp_path: Path) -> None:
    folder = project(tmp_path)
    (folder / "propose.py").write_text((folder / "propose.py").read_text().replace("+ 1", "- 1"))
    cli = in_this_process(folder)
    assert cli(*WITH_VAL, "--budget", "40").status == 0
    fine = cli("report", "r", "--check")
    assert (fine.status, "0 differ" in fine.stdout) == (0, True), fine.stdout + fine.stderr
    refused = cli("report", "r", "--all")
    assert (refused.status, "found nothing to compare with its seed" in refused.stderr) == (2, True)
    document = json.loads((folder / "r" / "search.json").read_bytes())
    document["verdict"]["text"] = "p1 beats seed"
    (folder / "r" / "search.json").write_text(json.dumps(document))
    forged = cli("report", "r", "--check")
    assert (forged.status, forged.stdout.splitlines()[0]) == (
        1,
        "verdict.text: search.json is not what the journals give",
    )


def test_a_search_that_went_on_agrees_and_so_does_one_whose_run_did(searched: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(searched, folder)
    cli = in_this_process(folder)
    assert cli(*WITH_VAL, "--budget", "60", "--json").json["proposals"]["accepted"] > 5
    longer = cli("report", "r", "--check")
    assert (longer.status, "before its later commands" in longer.stdout) == (0, False), longer.stdout
    (folder / "nine.txt").write_text("9")
    candidates = ("--candidate", "seed.txt", "--candidate", "nine.txt")
    assert cli("run", *WITH_VAL[2:8], *candidates, "--out", "r", "--quiet").status == 0
    later = cli("report", "r", "--check").stdout
    assert "search.json describes the run before its later commands" in later
    assert "search.json: " not in later
    document = json.loads((folder / "r" / "search.json").read_bytes())
    document["best"] = "p1"
    (folder / "r" / "search.json").write_text(json.dumps(document))
    forged = cli("report", "r", "--check")
    assert (forged.status, "best: search.json is not what the journals give" in forged.stdout) == (1, True)


def test_the_journal_of_a_search_that_says_too_little_is_refused(searched: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(searched, folder)
    _rewrite(folder / "r" / "search.jsonl", lambda record: record.get("about", {}).pop("plan", None))
    refused = in_this_process(folder)("report", "r", "--check")
    assert (refused.status, refused.stderr.splitlines()[0]) == (
        3,
        "error: r/search.jsonl:1: a version before 0.1.0 wrote it, and said less of the search",
    )


def test_means_of_a_search_with_skips_and_failures_are_derived(tmp_path: Path) -> None:
    folder = project(tmp_path)
    program = folder / "evaluate.py"
    answer = '    print(f\'{{"score"'
    other = "    if example.get('id') in ('train-2', 'train-3'):\n"
    other += "        word = 'skip' if example['id'] == 'train-2' else 'error'\n"
    other += (
        '        print(f\'{{"{word}": "no", {kept}"_capabilities": {{"persistent": true}}}}\', flush=True)\n'
    )
    other += "        continue\n"
    program.write_text(program.read_text().replace(answer, other + answer))
    cli = in_this_process(folder)
    cli(*WITH_VAL, "--budget", "30", "--quiet")
    fine = cli("report", "r", "--check")
    assert fine.status == 0, fine.stdout + fine.stderr
    _rewrite(folder / "r" / "search.jsonl", _lift)
    document = json.loads((folder / "r" / "search.json").read_bytes())
    document["candidates"][2]["search_mean"] += 0.5
    (folder / "r" / "search.json").write_text(json.dumps(document))
    assert "search.json: candidates[2].search_mean is " in cli("report", "r", "--check").stdout
