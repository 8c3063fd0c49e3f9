"""Conversations go through models under test: messages, options and calls of tools, there and back."""

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base.errors import DataError, EvaluationError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.models.chat import ChatSpec
from optimize_eval.models.live import Model
from optimize_eval.models.model_kinds import ModelSpec, connect_model
from optimize_eval.models.outputs import Outputs, key_of
from optimize_eval.models.program_model import encode_prompt, encode_prompts, parse_output
from optimize_eval.models.under_test import Output, Prompt, prompt_of_messages
from tests.fake_model import StartModel

USER = {"role": "user", "content": "Weather in Berlin?"}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Berlin"}'}}]
CALLED = {"role": "assistant", "content": None, "tool_calls": CALLS}
BACK = {"role": "tool", "tool_call_id": "c1", "content": "4 °C"}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
KEY = "sk-canary-0123456789abcdef"


def prompt(*messages: Any, **options: Any) -> Prompt:
    return prompt_of_messages(messages, options, known_as="q1")


def generated(text: str, asked: Prompt, **task: Any) -> Output:
    spec = ModelSpec(text=text, how=EvaluatorSpec(timeout=30), **task)
    with closing(connect_model(spec)) as model:
        return model.generate(asked, time.monotonic() + 30)


def test_one_text_of_a_user_is_the_same_prompt_as_ever() -> None:
    assert prompt(USER).essence == Prompt(text=USER["content"]).essence
    assert encode_prompt(prompt(USER)) == encode_prompt(Prompt(text=USER["content"]))


def test_whatever_is_sent_makes_another_key() -> None:
    system = {"role": "system", "content": "Be brief."}
    prompts = [
        *(prompt(USER), prompt(system, USER), prompt(USER, CALLED), prompt(USER, CALLED, BACK)),
        *(
            prompt(USER, seed=1),
            prompt(USER, seed=2),
            prompt(USER, tools=TOOLS),
            prompt(system, USER, seed=1),
        ),
    ]
    assert len({key_of("m", one) for one in prompts}) == len(prompts)


def test_a_program_is_sent_messages_and_options_and_may_call_tools() -> None:
    asked = prompt(USER, CALLED, BACK, temperature=0, tools=TOOLS)
    sent = json.loads(encode_prompt(asked))
    assert sent == {
        "prompt": "Weather in Berlin?\n\n\n\n4 °C",
        "messages": [USER, CALLED, BACK],
        "options": {"temperature": 0, "tools": TOOLS},
    }
    batch = json.loads(encode_prompts([asked, prompt(USER)]))
    assert (batch["messages"][1], batch["options"][1]) == ([USER], {})
    reply = parse_output(json.dumps({"tool_calls": CALLS, "cost": 1}).encode())
    assert (reply.text, reply.tool_calls, reply.side) == ("", CALLS, {"cost": 1})
    with pytest.raises(EvaluationError, match='no "text"'):
        parse_output(b'{"tool_calls": []}')


def test_a_provider_is_sent_messages_and_options_and_calls_of_tools_are_a_reply(
    fake_model: StartModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = {"content": None, "tool_calls": CALLS, "echo": "{authorization}"}
    server = fake_model([{"when": {"user": "Weather"}, "text": "", "message": message}])
    asked = prompt(USER, CALLED, BACK, temperature=0, tools=TOOLS)
    output = generated("openai/gpt-x", asked, api_base=server.base, temperature=1.0, max_tokens=9)
    assert (output.text, list(output.tool_calls)) == ("", CALLS)
    assert output.completion["choices"][0]["message"]["tool_calls"] == CALLS
    assert KEY not in json.dumps(output.completion)
    (body,) = server.bodies()
    assert body["messages"] == [USER, CALLED, BACK]
    assert (body["temperature"], body["tools"], body["max_tokens"]) == (0, TOOLS, 9)


def test_a_prompt_that_wants_a_text_still_fails_on_calls_of_tools(fake_model: StartModel) -> None:
    server = fake_model(
        [{"when": {"any": ""}, "text": "", "message": {"content": None, "tool_calls": CALLS}}]
    )
    with pytest.raises(EvaluationError, match="tool calls in place of text"):
        generated("openai/gpt-x", Prompt(text="Weather?"), api_base=server.base)


def test_thoughts_before_calls_of_tools_are_taken_off(fake_model: StartModel) -> None:
    message = {"content": "<think>Hm.</think>", "tool_calls": CALLS}
    server = fake_model([{"when": {"any": ""}, "text": "", "message": message}])
    output = generated("openai/gpt-x", prompt(USER), api_base=server.base)
    assert (output.text, output.reasoning, list(output.tool_calls)) == ("", "Hm.", CALLS)


def test_anthropics_own_way_has_tools_in_its_own_form(
    fake_model: StartModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    use = {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Berlin"}}
    body = {"type": "message", "role": "assistant", "model": "claude-x", "content": [use]}
    said = json.dumps({**body, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}})
    server = fake_model([{"when": {"path": "/messages$"}, "body": said}])
    spec = ChatSpec(name="anthropic/claude-x", api_base=server.base)
    with closing(Model(spec, Manners(patience=0))) as live:
        options = {"tools": TOOLS, "tool_choice": "required"}
        reply = live.chat([USER, CALLED, BACK, BACK], time.monotonic() + 30, options=options)
    assert reply.tool_calls[0]["function"] == {"name": "weather", "arguments": '{"city":"Berlin"}'}
    (sent,) = server.bodies()
    assert sent["tools"] == [{"name": "weather", "input_schema": {"type": "object"}}]
    assert sent["tool_choice"] == {"type": "any"}
    assert sent["messages"][1] == {"role": "assistant", "content": [use]}
    assert [block["type"] for block in sent["messages"][2]["content"]] == ["tool_result"] * 2


def test_a_reply_with_calls_of_tools_is_read_back_as_it_was(tmp_path: Path) -> None:
    outputs = Outputs(tmp_path / "outputs.jsonl")
    output = Output(text="", tool_calls=CALLS, completion={"id": "r1"})
    outputs.keep(b"k" * 32, "m", prompt(USER), output)
    found = outputs.find(b"k" * 32)
    outputs.close()
    assert found == output


def test_recorded_outputs_are_found_by_id_and_turn(tmp_path: Path) -> None:
    lines = [
        {"id": "q1", "output": "first"},
        {"id": "q1", "turn": 2, "output": "", "tool_calls": CALLS},
    ]
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    text = f"replay:{tmp_path / 'said.jsonl'}"
    second = Prompt(text="x", id="q1", turn=2)
    assert generated(text, Prompt(text="x", id="q1")).text == "first"
    assert list(generated(text, second).tool_calls) == CALLS
    with pytest.raises(EvaluationError, match=r"none to this prompt and repeat \(turn 3\)"):
        generated(text, Prompt(text="x", id="q1", turn=3))


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        ({"turn": 0}, '"turn" must be a number from 1'),
        ({"tool_calls": [{"name": "x"}]}, '"tool_calls" must be'),
    ],
)
def test_recorded_turns_and_calls_are_checked(tmp_path: Path, field: Any, reason: str) -> None:
    (tmp_path / "said.jsonl").write_text(json.dumps({"id": "q1", "output": "x", **field}), encoding="utf-8")
    with pytest.raises(DataError, match=reason):
        generated(f"replay:{tmp_path / 'said.jsonl'}", Prompt(text="x", id="q1"))
