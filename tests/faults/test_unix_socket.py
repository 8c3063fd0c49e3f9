"""Servers on Unix sockets, well and badly behaved: each fault has its kind, and the next call is sound."""

import json
import pickle
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from optimize_eval.base.errors import EvaluationError, UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Answer, Payload
from optimize_eval.evaluators.kinds import connect, identify, parse_evaluator
from tests.faults.line_servers import LineServer, listening
from tests.front_door import Cli

SOCKET = "s.sock"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LineServer]:
    monkeypatch.chdir(tmp_path)
    with listening(SOCKET) as running:
        yield running


@pytest.fixture
def evaluator(server: LineServer) -> Iterator[Evaluator]:
    assert not server.payloads
    live = connect(parse_evaluator(f"unix:{SOCKET}", EvaluatorSpec()))
    yield live
    live.close()


def call(evaluator: Evaluator, candidate: str, seconds: float = 20.0) -> Answer:
    answer = evaluator.call(Payload(candidate=candidate), time.monotonic() + seconds)
    assert isinstance(answer, Answer)
    return answer


def test_a_run_over_a_socket_keeps_one_connection(cli: Cli, server: LineServer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    (tmp_path / "d.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(20)))
    (tmp_path / "s.toml").write_text(
        f'[run]\ncandidates = ["a.txt"]\ndataset = "d.jsonl"\n[[evaluator]]\nunix = "{SOCKET}"\n'
    )
    result = cli("run", "s.toml", "--json", "--out", "r")
    assert result.status == 0, result.stderr
    assert result.json["summary"]["rows"][0]["splits"]["train"]["mean"] == 0.5
    assert (len(server.payloads), server.connections) == (20, 1)
    assert server.payloads[0]["example"] == {"n": 0}
    [known] = json.loads((tmp_path / "r/run.json").read_bytes())["evaluators"]
    assert (known["name"], known["text"]) == ("s", f"unix:{SOCKET}")


FAULTS = {  # the trait → the kind of failure, what is said
    "ends": ("http_protocol", "it ended the connection without an answer"),
    "ends within": ("http_protocol", "it ended the connection in the middle of an answer"),
    "no end of line": ("output_too_large", "more than 8 MiB in one line"),
    "no JSON": ("invalid_json", "the answer"),
    "not UTF-8": ("invalid_utf8", ""),
    "no object": ("not_an_object", ""),
    "no _id": ("http_protocol", "without the _id of its payload"),
    "another _id": ("http_protocol", "it answered '77' when '1' was sent"),
    "out of range": ("score_out_of_range", "1.5"),
}


@pytest.mark.parametrize(
    ("trait", "kind", "said"), [(trait, *told) for trait, told in FAULTS.items()], ids=FAULTS
)
def test_a_fault_is_a_failure_and_the_next_call_is_sound(
    evaluator: Evaluator, trait: str, kind: str, said: str
) -> None:
    with pytest.raises(EvaluationError) as caught:
        call(evaluator, trait)
    assert (caught.value.kind, said in caught.value.message) == (kind, True)
    assert caught.value.hint
    assert call(evaluator, "hello").score == 0.5


def test_a_slow_server_is_a_timeout_and_its_late_answer_is_nobodys(
    evaluator: Evaluator, server: LineServer
) -> None:
    with pytest.raises(EvaluationError) as caught:
        call(evaluator, "never", 0.05)
    assert caught.value.kind == "timeout"
    assert call(evaluator, "hello").score == 0.5
    assert server.connections == 2


@pytest.mark.parametrize("trait", ["ends after each answer", "twice"])
def test_a_connection_that_does_not_stand_is_replaced(
    evaluator: Evaluator, server: LineServer, trait: str
) -> None:
    scores = [call(evaluator, trait).score for _ in range(3)]
    assert (scores, len(server.payloads), server.connections) == ([0.5] * 3, 3, 3)


def test_a_long_payload_and_what_else_an_answer_says(evaluator: Evaluator, server: LineServer) -> None:
    answer = call(evaluator, "é" * 2_000_000)
    assert (answer.score, answer.side_info) == (0.5, {"note": "fine"})
    assert len(server.payloads[0]["candidate"]) == 2_000_000


def test_calls_wait_for_each_other_until_the_server_declares_that_it_takes_several(tmp_path: Path) -> None:
    with listening(tmp_path / SOCKET, at_once=3) as server, ThreadPoolExecutor(6) as slots:
        live = connect(parse_evaluator(f"unix:{SOCKET}", EvaluatorSpec(cwd=str(tmp_path))))
        assert {one.score for one in slots.map(lambda _n: call(live, "hello"), range(12))} == {0.5}
        assert (server.connections, live.capacity.calls) == (1, 1)
        call(live, "declares")
        assert live.capacity.calls == 3
        assert {one.score for one in slots.map(lambda _n: call(live, "meets"), range(6))} == {0.5}
        assert server.connections == 3
        live.close()


def test_closing_ends_a_call_in_flight(evaluator: Evaluator, server: LineServer) -> None:
    failures = []

    def wait() -> None:
        with pytest.raises(EvaluationError) as caught:
            call(evaluator, "never")
        failures.append(caught.value)

    thread = threading.Thread(target=wait)
    thread.start()
    while not server.payloads:
        thread.join(0.01)
    evaluator.close()
    thread.join()
    assert failures[0].kind == "http_protocol"


def nothing(_path: Path) -> None:
    """Leave the place empty."""


def nobody(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(path.name)


ABSENT = {
    nothing: ("not_found", f"there is no socket {SOCKET}"),
    nobody: ("http_connect", f"no connection to {SOCKET}: nobody listens there"),
    Path.touch: ("not_found", f"{SOCKET} is no socket"),
    Path.mkdir: ("not_found", f"{SOCKET} is no socket"),
}


@pytest.mark.parametrize("make", ABSENT)
def test_no_server_is_told_apart(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: object
) -> None:
    monkeypatch.chdir(tmp_path)
    assert callable(make)
    make(tmp_path / SOCKET)
    (tmp_path / "a.txt").touch()
    result = cli("score", "a.txt", "-e", f"unix:{SOCKET}", "--retries", "0")
    assert result.status == 4
    assert (result.json["kind"], result.json["message"]) == ABSENT[make]
    assert "start the server" in result.json["hint"]


@pytest.mark.parametrize(
    ("text", "said"), {"unix:": "names no socket", f"unix:{'x' * 120}": "too long"}.items()
)
def test_a_path_that_is_none_is_refused_before_any_call(
    cli: Cli, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "a.txt").touch()
    result = cli("run", "--candidate", "a.txt", "-e", text)
    assert (result.status, said in result.stderr) == (2, True)
    assert not (tmp_path / "runs").exists()


def test_preflight_examines_a_server_and_its_line_by_hand_works(
    cli: Cli, server: LineServer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("hello")
    result = cli("preflight", "-e", f"unix:{SOCKET}", "--candidate", "a.txt", "--json")
    checks = {one["name"]: one["status"] for one in result.json["evaluators"][0]["checks"]}
    assert (result.status, checks["at once"], checks["kept alive"]) == (0, "pass", "skip")
    (tmp_path / "a.txt").write_text("out of range")
    result = cli("preflight", "-e", f"unix:{SOCKET}", "--candidate", "a.txt", "--json")
    [failed] = [one for one in result.json["evaluators"][0]["checks"] if one["status"] == "fail"]
    line = subprocess.run(["bash", "-c", failed["reproduce"]], capture_output=True, cwd=tmp_path, check=True)
    assert (json.loads(line.stdout)["score"], json.loads(line.stdout)["_id"]) == (1.5, "1")
    assert server.payloads


def test_a_socket_is_known_by_what_was_written_never_by_an_absolute_path() -> None:
    specs = [
        parse_evaluator(f"unix:{path}", EvaluatorSpec()) for path in ("a/s.sock", "/x/s.sock", "/y/s.sock")
    ]
    texts = [identify(spec).text for spec in specs]
    assert texts == ["unix:a/s.sock", "unix:s.sock", "unix:s.sock"]
    assert len({identify(spec).sha256 for spec in specs}) == 2
    assert pickle.loads(pickle.dumps(specs)) == specs
    with pytest.raises(UsageError):
        parse_evaluator("unix:a\0b", EvaluatorSpec())
