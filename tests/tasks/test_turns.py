"""Conversations of several turns: what is said, where loops end, and what is dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.errors import EvaluationError
from optimize_eval.tasks.definition import Builder, Generate, GenerateMessage, Loop, MultiTurn, Said, Stop
from tests.tasks.made_solvers import Spoken, says, solved, texts

SIMULATOR = (
    Said(role="system", content="You play the user. Round {{ loop_index }}, {{ messages | length }}"),
)


def counted() -> Spoken:
    return Spoken(lambda key, number: f"{key or 'model'} {number}")


def test_messages_replies_and_other_models_follow_each_other() -> None:
    models = counted()
    asks = GenerateMessage(model_key="sim", messages=SIMULATOR, role="user")
    solver = MultiTurn(
        builders=[
            says("system", "Be {{ sample.how }}."),
            Loop(builders=[asks, Generate()], most=2),
            says("user", "{{ messages[-1].content }}? {{ candidate }}"),
            Generate(),
        ]
    )
    trace = solved(solver, {"how": "brief"}, models, candidate="C")
    said = ["u:sim 1", "a:model 2", "u:sim 3", "a:model 4", "u:model 4? C", "a:model 5"]
    assert texts(trace) == ["s:Be brief.", *said]
    assert [key for key, _ in models.sent] == ["sim", None, "sim", None, None]
    assert models.messages[2][-1] == {"role": "system", "content": "You play the user. Round 1, 3"}
    assert trace.completion["choices"][0]["message"]["content"] == "model 5"
    assert trace.replies == ("1", "2", "3", "4", "5")


def test_another_model_may_be_sent_these_messages_alone() -> None:
    models = counted()
    alone = GenerateMessage(model_key="sim", messages=SIMULATOR[:1], role="user", has_conversation=False)
    solved(
        MultiTurn(builders=[says("user", "hi"), Generate(), Loop(builders=[alone], most=1), Generate()]),
        {},
        models,
    )
    assert models.messages[1] == [{"role": "system", "content": "You play the user. Round 0, 2"}]


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        (Stop(includes="2"), ["u:hi", "a:model 1", "a:model 2", "u:end"]),
        (Stop(includes="2", keep_iteration=False), ["u:hi", "a:model 1", "u:end"]),
        (Stop(includes="MODEL"), None),
    ],
)
def test_a_text_ends_a_loop_and_its_round_may_be_dropped(stop: Stop, said: list[str] | None) -> None:
    solver = MultiTurn(
        builders=[says("user", "hi"), Loop(builders=[Generate(stop=stop)], most=3), says("user", "end")]
    )
    if said:
        assert texts(solved(solver, {}, counted())) == said
        return
    with pytest.raises(EvaluationError, match="solver: after 3 rounds of a loop no message included 'MODEL'"):
        solved(solver, {}, counted())


def test_a_text_outside_of_loops_ends_the_conversation() -> None:
    for keeps, said in ((True, ["u:hi", "a:model 1"]), (False, ["u:hi"])):
        last = Generate(stop=Stop(includes="1", keep_iteration=keeps))
        solver = MultiTurn(builders=[says("user", "hi"), last, says("user", "more")])
        if keeps:
            assert texts(solved(solver, {}, counted())) == said
            continue
        with pytest.raises(EvaluationError, match="no message of the assistant"):
            solved(solver, {}, counted())


def test_a_dropped_round_takes_its_reply_with_it() -> None:
    dropped = Generate(stop=Stop(includes="3", keep_iteration=False))
    loop = Loop(builders=[says("user", "more"), dropped], most=9)
    trace = solved(MultiTurn(builders=[says("user", "hi"), Generate(), loop]), {}, counted())
    assert texts(trace) == ["u:hi", "a:model 1", "u:more", "a:model 2"]
    assert trace.completion["choices"][0]["message"]["content"] == "model 2"


def test_an_inner_loop_ends_by_itself() -> None:
    inner = Loop(builders=[says("user", "x", "x")], most=5)
    trace = solved(MultiTurn(builders=[Loop(builders=[inner, Generate()], most=2)]), {}, counted())
    assert texts(trace) == ["u:x", "a:model 1", "u:x", "a:model 2"]


@given(
    st.integers(0, 4),
    st.integers(0, 4),
    st.sampled_from(["", "1", "3", "never"]),
    st.fixed_dictionaries({"keeps": st.booleans(), "fails": st.booleans()}),
)
def test_a_loop_never_goes_more_than_most_rounds(
    most: int, inner: int, stop: str, ways: dict[str, bool]
) -> None:
    keeps, fails = ways["keeps"], ways["fails"]
    models = counted()
    builders: list[Builder] = [
        Loop(builders=[says("user", "x")], most=inner),
        says("user", "hi"),
        Generate(stop=Stop(includes=stop, keep_iteration=keeps) if stop else None),
    ]
    loop = Loop(builders=builders, most=most, fails_at_most=fails)
    try:
        trace = solved(MultiTurn(builders=[says("assistant", "."), loop]), {}, models)
    except EvaluationError as error:
        assert "rounds of a loop" in error.message
        assert fails
        assert stop
    else:
        rounds = [text for text in texts(trace) if text == "u:hi"]
        assert len(rounds) <= most
        assert texts(trace).count("u:x") == len(rounds) * inner
    assert len(models.sent) <= most


def test_rounds_without_end_are_a_failure() -> None:
    endless = Loop(builders=[Loop(builders=[says("user", "x")], most=0)], most=10**9)
    with pytest.raises(EvaluationError, match="more than 10,000 steps"):
        solved(MultiTurn(builders=[endless]), {}, counted())


def test_a_reply_needs_a_message() -> None:
    with pytest.raises(EvaluationError, match="solver: generate has no message to reply to"):
        solved(MultiTurn(builders=[Generate()]), {}, counted())


def test_outside_of_loops_there_is_no_loop_index() -> None:
    with pytest.raises(EvaluationError, match="bad_template: there is no field 'loop_index'") as caught:
        solved(MultiTurn(builders=[says("user", "{{ loop_index }}")]), {}, counted())
    assert caught.value.stage == "solver"
