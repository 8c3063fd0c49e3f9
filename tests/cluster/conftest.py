"""One cluster for all tests that need one, and what is run on it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.raylets import Raylets, raylets

JUDGE = """#!/bin/sh
read -r line
[ ! -e slow ] || sleep 0.2
[ ! -e stuck ] || setsid sleep 600
case $line in *'"n": 7}'*) exit 3 ;; esac
n=${line##*'"n": '}
echo "{\\"score\\": 0.$((${n%%\\}*} % 10))}"
"""


@pytest.fixture(scope="session")
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
