"""A small part of what `python -m tests.fuzz` does, always the same; what that found once is held by name."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.cli import command_table as commands
from tests.front_door import Cli
from tests.fuzz.cases import faults_of, load_once
from tests.fuzz.targets import prepare
from tests.paths import PROGRAMS

CASES = 40  # of each target
DIGITS = "1" * 5000


def test_what_is_made_wrong_at_random_ends_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "load_command", load_once())
    cli, targets = prepare(tmp_path)
    for name, target in targets.items():
        assert [*faults_of(cli, tmp_path, target, CASES, random.Random(name))] == []


@pytest.mark.parametrize("key", ["limit", "repeats", "seed"])
def test_an_integer_of_5000_digits_in_a_sweep_is_told(cli: Cli, tmp_path: Path, key: str) -> None:
    (tmp_path / "s.toml").write_text(f"[run]\n{key} = {DIGITS}\n")
    done = cli("run", "s.toml")
    assert done.status == 2
    assert "s.toml: not TOML: an integer of more than 4,300 digits" in done.stderr


def test_an_integer_of_5000_digits_in_a_rubric_is_told(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(f'objective = "x"\nseed = {DIGITS}\n')
    (tmp_path / "c.txt").touch()
    done = cli("score", "c.txt", "-e", "judge:openai/x", "--rubric", "r.toml")
    assert done.status == 2
    assert "not TOML: an integer of more than 4,300 digits" in done.stderr


def test_a_judges_seed_beyond_64_bits_is_told_with_its_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    judge = '[[evaluator]]\njudge = "openai/x"\nobjective = "o"\n'
    (tmp_path / "s.toml").write_text(f'[run]\ncandidates = ["c.txt"]\n{judge}seed = {2**64}\n')
    done = cli("run", "s.toml", "--dry-run")
    assert done.status == 2
    assert "s.toml:6: seed: write a number of at most 18 digits" in done.stderr


def test_a_limit_beyond_64_bits_is_all_examples(cli: Cli, tmp_path: Path) -> None:
    command = started(tmp_path)
    assert cli(*command, "--limit", str(2**70)).status == 0
    assert cli("report", "r").status == 0


def started(folder: Path) -> list[str]:
    (folder / "c.txt").touch()
    (folder / "d.jsonl").write_text('{"id": 1, "group": "a"}\n{"id": 2, "group": "b"}\n')
    command = ["run", "-e", str(PROGRAMS / "good.sh"), "--candidate", "c.txt", "--dataset", "d.jsonl"]
    return [*command, "--group-by", "group", "--out", "r", "--quiet"]


def _mislabel(run: dict[str, Any]) -> None:
    run["selection"]["splits"][0]["groups"]["group"][0] = 5


Change = Callable[[dict[str, Any]], object]
EDITS: dict[str, Change] = {
    "a label that is a number": _mislabel,
    "settings that are a text": lambda run: run.update(settings="x"),
    "gates that are a number": lambda run: run["settings"].update(gates=5),
    "an evaluator's text that is null": lambda run: run["evaluators"][0].update(text=None),
    "a candidate that is a list": lambda run: run["candidates"].__setitem__(0, []),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_a_run_json_with_a_value_of_another_type_is_told(cli: Cli, tmp_path: Path, edit: Change) -> None:
    assert cli(*started(tmp_path)).status == 0
    file = tmp_path / "r" / "run.json"
    run = json.loads(file.read_bytes())
    edit(run)
    file.write_text(json.dumps(run))
    done = cli("report", "r")
    assert done.status == 2
    assert "run.json is not a run of optimize-eval, or was edited" in done.stderr


def test_a_run_json_whose_schema_is_no_text_is_told(cli: Cli, tmp_path: Path) -> None:
    assert cli(*started(tmp_path)).status == 0
    (tmp_path / "r" / "run.json").write_text('{"schema": []}')
    done = cli("report", "r")
    assert (done.status, "run.json is not a run of optimize-eval" in done.stderr) == (2, True)


RECORDS = [{"attempts": None}, {"attempts": [1]}, {"seconds": 10**400}, {"score": True}, {"stderr": 5}]


@pytest.mark.parametrize("odd", RECORDS, ids=str)
def test_a_sealed_record_with_a_value_of_another_type_is_refused(
    cli: Cli, tmp_path: Path, odd: dict[str, Any]
) -> None:
    from optimize_eval.store.journal import seal

    assert cli(*started(tmp_path)).status == 0
    file = tmp_path / "r" / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    record = json.loads(lines[1])
    del record["crc"]
    lines[1] = seal({**record, **odd})
    file.write_bytes(b"".join(lines))
    done = cli("report", "r")
    assert done.status == 3
    assert "journal.jsonl:2: the line belongs to another run" in done.stderr


@pytest.mark.parametrize("changed", ["true", "1e308", '"m"', "[1]"])
def test_a_board_whose_changed_models_are_no_texts_is_told(cli: Cli, tmp_path: Path, changed: str) -> None:
    task = '{"task": "t", "score": 1.0}'
    model = f'{{"adapter": "m", "overall_score": 1.0, "tasks": [{task}]}}'
    board = f'{{"schema": "leaderboard.v1", "changed": {changed}, "models": [{model}]}}'
    (tmp_path / "b.json").write_text(board)
    done = cli("diff", "b.json", "b.json")
    assert (done.status, "changed" in done.stderr) == (2, True), done.stderr
