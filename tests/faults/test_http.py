"""Misbehaving servers over real sockets: each comes out as its kind, in time, and leaves nothing behind."""

import json
import signal
import ssl
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from optimize_eval import EvaluationError, UsageError, http_evaluator
from optimize_eval.base.evaluator import EvaluatorSpec, Opened
from optimize_eval.base.protocol import Answer, Payload
from optimize_eval.evaluators.kinds import connect, parse_evaluator
from tests.faults.servers import ENCODINGS, Server, served
from tests.front_door import Cli, Result
from tests.paths import PROGRAM, ROOT
from tests.tools import need

SECRET = "canary-7f3a9c"  # noqa: S105  looked for in every output


@pytest.fixture
def server() -> Iterator[Server]:
    with served() as running:
        yield running


@pytest.fixture
def score(cli: Cli, tmp_path: Path) -> Cli:
    """Score an empty candidate at a URL."""
    (tmp_path / "candidate.txt").touch()

    def run(url: str, *options: str, env: dict[str, str] | None = None) -> Result:
        return cli("score", "candidate.txt", "-e", url, *options, env=env)

    return run


@pytest.mark.parametrize(
    "path", ["ok", "created", "old", "close-after", "stops-for-a-while", "307", "a?b=c", "odd-headers"]
)
def test_servers_of_many_kinds_are_scored(score: Cli, server: Server, path: str) -> None:
    result = score(f"{server.url}/{path}")
    assert (result.status, result.json["score"], result.stderr) == (0, 0.5, "")


FAILURES = {  # path → kind, what is said
    "silent": ("timeout", "no answer within 0.5 s"),
    "drip": ("timeout", "no answer within 0.5 s"),
    "500": ("http_status", "HTTP status 500: the model is not loaded"),
    "500-nested": ("http_status", "HTTP status 500: no such model"),
    "404": ("http_status", "<html>nothing here</html>"),
    "400-score": ("http_status", "HTTP status 400"),
    "302": ("http_status", "/ok: use that URL if you trust it"),
    "307-away": ("http_status", "redirects to http://127.0.0.1:1/ok"),
    "307-loop": ("http_status", "it redirects to itself"),
    "302-itself": ("http_status", "it redirects to itself"),
    "307-circle": ("http_status", "it redirects in a circle"),
    "page": ("invalid_json", "the response body is a web page, 'Welcome & hello', not an answer"),
    "page-untitled": ("invalid_json", "check the URL's path: it must answer a POST with {"),
    "wants-https": ("http_status", "write the URL with https://"),
    "307-nowhere": ("http_status", "HTTP status 307"),
    "307-bad": ("http_status", "redirects to http://["),
    "far-date": ("http_status", "HTTP status 429"),
    "busy-for-long": ("http_status", "HTTP status 503: no body"),
    "not-json": ("invalid_json", "the response body line 1 is not JSON"),
    "empty": ("no_output", "the response body is empty answer the POST with one JSON object"),
    "text-score": ("score_type", 'the text "1"'),
    "error": ("reported", "no key"),
    "close-at-once": ("http_protocol", "no complete HTTP answer"),
    "close-mid-body": ("http_protocol", "end of file before message length reached"),
    "junk": ("http_protocol", "no complete HTTP answer"),
    "bad-gzip": ("http_protocol", "gzip"),
    "endless": ("output_too_large", "more than 8 MiB"),
    "bomb": ("output_too_large", "more than 8 MiB"),
    "endless-error": ("http_status", "HTTP status 502: <html>the proxy has lost the model"),
}


@pytest.mark.parametrize(
    ("path", "kind", "said"), [(path, *case) for path, case in FAILURES.items()], ids=FAILURES
)
def test_a_failure_has_its_kind_and_says_what_to_do(
    score: Cli, server: Server, path: str, kind: str, said: str
) -> None:
    timeout = "0.5" if kind == "timeout" else "50"
    result = score(f"{server.url}/{path}", "--timeout", timeout)
    assert (result.status, result.json["kind"]) == (4, kind)
    assert said in result.json["message"] + " " + result.json["hint"]
    assert result.json["hint"] or kind == "reported"
    assert result.json["seconds"] < 20, "it waits for nothing but the deadline"


def test_only_what_may_get_better_is_asked_again(score: Cli, server: Server) -> None:
    assert score(f"{server.url}/busy-twice").json["outcome"] == "scored"
    assert len(server.requests) == 3
    for path in ("500", "close-mid-body", "not-json"):
        server.requests.clear()
        assert score(f"{server.url}/{path}").status == 4
        assert len(server.requests) == 1
    server.requests.clear()
    assert score(f"{server.url}/busy-twice", "--retries", "0").json["kind"] == "http_status"


def test_a_dead_url_is_told_long_before_the_deadline(score: Cli) -> None:
    result = score("http://127.0.0.1:9/")
    assert result.json["kind"] == "http_connect"
    assert "Connection refused" in result.json["message"]
    assert result.json["seconds"] < 10


def test_https_where_no_https_is_spoken_gets_the_url_that_works(score: Cli, server: Server) -> None:
    told = score(server.url.replace("http:", "https:"), "--retries", "0").json
    assert (told["kind"], told["hint"]) == (
        "http_connect",
        "this port speaks no https: write the URL with http://",
    )


def test_a_name_that_nobody_knows_is_no_connection(score: Cli) -> None:
    assert score("http://no-such-host.invalid/").json["kind"] == "http_connect"


@need("openssl")
def test_a_certificate_that_nobody_signed_is_no_connection(score: Cli, tmp_path: Path) -> None:
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"),
            *("-days", "2", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with served(context) as server:
        result = score(server.url.replace("http:", "https:"))
    assert result.json["kind"] == "http_connect"
    assert "certificate" in result.json["message"]


@pytest.mark.parametrize("url", ["http://", "http://bad host/", "http://127.0.0.1:99999/", "https://[::1/"])
def test_a_url_that_is_none_is_a_usage_error(score: Cli, url: str) -> None:
    result = score(url)
    assert result.status == 2
    assert "is not a URL" in result.stderr


def test_where_there_are_no_certificates_a_server_of_this_machine_is_called_all_the_same(
    program: Cli, server: Server, tmp_path: Path
) -> None:
    bare = {"SSL_CERT_FILE": str(tmp_path / "none"), "SSL_CERT_DIR": str(tmp_path)}
    (tmp_path / "c.txt").write_text("x")
    assert program("score", "c.txt", "-e", f"{server.url}/ok", env=bare).status == 0
    refused = program("score", "c.txt", "-e", "https://127.0.0.1:9/", env=bare)
    assert (refused.status, "apt-get install ca-certificates" in refused.stderr) == (2, True), refused.stderr


def test_a_proxy_from_the_environment_is_not_asked_for_loopback(score: Cli, server: Server) -> None:
    proxy = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    assert score(f"{server.url}/ok", env=proxy).status == 0
    assert score(server.url.replace("127.0.0.1", "localhost") + "/ok", env=proxy).status == 0


def test_the_payload_is_the_body(score: Cli, server: Server) -> None:
    score(f"{server.url}/ok", "--example", '{"a":  1}', "--task-model", "m")
    path, headers, body = server.requests[0]
    assert (path, headers["content-type"]) == ("/ok", "application/json")
    assert body.strip() == b'{"_protocol_version":2,"candidate":"","example":{"a":  1},"task_model":"m"}'


def test_header_values_are_sent_and_never_shown(score: Cli, server: Server) -> None:
    header = ("--header", "Authorization: Bearer ${CANARY}")
    for path in ("echo-header", "echo-as-key", "refuse-with-header", "close-mid-body", "ok"):
        result = score(f"{server.url}/{path}", *header, env={"CANARY": SECRET})
        assert server.requests[-1][1]["authorization"] == f"Bearer {SECRET}"
        assert SECRET not in result.stdout + result.stderr


def test_only_confidential_values_are_struck_out(score: Cli, server: Server) -> None:
    result = score(
        f"{server.url}/escaped-header",
        *("--header", f"Authorization: Bearer {SECRET}", "--header", "X-Seed: 0.25"),
    )
    assert result.json["score"] == 0.25
    assert result.json["side_info"] == {"0.25": "score", "said": "***"}


ODD_SECRET = "sk/7f+3a9~ca&na<ry>\"pa%ss'w\\ord"  # noqa: S105  each encoding changes some of it


def test_a_secret_is_struck_out_of_everything_in_whatever_encoding_it_comes_back(
    cli: Cli, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "score.txt").write_text("score")
    (tmp_path / "refuse.txt").write_text("refuse")
    (tmp_path / "d.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(len(ENCODINGS))))
    url, header = f"{server.url}/echo-encoded", ("--header", "Authorization: Bearer ${CANARY}")
    candidates = ("--candidate", "score.txt", "--candidate", "refuse.txt")
    ran = cli(
        *("run", "-e", url, *candidates, "--dataset", "d.jsonl", *header, "--out", "r", "--no-preflight"),
        env={"CANARY": ODD_SECRET},
    )
    told = [ran, *(cli("report", "r", "--format", form) for form in ("md", "csv", "jsonl", "junit"))]
    left = [path.read_text() for path in (tmp_path / "r").iterdir()]
    assert ran.status == 4, "the candidate refuse fails on every call"
    everything = "".join([*left, *(one.stdout + one.stderr for one in told)])
    for name, encoded in ENCODINGS.items():
        assert encoded(ODD_SECRET) not in everything, name
    journal = [json.loads(line) for line in (tmp_path / "r" / "journal.jsonl").read_text().splitlines()]
    echoes = [record["side_info"]["echo"][0] for record in journal if record.get("outcome") == "scored"]
    assert len(echoes) == len(ENCODINGS)
    for name, said in echoes[0].items():
        around = {"base64 in a URL": "%2Bfn4%3D", "JSON in JSON": '"\\"\\""'}.get(name, "")
        assert said.replace("***", "") == f"sent <{around}> by you"


def test_what_basic_authorization_encodes_is_struck_out_as_plain_text_too(score: Cli, server: Server) -> None:
    pair = b64encode(f"me:{SECRET}".encode()).decode()
    said = score(f"{server.url}/basic", "--header", f"Authorization: Basic {pair}").json["side_info"]["said"]
    assert said == "hello me, your password is ***"


def test_a_secret_is_struck_out_before_a_body_is_cut(score: Cli, server: Server) -> None:
    header = ("--header", "Authorization: Bearer ${CANARY}")
    result = score(f"{server.url}/refuse-at-the-edge", *header, env={"CANARY": SECRET})
    assert result.json["message"].endswith("x ***")


def test_what_a_url_hides_is_not_shown(score: Cli, server: Server) -> None:
    url = server.url.replace("http://", f"http://user:{SECRET}@")
    for odd, status in (
        (f"{url}/500?key={SECRET}", 4),
        (f"http://user:{SECRET}@127.0.0.1:99999/?key={SECRET}", 2),
        (f"http://u:{SECRET}@[::1", 2),
    ):
        result = score(odd)
        assert result.status == status
        assert SECRET not in result.stdout + result.stderr


def test_a_header_value_that_cannot_be_sent_is_refused_unseen(score: Cli) -> None:
    for value in (f"{SECRET}\nX: y", f"{SECRET}\x7f"):
        result = score("http://127.0.0.1:9/", "--header", "Authorization: ${CANARY}", env={"CANARY": value})
        assert (result.status, SECRET in result.stdout + result.stderr) == (2, False)
    assert score("http://127.0.0.1:9/", "--header", "Content-Length: 3").status == 2


def test_a_header_of_the_users_replaces_ours(score: Cli, server: Server) -> None:
    score(f"{server.url}/ok", "--header", "content-type: text/plain")
    assert server.requests[-1][1]["content-type"] == "text/plain"


def test_a_header_that_is_none_is_refused_without_repeating_it(score: Cli) -> None:
    for header in (f"Authorization {SECRET}", f"X:{SECRET}\nY: z"):
        result = score("http://127.0.0.1:9/", "--header", header)
        assert result.status == 2
        assert SECRET not in result.stderr
    assert "NOT_SET_ANYWHERE" in score("http://127.0.0.1:9/", "--header", "X: ${NOT_SET_ANYWHERE}").stderr


def test_connections_are_kept_and_none_is_left(server: Server) -> None:
    with http_evaluator(f"{server.url}/ok") as evaluator:
        for _ in range(20):
            assert evaluator("x") == (0.5, {"note": "fine"})
    assert server.connections == 1


def test_a_server_that_closes_after_each_answer_loses_none(server: Server) -> None:
    with http_evaluator(f"{server.url}/close-after", retries=0) as evaluator:
        assert [evaluator("x")[0] for _ in range(200)] == [0.5] * 200


def test_connections_that_end_after_some_answers_lose_none(cli: Cli, server: Server, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("x")
    (tmp_path / "d.jsonl").write_text("{}\n" * 150)
    options = ("--retries", "0", "--concurrency", "8", "--no-preflight", "--json")
    done = cli(
        "run", "-e", f"{server.url}/three-each", "--candidate", "c.txt", "--dataset", "d.jsonl", *options
    )
    assert (done.status, done.json["summary"]["units"]["scored"]) == (0, 150), done.stderr
    assert max(server.requests_on.values()) == 4


def test_a_fresh_connection_that_ends_unanswered_is_not_asked_again(server: Server) -> None:
    with http_evaluator(f"{server.url}/first-only", retries=0) as evaluator:
        assert evaluator("x")[0] == 0.5
        with pytest.raises(EvaluationError, match="no complete HTTP answer"):
            evaluator("x")
    assert len(server.requests) == 2


def test_a_capability_that_says_nothing_of_concurrency_limits_nothing(server: Server) -> None:
    with http_evaluator(f"{server.url}/capable") as evaluator:
        evaluator("x")
        assert evaluator._evaluator.capacity.calls is None  # noqa: SLF001  no time is asserted


def test_calls_wait_for_each_other_where_the_server_declares_that_it_takes_one(server: Server) -> None:
    with (
        http_evaluator(f"{server.url}/one-at-a-time", retries=0) as evaluator,
        ThreadPoolExecutor(4) as slots,
    ):
        evaluator("x")
        assert [score for score, _ in slots.map(lambda _n: evaluator("x"), range(12))] == [0.5] * 12


def test_ctrl_c_does_not_wait_for_a_silent_server(server: Server, tmp_path: Path) -> None:
    (tmp_path / "c.txt").touch()
    command = [str(PROGRAM), "score", f"{tmp_path}/c.txt", "-e", f"{server.url}/silent", "--timeout", "50"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        server.await_request(20)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=20)
    assert running.returncode == 130


def test_a_client_made_before_a_fork_says_so_after_it(server: Server) -> None:
    code = (
        "import os\nfrom optimize_eval import EvaluationError, UsageError, http_evaluator\n"
        f"evaluator = http_evaluator('{server.url}/ok')\n"
        "evaluator('x')\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: evaluator('x')\n"
        "    except EvaluationError as error: print(error.message, flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n"
    )
    said = subprocess.check_output([sys.executable, "-c", code], text=True, cwd=ROOT)
    assert "before a fork" in said


def test_a_candidate_of_five_megabytes_goes_through(server: Server) -> None:
    with http_evaluator(f"{server.url}/length") as evaluator:
        assert evaluator("x" * 5_000_000) == (1.0, {"characters": 5_000_000})


def test_a_dripping_server_ends_at_the_deadline(server: Server) -> None:
    with http_evaluator(f"{server.url}/drip", timeout=0.4) as evaluator:
        started = time.monotonic()
        with pytest.raises(EvaluationError, match="no answer within"):
            evaluator("x")
        assert time.monotonic() - started >= 0.4


def test_a_connection_on_which_an_answer_is_late_is_not_used_again(server: Server) -> None:
    live = connect(parse_evaluator(f"{server.url}/silent-once", EvaluatorSpec()), Opened())
    with pytest.raises(EvaluationError, match="no answer within"):
        live.call(Payload(candidate="x"), time.monotonic() + 1)
    answer = live.call(Payload(candidate="x"), time.monotonic() + 20)
    assert isinstance(answer, Answer)
    assert (answer.score, server.connections) == (0.5, 2)
    live.close()


def test_a_header_that_is_no_text_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="not a pair of texts"):
        http_evaluator("http://127.0.0.1:9/", headers={"X": 5})  # type: ignore[dict-item]
