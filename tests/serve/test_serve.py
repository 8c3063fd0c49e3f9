"""`optimize-eval serve` through its front door: what it answers, refuses, says, and how it ends."""

import os
import selectors
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.front_door import Cli
from tests.paths import PROGRAMS, ROOT
from tests.serve.serving import serve
from tests.tools import write_program

HIDDEN = "not-for-logs-4711"


def test_a_payload_is_answered_with_score_side_info_and_what_can_be_taken(tmp_path: Path) -> None:
    with serve(tmp_path, "-e", "@exact_match", "--concurrency", "5", "--workers", "3") as served:
        payload = {"candidate": "Hello!", "example": {"target": "hello!"}}
        status, body, headers = served.post(payload)
        health = served.ask("GET", "/").body
    assert (status, headers["content-type"]) == (200, "application/json")
    assert body == {"score": 1.0, "matched": "hello!", "targets": 1, "_capabilities": {"concurrency": 3}}
    assert health == {
        "schema": "optimize-eval.serve.v1",
        "name": "optimize-eval",
        "version": health["version"],
        "evaluator": "exact_match",
        "concurrency": 3,
        "in_flight": 0,
        "scored": 1,
        "failed": 0,
        "refused": 0,
    }
    assert served.log == "exact_match is served; Ctrl-C ends it\n"


def test_an_example_reaches_the_program_byte_for_byte(tmp_path: Path) -> None:
    program = write_program(
        tmp_path / "echo.py",
        [
            "#!/usr/bin/env python3",
            "import json, os, sys",
            "model = os.environ.get('OPTIMIZE_ANYTHING_TASK_MODEL')",
            "print(json.dumps({'score': 7, 'said': sys.stdin.read(), 'model': model}))",
        ],
    )
    big = "1" + "0" * 40
    example = f'{{"b": 1.50, "a" :\t{big},"ü":"\\u00fc"}}'
    body = f'{{\r\n "candidate": "\\u0041", "example": {example},\n "_id": "7"}}'.encode()
    with serve(tmp_path, "-e", program, "--task-model", "m/1") as served:
        first = served.post(body).body
        second = served.post({"candidate": "", "task_model": "m/2", "more": [1]}).body
    sent = f'{{"_protocol_version":2,"candidate":"A","example":{example},"task_model":"m/1"}}\n'
    assert (first["score"], first["said"], first["model"]) == (7, sent, "m/1")
    assert second["said"] == '{"_protocol_version":2,"candidate":"","task_model":"m/2"}\n'
    assert second["model"] == "m/2"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", "the body is empty: send the payload, one JSON object, in it"),
        (b"\xff{}", "the body is not UTF-8: byte 0xFF at offset 0"),
        (b"candidate=x", "line 1 column 1: expecting value"),
        (b'{\n "candidate": "x",}', "line 2 column 18: illegal trailing comma before end of object"),
        (b'{"candidate": "x", "candidate": "y"}', 'line 1 column 20: the key "candidate" is given twice'),
        (b'{"candidate": "x", "example": {"n": NaN}}', "line 1 column 37: NaN is not a JSON number"),
        (b'["x"]', "the body is JSON, but not an object"),
        (b"{}", 'the payload has no "candidate", the text to score'),
        (b'{"example": {},\n"candidate": 5}', 'line 2 column 14: "candidate" is not a text'),
        (
            b'{"candidate": "x", "example": null}',
            'line 1 column 31: "example" is not an object; leave it out where there is none',
        ),
        (
            b'{"candidate": "x", "task_model": 1}',
            'line 1 column 34: "task_model" is not a text; leave it out where there is none',
        ),
        (
            b'{"candidate": "x", "task_model": "\\u0000"}',
            "line 1 column 34: the task model holds a NUL character",
        ),
        (
            b'{"candidate": "x", "examples": [{}]}',
            'line 1 column 32: "examples" is a batch, which is not taken here: send one "example" each',
        ),
        (
            b'{"_protocol_version": 3, "candidate": "x"}',
            'line 1 column 23: "_protocol_version" is not 2',
        ),
    ],
)
def test_a_bad_payload_is_told_what_is_wrong_and_where(
    body: bytes, error: str, exact_match: "tuple[Any, ...]"
) -> None:
    (served,) = exact_match
    status, said, _ = served.post(body)
    if "trailing comma" in error and sys.version_info < (3, 13):
        error = "line 2 column 19: expecting property name enclosed in double quotes"
    assert (status, said) == (400, {"error": error})


@pytest.fixture(scope="module")
def exact_match(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serve(tmp_path_factory.mktemp("served"), "-e", "@exact_match") as served:
        yield (served,)


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/score", {}, 404),
        ("GET", "/../etc/passwd", {}, 404),
        ("PUT", "/", {}, 405),
        ("OPTIONS", "/", {}, 405),
        ("POST", "/", {"Origin": "http://evil.example"}, 403),
        ("POST", "/", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("GET", "/", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("POST", "/", {"Host": "evil.example"}, 403),
        ("GET", "/", {"Host": "evil.example:80"}, 403),
        ("GET", "/", {"Host": "192.0.2.1"}, 403),
        ("GET", "/", {"Host": "localhost.evil.example"}, 403),
        ("GET", "/", {"Host": "127.0.0.1, evil.example"}, 403),
        ("POST", "/", {"Content-Length": "-1"}, 400),
        ("POST", "/", {"Content-Length": "999999999999999999"}, 413),
        ("POST", "/", {"Transfer-Encoding": "chunked"}, 411),
    ],
)
def test_what_is_not_taken_is_refused_in_json(
    method: str, path: str, headers: dict[str, str], status: int, exact_match: "tuple[Any, ...]"
) -> None:
    (served,) = exact_match
    body = b'{"candidate": "x"}' if "Content-Length" not in headers else b""
    said = served.ask(method, path, body, headers)
    assert said.status == status
    assert isinstance(said.body["error"], str)
    assert (status == 405) == (said.headers.get("allow") == "GET, HEAD, POST")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:80", "127.9.9.9", ""])
def test_this_machine_is_asked_for_by_any_of_its_names(host: str, exact_match: "tuple[Any, ...]") -> None:
    (served,) = exact_match
    assert served.ask("GET", "/", headers={"Host": host, "Sec-Fetch-Site": "same-origin"}).status == 200


def test_a_name_that_is_not_the_servers_is_refused_until_it_is_allowed(tmp_path: Path) -> None:
    payload = {"candidate": "x", "example": {"target": "x"}}
    with serve(tmp_path, "-e", "@exact_match", "--allow-host", "Scores.internal") as served:
        assert served.post(payload, Host="scores.internal:8000").body["score"] == 1
        refused = served.post(payload, Host="rebound.example")
    assert refused.status == 403
    assert "the request is for the host 'rebound.example'" in refused.body["error"]
    assert "--allow-host" in refused.body["hint"]


def test_the_bound_on_a_body_is_told_to_a_client_of_ours(cli: Cli, exact_match: "tuple[Any, ...]") -> None:
    (served,) = exact_match
    done = cli("score", "-", "-e", served.url, stdin=b"x" * 17_000_000)
    assert done.json["kind"] == "http_status"
    assert done.json["message"] == "HTTP status 413: the body is larger than 16,777,216 bytes"
    assert cli("score", "-", "-e", served.url, stdin=b"x" * 16_000_000).json["kind"] == "reported"


def test_a_query_and_an_absolute_target_are_the_same_path(exact_match: "tuple[Any, ...]") -> None:
    (served,) = exact_match
    assert served.ask("GET", "/?verbose=1").status == 200
    assert served.ask("GET", served.url).status == 200
    assert served.ask("HEAD", "/").body == b""


def test_preflight_finds_nothing_wrong_with_it(cli: Cli, exact_match: "tuple[Any, ...]") -> None:
    (served,) = exact_match
    dataset = ROOT / "datasets" / "greetings.jsonl"
    done = cli("preflight", "-e", served.url, "--dataset", dataset, "--budget", "1")
    assert (done.status, "FAILED" in done.stdout) == (0, False)


def test_the_log_has_a_line_for_each_failed_call_and_none_of_its_contents(tmp_path: Path) -> None:
    program = write_program(
        tmp_path / "fails.py",
        [
            "#!/usr/bin/env python3",
            "import json, sys",
            "said = json.loads(sys.stdin.readline())['candidate']",
            "print(said)",
            "sys.exit(said)",
        ],
    )
    with serve(tmp_path, "-e", program) as served:
        said = served.post({"candidate": HIDDEN})
        served.post(f'{{"candidate": "{HIDDEN}'.encode())
    assert (said.status, said.body["kind"]) == (500, "exit_code")
    assert said.body["error"] == f"exit_code: exit status 1: {HIDDEN}"
    assert HIDDEN not in served.log
    (line,) = [line for line in served.log.splitlines() if "failed after" in line]
    assert line.endswith(" s: exit_code")


def test_a_broken_kept_alive_process_is_told_once_and_without_its_noise(tmp_path: Path) -> None:
    program = write_program(
        tmp_path / "noisy.py",
        [
            "#!/usr/bin/env python3",
            "import json, sys",
            "for number, line in enumerate(sys.stdin):",
            f"    if number: print('noise {HIDDEN}')",
            "    said = {'score': 0.5, '_id': json.loads(line).get('_id')}",
            "    print(json.dumps(said | {'_capabilities': {'persistent': True}}), flush=True)",
        ],
    )
    with serve(tmp_path, "-e", program, "--workers", "1") as served:
        assert [served.post({"candidate": ""}).status for _ in range(12)] == [200] * 12
    assert served.log.count("a kept-alive process broke") == 1
    assert HIDDEN not in served.log


def waiting_program(folder: Path) -> tuple[Path, Path, Path]:
    """Make a program that says through one FIFO that it runs, and answers when another one is opened."""
    begun, go = folder / "begun", folder / "go"
    os.mkfifo(begun)
    os.mkfifo(go)
    lines = ["#!/bin/sh", f"echo > '{begun}'", f"cat '{go}'", "echo '{\"score\": 0.25}'"]
    return write_program(folder / "waits.sh", lines), begun, go


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_lets_what_is_in_flight_be_answered(tmp_path: Path, number: signal.Signals) -> None:
    program, begun, go = waiting_program(tmp_path)
    with ThreadPoolExecutor() as threads, serve(tmp_path, "-e", program) as served:
        asked = threads.submit(served.post, {"candidate": ""})
        begun.read_text()
        served.ask_to_stop(number)
        served.await_refusal()
        go.write_text("")
        status, body, headers = asked.result(30)
        assert (status, body["score"], headers["connection"]) == (200, 0.25, "close")


def test_a_second_signal_breaks_off_what_is_in_flight_in_a_way_that_can_be_asked_again(
    tmp_path: Path,
) -> None:
    program, begun, _ = waiting_program(tmp_path)
    with ThreadPoolExecutor() as threads, serve(tmp_path, "-e", program, status=130) as served:
        asked = threads.submit(served.post, {"candidate": ""})
        begun.read_text()
        served.ask_to_stop(signal.SIGINT)
        served.await_refusal()
        served.ask_to_stop(signal.SIGINT)
        status, body, headers = asked.result(30)
        assert (status, body, headers["retry-after"]) == (503, {"error": "the server is being stopped"}, "1")


def test_idle_connections_do_not_hold_up_a_stop(tmp_path: Path) -> None:
    with serve(tmp_path, "-e", "@exact_match") as served:
        idle = [socket.create_connection(served.address) for _ in range(5)]
        for one in idle:
            one.sendall(b"HEAD / HTTP/1.1\r\n\r\n")
            assert one.recv(1000).startswith(b"HTTP/1.1 200 OK")
    for one in idle:
        assert one.recv(1) == b""
        one.close()


def test_no_turn_within_the_time_of_a_call_is_said_to_be_busy(tmp_path: Path) -> None:
    program, begun, _ = waiting_program(tmp_path)
    options = ("--concurrency", "1", "--timeout", "2")
    with ThreadPoolExecutor() as threads, serve(tmp_path, "-e", program, *options) as served:
        first = threads.submit(served.post, {"candidate": ""})
        begun.read_text()
        go_on = threads.submit(served.post, {"candidate": ""})
        answers = [first.result(30), go_on.result(30)]
    assert [one.status for one in answers] in ([500, 500], [500, 503])
    assert answers[0].body["kind"] == "timeout"


def test_five_hundred_clients_at_once_are_answered_or_told_to_come_again(tmp_path: Path) -> None:
    program, begun, _ = waiting_program(tmp_path)
    clients, waiting = 500, 1 + 256
    payload = b'{"candidate": ""}'
    head = b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(payload)
    with ExitStack() as open_, serve(tmp_path, "-e", program, "--concurrency", "1", status=130) as served:
        connections = [
            open_.enter_context(socket.create_connection(served.address, timeout=30)) for _ in range(clients)
        ]
        for one in connections:
            one.sendall(head + payload)
        begun.read_text()
        replies = await_replies(connections, clients - waiting)
        assert all(reply.startswith(b"HTTP/1.1 503 ") for reply in replies)
        assert all(b"\r\nRetry-After: 1\r\n" in reply for reply in replies)
        assert served.ask("GET", "/").body["in_flight"] == 1
        served.ask_to_stop()
        served.await_refusal()
        served.ask_to_stop()


def await_replies(connections: list[socket.socket], count: int) -> list[bytes]:
    """Read the first replies that come, one of each connection."""
    with selectors.DefaultSelector() as selector:
        for one in connections:
            selector.register(one, selectors.EVENT_READ)
        replies: list[bytes] = []
        while len(replies) < count:
            came = selector.select(30)
            assert came, f"only {len(replies)} replies came"
            for key, _ in came:
                selector.unregister(key.fileobj)
                replies.append(os.read(key.fd, 65536))
        return replies


def test_a_port_in_use_says_what_to_do(cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = cli("serve", "-e", "@exact_match", "--port", str(port))
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: cannot listen at 127.0.0.1 port {port}: address already in use\n"
        "  try: another program listens there: choose another --port, or 0 for a free one\n"
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-e", "http://127.0.0.1:1/"], "a URL needs no server"),
        (["-e", "@exact_match", "-e", "@routing"], "one evaluator is served, and 2 were named"),
        (["-e", "no-such"], "no-such cannot be served: no program no-such on PATH (install it"),
        (
            ["-e", "no-such-\udcff"],
            "no-such cannot be served: no program no-such-\\udcff on PATH (install it",
        ),
        (["-e", "python3 no_such.py"], "no_such cannot be served: there is no file no_such.py"),
        (["-e", "@exact_match", "--allow-host", "http://x/"], "'http://x/' is not a host"),
        (["-e", "@exact_match", "--host", "no such host"], "unknown host 'no such host'"),
        (["-e", "@exact_match", "--host", "192.0.2.1"], "cannot listen at 192.0.2.1 port 0: "),
    ],
)
def test_what_cannot_be_served_is_a_usage_error(cli: Cli, arguments: list[str], error: str) -> None:
    done = cli("serve", *arguments)
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {error}")
    assert "\n  try: " in done.stderr


def test_listening_beyond_this_machine_is_warned_of(tmp_path: Path) -> None:
    with serve(tmp_path, "-e", "@exact_match", "--host", "0.0.0.0") as served:  # noqa: S104  it is the point
        assert served.url.startswith("http://0.0.0.0:")
        assert served.ask("GET", "/").status == 200
        assert served.ask("GET", "/", headers={"Host": "192.0.2.1"}).status == 200
        assert served.ask("GET", "/", headers={"Host": "rebound.example"}).status == 403
    assert served.log.startswith("warning: it listens beyond this machine, and anybody who can reach it runs")


def test_a_program_that_is_not_there_is_told_to_who_asks(tmp_path: Path, cli: Cli) -> None:
    gone = write_program(tmp_path / "gone", ["#!/bin/sh", "echo '{\"score\": 1}'"])
    with serve(tmp_path, "-e", "./gone") as served:
        gone.unlink()
        done = cli("score", "-", "-e", served.url)
    assert done.json["message"].startswith("HTTP status 500: not_found: ")


def run_records(cli: Cli, folder: Path, *arguments: str | Path) -> tuple[dict[int, Any], dict[str, Any]]:
    done = cli("run", *arguments, "--out", folder, "--no-preflight", "--json")
    assert done.status == 0, done.stderr
    lines = [orjson.loads(line) for line in (folder / "journal.jsonl").read_bytes().splitlines()]
    (row,) = done.json["summary"]["rows"]
    return {line["line"]: line for line in lines if "outcome" in line}, row["splits"]["train"]


IN_JSON = ["error", "text", "null", "above", "missing"]
OTHERS = ["noise", "list", "number", "nothing", "nan", "huge", "latin", "exit", "killed", "late", "flood"]
NOT_CARRIED = {"exit_code", "killed", "timeout", "output_too_large"}
MANY = 200  # examples, of which some are odd


@pytest.mark.parametrize(
    ("program", "odd"),
    [("every_kind.sh", IN_JSON + OTHERS), ("every_kind_of_answer.py", IN_JSON)],
    ids=["once", "kept alive"],
)
def test_the_same_examples_give_the_same_outcomes_through_the_bridge(
    cli: Cli, tmp_path: Path, program: str, odd: list[str]
) -> None:
    command = PROGRAMS / program
    dos = ["score"] * (MANY - len(odd))
    for place, do in enumerate(odd):
        dos.insert(12 * place + 5, do)
    examples = [orjson.dumps({"do": do, "score": number / MANY}) for number, do in enumerate(dos)]
    (tmp_path / "train.jsonl").write_bytes(b"\n".join(examples))
    (tmp_path / "candidate.txt").write_text("x")
    material = ("--candidate", "candidate.txt", "--dataset", "train.jsonl")
    straight, mean = run_records(
        cli, tmp_path / "straight", "-e", command, *material, "--timeout", "2", "--retries", "1"
    )
    with serve(tmp_path, "-e", command, "--timeout", "2", "--retries", "1") as served:
        bridged, bridged_mean = run_records(cli, tmp_path / "bridged", "-e", served.url, *material)
    assert len(straight) == len(bridged) == MANY
    assert sum(record["outcome"] == "failed" for record in straight.values()) == len(odd)
    for line, record in straight.items():
        other = bridged[line]
        if record["outcome"] == "scored":
            assert (record["score"], record["side_info"]) == (other["score"], other["side_info"])
        elif record["kind"] in NOT_CARRIED:
            assert other["kind"] == "http_status"
            assert other["message"].startswith(f"HTTP status 500: {record['kind']}: {record['message'][:40]}")
        else:
            assert (record["kind"], dos[line - 1]) == (other["kind"], dos[line - 1])
            assert record.get("side_info") == other.get("side_info"), dos[line - 1]
    assert {key: value for key, value in mean.items() if key != "failures"} == {
        key: value for key, value in bridged_mean.items() if key != "failures"
    }
    lost = sum(mean["failures"].pop(kind, 0) for kind in NOT_CARRIED)
    assert bridged_mean["failures"] == mean["failures"] | ({"http_status": lost} if lost else {})
