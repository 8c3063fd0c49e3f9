"""A cluster that gets smaller while a run goes on: the last tests, as it stays so."""

import os
import signal
from pathlib import Path

from tests.cluster.raylets import Raylets, at_work_in, keys_of, started, wait_until
from tests.tools import need_module

pytestmark = need_module("ray")


def test_a_node_that_is_killed_is_done_without(
    tmp_path: Path, cluster: Raylets, judged: tuple[str, ...]
) -> None:
    with started(tmp_path, cluster, *judged) as running:
        os.kill(cluster.nodes[0], signal.SIGKILL)
        printed, said = running.communicate(timeout=40)
    assert (running.returncode, said.count("was lost")) == (0, 1), said
    assert printed.splitlines()[1:] == ["r"], printed
    assert len(keys_of(tmp_path / "r")) == len({*keys_of(tmp_path / "r")}) == 118
    wait_until(lambda: not at_work_in(tmp_path))
