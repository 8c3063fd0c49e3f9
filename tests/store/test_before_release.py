"""Folders in formats that no release wrote: refused in one sentence by whatever reads a run."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from optimize_eval import UsageError, load_run
from tests.front_door import Cli
from tests.paths import ROOT

BENCH = ("bench", str(ROOT / "datasets" / "tasks" / "arithmetic.jsonl"), "--model", "silent", "--limit", "1")
REFUSED = (
    "error: old/run.json was written by a version before 0.1.0\n"
    "  try: run it again, with --fresh or in another folder\n"
)


@pytest.fixture(params=["run.json of version 1", "models as evaluators"])
def old(cli: Cli, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Give a bench in an older format beside one of today."""
    for name in ("old", "now"):
        done = cli(*BENCH, "--out", name)
        assert done.status == 0, done.stderr
    document: dict[str, Any] = orjson.loads((tmp_path / "old" / "run.json").read_bytes())
    if request.param == "models as evaluators":
        del document["models"]
    else:
        document = {"schema": "optimize-eval.run.v1", "plan": document["id"]}
    (tmp_path / "old" / "run.json").write_bytes(orjson.dumps(document))
    return tmp_path / "old"


def test_a_folder_of_before_the_first_release_is_refused_in_a_sentence(cli: Cli, old: Path) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    for command in (
        (*BENCH, "--out", "old"),
        ("report", "old"),
        ("report", "old", "--check"),
        ("diff", "old", "now"),
        ("diff", "now", "old"),
        ("view", "old"),
        ("rescore", "old", "-e", "@length_limit"),
    ):
        done = cli(*command)
        assert (done.status, done.stdout, done.stderr) == (2, "", REFUSED), command
    (listed,) = (one for one in cli("runs", ".", "--json").json["runs"] if one["run"] == "old")
    assert (listed["state"], "before 0.1.0" in listed["reason"]) == ("damaged", True)
    with pytest.raises(UsageError, match="version before"):
        load_run(old)
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
    assert cli(*BENCH, "--out", "old", "--fresh").status == 0
    assert cli("diff", "old", "now").status == 0
