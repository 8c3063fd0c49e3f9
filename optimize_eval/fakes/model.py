"""A fake model server: chat completions over real HTTP, as a file of rules says.

    python -m optimize_eval.fakes.model RULES [--port 0] [--record FILE]

Prints its base URL and serves until it is ended. Requests are listed at GET /requests and, one JSON object a
line, in the file of --record: everything but the value of Authorization. How rules are written is said in
rules. For tests and demos: loopback only, no TLS.
"""

import argparse
import contextlib
import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, BinaryIO, NoReturn

from optimize_eval.fakes.rules import (
    CHAT,
    FORMAT,
    BadRules,
    CannedReply,
    ChatRequest,
    Hangup,
    Rules,
    error,
    listing,
    load_rules,
    of_rule,
)

_LONGEST_BODY = 64 * 1024 * 1024
_LONGEST_LINE = 64 * 1024


class FakeServer(ThreadingTCPServer):
    """Accepts until it is ended; a thread for each connection."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, port: int, rules: Rules, record: BinaryIO | None) -> None:
        super().__init__(("127.0.0.1", port), _Connection)
        self.rules = rules
        self._record = record
        self._requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def note(self, request: dict[str, Any]) -> None:
        with self._lock:
            self._requests.append(request)
            if self._record:
                self._record.write(json.dumps(request, ensure_ascii=False).encode("utf-8", "replace") + b"\n")

    def requests(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._requests)


class _Connection(StreamRequestHandler):
    """One connection, request after request."""

    server: FakeServer
    disable_nagle_algorithm = True
    _is_last = False  # the client of the request that was read waits for the end of the connection

    def handle(self) -> None:
        with contextlib.suppress(OSError):  # the client left
            while request := self._read():
                answer = self._answer(*request)
                time.sleep(answer.delay)
                if answer.status is not None:
                    self.wfile.write(answer.on_the_wire())
                if answer.ending is Hangup.HANGING:
                    self.rfile.read(1)
                if answer.ending is not Hangup.KEPT or self._is_last:
                    return

    def _read(self) -> tuple[str, str, dict[str, str], bytes] | None:
        """Read a request; None where there is none to be understood."""
        first = self.rfile.readline(_LONGEST_LINE).decode("latin-1").split()
        headers: dict[str, str] = {}
        while line := self.rfile.readline(_LONGEST_LINE).decode("latin-1").strip():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        length = headers.get("content-length", "0")
        if len(first) < 2 or not length.isdecimal() or int(length) > _LONGEST_BODY:  # noqa: PLR2004
            return None
        asked_for = headers.get("connection", "keep-alive" if first[-1] != "HTTP/1.0" else "close").lower()
        self._is_last = "close" in asked_for
        if headers.get("expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return first[0], first[1].partition("?")[0], headers, self.rfile.read(int(length))

    def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> CannedReply:
        if method == "GET" and path == "/requests":
            return listing(self.server.requests())
        if method == "GET" and path.endswith("/models"):
            listed = [{"id": name, "object": "model"} for name in self.server.rules.models or ["fake-model"]]
            return listing({"object": "list", "data": listed})
        if method != "POST":
            return error(405, f"{method} is not served here: POST to /v1{CHAT}")
        return self._chat(path, headers, body)

    def _chat(self, path: str, headers: dict[str, str], raw: bytes) -> CannedReply:
        text = raw.decode("utf-8", "replace")
        request = ChatRequest(path=path, headers=headers, raw=text, body=_decoded(text))
        rule, answer = _choose(self.server.rules, request)
        self.server.note(
            {
                "path": path,
                "authorization": "authorization" in headers,
                "body": text if request.body is None else request.body,
                "rule": rule,
                "status": answer.status,
            }
        )
        return answer


def _choose(rules: Rules, request: ChatRequest) -> tuple[str | None, CannedReply]:
    """Find the rule for a request and what it answers."""
    if request.path.endswith(CHAT) and not isinstance(request.body, dict):
        return None, error(400, "the body is not a JSON object")
    if rules.models and request.model not in rules.models:
        return None, error(404, f"the model {request.model!r} does not exist", code="model_not_found")
    chosen = rules.choose(request)
    if chosen is None:
        last = "".join(request.texts("user"))[:80]
        return None, error(501, f"no rule of the fake model server matches: {last!r} to {request.path}")
    rule, filling = chosen
    return rule.name, replace(of_rule(rule, request, filling), delay=rule.delay)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or Ctrl-C; 2 where that cannot begin."""
    parser = argparse.ArgumentParser(
        prog="python -m optimize_eval.fakes.model",
        description=(__doc__ or "").partition("\n")[0],
        epilog=FORMAT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("rules", metavar="RULES", help="a TOML or JSON file with what to answer")
    parser.add_argument("--port", type=int, default=0, help="where to listen; 0, the default: any free port")
    parser.add_argument("--record", metavar="FILE", help="write each request there, one JSON object a line")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    try:
        rules = load_rules(given.rules)
        with contextlib.ExitStack() as opened:
            record = (
                opened.enter_context(Path(given.record).open("ab", buffering=0)) if given.record else None
            )
            server = opened.enter_context(FakeServer(given.port, rules, record))
            sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}/v1\n")
            sys.stdout.flush()
            server.serve_forever()
    except BadRules as bad:
        sys.stderr.writelines(f"error: {problem}\n" for problem in bad.problems)
    except (OSError, OverflowError) as error:
        sys.stderr.write(f"error: {error}\n")
    return 2


def _end(_number: int, _frame: object) -> NoReturn:
    sys.exit(0)


if __name__ == "__main__":
    sys.exit(main())
