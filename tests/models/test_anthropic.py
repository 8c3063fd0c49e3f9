"""Anthropic's own way to be called, against a server that replies in its form."""

import json
import time
from contextlib import closing
from typing import Any

import pytest

from optimize_eval import EvaluationError
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.models.chat import ChatSpec, Reply
from optimize_eval.models.live import Model
from optimize_eval.models.providers import messages_url
from tests.fake_model import FakeModel, StartModel
from tests.front_door import Cli

KEY = "sk-canary-0123456789abcdef"
THERE = {"path": "/v1/messages$"}
ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "greet Ada"}]


def message(*blocks: dict[str, Any], stop_reason: str = "end_turn", **usage: int) -> str:
    told = {"type": "message", "role": "assistant", "model": "claude-x-2026", "content": blocks}
    tokens = {"input_tokens": 7, "output_tokens": 2, **usage}
    return json.dumps({**told, "stop_reason": stop_reason, "usage": tokens})


def ask(server: FakeModel, **options: Any) -> Reply:
    spec = ChatSpec(name="anthropic/claude-x", api_base=server.base, **options)
    with closing(Model(spec, Manners(patience=0))) as live:
        return live.chat(ASKED, time.monotonic() + 30)


@pytest.mark.parametrize(
    "base", ["https://host", "https://host/", "https://host/v1", "https://host/v1/messages"]
)
def test_the_base_may_be_written_with_and_without_its_version(base: str) -> None:
    assert messages_url(base) == "https://host/v1/messages"


def test_request_and_reply_are_in_its_own_form(
    fake_model: StartModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    thought = {"type": "thinking", "thinking": "Ada it is."}
    body = message(thought, {"type": "text", "text": "Hello Ada"}, cache_read_input_tokens=5)
    server = fake_model(
        [
            {
                "when": {"path": "/messages$", "headers": {"x-api-key": KEY, "anthropic-version": "2023"}},
                "body": body,
            }
        ]
    )
    reply = ask(server, temperature=0.5, max_tokens=30, seed=3)
    assert (reply.text, reply.reasoning, reply.model) == ("Hello Ada", "Ada it is.", "claude-x-2026")
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens) == (12, 2, 5)
    (request,) = server.requests()
    assert (request["path"], request["authorization"]) == ("/v1/messages", False)
    assert request["body"] == {
        "model": "claude-x",
        "temperature": 0.5,
        "max_tokens": 30,
        "messages": [{"role": "user", "content": "greet Ada"}],
        "system": "Be brief.",
    }


def test_a_judge_s_answer_is_the_input_of_a_tool(cli: Cli, fake_model: StartModel) -> None:
    used = {"type": "tool_use", "name": "answer", "input": {"reasoning": "warm", "score": 0.9}}
    server = fake_model([{"when": THERE, "body": message(used, stop_reason="tool_use")}])
    judge = ("-e", f"judge:anthropic/claude-x@{server.base}", "--objective", "It greets warmly")
    done = cli("score", "-", *judge, stdin=b"Hello", env={"ANTHROPIC_API_KEY": KEY})
    assert (done.status, done.json["score"]) == (0, 0.9), done.stderr
    assert done.json["side_info"]["reasoning"] == "warm"
    (body,) = server.bodies()
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert body["tools"][0]["input_schema"]["properties"]["score"]["type"] == "number"
    assert body["max_tokens"] == 4096


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            {"status": 401, "body": '{"type":"error","error":{"message":"invalid x-api-key"}}'},
            "invalid x-api-key",
        ),
        (
            {"status": 529, "body": '{"type":"error","error":{"message":"Overloaded"}}'},
            "no room for .*Overloaded",
        ),
        ({"body": message(stop_reason="max_tokens")}, "used up its tokens before any text"),
        ({"body": message(stop_reason="refusal")}, "held back by a content filter"),
        ({"body": '{"type": "message"}'}, "is not a chat completion"),
    ],
    ids=["401", "529", "length", "refusal", "no content"],
)
def test_its_failures_are_told_as_those_of_others(
    fake_model: StartModel, rule: dict[str, Any], words: str
) -> None:
    with pytest.raises(EvaluationError, match=words):
        ask(fake_model([{"when": THERE, **rule}]))
