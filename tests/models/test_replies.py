"""What a provider's reply means: thoughts apart from the answer, streams, who answered and what it took."""

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval import EvaluationError, FailureKind
from optimize_eval.models import reply as streamed
from optimize_eval.models.chat import ChatSpec, Reply
from optimize_eval.models.live import Model
from optimize_eval.models.reply import split_thoughts, tool_calls_of
from tests.cli.benches import arithmetic
from tests.fake_model import FakeModel, StartModel, served_model
from tests.front_door import Cli

ASKED = [{"role": "user", "content": "A or B?"}]
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 5,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 3},
    "cost": 0.25,
}
CHANNELS = (
    "<|channel|>analysis<|message|>Option A … So B.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>B<|return|>"
)

THOUGHTS = {  # what the server says → the thoughts; the answer is B each time
    "think": ({"text": "<think>Option A … So B.</think>\n\nB"}, "Option A … So B."),
    "thinking": ({"text": "\n<THINKING>\nOption A?\n</THINKING>B"}, "Option A?"),
    "twice": ({"text": "<think>A?</think>\n<think>No: B.</think>\nB"}, "A?\n\nNo: B."),
    "nothing": ({"text": "<think>\n\n</think>\n\nB"}, ""),
    "channels": ({"text": CHANNELS}, "Option A … So B."),
    "swallowed": ({"text": "Option A … So B.\n</think>\n\nB"}, "Option A … So B."),
    "content": ({"text": "B", "message": {"reasoning_content": "Option A?"}}, "Option A?"),
    "reasoning": ({"text": "B", "message": {"reasoning": "Option A?"}}, "Option A?"),
    "both": (
        {"text": "<think>A?</think>B", "message": {"reasoning": "A?", "reasoning_content": "A?"}},
        "A?",
    ),
    "parts": (
        {
            "text": "",
            "message": {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]},
                    {"type": "text", "text": "B"},
                ]
            },
        },
        "A?",
    ),
    "stream": (
        {"text": "B", "streamed": True, "message": {"reasoning_content": "So \u2028B."}},
        "So \u2028B.",
    ),
    "in-stream": ({"text": "<think>A?</think>B", "streamed": True}, "A?"),
}
SPOKEN_OF = {  # answers that only speak of such marks, and are left as they are
    "later": "B, as in <think>x</think>",
    "quoted": "Close it with `</think>`.",
    "json": '{"answer": "</think> ends thoughts"}',
}
WITHOUT = {  # no answer behind the thoughts → what the failure says
    "open": ({"text": "<think>Option A"}, "the thoughts of openai/open have no end"),
    "open-channel": (
        {"text": "<|channel|>analysis<|message|>Option A"},
        "have no end, so there is no answer",
    ),
    "open-cut": ({"text": "<think>A", "finish_reason": "length"}, "used up its tokens before any text"),
    "empty": ({"text": "<think>A</think>\n"}, "gave its thoughts, and no answer after them"),
    "beside": ({"malformed": "thoughts_only"}, "gave its thoughts, and no answer after them"),
}
OTHERS = [
    {"when": {"model": "^counted$"}, "text": "B", "usage": USAGE, "answered_by": "other-2024"},
    {"when": {"model": "^stream-cut$"}, "malformed": "stream_cut"},
    {"when": {"model": "^broken$"}, "malformed": "broken_json"},
    {"when": {"model": "^stream-error$"}, "body": 'data: {"error": {"message": "full", "code": 502}}\n\n'},
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeModel]:
    cases: dict[str, Any] = {name: says for table in (THOUGHTS, WITHOUT) for name, (says, _) in table.items()}
    cases |= {name: {"text": text} for name, text in SPOKEN_OF.items()}
    rules: list[dict[str, Any]] = [{"when": {"model": f"^{name}$"}, **says} for name, says in cases.items()]
    with served_model([*OTHERS, *rules], tmp_path_factory.mktemp("replies")) as running:
        yield running


def ask(server: FakeModel, model: str, **options: Any) -> Reply:
    with closing(Model(ChatSpec(name=f"openai/{model}", api_base=server.base, **options))) as live:
        return live.chat(ASKED, time.monotonic() + 30)


def failure(server: FakeModel, model: str, **options: Any) -> EvaluationError:
    with pytest.raises(EvaluationError) as caught:
        ask(server, model, **options)
    assert caught.value.kind is FailureKind.MODEL_ERROR
    return caught.value


@pytest.mark.parametrize("model", THOUGHTS)
def test_the_answer_of_a_model_that_thinks_is_what_stands_behind_its_thoughts(
    server: FakeModel, model: str
) -> None:
    reply = ask(server, model)
    assert (reply.text, reply.reasoning) == ("B", THOUGHTS[model][1])


@pytest.mark.parametrize("model", SPOKEN_OF)
def test_an_answer_that_only_speaks_of_thoughts_stays_whole(server: FakeModel, model: str) -> None:
    reply = ask(server, model)
    assert (reply.text, reply.reasoning) == (SPOKEN_OF[model], "")


@pytest.mark.parametrize("model", WITHOUT)
def test_thoughts_without_an_answer_are_a_failure_that_keeps_them(server: FakeModel, model: str) -> None:
    error = failure(server, model)
    assert WITHOUT[model][1] in error.message
    assert "raise max_tokens" in error.hint
    assert error.side_info["reasoning"]


def test_thoughts_stay_in_the_text_where_they_are_to_be_kept(server: FakeModel) -> None:
    assert ask(server, "think", keep_thoughts=True).text == "<think>Option A … So B.</think>\n\nB"
    assert ask(server, "open", keep_thoughts=True).text == "<think>Option A"
    assert ask(server, "content", keep_thoughts=True).reasoning == "Option A?"


@given(
    st.text() | st.from_regex(r"(<think>|</think>|<\|channel\|>|final|<\|message\|>|.){0,8}", fullmatch=True)
)
def test_thoughts_and_answer_come_from_the_text_and_a_text_without_marks_is_the_answer(text: str) -> None:
    told = split_thoughts(text)
    if "think" not in text.lower() and "channel" not in text:
        assert (told.thoughts, told.answer) == ("", text)
    assert told.answer in text
    assert not (told.is_open and told.answer)


def test_a_reply_says_who_answered_and_what_it_took(server: FakeModel) -> None:
    reply = ask(server, "counted")
    assert reply.known == {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "cached_tokens": 4,
        "reasoning_tokens": 3,
        "cost": 0.25,
        "finish_reason": "stop",
        "answered_by": "other-2024",
    }


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("stream-cut", r"answered with a stream, which breaks off after \d+ bytes$"),
        ("stream-error", r"the server failed on openai/stream-error \(HTTP 502\): full$"),
        ("broken", "is not JSON: .* at "),
    ],
)
def test_a_reply_that_broke_on_its_way_may_be_asked_for_again(
    server: FakeModel, model: str, message: str
) -> None:
    error = failure(server, model)
    assert re.search(message, error.message), error.message
    assert error.retry_after == 0.0


def test_calls_of_tools_that_come_in_pieces_are_put_together() -> None:
    pieces = [
        {"role": "assistant", "content": None, "tool_calls": [_piece(0, "look", "", id="a")]},
        {"tool_calls": [_piece(0, None, '{"at": '), _piece(1, "close", "", id="b")]},
        {"tool_calls": [_piece(1, None, "{}"), _piece(0, None, '"map"}')]},
    ]
    events = [{"choices": [{"delta": piece}]} for piece in pieces]
    body = (
        "".join(f"data: {json.dumps(event)}\n\n" for event in [*events, {"choices": []}]) + "data: [DONE]\n\n"
    )
    whole = streamed.put_together(body.encode())
    assert whole is not None
    calls = tool_calls_of(whole["choices"][0]["message"])
    assert [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls] == [
        ("a", "look", '{"at": "map"}'),
        ("b", "close", "{}"),
    ]


@pytest.mark.parametrize("first", [["x"], "abc", 5, {"a": 1}, [[1]], [None]], ids=repr)
def test_odd_pieces_of_calls_of_tools_stop_nothing(first: Any) -> None:
    pieces = [{"tool_calls": first}, {"tool_calls": [_piece(0, "look", "{}")]}]
    events = [{"choices": [{"delta": piece}]} for piece in pieces]
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    whole = streamed.put_together(body.encode())
    assert whole is not None
    assert [one["function"]["name"] for one in tool_calls_of(whole["choices"][0]["message"])] == ["look"]


def _piece(index: int, name: str | None, arguments: str, **others: str) -> dict[str, Any]:
    return {"index": index, **others, "function": {"name": name, "arguments": arguments}}


WORDS: dict[str, tuple[dict[str, Any], str, str, float | None]] = {  # what comes → message, hint, wait
    "context": (
        {
            "status": 400,
            "text": "This model's maximum context length is 8192 tokens. However, you requested 9000.",
        },
        "the prompt is too long for openai/context (HTTP 400): This model's maximum",
        "shorten the prompt",
        None,
    ),
    "context-size": (
        {"status": 400, "text": "the request exceeds the available context size. try increasing it"},
        "the prompt is too long for openai/context-size (HTTP 400)",
        "a longer context",
        None,
    ),
    "unpaid": (
        {"status": 402, "text": "Insufficient credits"},
        "openai/unpaid has no credit left (HTTP 402): Insufficient credits",
        "bill of the account",
        None,
    ),
    "key of litellm's proxy": (
        {"status": 400, "text": "No connected db."},
        "wants a key, and none was sent (HTTP 400): No connected db.",
        "set OPENAI_API_KEY",
        None,
    ),
    "name that litellm's proxy lacks": (
        {"status": 400, "text": "/chat/completions: Invalid model name passed in model=m"},
        "(HTTP 400): /chat/completions: Invalid model name passed in model=m",
        "check the model's name",
        None,
    ),
    "name": (
        {"status": 400, "text": "The model `m` does not exist"},
        "(HTTP 400): The model `m` does not exist",
        "check the model's name",
        None,
    ),
    "520": ({"status": 520, "text": "odd"}, "the server failed on openai/520 (HTTP 520): odd", "later", 0.0),
    "599": ({"status": 599, "text": "odd"}, "the server failed on openai/599 (HTTP 599): odd", "later", 0.0),
    "tls": (
        {"status": 400, "body": "<h1>The plain HTTP request was sent to HTTPS port</h1>"},
        "does not take http (HTTP 400): <h1>",
        "that server speaks TLS: write https://127.0.0.1:",
        None,
    ),
}


def test_what_goes_wrong_often_has_words_of_its_own(fake_model: StartModel) -> None:
    server = fake_model([{"when": {"model": f"^{name}$"}, **says} for name, (says, *_) in WORDS.items()])
    for name, (_, message, hint, wait) in WORDS.items():
        error = failure(server, name)
        assert message in error.message
        assert hint in error.hint
        assert error.retry_after == wait


MIXED_UP = {  # how we call, and what a server of the other kind answers → the hint
    "https": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "that server speaks no TLS: write http://127.0.0.1:"),
    "http": (b"\x15\x03\x01\x00\x02\x02\x46", "if it speaks TLS, write https://"),
}


@pytest.mark.parametrize("scheme", MIXED_UP)
def test_http_and_https_that_are_mixed_up_are_told(scheme: str) -> None:
    answer, hint = MIXED_UP[scheme]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        Thread(target=_answer_one, args=(listening, answer), daemon=True).start()
        error = failure(FakeModel(f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/v1"), "m")
    assert hint in error.hint


def _answer_one(listening: socket.socket, answer: bytes) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(1 << 16)
        connection.sendall(answer)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("gpt-4o", "openai/gpt-4o"),
        ("o3-mini", "openai/o3-mini"),
        ("claude-opus-4", "anthropic/claude-opus-4"),
        ("gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("mistral-large", "mistral/mistral-large"),
        ("llama3.1", "ollama/llama3.1"),
        ("deepseek", "deepseek/MODEL"),
        ("claude/opus", "anthropic/opus"),
    ],
)
def test_a_familys_name_leads_to_its_provider(cli: Cli, tmp_path: Path, word: str, meant: str) -> None:
    judged = cli("score", "-", "-e", f"judge:{word}", "--objective", "o")
    assert f"did you mean {meant}?" in judged.stderr
    if "/" not in word and word != "deepseek":
        arithmetic(tmp_path, name="t.jsonl")
        assert f"did you mean {meant}?" in cli("bench", "t.jsonl", "--model", word).stderr
