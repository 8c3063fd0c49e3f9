"""The fake model server as a process for tests."""

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
    """Start the program that ships with these rules, and end it as users do."""
    path = folder / ("rules.toml" if isinstance(rules, str) else "rules.json")
    path.write_text(rules if isinstance(rules, str) else json.dumps(rules), encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, "-m", "optimize_eval.fakes.model", path], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        base = process.stdout.readline().strip()
        try:
            yield FakeModel(base)
        finally:
            process.terminate()
            status = process.wait(30)
    assert (bool(base), status) == (True, 0)
