"""The two servers that one may start one's own from: ready by preflight, and scoring as @exact_match does."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.front_door import Cli
from tests.paths import ROOT
from tests.tools import need

SERVERS = ROOT / "evaluators" / "servers"
DATASET = ROOT / "datasets" / "greetings.jsonl"
COMMANDS = [
    pytest.param((sys.executable, SERVERS / "server.py"), id="python"),
    pytest.param(("node", SERVERS / "server.mjs"), id="node", marks=need("node")),
]


@contextlib.contextmanager
def running(command: tuple[str | Path, ...]) -> Iterator[str]:
    with subprocess.Popen([*command, "0"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("command", COMMANDS)
def test_it_is_ready_and_scores_as_the_metric_does(
    cli: Cli, tmp_path: Path, command: tuple[str | Path, ...]
) -> None:
    (tmp_path / "plain.txt").write_text("hello, \tADA!\n")
    (tmp_path / "wrong.txt").write_text("")
    (tmp_path / "not_ascii.txt").write_text("hello, zoë!")
    with running(command) as url:
        ready = cli("preflight", "-e", url, "--candidate", "*.txt", "--dataset", DATASET, "--budget", "2")
        assert (ready.status, "FAILED" in ready.stdout) == (0, False), ready.stdout
        options = ("--candidate", "*.txt", "--dataset", DATASET, "--json")
        done = cli("run", "-e", url, "-e", "@exact_match", *options)
    rows = done.json["summary"]["rows"]
    means = {(row["evaluator"], row["candidate"]): row["splits"]["train"]["mean"] for row in rows}
    assert len(means) == 6
    for (evaluator, candidate), mean in means.items():
        assert mean == means["exact_match", candidate], evaluator
    assert {row["splits"]["train"]["failed"] for row in rows} == {0}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_it_cannot_score_is_no_zero(cli: Cli, command: tuple[str | Path, ...]) -> None:
    with running(command) as url:
        unnamed = cli("score", "-", "-e", url, "--example", '{"input": "x"}').json
        not_text = cli("score", "-", "-e", url, "--example", '{"targets": [5]}').json
        too_large = cli("score", "-", "-e", url, stdin=b"x" * 17_000_000).json
    assert unnamed["kind"] == "reported"
    assert unnamed["message"] == 'the example has no "targets"; it has input'
    assert not_text["kind"] == "http_status"
    assert not_text["message"].startswith("HTTP status 400: not a payload: ")
    assert too_large["outcome"] == "failed"
