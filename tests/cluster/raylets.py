"""A Ray cluster of this machine, started beside tests: a head without processors, nodes with one each.

As a program it starts the cluster, prints where it is, and ends with its stdin: tests themselves load no Ray.
"""

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.paths import PROGRAM

OF_NODES = "of-nodes-alone"  # what ${SECRET} is in their environment
_SLACK = {  # a dead node is seen as such in two seconds
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 500,
    "health_check_failure_threshold": 3,
}


@dataclass(frozen=True, slots=True)
class Raylets:
    """A cluster: where it is, what reaches it, and the processes of its nodes."""

    address: str
    env: Mapping[str, str]
    nodes: tuple[int, ...]
    head: int  # its control store
    session: Path  # where Ray keeps its logs

    @property
    def options(self) -> tuple[str, ...]:
        return "--engine", "ray", "--address", self.address, "--slots-per-node", "4"


@contextmanager
def raylets(folder: Path, nodes: int = 2) -> Iterator[Raylets]:
    """Start a cluster whose token nobody else knows."""
    token = folder / "token"
    token.write_text(secrets.token_hex(16))
    token.chmod(0o600)
    env = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token), "RAY_USAGE_STATS_ENABLED": "0"}
    with subprocess.Popen(
        [sys.executable, __file__, str(nodes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **env, "SECRET": OF_NODES},
        cwd=folder,
    ) as running:
        assert running.stdin
        assert running.stdout
        started = json.loads(running.stdout.readline())
        try:
            where = Path(started["session"])
            yield Raylets(started["address"], env, tuple(started["nodes"]), started["head"], where)
        finally:
            running.stdin.close()
            running.wait(30)


def summary_of(run: Path) -> Any:
    """Read a summary but for what depends on how long calls took."""
    summary = json.loads((run / "summary.json").read_text())
    return {key: value for key, value in summary.items() if key not in {"latency", "journal"}}


def keys_of(run: Path) -> list[str]:
    journal = run / "journal.jsonl"
    lines = map(json.loads, journal.read_text().splitlines() if journal.exists() else ())
    return [line["key"] for line in lines if line.get("outcome") in {"scored", "skipped"}]


@contextmanager
def started(folder: Path, cluster: Raylets, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a run whose evaluator takes its time, or go on with it, and wait until some of it is done."""
    (folder / "slow").touch()
    before = len(keys_of(folder / "r"))
    with subprocess.Popen(
        [PROGRAM, "run", *arguments, "--out", "r", *cluster.options],
        cwd=folder,
        env={**os.environ, **cluster.env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        wait_until(lambda: len(keys_of(folder / "r")) > before + 10)
        yield running
        (folder / "slow").unlink()


def wait_until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.01)


def at_work_in(folder: Path, words: str = "") -> set[int]:
    """List the processes that a folder is the current one of, whose command lines begin so."""
    return {int(path.name) for path in Path("/proc").glob("[0-9]*") if is_in(path, folder, words)}


def is_in(process: Path, folder: Path, words: str) -> bool:
    try:
        line = (process / "cmdline").read_bytes().replace(b"\0", b" ")
        return (process / "cwd").readlink() == folder and line.startswith(words.encode())
    except OSError:
        return False


def main() -> None:
    from ray.cluster_utils import Cluster

    memory = 80_000_000
    head = {
        "num_cpus": 0,
        "include_dashboard": False,
        "object_store_memory": memory,
        "_system_config": _SLACK,
    }
    cluster = Cluster(initialize_head=True, connect=False, head_node_args=head)
    nodes = [
        cluster.add_node(num_cpus=1, object_store_memory=memory, wait=False) for _ in range(int(sys.argv[1]))
    ]
    pids = [process.process.pid for node in nodes for process in node.all_processes["raylet"]]
    (store,) = cluster.head_node.all_processes["gcs_server"]
    session = cluster.head_node.get_session_dir_path()
    there = {"address": cluster.address, "nodes": pids, "head": store.process.pid, "session": session}
    print(json.dumps(there), flush=True)  # noqa: T201  it is read
    sys.stdin.read()
    cluster.shutdown()


if __name__ == "__main__":
    main()
