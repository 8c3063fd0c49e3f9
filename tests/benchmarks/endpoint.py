"""HTTP: bare calls over 16 connections against wrk on the same server."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.benchmarks.calls import live, shared
from tests.benchmarks.measure import Row, compiled, median_ratio, wall

CALLS = 20_000
CONNECTIONS = 16
_RATE = re.compile(r"Requests/sec:\s+([\d.]+)")
_POST = 'wrk.method = \'POST\'; wrk.body = \'{"_protocol_version":2,"candidate":"x"}\''


def against_wrk() -> Row | None:
    if shutil.which("wrk") is None:
        return None
    with server() as url:
        evaluator = live(url)
        ratio = median_ratio(
            lambda: wall(shared(evaluator, CALLS, CONNECTIONS)) / CALLS,
            lambda: 1 / wrk_rate(url),
        )
        evaluator.close()
    return Row(what=f"HTTP, {CONNECTIONS} connections: wall against wrk", value=ratio, bar=8, unit="×")


def wrk_rate(url: str) -> float:
    """Let wrk post the smallest payload for a second; tell its requests per second."""
    script = compiled("http_server").with_name("post.lua")
    script.write_text(_POST)
    command = ["wrk", "-t", "2", "-c", str(CONNECTIONS), "-d", "1s", "-s", str(script), url]
    found = _RATE.search(subprocess.check_output(command, text=True))
    assert found, "wrk told no rate"
    return float(found[1])


@contextmanager
def server() -> Iterator[str]:
    """Serve on a free port; the URL is for whoever asks."""
    with subprocess.Popen([compiled("http_server")], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/"
        finally:
            server.kill()
