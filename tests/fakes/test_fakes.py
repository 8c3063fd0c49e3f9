"""The fake model server: what its rules mean, and that it stands alone."""

import contextlib
import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.fake_model import FakeModel, StartModel, model_program
from tests.paths import ROOT

PROGRAM = [sys.executable, "-m", "optimize_eval.fakes.model"]


@pytest.fixture
def fake_model(tmp_path: Path) -> Iterator[StartModel]:
    """Start the program that ships, where other tests have its server in a thread."""
    with contextlib.ExitStack() as running:
        yield lambda rules: running.enter_context(model_program(rules, tmp_path))


def post(
    server: FakeModel, text: str = "hi", path: str = "/v1/chat/completions", **body: Any
) -> tuple[int, Any]:
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": text}]
    sent = json.dumps({"model": "m", "messages": messages, **body}).encode()
    return send(server, "POST", path, sent)


def send(server: FakeModel, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection(urlsplit(server.base).netloc, timeout=30)) as connection:
        connection.request(
            method, path, body, {name.replace("_", "-"): said for name, said in headers.items()}
        )
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def said(answer: tuple[int, Any]) -> str:
    status, body = answer
    text: str = body["choices"][0]["message"]["content"] if status == 200 else body["error"]["message"]
    return text


def test_the_first_rule_that_matches_answers(fake_model: StartModel) -> None:
    server = fake_model(
        """
        [[rule]]
        when = { user = '(?i)greet (?P<who>\\w+)', model = '^(m)$' }
        text = 'Hello {who} or {1}, not {2}; {"score": 1} {model} {count}'
        [[rule]]
        when = { any = 'be (brief)', path = '/v2/' }
        json = { word = "{1}", list = ["{1}", 2] }
        [[rule]]
        when = { headers = { X-Kind = 'odd' } }
        status = 418
        text = "a teapot"
        [[rule]]
        when = { body = '"seed": 7' }
        times = 2
        text = "seven {count}"
        [[rule]]
        text = "else"
        """
    )
    assert said(post(server, "greet ADA")) == 'Hello ADA or ADA, not {2}; {"score": 1} m 1'
    assert said(post(server, "greet BO")).endswith(" 2")
    assert json.loads(said(post(server, path="/v2/chat/completions"))) == {
        "word": "brief",
        "list": ["brief", 2],
    }
    assert send(server, "POST", "/v1/chat/completions", b"{}", X_Kind="odd")[0] == 418
    assert [said(post(server, seed=7)) for _ in range(3)] == ["seven 1", "seven 2", "else"]
    assert [request["rule"] for request in server.requests()[-2:]] == ["rule[4]", "rule[5]"]


def test_what_no_rule_and_no_model_is_for_is_said(fake_model: StartModel) -> None:
    server = fake_model('models = ["m"]\n[[rule]]\nwhen = {user = "x"}\ntext = "y"')
    assert (
        said(post(server, "hi")) == "no rule of the fake model server matches: 'hi' to /v1/chat/completions"
    )
    assert post(server, model="other")[1]["error"]["code"] == "model_not_found"
    assert post(server, "x", path="/v1/embeddings")[0] == 501
    assert send(server, "POST", "/v1/chat/completions", b"[")[0] == 400
    assert send(server, "DELETE", "/v1/x")[0] == 405
    assert [model["id"] for model in send(server, "GET", "/v1/models")[1]["data"]] == ["m"]


def test_formats_are_refused_by_rule(fake_model: StartModel) -> None:
    server = fake_model([{"refuse_response_format": ["json_schema"], "text": "fine"}])
    assert post(server, response_format={"type": "json_object"})[0] == 200
    status, body = post(server, response_format={"type": "json_schema"})
    assert (status, "response_format" in body["error"]["message"]) == (400, True)


def test_what_was_asked_is_recorded_without_the_key(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('[{"text": "{authorization}"}]')
    with subprocess.Popen(
        [*PROGRAM, "rules.json", "--record", "asked.jsonl"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        server = FakeModel(process.stdout.readline().strip())
        answer = send(
            server, "POST", "/v1/chat/completions", '{"a": "ü"}'.encode(), Authorization="Bearer k-1"
        )
        asked = server.requests()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    assert said(answer) == "Bearer k-1"
    expected = {"path": "/v1/chat/completions", "authorization": True, "body": {"a": "ü"}, "rule": "rule[1]"}
    assert asked == [{**expected, "status": 200}]
    assert [json.loads(line) for line in (tmp_path / "asked.jsonl").read_text().splitlines()] == asked


def test_it_serves_while_32_others_wait(fake_model: StartModel) -> None:
    server = fake_model([{"malformed": "hang"}])
    address = urlsplit(server.base)
    with contextlib.ExitStack() as opened:
        for _ in range(32):
            waiting = socket.create_connection((address.hostname or "", address.port or 0), timeout=30)
            opened.enter_context(waiting).sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
            )
        while len(server.requests()) < 32:  # each of these is served, too
            pass


def test_a_connection_is_kept_and_an_odd_request_ends_it(fake_model: StartModel) -> None:
    server = fake_model([{"text": "x"}])
    with closing(http.client.HTTPConnection(urlsplit(server.base).netloc, timeout=30)) as connection:
        sockets = set()
        for _ in range(2):
            connection.request("POST", "/v1/chat/completions", b"{}")
            assert connection.getresponse().read()
            sockets.add(connection.sock)
        assert len(sockets) == 1
    address = urlsplit(server.base)
    for odd in (b"\r\n\r\n", b"POST /v1 HTTP/1.1\r\nContent-Length: many\r\n\r\n"):
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as raw:
            raw.sendall(odd)
            assert raw.recv(1) == b""
    for last in (b"GET /v1/models HTTP/1.0\r\n\r\n", b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n"):
        with socket.create_connection((address.hostname or "", address.port or 0), timeout=30) as raw:
            raw.sendall(last)
            assert b"fake-model" in raw.makefile("rb").read(), "up to the end of the connection"


BAD = {
    '"a\\u001b" = 1': [r"'a\x1b': unknown key"],
    "x = 1": ["x: unknown key; it takes rule, models", "rule: there are no rules; write [[rule]]"],
    "models = 'm'\n[[rule]]\ntext = 'x'": ["models: not a list of texts"],
    "[[rule]]": ["rule[1]: it answers nothing; give one of text, json, body, malformed, or a status"],
    "rule = [1]": ["rule[1]: not a table"],
    "[[rule]]\ntexts = 'x'\nstatus = 42": [
        "rule[1].texts: unknown key; did you mean 'text'?",
        "rule[1].status: 42 is not an HTTP status from 200 to 599",
    ],
    "[[rule]]\ntext = 'x'\n[[rule]]\ntext = 1\njson = 2": [
        "rule[2].text: 1 is not a text",
        "rule[2]: it says both text and json; keep one",
    ],
    "[[rule]]\ntext = 'x'\nwhen = { user = '(', usr = 'x', model = 1, headers = 'x' }": [
        "rule[1].when.usr: unknown key; did you mean 'user'?",
        "rule[1].when.user: '(' is not a regular expression: missing ), unterminated",
        "rule[1].when.model: 1 is not a regular expression in quotes",
        'rule[1].when.headers: "x" is not a table of patterns',
    ],
    "[[rule]]\ntext = 'x'\nwhen = 'x'": ['rule[1].when: "x" is not a table of patterns'],
    "[[rule]]\nmalformed = 'x'\ntimes = 0\ndelay = -1\nheaders = { A = 'b\\nc' }\nusage = 1": [
        'rule[1].malformed: "x" is not one of truncated,',
        "rule[1].times: 0 is not a count of at least 1",
        "rule[1].delay: -1 is not a number of seconds",
        "rule[1].usage: 1 is not a table, such as",
    ],
    "[[rule]]\nrefuse_response_format = ['xml']": [
        'rule[1].refuse_response_format: ["xml"] is not a list of json_schema, json_object, text'
    ],
    "[[rule": ["Expected"],
    "[[rule]]\ntext = '\xff'": ["'utf-8' codec can't decode"],
}


def test_each_problem_of_a_rules_file_is_told_with_its_key(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.toml" for number in range(len(BAD))]
    for path, text in zip(paths, BAD, strict=True):
        path.write_bytes(text.encode("latin-1"))
    code = (
        "import sys; from optimize_eval.fakes.model import main\n"
        "for path in sys.argv[1:]: print('==', main([path]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False, timeout=30
    )
    blocks = done.stderr.split("== 2\n")[:-1]
    assert done.stdout == ""
    for path, problems, block in zip(paths, BAD.values(), blocks, strict=True):
        for problem in problems:
            assert f"error: {path}: {problem}" in block


def test_what_keeps_it_from_serving_is_one_line_and_status_2(tmp_path: Path) -> None:
    (tmp_path / "rules.json").write_text('[{"text": "x"}]')
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, message in (
            (["nowhere.toml"], "error: nowhere.toml: No such file or directory\n"),
            (["deep.json"], "error: deep.json: it is nested too deeply\n"),
            (["rules.json", "--port", port], "Address already in use"),
            (["rules.json", "--port", "70000"], "port must be 0-65535"),
            (["rules.json", "--record", "no/folder"], "No such file or directory: 'no/folder'"),
        ):
            done = subprocess.run(
                [*PROGRAM, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=30
            )
            assert (done.returncode, done.stdout) == (2, "")
            assert message in done.stderr
            assert done.stderr.count("\n") == 1


def test_the_rules_that_ship_are_good(fake_model: StartModel) -> None:
    server = fake_model((ROOT / "datasets" / "judge_rules.toml").read_text(encoding="utf-8"))
    greeting = (ROOT / "datasets" / "greeting.txt").read_text(encoding="utf-8")
    assert post(server, greeting)[0] == 429
    assert json.loads(said(post(server, greeting)))["score"] == 0.6
