"""What tests of benches share: models as programs and behind HTTP, a task file, the board that is left."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from tests.cli.quick import JSON
from tests.serving import serving
from tests.tools import write_program

TIMES = {"timestamp", "latency_ms", "run", "status"}
MODEL = """#!{python} -S
import os, sys
{json}
log = os.environ.get("CALLS")
for line in sys.stdin:
    asked = json.loads(line)
    if log:
        with open(log, "a") as calls:
            calls.write(asked["prompt"][-20:] + "\\n")
    said = {answer}
    said = said if isinstance(said, dict) else {{"text": said}}
    said |= {{"_id": asked.get("_id"), "_capabilities": {{"persistent": True}}}}
    print(json.dumps(said), flush=True)
"""


def model(path: Path, answer: str) -> str:
    """Write a model that answers with the value of a Python expression about `asked`."""
    write_program(path, MODEL.format(python=sys.executable, json=JSON, answer=answer).splitlines())
    return f"cmd:./{path.name}"


def arithmetic(folder: Path, *, size: int = 12, name: str = "sums.jsonl") -> Path:
    path = folder / name
    records = [
        {"id": f"q{n}", "prompt": f"{n} + {n} =", "targets": [str(2 * n)], "metric": "exact_match"}
        for n in range(size)
    ]
    path.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records))
    return path


RIGHT = "str(2 * int(asked['prompt'].split()[0]))"
OFTEN_WRONG = "str(2 * int(asked['prompt'].split()[0]) + (int(asked['prompt'].split()[0]) % 3 == 0))"


def board_in(folder: Path, name: str = "leaderboard.json") -> dict[str, Any]:
    board: dict[str, Any] = orjson.loads((folder / name).read_bytes())
    return board


def timeless(value: Any) -> Any:
    match value:
        case dict():
            return {key: timeless(item) for key, item in value.items() if key not in TIMES}
        case list():
            return [timeless(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model behind HTTP that doubles the first number of a prompt, and what it was sent."""

    url: str
    requests: list[tuple[str | None, dict[str, Any]]] = field(default_factory=list)


@contextmanager
def served_model(token: str = "") -> Iterator[ServedModel]:
    """Serve one; with a token it refuses who does not send it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            sent = self.headers["Authorization"]
            served.requests.append((sent, asked))
            is_known = not token or sent == f"Bearer {token}"
            said = _doubled(asked) if is_known else {"error": f"who is {sent}?"}
            body = json.dumps(said).encode()
            self.send_response(200 if is_known else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        served = ServedModel(f"http://127.0.0.1:{server.server_port}")
        yield served


def _doubled(asked: dict[str, Any]) -> dict[str, Any]:
    def text(prompt: str) -> dict[str, Any]:
        return {"text": str(2 * int(prompt.split(maxsplit=1)[0]))}

    if "prompts" in asked:
        return {"results": [text(prompt) for prompt in asked["prompts"]]}
    return text(asked["prompt"]) | {"_capabilities": {"batch": 4}}
