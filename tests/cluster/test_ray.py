"""A run on a Ray cluster is the run that it is here, whatever becomes of nodes and of the driver."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.raylets import Raylets, raylets
from tests.front_door import Cli
from tests.tools import need_module

pytestmark = [need_module("ray"), pytest.mark.xdist_group("ray")]

JUDGE = """#!/bin/sh
read -r line
case $line in *'"n": 7}'*) exit 3 ;; esac
n=${line##*'"n": '}
echo "{\\"score\\": 0.$((${n%%\\}*} % 10))}"
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Raylets]:
    with raylets(tmp_path_factory.mktemp("raylets")) as running:
        yield running


@pytest.fixture
def judged(tmp_path: Path) -> tuple[str, ...]:
    """Write an evaluator, two candidates and 60 examples; gives the options that name them."""
    (tmp_path / "judge.sh").write_text(JUDGE)
    (tmp_path / "judge.sh").chmod(0o755)
    rows = [json.dumps({"id": f"e{n}", "n": n}) for n in range(1, 61)]
    (tmp_path / "d.jsonl").write_text("\n".join(rows) + "\n")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    return "-e", "./judge.sh", "--candidate", "a.txt", "--candidate", "b.txt", "--dataset", "d.jsonl", "-q"


def summary_of(run: Path) -> object:
    """Read a summary but for what depends on how long calls took."""
    summary = json.loads((run / "summary.json").read_text())
    return {key: value for key, value in summary.items() if key not in {"latency", "journal"}}


def keys_of(run: Path) -> list[str]:
    lines = map(json.loads, (run / "journal.jsonl").read_text().splitlines())
    return [line["key"] for line in lines if line.get("outcome") in {"scored", "skipped"}]


def test_a_run_on_two_nodes_has_the_summary_of_one_here(
    program: Cli, tmp_path: Path, cluster: Raylets, judged: tuple[str, ...]
) -> None:
    assert program("run", *judged, "--out", "here").status == 0
    done = program("run", *judged, "--out", "there", *cluster.options, env=cluster.env)
    assert (done.status, done.stderr.count("lost")) == (0, 0), done.stderr
    assert summary_of(tmp_path / "there") == summary_of(tmp_path / "here")


def test_preflight_asks_every_node_and_says_what_one_does_not_have(
    program: Cli, tmp_path: Path, cluster: Raylets, judged: tuple[str, ...]
) -> None:
    (tmp_path / "copied").mkdir()
    (tmp_path / "copied" / "judge.sh").write_text("#!/bin/sh\necho '{}'\n")
    asked = ("preflight", *judged[:-1], *cluster.options, "--json")
    told = program(*asked, env=cluster.env).json["nodes"]
    assert [node["ok"] for node in told] == [True, True]
    assert all(node["seconds"]["judge"] > 0 for node in told)
    other = program(*asked, "--working-dir", "copied", env=cluster.env)
    assert [node["ok"] for node in other.json["nodes"]] == [False, False]
    assert (other.status, "judge.sh" in other.json["nodes"][0]["checks"][0]["message"]) == (1, True)
