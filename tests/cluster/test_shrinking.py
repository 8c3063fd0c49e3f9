"""A cluster that gets smaller while runs go on: the last tests, as it stays so."""

import os
import signal
from pathlib import Path

from tests.cluster.raylets import Raylets, at_work_in, keys_of, started, summary_of, wait_until
from tests.front_door import Cli
from tests.paths import ROOT
from tests.tools import need_module

pytestmark = need_module("ray")

ROUTING = ROOT / "datasets" / "routing"
SWEEP = ("--candidate", f"{ROUTING}/*.txt", "--dataset", f"{ROUTING}/train.jsonl", "--repeats", "10", "-q")
BENCH = ("bench", str(ROOT / "datasets" / "tasks.jsonl"), "--model", "toy", "--model", "silent", "-q")


def test_the_shipped_sweep_and_a_bench_end_alike_where_a_node_is_killed(
    program: Cli, tmp_path: Path, cluster: Raylets
) -> None:
    sweep = ("-e", "@routing", *SWEEP)
    assert program("run", *sweep, "--out", "here").status == 0
    with started(tmp_path, cluster, *sweep) as running:
        os.kill(cluster.nodes[0], signal.SIGKILL)
        printed, said = running.communicate(timeout=60)
    assert (running.returncode, said.count("was lost")) == (0, 1), said
    assert printed.splitlines()[1:] == ["r"], printed
    assert len(keys_of(tmp_path / "r")) == len({*keys_of(tmp_path / "r")})
    assert summary_of(tmp_path / "r") == summary_of(tmp_path / "here")
    wait_until(lambda: not at_work_in(tmp_path))
    boards = []
    for where, options in {"bench": (), "bench-there": cluster.options}.items():
        done = program(*BENCH, "--out", where, *options, env=cluster.env)
        assert done.status == 0, done.stderr
        boards.append(summary_of(tmp_path / where))
    assert boards[0] == boards[1]


def test_a_run_whose_head_is_gone_ends_with_a_line_that_goes_on(
    program: Cli, tmp_path: Path, cluster: Raylets, judged: tuple[str, ...]
) -> None:
    asked = *judged, "--repeats", "4"
    with started(tmp_path, cluster, *asked) as running:
        os.kill(cluster.head, signal.SIGKILL)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 3, said
    assert f"error: no Ray cluster answers at {cluster.address}: Connection refused" in said
    wait_until(lambda: not at_work_in(tmp_path) - at_work_in(tmp_path, "ray::Actor"))  # Ray's own end later
    assert program("run", *asked, "--out", "r").status == 0
    assert len(keys_of(tmp_path / "r")) == len({*keys_of(tmp_path / "r")}) == 4 * 118
