#!/usr/bin/env python3
"""An evaluator over HTTP, with Python's standard library alone: exact match, as a start for your own.

    python3 server.py 8000    listens at http://127.0.0.1:8000/; 0 takes a free port and prints it

POST a payload, get {"score": …}. `evaluate` is the place to change things.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGEST = 16 * 1024 * 1024  # bytes in a body
AT_ONCE = 4  # requests that are of use at a time


def evaluate(payload: dict[str, Any]) -> dict[str, Any]:
    example = payload.get("example", {})
    targets = example.get("targets") or example.get("target")
    listed = [targets] if isinstance(targets, str) else targets
    if not listed:  # where there is no score to give, say why: that is a failure, and not a zero
        return {"error": f'the example has no "targets"; it has {", ".join(example) or "no field"}'}
    said = normal(payload["candidate"])
    return {"score": float(any(normal(target) == said for target in listed)), "targets": len(listed)}


def normal(text: str) -> str:
    return " ".join(text.lower().split())


class Evaluator(BaseHTTPRequestHandler):
    """Takes payloads; every reply has its length, so that connections are kept."""

    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that a silent client keeps its thread
    disable_nagle_algorithm = True  # without it, each reply may wait 40 ms for the client's word

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if size > LARGEST:
            self.close_connection = True
            return self.reply(413, {"error": f"the body is larger than {LARGEST:,} bytes"})
        try:
            payload = json.loads(self.rfile.read(size))
            answer = evaluate(payload)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            return self.reply(400, {"error": f"not a payload: {error!r}"})
        return self.reply(200, answer | {"_capabilities": {"concurrency": AT_ONCE}})

    def reply(self, status: int, answer: dict[str, Any]) -> None:
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: payloads are nobody's business."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 8000), Evaluator)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()
