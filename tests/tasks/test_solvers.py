"""Solvers and the models that they call: what is sent, what comes of it, and whose failure it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.store import journal
from optimize_eval.store.folder import JOURNAL
from optimize_eval.tasks.code import HostedSnippets
from optimize_eval.tasks.definition import (
    ChatCompletion,
    Generate,
    GenerateMessage,
    Generic,
    Loop,
    MultiTurn,
    PassThrough,
    PythonSolver,
    Said,
    SingleTurn,
)
from optimize_eval.tasks.yaml.making import names_candidate
from tests.fake_model import StartModel
from tests.tasks.made_solvers import Spoken, says, shared_models, solved, texts

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "map"}'}}
CHAT = SingleTurn(
    builder=ChatCompletion(
        messages=[Said(role="system", content="{{ candidate }}"), Said(role="user", content="{{ sample.q }}")]
    )
)
OUTPUTS = "outputs.jsonl"
ECHO = [{"when": {"user": "(.*)"}, "text": "re: {1}"}]


def generic(template: str) -> SingleTurn:
    return SingleTurn(builder=Generic(template=template))


@pytest.fixture
def snippets() -> Iterator[HostedSnippets]:
    hosted = HostedSnippets()
    yield hosted
    hosted.close()


def test_messages_are_sent_and_the_reply_is_the_output(fake_model: StartModel, tmp_path: Path) -> None:
    server = fake_model(ECHO)
    with shared_models({None: "openai/x"}, tmp_path / "outputs.jsonl", api_base=server.base) as models:
        trace = solved(CHAT, {"q": "Where?"}, models, candidate="Be brief.")
        again = solved(CHAT, {"q": "Where?"}, models, candidate="Be brief.")
    assert texts(trace) == ["s:Be brief.", "u:Where?", "a:re: Where?"]
    assert trace.completion["id"] == "chatcmpl-fake"
    assert (len(trace.spent.usages), len(again.spent.usages)) == (1, 0)
    assert (again.items, again.completion, again.replies) == (trace.items, trace.completion, trace.replies)
    assert len(server.requests()) == 1


def test_a_generic_input_is_json_with_what_else_is_sent(fake_model: StartModel, tmp_path: Path) -> None:
    message = {"content": None, "tool_calls": [CALL]}
    server = fake_model([{"when": {"user": ""}, "text": "", "message": message}])
    tools = [{"type": "function", "function": {"name": "look"}}]
    solver = generic(
        '{"messages": [{"role": "user", "content": {{ sample.q | tojson }}}], "temperature": 0,'
        f' "tools": {json.dumps(tools)}}}'
    )
    with shared_models({None: "openai/x"}, tmp_path / "outputs.jsonl", api_base=server.base) as models:
        trace = solved(solver, {"q": 'Say "x"'}, models)
    (body,) = server.bodies()
    assert body["messages"] == [{"role": "user", "content": 'Say "x"'}]
    assert (body["temperature"], body["tools"]) == (0, tools)
    assert texts(trace) == ['u:Say "x"', "a:"]
    (call,) = trace.function_calls
    assert (call["name"], call["arguments"], call["call_id"]) == ("look", {"at": "map"}, "c1")


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ('{"messages": [{"role": "user", "content": "{{ sample.q }}"}]}', "makes no JSON"),
        ("[]", 'no object with a list of "messages"'),
        ('{"messages": []}', 'no object with a list of "messages"'),
        ('{"messages": ["x"]}', "cannot be read: number 1 is not a message"),
        ('{"messages": [{"role": "user", "content": "x"}], "n": 2}', "'n' is not passed on to models"),
        ("{{ sample.z }}", "bad_template: there is no 'z' in an object"),
    ],
)
def test_an_input_that_is_none_is_the_solvers_failure(template: str, reason: str) -> None:
    with pytest.raises(EvaluationError, match=reason) as caught:
        solved(generic(template), {"q": 'Say "x"'}, Spoken(lambda _key, _number: "x"))
    assert caught.value.message.startswith("solver: ")
    assert (caught.value.stage, caught.value.kind) == ("solver", FailureKind.REPORTED)
    if "JSON" in reason or "messages" in reason:
        assert "| tojson" in caught.value.hint


def test_a_models_failure_is_the_models_and_what_was_spent_before_counts(
    fake_model: StartModel, tmp_path: Path
) -> None:
    server = fake_model([{"when": {"user": "one"}, "text": "1"}, {"when": {"user": "two"}, "status": 400}])
    solver = MultiTurn(builders=[says("user", "one"), Generate(), says("user", "two"), Generate()])
    with (
        shared_models({None: "openai/x"}, tmp_path / "o.jsonl", api_base=server.base) as models,
        pytest.raises(EvaluationError) as caught,
    ):
        solved(solver, {}, models)
    assert (caught.value.stage, caught.value.kind) == ("model", FailureKind.MODEL_ERROR)
    assert caught.value.message.startswith("model: ")
    assert len(caught.value.spent.usages) == 2


def test_other_models_are_called_by_their_keys_and_all_is_known_again(
    fake_model: StartModel, tmp_path: Path
) -> None:
    server = fake_model([{"when": {"model": "(.*)"}, "text": "{1} {count}"}])
    asks = GenerateMessage(model_key="sim", messages=[Said(role="user", content="Ask.")], role="user")
    solver = MultiTurn(builders=[Loop(builders=[asks, Generate()], most=2)])
    named: Any = {None: "openai/x", "sim": "openai/y"}
    traces = []
    for _ in range(2):
        with shared_models(named, tmp_path / "o.jsonl", api_base=server.base) as models:
            traces.append(solved(solver, {}, models))
    assert texts(traces[0]) == ["u:y 1", "a:x 2", "u:y 3", "a:x 4"]
    assert traces[1].items == traces[0].items
    assert len(server.requests()) == 4


def test_a_failure_of_another_model_says_which(fake_model: StartModel, tmp_path: Path) -> None:
    server = fake_model([{"when": {"user": ""}, "status": 400, "text": "no"}])
    asks = GenerateMessage(model_key="sim", messages=[Said(role="user", content="Ask.")])
    named: Any = {"sim": "openai/y"}
    with (
        shared_models(named, tmp_path / OUTPUTS, api_base=server.base) as models,
        pytest.raises(EvaluationError, match=r"^model sim: .*no") as caught,
    ):
        solved(MultiTurn(builders=[asks]), {}, models)
    assert caught.value.stage == "model"


def test_each_reply_of_a_conversation_is_paid_for_once(fake_model: StartModel, tmp_path: Path) -> None:
    server = fake_model(ECHO)
    solver = MultiTurn(builders=[says("user", "a"), Generate(), says("user", "b"), Generate()])
    spent = []
    for _ in range(3):
        with shared_models({None: "openai/x"}, tmp_path / OUTPUTS, api_base=server.base) as models:
            spent.append(solved(solver, {}, models).spent.usages)
        if len(spent) == 2:  # a kill came before the first record; then one says what both replies took
            usage = [one.to_dict() for one in spent[-1]]
            (tmp_path / JOURNAL).write_bytes(journal.seal({"outcome": "scored", "usage": usage}))
    assert [len(usages) for usages in spent] == [2, 2, 0]
    assert len(server.requests()) == 2


def test_a_recorded_conversation_is_passed_through() -> None:
    recorded = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "", "tool_calls": [CALL]}]
    models = Spoken(lambda _key, _number: "")
    for shape in (recorded, {"messages": recorded}, json.dumps(recorded)):
        trace = solved(PassThrough(column="said"), {"said": shape}, models)
        assert texts(trace) == ["u:Hi", "a:"]
        assert trace.function_calls[0]["name"] == "look"
    assert texts(solved(PassThrough(column="said"), {"said": []}, models)) == []
    assert not models.sent
    with pytest.raises(EvaluationError, match="the sample has no 'trace'"):
        solved(PassThrough(column="trace"), {"said": []}, models)
    with pytest.raises(EvaluationError, match="the conversation in 'said' cannot be read"):
        solved(PassThrough(column="said"), {"said": 3}, models)


RUN = """
async def run_solver(sample, model, trace):
    trace.append_user_message(sample["q"])
    trace.add_model_response(await model.predict(trace.items))
    votes = [await model.predict({"messages": trace.messages, "temperature": 1}) for _ in range(2)]
    trace.append_user_message(votes[0].text + votes[1].text)
    trace.add_model_response(await model.predict(trace.items))
    return trace
"""


def test_code_calls_the_model_and_its_replies_are_known_again(
    fake_model: StartModel, tmp_path: Path, snippets: HostedSnippets
) -> None:
    server = fake_model([{"when": {"user": ""}, "text": "r{count}"}])
    traces = []
    for _ in range(2):
        with shared_models({None: "openai/x"}, tmp_path / "o.jsonl", api_base=server.base) as models:
            traces.append(solved(PythonSolver(snippet=RUN), {"q": "Hi"}, models, snippets))
    assert texts(traces[0]) == ["u:Hi", "a:r1", "u:r2r3", "a:r4"]
    assert traces[1].items == traces[0].items
    assert traces[0].completion["choices"][0]["message"]["content"] == "r4"
    assert [usage.output for usage in traces[0].spent.usages] == [*traces[0].replies]
    assert len(server.requests()) == 4
    assert server.bodies()[1]["temperature"] == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("pass", "run_solver returned nothing"),
        ("return 3", "what run_solver returned cannot be read"),
        ("return trace", "no message of the assistant"),
        ("raise ValueError('no')", r"run_solver: ValueError: no \(line 2"),
        ("await model.predict({'messages': [], 'logprobs': 1})", "'logprobs' is not passed on to models"),
    ],
)
def test_what_code_does_wrong_is_the_solvers_failure(
    snippets: HostedSnippets, body: str, reason: str
) -> None:
    code = f"async def run_solver(sample, model, trace):\n    {body}"
    with pytest.raises(EvaluationError, match=reason) as caught:
        solved(PythonSolver(snippet=code), {}, Spoken(lambda _key, _number: ""), snippets)
    assert caught.value.stage == "solver"


def test_who_names_the_candidate() -> None:
    assert names_candidate(CHAT)
    assert names_candidate(generic("{{ {'a': candidate} | tojson }}"))
    assert names_candidate(
        MultiTurn(builders=[Loop(builders=[says("user", "{% if candidate %}x{% endif %}")])])
    )
    hint = GenerateMessage(model_key="m", messages=[Said(role="user", content="{{ candidate }}")])
    assert names_candidate(MultiTurn(builders=[hint]))
    assert not names_candidate(
        MultiTurn(builders=[says("user", "candidate {{ sample.candidate }}"), Generate()])
    )
    assert not names_candidate(PassThrough(column="x"))
    assert not names_candidate(PythonSolver(snippet="candidate"))
