"""The fake model server for tests: in a thread, which costs no start, or the program that ships."""

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from optimize_eval.fakes.model import FakeServer
from optimize_eval.fakes.rules import load_rules
from tests.serving import serving

Rule = Mapping[str, Any]
Rules = str | Sequence[Rule]  # a TOML text, or the list of rules


@dataclass(frozen=True, slots=True)
class FakeModel:
    """A server that runs: its base URL, and what it was asked."""

    base: str

    def requests(self) -> list[dict[str, Any]]:
        with contextlib.closing(http.client.HTTPConnection(urlsplit(self.base).netloc, timeout=30)) as asking:
            asking.request("GET", "/requests")
            asked: list[dict[str, Any]] = json.load(asking.getresponse())
        return asked

    def bodies(self) -> list[dict[str, Any]]:
        return [request["body"] for request in self.requests()]


StartModel = Callable[[Rules], FakeModel]


@contextlib.contextmanager
def served_model(rules: Rules, folder: Path) -> Iterator[FakeModel]:
    """Serve these rules from a thread; connections end with the clients that opened them."""
    with serving(FakeServer(0, load_rules(str(_written(rules, folder))), None)) as server:
        yield FakeModel(f"http://127.0.0.1:{server.server_address[1]}/v1")


@contextlib.contextmanager
def model_program(rules: Rules, folder: Path) -> Iterator[FakeModel]:
    """Start the program that ships with these rules, and end it as users do."""
    with subprocess.Popen(
        [sys.executable, "-m", "optimize_eval.fakes.model", _written(rules, folder)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        base = process.stdout.readline().strip()
        try:
            yield FakeModel(base)
        finally:
            process.terminate()
            status = process.wait(30)
    assert (bool(base), status) == (True, 0)


def _written(rules: Rules, folder: Path) -> Path:
    path = folder / ("rules.toml" if isinstance(rules, str) else "rules.json")
    path.write_text(rules if isinstance(rules, str) else json.dumps(rules), encoding="utf-8")
    return path
