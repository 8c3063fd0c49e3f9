"""Law 2: however an evaluator is reached, its answers over all shipped examples are the same."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from optimize_eval import shipped
from optimize_eval.connect import connect, parse_evaluator
from optimize_eval.datasets import load_examples
from optimize_eval.errors import EvaluationError
from optimize_eval.protocol import Answer, Payload
from optimize_eval.reach import EvaluatorSpec
from tests.conftest import ROOT

FIVE_LINES = f"{sys.executable} {ROOT}/tests/faults/programs/five_lines.py"
WINDOWED = f"{sys.executable} {ROOT}/tests/faults/programs/worker_window.py"
EVALUATORS = ["@exact_match", "@exact_match@strict", "@f1", FIVE_LINES, WINDOWED]


def payloads() -> list[Payload]:
    (examples,) = load_examples([shipped.path("datasets/greetings.jsonl")])
    texts = ["", "Hello, Ada!", "hello,  zoë!", "Hi, Grace!\n", "\u202e\0🙂"]
    return [Payload(candidate=text, example=example.raw) for example in examples for text in texts]


def outcome(result: Answer | EvaluationError) -> object:
    if isinstance(result, EvaluationError):
        return str(result.kind), result.message
    return result.score, dict(result.side_info)


def outcomes(spec: EvaluatorSpec, *, slots: int) -> list[object]:
    evaluator = connect(spec)

    def ask(payload: Payload) -> object:
        try:
            return outcome(evaluator.call(payload, time.monotonic() + 30))
        except EvaluationError as error:
            return outcome(error)

    try:
        with ThreadPoolExecutor(slots) as threads:
            found = list(threads.map(ask, payloads()))
            assert evaluator.note == ""
            assert [outcome(result) for result in evaluator.call_many(payloads(), 30)] == found
            return found
    finally:
        evaluator.close()


@pytest.mark.parametrize("text", EVALUATORS, ids=["normalised", "strict", "f1", "five lines", "windowed"])
def test_one_shot_kept_alive_windowed_batched_and_over_http_agree(text: str) -> None:
    spec = parse_evaluator(text, EvaluatorSpec())
    one_by_one = outcomes(replace(spec, persistent=False), slots=1)
    assert len({str(found) for found in one_by_one}) > 1
    assert outcomes(replace(spec, persistent=False), slots=8) == one_by_one
    assert outcomes(spec, slots=1) == one_by_one
    assert outcomes(spec, slots=8) == one_by_one
    assert outcomes(replace(spec, persistent=True, workers=3), slots=8) == one_by_one
    with behind_http(spec.argv) as url:
        assert outcomes(parse_evaluator(url, EvaluatorSpec()), slots=4) == one_by_one


@contextmanager
def behind_http(argv: tuple[str, ...]) -> Iterator[str]:
    """Put a program behind HTTP: each body is what it reads, each answer what it prints."""

    class Bridge(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = subprocess.run(argv, input=body, capture_output=True, check=True).stdout
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Bridge)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
