"""A run on a Ray cluster is the run that it is here, whatever becomes of nodes and of the driver."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.raylets import OF_NODES, Raylets, at_work_in, keys_of, started, summary_of, wait_until
from tests.front_door import Cli
from tests.tools import need_module

pytestmark = [need_module("ray"), pytest.mark.xdist_group("ray")]


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


def test_actors_that_are_killed_leave_nothing_running_no_unit_undone_and_none_done_twice(
    program: Cli, tmp_path: Path, cluster: Raylets, judged: tuple[str, ...]
) -> None:
    assert program("run", *judged, "--out", "here").status == 0
    with started(tmp_path, cluster, *judged) as running:
        (tmp_path / "stuck").touch()
        wait_until(lambda: len(at_work_in(tmp_path, "sleep 600")) > 1)
        (tmp_path / "stuck").unlink()
        stuck = at_work_in(tmp_path, "sleep 600")
        for actor in at_work_in(tmp_path, "ray::Actor"):
            os.kill(actor, signal.SIGKILL)
        wait_until(lambda: not stuck & at_work_in(tmp_path))
        _, said = running.communicate(timeout=40)
    assert (running.returncode, said.count("was lost")) == (0, 2), said
    assert len(keys_of(tmp_path / "r")) == len({*keys_of(tmp_path / "r")}) == 118
    assert summary_of(tmp_path / "r") == summary_of(tmp_path / "here")


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 130)]
)
def test_a_driver_that_ends_leaves_nothing_running_and_the_same_command_goes_on(
    program: Cli, tmp_path: Path, cluster: Raylets, judged: tuple[str, ...], number: int, status: int
) -> None:
    with started(tmp_path, cluster, *judged) as running:
        running.send_signal(number)
        assert running.wait(20) == status
        wait_until(lambda: not at_work_in(tmp_path))
    assert program("run", *judged, "--out", "r", *cluster.options, env=cluster.env).status == 0
    assert len(keys_of(tmp_path / "r")) == len({*keys_of(tmp_path / "r")}) == 118


OTHER_RAY = "import sys, ray; ray.__version__ = '9.9'; from optimize_eval.cli import main; main()"


def test_a_wrong_token_another_ray_and_a_closed_port_are_one_line(
    program: Cli, tmp_path: Path, cluster: Raylets, judged: tuple[str, ...]
) -> None:
    other = subprocess.run(
        [sys.executable, "-c", OTHER_RAY, "run", *judged, "--out", "r", *cluster.options],
        env={**os.environ, **cluster.env},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 3
    assert f"error: the Ray cluster at {cluster.address} has Ray " in other.stderr
    assert "; here are Ray 9.9 and Python " in other.stderr.splitlines()[0]
    (tmp_path / "token").write_text("0" * 32)
    wrong = {**cluster.env, "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    refused = program("run", *judged, "--out", "r", *cluster.options, env=wrong)
    assert refused.status == 3
    assert refused.stderr.startswith(f"error: the Ray cluster at {cluster.address} does not take our token\n")
    closed = program("run", *judged, "--out", "r", "--engine", "ray", "--address", "127.0.0.1:1")
    assert closed.status == 3
    assert closed.stderr.splitlines()[0] == "error: no Ray cluster answers at 127.0.0.1:1: Connection refused"
    assert not (tmp_path / "r").exists()


SECRETIVE = """#!/bin/sh
read -r line
echo "{\\"score\\": 0.${#TOKEN}}"
"""


def test_secrets_are_those_of_a_nodes_own_environment_and_reach_no_log(
    program: Cli, tmp_path: Path, cluster: Raylets, judged: object
) -> None:
    assert judged  # its data
    (tmp_path / "judge.sh").write_text(SECRETIVE)
    evaluator = 'name = "e"\ncommand = "./judge.sh"\nenv = { TOKEN = "${SECRET}" }\n'
    where = f'engine = "ray"\naddress = "{cluster.address}"\n'
    axes = 'candidates = ["a.txt"]\ndataset = "d.jsonl"\nout = "r"\n'
    (tmp_path / "sweep.toml").write_text(f"[run]\n{where}{axes}[[evaluator]]\n{evaluator}")
    of_the_driver = "of-the-driver"
    done = program("run", "sweep.toml", "--limit", "3", env={**cluster.env, "SECRET": of_the_driver})
    assert done.status == 0, done.stderr
    lines = (tmp_path / "r" / "journal.jsonl").read_text().splitlines()
    scores = [json.loads(line).get("score") for line in lines]
    assert {*scores} == {None, float(f"0.{len(OF_NODES)}")}
    written = [path for folder in (cluster.session, tmp_path / "r") for path in folder.rglob("*")]
    texts = [path.read_bytes() for path in written if path.is_file()]
    assert texts
    assert not any(word.encode() in text for word in (of_the_driver, OF_NODES) for text in texts)
