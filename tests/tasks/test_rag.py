"""RAGChecker: eleven scores of what a judge says of claims; identities between them; each call made once."""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.spent import Spent, Usage
from optimize_eval.models.chat import Message, Reply
from optimize_eval.tasks.definition import RagChecker, Scorer
from optimize_eval.tasks.rag import SCORES
from optimize_eval.tasks.scorer_parts import Scored, Tools
from optimize_eval.tasks.scorers import LiveScorer
from optimize_eval.tasks.templates import hosted
from optimize_eval.tasks.trace import MESSAGE, Trace
from tests.fake_model import StartModel
from tests.tasks.made_scorers import live, scored

ALL = tuple(SCORES)
REPLY, TARGET = "the reply", "the target"
Claims = Mapping[str, Sequence[str]]  # by the text that makes them
Support = Mapping[str, Sequence[str]]  # the claims that a text supports


class Judge:
    """A judge that knows what each text claims and supports; its n-th call may fail."""

    def __init__(self, claims: Claims, support: Support, fails_at: int = 0) -> None:
        self._claims, self._support, self._fails_at = claims, support, fails_at
        self.calls: list[dict[str, Any]] = []

    def chat(
        self, messages: Sequence[Message], deadline: float, *, schema: Mapping[str, Any] | None = None
    ) -> Reply:
        assert schema
        assert deadline > time.monotonic()
        shown = json.loads(messages[1]["content"])
        self.calls.append(shown)
        if len(self.calls) == self._fails_at:
            raise EvaluationError(FailureKind.MODEL_ERROR, "down", retry_after=0.0)
        return Reply(
            text=json.dumps(self._said(shown)),
            prompt_tokens=1,
            completion_tokens=1,
            finish_reason="stop",
            spent=Spent(usages=(Usage(model="judge"),)),
        )

    def _said(self, shown: Mapping[str, Any]) -> Mapping[str, Any]:
        text = shown["text"]
        if "claims" not in shown:
            return {"claims": list(self._claims[text])}
        holds = self._support.get(text, ())
        return {"verdicts": ["Entailment" if claim in holds else "Neutral" for claim in shown["claims"]]}


@contextmanager
def checking(judge: Judge, *scores: str, **how: Any) -> Iterator[LiveScorer]:
    checker = RagChecker(judge_model_key="judge", scores_to_compute=scores, **how)

    def nothing(*_arguments: Any) -> Any:
        raise AssertionError

    tools = Tools(model=lambda _key: judge, evaluator=nothing, snippets=nothing, samples=nothing)  # type: ignore[arg-type]
    with closing(hosted.Holder()):
        yield LiveScorer(Scorer(key="rag", type="rag_checker", how=checker), tools)


def said(reply: str = REPLY, *passages: str) -> Trace:
    references = [{"content": passage} for passage in passages]
    return Trace(
        items=[{"type": MESSAGE, "role": "assistant", "content": reply}],
        completion={"choices": [{"references": references}]},
    )


def score(judge: Judge, *names: str, passages: Sequence[str] = ("p", "q"), reply: str = REPLY) -> Scored:
    with checking(judge, *(names or ALL)) as scorer:
        return scored(scorer, {"query": "?", "target": TARGET}, said(reply, *passages))


# r1 is right and in p, r2 wrong and in p, r3 wrong and in q, r4 made up, r5 right without passages
TABLE: Support = {TARGET: ["r1", "r5"], REPLY: ["t1", "t2"], "p": ["r1", "r2", "t1"], "q": ["r3"]}
CLAIMS: Claims = {REPLY: ["r1", "r2", "r3", "r4", "r5"], TARGET: ["t1", "t2", "t3", "t4"]}
BY_HAND = {
    "recall": 2 / 4,
    "precision": 2 / 5,
    "f1_score": 2 * 0.5 * 0.4 / 0.9,
    "claim_recall": 1 / 4,
    "context_precision": 1 / 2,
    "context_utilization": 1 / 1,
    "noise_sensitivity_in_relevant": 1 / 5,
    "noise_sensitivity_in_irrelevant": 1 / 5,
    "hallucination": 1 / 5,
    "self_knowledge": 1 / 5,
    "faithfulness": 3 / 5,
}


def test_the_eleven_scores_by_hand() -> None:
    result = score(Judge(CLAIMS, TABLE))
    assert result.scores == pytest.approx(BY_HAND)
    assert result.primary == pytest.approx(BY_HAND["recall"])
    assert result.metadata["reply_claims"] == ["r1", "r2", "r3", "r4", "r5"]


def test_the_first_score_that_is_wanted_is_the_number() -> None:
    assert score(Judge(CLAIMS, TABLE), "faithfulness", "recall").primary == pytest.approx(3 / 5)


NULLS: dict[str, tuple[Claims, Sequence[str], set[str]]] = {
    "a reply without claims": (
        {**CLAIMS, REPLY: []},
        ("p", "q"),
        {*ALL} - {"recall", "claim_recall", "context_precision", "context_utilization"},
    ),
    "a target without claims": (
        {**CLAIMS, TARGET: []},
        ("p", "q"),
        {"recall", "f1_score", "claim_recall", "context_precision", "context_utilization"},
    ),
    "no passages": (CLAIMS, (), {*ALL} - {"recall", "precision", "f1_score"}),
    "nothing that was retrieved is in the target": (CLAIMS, ("x",), {"context_utilization"}),
}


@pytest.mark.parametrize(("claims", "passages", "undefined"), NULLS.values(), ids=NULLS.keys())
def test_what_is_undefined_is_null(claims: Claims, passages: Sequence[str], undefined: set[str]) -> None:
    scores = score(Judge(claims, TABLE), passages=passages).scores
    assert {name for name, value in scores.items() if value is None} == undefined


def test_f1_of_nothing_right_is_0() -> None:
    assert score(Judge(CLAIMS, {}), "f1_score").scores == {"f1_score": 0.0}


TEXTS = [REPLY, TARGET, "p", "q", "s"]


@given(
    replies=st.integers(1, 6),
    targets=st.integers(0, 4),
    passages=st.integers(1, 3),
    holds=st.fixed_dictionaries(
        {
            text: st.frozensets(st.sampled_from([f"{side}{n}" for side in "rt" for n in range(6)]))
            for text in TEXTS
        }
    ),
)
def test_scores_add_up_whatever_the_judge_replies(
    replies: int, targets: int, passages: int, holds: dict[str, frozenset[str]]
) -> None:
    claims = {REPLY: [f"r{n}" for n in range(replies)], TARGET: [f"t{n}" for n in range(targets)]}
    support = {text: sorted(texts) for text, texts in holds.items()}
    found = score(Judge(claims, support), passages=TEXTS[2 : 2 + passages]).scores
    known = {name: math.nan if value is None else value for name, value in found.items()}
    assert known["faithfulness"] + known["hallucination"] + known["self_knowledge"] == pytest.approx(1)
    noise = known["noise_sensitivity_in_relevant"] + known["noise_sensitivity_in_irrelevant"]
    assert 1 - known["precision"] == pytest.approx(noise + known["hallucination"])
    assert all(0 <= value <= 1 for value in found.values() if value is not None)


def test_scores_share_calls_of_the_judge() -> None:
    judge = Judge(CLAIMS, TABLE)
    result = score(judge)
    assert len(judge.calls) == 2 + 2 + 2 * 2
    assert len({json.dumps(call) for call in judge.calls}) == len(judge.calls)
    assert len(result.spent.usages) == result.metadata["usage"]["calls"] == 8


FEWER = {"faithfulness": 1 + 2, "precision": 1 + 1, "recall": 1 + 1, "claim_recall": 1 + 2}


@pytest.mark.parametrize(("name", "calls"), FEWER.items())
def test_only_what_a_score_needs_is_called_for(name: str, calls: int) -> None:
    judge = Judge(CLAIMS, TABLE)
    score(judge, name)
    assert len(judge.calls) == calls


def test_faithfulness_needs_no_target_and_others_do() -> None:
    judge = Judge(CLAIMS, TABLE)
    with checking(judge, "faithfulness") as scorer:
        assert scored(scorer, {"query": "?"}, said(REPLY, "p")).primary == pytest.approx(2 / 5)
    with checking(judge, "recall") as scorer, pytest.raises(EvaluationError, match="no column 'target'"):
        scored(scorer, {"query": "?"}, said())


def test_an_empty_reply_has_no_claims_and_calls_for_none() -> None:
    judge = Judge(CLAIMS, TABLE)
    assert score(judge, "precision", reply="  ").scores == {"precision": None}
    assert judge.calls == []


def test_passages_may_stand_in_a_column() -> None:
    with checking(Judge(CLAIMS, TABLE), "faithfulness", context_column="docs") as scorer:
        for docs in (["p", "q"], [{"content": "p"}, {"content": "q"}]):
            assert scored(scorer, {"query": "?", "docs": docs}, said()).primary == pytest.approx(3 / 5)
        assert scored(scorer, {"query": "?", "docs": "q"}, said()).primary == pytest.approx(1 / 5)
        with pytest.raises(EvaluationError, match="'docs' holds what is not a text"):
            scored(scorer, {"query": "?", "docs": [1]}, said())


def test_after_a_failure_only_what_is_missing_is_called_for_again() -> None:
    judge = Judge(CLAIMS, TABLE, fails_at=3)
    with checking(judge, "faithfulness", "precision") as scorer:
        with pytest.raises(EvaluationError) as caught:
            scored(scorer, {"query": "?", "target": TARGET}, said(REPLY, "p", "q"))
        again = scored(scorer, {"query": "?", "target": TARGET}, said(REPLY, "p", "q"))
    assert (caught.value.stage, len(caught.value.spent.usages)) == ("scorer", 2)
    assert again.scores == pytest.approx({"faithfulness": 3 / 5, "precision": 2 / 5})
    assert len(judge.calls) == 3 + 2


def test_a_real_model_is_held_to_a_schema_and_called_again(
    fake_model: StartModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    model = fake_model(
        [
            {"when": {"any": "You split"}, "json": {"claims": ["It is big."]}},
            {"when": {"any": "You check"}, "json": {"verdicts": []}, "times": 1},
            {"when": {"any": "You check"}, "json": {"verdicts": ["entailment"]}},
        ]
    )
    how = RagChecker(judge_model_key="judge", scores_to_compute=["precision"])
    with live(how, models=model.base) as scorer:
        result = scored(scorer, {"query": "?", "target": TARGET}, said())
    assert (result.primary, result.metadata["usage"]["calls"]) == (1.0, 3)
    bodies = model.bodies()
    assert all(body["response_format"]["type"] == "json_schema" for body in bodies)
    assert "verdicts has 0 entries, not one for each of 1" in bodies[-1]["messages"][-1]["content"]
