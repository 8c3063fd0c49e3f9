"""Conversations as they are recorded, as traces have them, and as providers take them: all say the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.tasks.trace import TraceFault, items_of, messages_of

TEXTS = st.text(max_size=8)
MESSAGES = st.fixed_dictionaries(
    {"type": st.just("message"), "role": st.sampled_from(["system", "user", "assistant"]), "content": TEXTS}
)
CALLS = st.fixed_dictionaries(
    {
        "type": st.just("function_call"),
        "name": st.text(min_size=1, max_size=5),
        "arguments": st.dictionaries(TEXTS, st.integers(0, 9) | TEXTS | st.lists(st.booleans()), max_size=3),
        "call_id": st.text(min_size=1, max_size=3),
    }
)
RETURNS = st.fixed_dictionaries(
    {"type": st.just("function_call_output"), "output": TEXTS, "call_id": st.text(min_size=1, max_size=3)}
)
TRACES = st.lists(MESSAGES | CALLS | RETURNS, max_size=8)


@given(TRACES)
def test_items_survive_every_shape_that_keeps_them(items: list[Any]) -> None:
    for recorded in (items, {"items": items}, json.dumps(items), json.dumps({"items": items})):
        assert items_of(recorded) == items


@given(TRACES)
def test_what_a_provider_takes_says_the_same_but_that_calls_belong_to_a_message(items: list[Any]) -> None:
    back = items_of({"messages": messages_of(items)})
    empty = {"type": "message", "role": "assistant", "content": ""}
    assert [one for one in back if one != empty] == [one for one in items if one != empty]
    assert messages_of(items_of(messages_of(items)))[-1:] == messages_of(back)[-1:]


def test_parts_arguments_in_texts_and_other_spellings_are_read() -> None:
    recorded = {
        "FORMAT": "open_responses",
        "items": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}], "id": ""},
            {"type": "function_call", "id": "", "call_id": "c1", "name": "f", "arguments": '{"a": 1}'},
            {"type": "function_call", "name": "g", "arguments": "no JSON"},
            {"type": "function_call_output", "call_id": "c1", "output": {"b": 2}},
            {"role": "assistant", "content": None},
        ],
    }
    assert items_of(recorded) == [
        {"type": "message", "role": "user", "content": "Hi"},
        {"type": "function_call", "name": "f", "arguments": {"a": 1}, "call_id": "c1"},
        {"type": "function_call", "name": "g", "arguments": "no JSON"},
        {"type": "function_call_output", "output": '{"b":2}', "call_id": "c1"},
        {"type": "message", "role": "assistant", "content": ""},
    ]


@pytest.mark.parametrize(
    ("recorded", "reason"),
    [
        ("[{]", "it is not JSON: "),
        (3, "a list or an object, this is "),
        ({"trace": []}, 'an object needs "messages" or "items"'),
        ([{"content": "x"}], "number 1 is not a message: it has no role"),
        ([{"type": "image"}], "number 1 has type 'image'"),
        ([{"role": "user", "content": 3}], "content of number 1 is "),
        ([{"role": "assistant", "content": "", "tool_calls": [{"name": "f"}]}], "tool_calls of number 1"),
        ([{"role": "assistant", "content": "", "tool_calls": 3}], "tool_calls of number 1"),
        ([["user", "x"]], "number 1 is not a message"),
    ],
)
def test_what_is_no_conversation_says_why(recorded: Any, reason: str) -> None:
    with pytest.raises(TraceFault, match=reason):
        items_of(recorded)
