"""The starters of proposers: the same replies in every language, and `new` gives one that works at once."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.cli.commands.new import LANGUAGES, PROPOSER_LANGUAGES
from tests.front_door import Cli
from tests.paths import ROOT
from tests.tools import need

KEPT = {"_capabilities": {"persistent": True}}
ADA = [{"score": 1, "example": {"target": "hello"}}, {"score": 0.5, "example": {"target": "hello, dear Ada"}}]
NOTHING = {"skip": "no example wants a word that the candidate lacks", **KEPT}
REQUESTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"candidate": "Hello", "records": ADA}, {"candidate": "Hello dear", "note": "added dear", **KEPT}),
    (
        {"candidate": "", "records": ADA, "_id": "7"},
        {"candidate": "hello", "note": "added hello", "_id": "7", **KEPT},
    ),
    (
        {"candidate": "hello dear", "records": [*ADA, {"score": None, "example": {"target": "Bye"}}]},
        {"candidate": "hello dear Bye", "note": "added Bye", **KEPT},
    ),
    ({"candidate": "hello dear ada", "records": ADA}, NOTHING),
    ({"candidate": "hello", "records": [{"score": 0.1, "side_info": {}}]}, NOTHING),
]


@need("jq", "node")
@pytest.mark.parametrize("name", PROPOSER_LANGUAGES)
def test_a_starter_replies_alike_in_every_language_and_stays_alive(
    name: str, cli: Cli, tmp_path: Path
) -> None:
    done = cli("new", "proposer", "mine", "--lang", name)
    assert done.status == 0, done.stderr

    lines = "".join(json.dumps(request) + "\n" for request, _ in REQUESTS)
    spec = LANGUAGES[name].spec.replace("NAME", "mine")
    said = subprocess.run(spec.split(), input=lines, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert [json.loads(line) for line in said.stdout.splitlines()] == [reply for _, reply in REQUESTS]


@need("jq", "node")
@pytest.mark.parametrize("name", PROPOSER_LANGUAGES)
def test_the_line_that_is_printed_tries_it(name: str, cli: Cli, tmp_path: Path) -> None:
    line = cli("new", "proposer", "mine", "--lang", name).stdout

    said = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert json.loads(said.stdout)["candidate"] == "hello Ada"


def test_a_language_without_a_starter_names_those_that_have_one(cli: Cli) -> None:
    done = cli("new", "proposer", "mine", "--lang", "go")

    assert done.status == 2
    assert "name one of python, bash, node" in done.stderr


def test_every_starter_of_a_proposer_is_in_the_table() -> None:
    suffixes = {path.suffix for path in (ROOT / "evaluators" / "proposers").iterdir() if path.is_file()}
    assert suffixes == {LANGUAGES[name].suffix for name in PROPOSER_LANGUAGES}
