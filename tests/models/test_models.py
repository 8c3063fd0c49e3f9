"""Language models: every failure by name, against the fake server over sockets."""

import os
import pickle
import re
import shlex
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from optimize_eval import EvaluationError, FailureKind, UsageError
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.models.chat import ChatSpec, Reply
from optimize_eval.models.live import Model, chat
from optimize_eval.models.providers import PROVIDERS
from tests.fake_model import FakeModel, StartModel, served_model
from tests.front_door import Cli

KEY = "sk-canary-0123456789abcdef"
ASKED = [{"role": "user", "content": "greet Ada"}]
SCHEMA = {"type": "object", "properties": {"score": {"type": "number"}}, "required": ["score"]}


WITH_LITELLM = pytest.mark.skipif(find_spec("litellm") is None, reason="the extra [litellm] is not installed")


def on(model: str, **says: Any) -> dict[str, Any]:
    return {"when": {"model": f"^{model}$"}, **says}


RULES = [
    on("good", text="Hello Ada", usage={"prompt_tokens": 7, "completion_tokens": 2}),
    on("who", text="you sent {authorization}"),
    on("401", status=401, text="Incorrect API key provided: {authorization}"),
    on("403", status=403, body="<html>key {authorization} may not</html>" + "." * 400),
    on("half-shown", status=500, body="." * 290 + "{authorization}"),
    on("bad-key", status=400, body='[{"error": {"code": 400, "message": "API key not valid."}}]'),
    on("404", status=404, text="no such model"),
    on("429", status=429, headers={"Retry-After": "7"}, text="slow down"),
    on("quota", status=429, json={"error": {"message": "pay first", "code": "insufficient_quota"}}),
    on("then-fine", status=429, headers={"Retry-After": "0"}, text="slow down", times=1),
    on("then-fine", status=503, headers={"Retry-After-Ms": "1"}, text="starting", times=1),
    on("then-fine", text="fine now, after {count}"),
    *[on(str(status), status=status, text="broken") for status in (418, 500, 502, 503, 504, 529)],
    on("300s", status=302, headers={"Location": "https://elsewhere.example/v1"}),
    on("500-list", status=500, body='{"detail": [{"loc": ["body"], "msg": "no field"}]}'),
    on("warm", status=400, text="Unsupported value: 'temperature' does not support 0.5 with this model."),
    on("seeded", status=422, body='{"detail": "extra field: seed"}'),
    on("hot", status=400, text="temperature: range is 0 to 1"),
    on("picky", status=400, text="too long: 900 tokens"),
    on("close", malformed="close"),
    *[
        on(kind, malformed=kind)
        for kind in (
            "truncated", "not_json", "empty_body", "not_an_object", "no_choices", "empty_choices",
            "null_content", "lone_surrogate", "refusal", "content_filter", "tool_calls", "length", "parts",
            "error_in_200", "close_mid_body", "hang",
        )
    ],
    on("error-text", body='{"error": "overloaded with {authorization}"}'),
    on("choice-error", body='{"choices": [{"error": {"message": "upstream", "code": 502}}]}'),
    on("refusing-part", body='{"choices": [{"message": {"content": [{"refusal": "no"}]}}]}'),
    on("big", body="x" * (8 * 2**20 + 1)),
    on("empty", text=""),
    on("blank-length", text=" \n", finish_reason="length"),
    on("cut-off", text="Hello A", finish_reason="length"),
    on("odd-usage", text="x", usage={"prompt_tokens": -1, "completion_tokens": True}),
    on("bare", body='{"choices": [{"message": {"content": "x"}}], "usage": null}'),
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeModel]:
    with served_model(RULES, tmp_path_factory.mktemp("models")) as running:
        yield running


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        monkeypatch.delenv(provider.key_variable, raising=False)


def ask(server: FakeModel, model: str, seconds: float = 30.0, **options: Any) -> Reply:
    spec = ChatSpec(name=f"openai/{model}", api_base=server.base, **options)
    with closing(Model(spec, Manners(patience=0))) as live:
        return live.chat(ASKED, time.monotonic() + seconds)


def failure(server: FakeModel, model: str, seconds: float = 30.0, **options: Any) -> EvaluationError:
    with pytest.raises(EvaluationError) as caught:
        ask(server, model, seconds, **options)
    return caught.value


def test_a_reply_has_text_counts_and_reason(server: FakeModel) -> None:
    assert ask(server, "good") == Reply(
        text="Hello Ada", prompt_tokens=7, completion_tokens=2, finish_reason="stop", model="good"
    )


def test_what_is_not_known_of_a_reply_is_none(server: FakeModel) -> None:
    unknown = Reply(text="x", prompt_tokens=None, completion_tokens=None, finish_reason=None)
    assert ask(server, "odd-usage") == replace(unknown, finish_reason="stop", model="odd-usage")
    assert ask(server, "bare") == unknown


@pytest.mark.parametrize(
    ("model", "text"), [("parts", "in parts"), ("empty", ""), ("cut-off", "Hello A"), ("then-fine", None)]
)
def test_texts_that_are_replies(server: FakeModel, model: str, text: str | None) -> None:
    reply = chat(ASKED, f"vllm/{model}", api_base=server.base)
    assert reply.text == (text if text is not None else "fine now, after 1")


FAILURES = {
    "401": (r"wants a key, and none was sent \(HTTP 401\): Incorrect", "set OPENAI_API_KEY", None),
    "403": (r"wants a key, and none was sent \(HTTP 403\): <html>key", "set OPENAI_API_KEY", None),
    "bad-key": (r"wants a key, and none was sent \(HTTP 400\): API key not valid", "OPENAI_API_KEY", None),
    "404": (r"no model '404' at http://127.0.0.1:\d+/v1 \(HTTP 404\): no such model$", "check the", None),
    "429": (
        r"many requests for openai/429 \(HTTP 429\): slow down; waiting 7 s would exceed --patience 0s$",
        "--rpm",
        None,
    ),
    "quota": (r"openai/quota has no quota left \(HTTP 429\): pay first$", "bill", None),
    "418": (r"openai/418 refuses the request \(HTTP 418\): broken$", "change", None),
    "500": (r"the server failed on openai/500 \(HTTP 500\): broken$", "later", 0.0),
    "502": ("HTTP 502", "later", 0.0),
    "503": (r"the server has no room for openai/503 \(HTTP 503\): broken", "--patience", None),
    "504": ("HTTP 504", "later", 0.0),
    "529": ("no room for openai/529 .HTTP 529", "later", None),
    "300s": ("redirects to https://elsewhere.example/v1 .HTTP 302", "base URL", None),
    "500-list": (r'HTTP 500\): \[\{"loc":\["body"\],"msg":"no field"\}\]$', "later", 0.0),
    "picky": (r"refuses the request \(HTTP 400\): too long: 900 tokens$", "change", None),
    "close": ("no complete HTTP answer from http://127.0.0.1", "log", 0.0),
    "close_mid_body": ("no complete HTTP answer from http://127.0.0.1", "log", 0.0),
    "truncated": (r"breaks off after \d+ bytes$", "call it again", 0.0),
    "not_json": ("is not JSON: <html>a proxy was here</html>$", "base URL", None),
    "empty_body": ("is not JSON: it is empty$", "base URL", None),
    "not_an_object": (r"is JSON, but no object: \[1, 2\]$", "base URL", None),
    "no_choices": ("not a chat completion: it has no choice with a message$", "base URL", None),
    "empty_choices": ("an empty list of choices$", "call it again", 0.0),
    "null_content": (r"no content \(null\)$", "call it again", None),
    "lone_surrogate": ("is not JSON: .*surrogate", "call it again", 0.0),
    "refusal": ("refused to answer: I cannot help with that.$", "change", None),
    "refusing-part": ("refused to answer: no$", "change", None),
    "content_filter": ("held back by a content filter$", "change", None),
    "tool_calls": ("tool calls in place of text$", "ask for text", None),
    "length": ("used up its tokens before any text$", "raise max_tokens", None),
    "blank-length": ("used up its tokens before any text$", "raise max_tokens", None),
    "error_in_200": (
        r"no room for openai/error_in_200 \(HTTP 503\): the upstream model is busy; waiting 1 s",
        "later",
        None,
    ),
    "error-text": ("answered with an error: overloaded with$", "log", None),
    "choice-error": (r"HTTP 502\): upstream$", "later", 0.0),
    "big": ("answered too much: more than 8 MiB", "max_tokens", None),
    "unheard-of": (r"HTTP 501\): no rule of the fake model server", "later", 0.0),
}


@pytest.mark.parametrize("model", FAILURES)
def test_a_failure_says_what_happened_and_what_to_do(server: FakeModel, model: str) -> None:
    message, hint, retry_after = FAILURES[model]
    error = failure(server, model)
    assert error.kind is FailureKind.MODEL_ERROR
    assert re.search(message, error.message), error.message
    assert hint in error.hint
    assert error.retry_after == retry_after


def test_a_model_that_is_late_is_a_timeout(server: FakeModel) -> None:
    for seconds in (0.2, -1.0):
        error = failure(server, "hang", seconds)
        assert (error.kind, error.retry_after) == (FailureKind.TIMEOUT, None)
        assert error.message == "no whole answer from openai/hang before the deadline"
        assert "--timeout" in error.hint


def test_a_server_that_is_not_there_is_named_and_may_be_asked_again() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = failure(FakeModel(f"http://127.0.0.1:{port}/v1"), "m")
    assert (error.kind, error.retry_after) == (FailureKind.MODEL_ERROR, 0.0)
    assert error.message.startswith(f"no connection to http://127.0.0.1:{port}/v1/chat/completions: ")


def test_a_value_that_a_model_does_not_take_is_named(server: FakeModel) -> None:
    error = failure(server, "hot", temperature=1.9)
    assert "openai/hot refuses temperature (HTTP 400): temperature: range is 0 to 1" in error.message
    assert error.hint.startswith("leave temperature out")


@pytest.mark.parametrize(
    ("model", "options"),
    [("warm", {"temperature": 0.5, "seed": 3}), ("seeded", {"seed": 3, "temperature": 0.5})],
)
def test_an_option_that_a_model_does_not_support_is_left_out_and_noted(
    fake_model: StartModel, model: str, options: dict[str, Any]
) -> None:
    field = next(iter(options))
    refusal = next(rule for rule in RULES if rule["when"]["model"] == f"^{model}$")
    server = fake_model([{**refusal, "when": {"body": f'"{field}"'}}, {"text": "fine"}])
    with closing(Model(ChatSpec(name=f"openai/{model}", api_base=server.base, **options))) as live:
        assert live.note == ""
        said = [live.chat(ASKED, time.monotonic() + 30).text for _ in range(2)]
        assert live.note == f"openai/{model}: it does not take {field}, and was called without"
    assert said == ["fine", "fine"]
    sent = [options.keys() & body.keys() for body in server.bodies()]
    assert sent == [options.keys(), options.keys() - {field}, options.keys() - {field}], "asked for it once"


def test_a_model_without_text_that_ollama_lacks_can_be_pulled(server: FakeModel) -> None:
    with pytest.raises(EvaluationError, match="ollama pull 404"):
        chat(ASKED, "ollama/404", api_base=server.base)


# what is sent


def test_the_request_holds_what_was_given_and_nothing_else(fake_model: StartModel) -> None:
    server = fake_model('[[rule]]\ntext = "x"')
    chat(ASKED, "vllm/org/name", api_base=f"{server.base}/")
    chat(ASKED, "vllm/m", api_base=f"{server.base}/chat/completions", temperature=0.0, max_tokens=5, seed=1)
    spec = ChatSpec(name="vllm/m", api_base=server.base, temperature=1, seed=2)
    chat(ASKED, spec, temperature=0.5)
    assert server.bodies() == [
        {"model": "org/name", "messages": ASKED},
        {"model": "m", "messages": ASKED, "temperature": 0.0, "seed": 1, "max_tokens": 5},
        {"model": "m", "messages": ASKED, "temperature": 0.5, "seed": 2},
    ]
    assert [request["authorization"] for request in server.requests()] == [False] * 3


def test_a_query_of_the_base_url_stays_behind_the_path(fake_model: StartModel) -> None:
    rule = {"when": {"path": "^/v1/chat/completions$"}, "text": "x"}
    server = fake_model([rule])
    assert chat(ASKED, "vllm/m", api_base=f"{server.base}?api-version=2").text == "x"


def test_a_model_that_wants_the_limit_by_its_newer_name_gets_it_from_then_on(fake_model: StartModel) -> None:
    told = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    server = fake_model([{"when": {"body": '"max_tokens"'}, "status": 400, "text": told}, {"text": "x"}])
    with closing(Model(ChatSpec(name="openai/o1", api_base=server.base, max_tokens=9))) as model:
        for _ in range(2):
            assert model.chat(ASKED, time.monotonic() + 30).text == "x"
    assert [sorted({*body} - {"model", "messages"}) for body in server.bodies()] == [
        ["max_tokens"],
        ["max_completion_tokens"],
        ["max_completion_tokens"],
    ]


def formats(server: FakeModel) -> list[str | None]:
    return [body.get("response_format", {}).get("type") for body in server.bodies()]


def test_a_schema_is_sent_as_it_is(fake_model: StartModel) -> None:
    server = fake_model([{"text": "{}"}])
    assert chat(ASKED, "vllm/m", api_base=server.base, schema=SCHEMA).text == "{}"
    described = {"name": "answer", "strict": True, "schema": SCHEMA}
    assert server.bodies()[0]["response_format"] == {"type": "json_schema", "json_schema": described}


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        ([], ["json_schema", "json_schema"]),
        ([{"refuse_response_format": ["json_schema"]}], ["json_schema", "json_object", "json_object"]),
        (
            [{"refuse_response_format": ["json_schema", "json_object"]}],
            ["json_schema", "json_object", None, None],
        ),
        (
            [{"when": {"body": "response_format"}, "status": 400, "text": "bad request"}],
            ["json_schema", "json_object", None, None],
        ),
        (
            [{"when": {"body": "json_schema"}, "status": 422, "body": '{"detail": "response_format: odd"}'}],
            ["json_schema", "json_object", "json_object"],
        ),
    ],
    ids=["taken", "no-schema", "neither", "without-words", "422"],
)
def test_what_a_server_refuses_of_formats_is_tried_once(
    fake_model: StartModel, rules: list[dict[str, Any]], asked: list[str | None]
) -> None:
    server = fake_model([*rules, {"text": "{}"}])
    with closing(Model(ChatSpec(name="vllm/m", api_base=server.base))) as model:
        for _ in range(2):
            assert model.chat(ASKED, time.monotonic() + 30, schema=SCHEMA).text == "{}"
        assert model.chat(ASKED, time.monotonic() + 30).text == "{}"
    assert formats(server) == [*asked, None]


def test_a_refusal_of_something_else_changes_no_format(fake_model: StartModel) -> None:
    told = "'temperature' is not supported"
    server = fake_model(
        [
            {"status": 400, "text": told, "times": 1},
            {"status": 400, "text": "bad request", "times": 3},
            {"text": "{}"},
        ]
    )
    with closing(Model(ChatSpec(name="vllm/m", api_base=server.base))) as model:
        for message in (told, "bad request"):
            with pytest.raises(EvaluationError, match=message):
                model.chat(ASKED, time.monotonic() + 30, schema=SCHEMA)
        assert model.chat(ASKED, time.monotonic() + 30, schema=SCHEMA).text == "{}"
    assert formats(server) == ["json_schema", "json_schema", "json_object", None, "json_schema"]


@pytest.mark.parametrize(
    "told",
    [
        "Invalid schema: In context=('score',), 'minimum' is not permitted.",
        "For 'number' type, properties maximum, minimum are not supported",
    ],
)
def test_bounds_that_a_server_refuses_are_left_out_of_the_schema(fake_model: StartModel, told: str) -> None:
    bounded = {"type": "object", "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}}}
    server = fake_model([{"when": {"body": "minimum"}, "status": 400, "text": told}, {"text": "{}"}])
    with closing(Model(ChatSpec(name="vllm/m", api_base=server.base))) as model:
        for _ in range(2):
            assert model.chat(ASKED, time.monotonic() + 30, schema=bounded).text == "{}"
    sent = [body["response_format"]["json_schema"]["schema"] for body in server.bodies()]
    plain = {"type": "object", "properties": {"score": {"type": "number"}}}
    assert sent == [bounded, plain, plain]


def test_many_threads_share_a_model_and_what_it_learnt(fake_model: StartModel) -> None:
    refuse = {"refuse_response_format": ["json_schema"]}
    echo = {"when": {"user": "^(.*)$"}, "text": "said {1}"}
    server = fake_model([refuse, echo])
    with closing(Model(ChatSpec(name="vllm/m", api_base=server.base))) as model:

        def say(number: int) -> str:
            messages = [{"role": "user", "content": str(number)}]
            return model.chat(messages, time.monotonic() + 30, schema=SCHEMA).text

        with ThreadPoolExecutor(32) as threads:
            assert list(threads.map(say, range(200))) == [f"said {number}" for number in range(200)]
    assert formats(server).count("json_object") == 200
    assert formats(server).count("json_schema") <= 32
    assert formats(server).count(None) == 0


def test_messages_that_no_json_can_hold_are_a_failure(server: FakeModel) -> None:
    with pytest.raises(EvaluationError, match="cannot be sent as JSON") as caught:
        chat([{"role": "user", "content": "\ud800"}], "vllm/good", api_base=server.base)
    assert caught.value.retry_after is None


# asking again


def test_chat_asks_again_as_often_as_it_may(fake_model: StartModel) -> None:
    server = fake_model([{"status": 500, "text": "no"}])
    with pytest.raises(EvaluationError, match="HTTP 500"):
        chat(ASKED, "vllm/m", api_base=server.base, retries=1)
    assert len(server.requests()) == 2


def test_chat_does_not_wait_beyond_its_patience(fake_model: StartModel) -> None:
    server = fake_model([{"status": 429, "headers": {"Retry-After": "3600"}, "text": "no"}])
    with pytest.raises(EvaluationError, match="waiting 3600 s would exceed --patience 600s"):
        chat(ASKED, "vllm/m", api_base=server.base, timeout=20, retries=9)
    assert len(server.requests()) == 1


# names, keys, secrets


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpt-4o", "'gpt-4o' is not PROVIDER/MODEL; did you mean openai/gpt-4o?"),
        ("claude-x", "'claude-x' is not PROVIDER/MODEL; did you mean anthropic/claude-x?"),
        ("ollama/", "'ollama/' is not PROVIDER/MODEL; did you mean ollama/MODEL?"),
        ("", "'' is not PROVIDER/MODEL"),
        ("/x", "'/x' is not PROVIDER/MODEL"),
        ("opnai/gpt-4o", "unknown provider 'opnai' in 'opnai/gpt-4o'; did you mean openai/gpt-4o?"),
        ("zzz/x", "unknown provider 'zzz' in 'zzz/x'"),
    ],
)
def test_a_name_that_is_none_lists_the_providers(name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        Model(ChatSpec(name=name))
    assert caught.value.message == message
    assert all(provider in caught.value.hint for provider in PROVIDERS)
    if "unknown" in message and find_spec("litellm") is None:
        line = f"{shlex.quote(sys.executable)} -m pip install 'litellm>=1.84'"
        assert line in caught.value.hint


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_that_is_not_there_is_named(provider: str) -> None:
    row, name = PROVIDERS[provider], f"{provider}/m"
    if row.needs_key and row.base:
        with pytest.raises(UsageError, match=f"{row.key_variable} is not set") as caught:
            Model(ChatSpec(name=name))
        assert caught.value.hint == f"export {row.key_variable}=…"
    for base in ("http://localhost:1/v1", "https://models.example/v1"):
        Model(ChatSpec(name=name, api_base=base)).close()


def test_the_key_is_sent_where_it_is_set(fake_model: StartModel, monkeypatch: pytest.MonkeyPatch) -> None:
    server = fake_model([{"when": {"headers": {"Authorization": f"^Bearer {KEY}$"}}, "text": "let in"}])
    for provider, row in PROVIDERS.items():
        if provider == "anthropic":  # see test_anthropic
            continue
        monkeypatch.setenv(row.key_variable, f" {KEY}\n")
        assert chat(ASKED, f"{provider}/m", api_base=server.base).text == "let in"
    assert all(request["authorization"] for request in server.requests())
    assert KEY not in str(server.requests())


@pytest.mark.parametrize("key", ["sk-a b", "“sk-quoted”", "sk-a\nX-Evil: 1"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UsageError, match="OPENAI_API_KEY holds a character") as caught:
        Model(ChatSpec(name="openai/m"))
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("http://user:secret@host/v1", "holds a secret"),
        ("https://host/v1?api_key=secret", "holds a secret"),
        ("ftp://host/v1", "needs http:// or https://"),
        ("localhost:8000/v1", "needs http:// or https://"),
        ("http://[/v1", "is not a URL"),
        ("http://host:port/v1", "is not a URL"),
    ],
)
def test_a_base_url_that_is_none_or_hides_a_secret_is_refused(base: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        ChatSpec(name="vllm/m", api_base=base)
    assert "secret@" not in str(caught.value)
    assert "=secret" not in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"temperature": -1.0}, {"temperature": float("nan")}, {"max_tokens": 0}], ids=str
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ChatSpec(name="vllm/m", **options)


def test_a_key_is_nowhere_in_errors_replies_representations_and_pickles(
    server: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    spec = ChatSpec(name="openai/m", api_base=server.base)
    with closing(Model(spec)) as model:
        seen = [repr(model), str(model), repr(spec), pickle.dumps(spec).decode("latin-1")]
        with pytest.raises(TypeError) as caught:
            pickle.dumps(model)
        seen.append(str(caught.value))
    seen.append(repr(ask(server, "who")))
    for name in FAILURES:
        error = failure(server, name)
        seen += [*traceback.format_exception(error), repr(error), pickle.dumps(error).decode("latin-1")]
    monkeypatch.setenv("OPENAI_API_KEY", "a b")
    assert "you sent Bearer ***" in "".join(seen)
    assert "does not accept the key in OPENAI_API_KEY (HTTP 401): Incorrect API key provided: Bearer ***" in (
        "".join(seen)
    )
    assert KEY[:9] not in "".join(seen)


def test_a_server_without_tls_that_waits_for_more_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent = FakeModel(f"https://127.0.0.1:{listening.getsockname()[1]}/v1")
        assert "if it speaks no TLS, write http://" in failure(silent, "m", 0.2).hint


@WITH_LITELLM
def test_a_key_variable_and_headers_reach_providers_of_litellm(
    program: Cli, fake_model: StartModel, tmp_path: Path
) -> None:
    team = {"model": "^m$", "headers": {"X-Team": "^eval-team$", "Authorization": f"^Bearer {KEY}$"}}
    base = fake_model(
        [
            {"when": team, "json": {"reasoning": "sent {authorization} of eval-team", "score": 1.0}},
            {"status": 401, "text": "not with {authorization}"},
        ]
    ).base
    (tmp_path / "sweep.toml").write_text(
        f"""
        [run]
        candidates = ["c.txt"]
        [[model]]
        name = "theirs"
        model = "sambanova/m@{base}"
        key_variable = "TEAM_KEY"
        headers = {{ X-Team = "${{TEAM}}" }}
        [[evaluator]]
        judge = "theirs"
        objective = "It greets."
        """
    )
    (tmp_path / "c.txt").write_text("Hello")
    done = program("run", "sweep.toml", "--json", env={"TEAM_KEY": KEY, "TEAM": "eval-team"})
    assert done.status == 0, done.stderr
    assert done.json["summary"]["rows"][0]["splits"]["single"]["mean"] == 1.0
    stored = "".join(path.read_text() for path in (tmp_path / "runs").rglob("*.json*"))
    assert "sent Bearer *** of ***" in stored
    assert KEY not in stored + done.stdout + done.stderr
    done = program("run", "sweep.toml", "--fresh", env={"TEAM_KEY": "", "TEAM": "x"})
    assert done.status == 2
    assert "the environment variable TEAM_KEY is not set" in done.stderr


@WITH_LITELLM
def test_other_providers_are_asked_through_litellm(fake_model: StartModel) -> None:
    server = fake_model(
        [
            on("good", text="you sent {authorization}"),
            on("401", status=401, text="bad {authorization}"),
            on("429", status=429, headers={"Retry-After": "7"}, text="slow down"),
            on("untold", body='{"choices": [{"message": {"content": "x"}}], "model": "z", "object": "o"}'),
            on("null", malformed="null_content"),
        ]
    )
    code = (
        "import sys\n"
        "from optimize_eval import EvaluationError, UsageError\n"
        "from optimize_eval.models.live import chat\nfrom optimize_eval.models.requests import ChatSpec\n"
        "for name in ('good', '401', '429', 'null', 'untold'):\n"
        "    name = 'sambanova/' + name\n"
        "    asked = [{'role': 'user', 'content': 'x'}]\n"
        "    try: reply = chat(asked, name, api_base=sys.argv[1], retries=0, patience=0)\n"
        "    except (EvaluationError, UsageError) as error: print(error.message)\n"
        "    else: print(reply.text, reply.prompt_tokens)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, server.base],
        env={**os.environ, "SAMBANOVA_API_KEY": KEY},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout.splitlines()
    assert said[0] == "you sent Bearer *** 1", done.stderr
    assert "does not accept the key in the key variable of sambanova (HTTP 401): bad Bearer ***" in said[1]
    waits = "slow down; waiting 7 s would exceed --patience 0s"
    assert said[2] == f"too many requests for sambanova/429 (HTTP 429): {waits}"
    assert said[3:] == ["sambanova/null answered with no content (null)", "x None"]
    assert KEY[:9] not in done.stdout + done.stderr
