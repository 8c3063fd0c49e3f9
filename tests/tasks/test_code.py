"""Scorers that are code: what they are given, what they may return, and that all samples are scored once."""

import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.tasks.code import HostedSnippets
from optimize_eval.tasks.definition import (
    AllSamplesScorer,
    PythonMetric,
    PythonScorer,
    digest_of,
    digest_of_code,
)
from optimize_eval.tasks.scorer_parts import scored_by_code
from optimize_eval.tasks.scorers import computed, computed_evidence
from tests.tasks.made_scorers import failure, live, scored, trace


@pytest.fixture(scope="module")
def hosted() -> Iterator[HostedSnippets]:
    with closing(HostedSnippets()) as snippets:
        snippets.call("def f(): return 1", "f", {}, time.monotonic() + 30)  # its process outlives each test
        yield snippets


@pytest.fixture
def snippets(hosted: HostedSnippets) -> "_Counted":
    return _Counted(hosted)


class _Counted:
    """Runs code, and keeps what it was called with; first calls may fail."""

    def __init__(self, hosted: HostedSnippets, failing: Iterable[EvaluationError] = ()) -> None:
        self._hosted = hosted
        self._failing = iter(failing)
        self.calls: list[Mapping[str, Any]] = []

    def call(
        self, code: str, function: str, arguments: Mapping[str, Any], deadline: float, *, ask: Any = None
    ) -> Any:
        self.calls.append(arguments)
        for error in self._failing:
            raise error
        return self._hosted.call(code, function, arguments, deadline, ask=ask)

    def close(self) -> None:
        pass


PRIMARY: dict[str, tuple[dict[str, Any], float | None]] = {
    "is_correct": ({"words": 3, "score": 0.5, "is_correct": False}, 0.0),
    "score": ({"words": 3, "score": 0.5}, 0.5),
    "the first number": ({"kind": "x", "words": 3, "letters": 9}, 3.0),
    "the first boolean": ({"kind": "x", "is_long": True}, 1.0),
    "a text": ({"kind": "x"}, None),
    "nulls": ({"score": None}, None),
    "is_correct that is a text": ({"is_correct": "yes", "score": 0.5}, 0.5),
    "nothing": ({}, None),
}


@pytest.mark.parametrize(("returned", "primary"), PRIMARY.values(), ids=PRIMARY.keys())
def test_one_number_counts(returned: dict[str, Any], primary: float | None) -> None:
    assert scored_by_code(returned).primary == primary
    assert scored_by_code(returned).scores == returned


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "flat": ({"a": 1}, {"a": 1}, {}),
    "both": ({"scores": {"a": 1}, "metadata": {"b": 2}}, {"a": 1}, {"b": 2}),
    "scores alone": ({"scores": {"a": 1}}, {"a": 1}, {}),
    "metadata that are null": ({"scores": {"a": 1}, "metadata": None}, {"a": 1}, {}),
    "scores that are a number": ({"scores": 1}, {"scores": 1}, {}),
    "metadata alone": ({"metadata": {"b": 2}}, {"metadata": {"b": 2}}, {}),
}


@pytest.mark.parametrize(("returned", "scores", "metadata"), FORMS.values(), ids=FORMS.keys())
def test_scores_are_flat_or_beside_metadata(
    returned: dict[str, Any], scores: dict[str, Any], metadata: dict[str, Any]
) -> None:
    result = scored_by_code(returned)
    assert (result.scores, result.metadata) == (scores, metadata)


MODEL = """
def compute_scores(sample, solver_output):
    return {"n": len(solver_output.messages), "x": solver_output.output}
"""
DATASET = "async def compute_scores(sample): return {'scores': {'n': sample['n']}, 'metadata': {'by': 'us'}}"


def test_code_sees_sample_and_output(snippets: _Counted) -> None:
    with live(PythonScorer(snippet=MODEL), snippets=snippets) as scorer:
        assert scored(scorer, {}, trace("hm")).scores == {"n": 2, "x": "hm"}
    with live(PythonScorer(snippet=DATASET), snippets=snippets) as scorer:
        result = scored(scorer, {"n": 4}, None)
    assert (result.primary, result.side_info) == (4.0, {"scores": {"n": 4}, "metadata": {"by": "us"}})


WRONG = {
    "a number": ("return 1", "compute_scores returned a number, not scores by their names"),
    "nothing": ("return None", "compute_scores returned null, not scores by their names"),
    "not a number": ("return {'a': float('nan')}", "what it gives is not JSON"),
    "too large a number": ("return {'a': 10**400}", "a number is too large to compute with"),
    "more beside scores": (
        "return {'scores': {'a': 1}, 'metadata': {}, 'c': 3}",
        "compute_scores returned 'c' beside scores and metadata",
    ),
    "metadata that are no object": (
        "return {'scores': {'a': 1}, 'metadata': 'x'}",
        "compute_scores returned a text as metadata, not an object",
    ),
    "an exception": ("return 1 / 0", "ZeroDivisionError: division by zero"),
}


@pytest.mark.parametrize(("body", "why"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_scores_is_a_failure(body: str, why: str, snippets: _Counted) -> None:
    with live(PythonScorer(snippet=f"def compute_scores(sample): {body}"), snippets=snippets) as scorer:
        assert why in failure(scorer, {}, None)


COUNT = """
def compute_scores(samples):
    values = [sample["v"] for sample in samples]
    return [{"is_unique": values.count(value) == 1} for value in values]
"""
SAMPLES = [{"v": 1}, {"v": 2}, {"v": 1}]


def test_code_for_all_samples_is_called_once_and_answers_for_each(snippets: _Counted) -> None:
    with live(AllSamplesScorer(snippet=COUNT), samples=SAMPLES, snippets=snippets) as scorer:

        def score(place: int) -> Any:
            return scored(scorer, SAMPLES[place], None, place=place).scores["is_unique"]

        with ThreadPoolExecutor(3) as threads:
            assert [*threads.map(score, range(3))] == [False, True, False]
    assert [dict(one) for one in snippets.calls] == [{"samples": SAMPLES}]


SHORT = "def compute_scores(samples): return [{}]"


def test_a_list_of_another_length_is_a_failure_for_each(snippets: _Counted) -> None:
    with live(AllSamplesScorer(snippet=SHORT), samples=SAMPLES, snippets=snippets) as scorer:
        words = {failure(scorer, SAMPLES[place], None, place=place) for place in range(3)}
    assert words == {"scorer s: compute_scores returned 1 entries for 3 samples"}
    assert len(snippets.calls) == 1


def test_where_a_machine_had_no_room_the_code_for_all_samples_is_called_again(hosted: HostedSnippets) -> None:
    full = EvaluationError(FailureKind.START_FAILED, "too many processes")
    full.no_room = "processes"
    snippets = _Counted(hosted, failing=[full])
    with live(AllSamplesScorer(snippet=COUNT), samples=SAMPLES, snippets=snippets) as scorer:
        assert "too many processes" in failure(scorer, SAMPLES[0], None, place=0)
        assert scored(scorer, SAMPLES[1], None, place=1).scores["is_unique"] is True
        assert scored(scorer, SAMPLES[2], None, place=2).scores["is_unique"] is False
    assert len(snippets.calls) == 2


def test_code_for_all_samples_has_to_know_which_one_it_is(snippets: _Counted) -> None:
    with live(AllSamplesScorer(snippet=COUNT), samples=SAMPLES, snippets=snippets) as scorer:
        assert "not known which of all samples" in failure(scorer, SAMPLES[0], None)
        assert scorer.score(SAMPLES[1], None, time.monotonic() + 9, place=1) is not None


MEDIAN = """
from statistics import median
def compute_metrics(scores):
    return {"median": median(score.values["n"] for score in scores), "by": len(scores[0].metadata)}
"""


def metric(snippet: str, snippets: HostedSnippets) -> Any:
    rows = [{"scores": {"n": n}, "metadata": {"by": "us"}} for n in (1, 9, 2)]
    return computed(PythonMetric(snippet=snippet, key="mid"), rows, snippets, time.monotonic() + 30)


def test_a_metric_that_is_code_sees_values_and_metadata_of_all_rows(hosted: HostedSnippets) -> None:
    assert metric(MEDIAN, hosted) == {"median": 2.0, "by": 1.0}


BAD_METRICS = {
    "a number": ("return 1", "compute_metrics returned a number, not numbers by their names"),
    "a text": ("return {'a': 'x'}", "compute_metrics returned a text as 'a', not a number"),
    "an exception": ("return scores[7]", "IndexError"),
}


@pytest.mark.parametrize(("body", "words"), BAD_METRICS.values(), ids=BAD_METRICS.keys())
def test_what_is_no_metrics_is_a_failure_of_the_metric(body: str, words: str, hosted: HostedSnippets) -> None:
    with pytest.raises(EvaluationError) as caught:
        metric(f"def compute_metrics(scores): {body}", hosted)
    assert caught.value.message.startswith("metric mid: ")
    assert words in caught.value.message
    assert caught.value.stage == "metric"


def test_rows_are_known_by_what_they_hold() -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": None}, {"a": 2}]
    assert digest_of(rows) == digest_of([{"b": None, "a": 1}, {"a": 2}])
    assert digest_of(rows) != digest_of(rows[::-1])
    assert digest_of_code(PythonMetric(snippet="a")) != digest_of_code(PythonMetric(snippet="b"))


def evidence(returned: str, snippets: HostedSnippets) -> Any:
    code = f"async def compute_evidence(): return {returned}"
    return computed_evidence(code, snippets, time.monotonic() + 30)


def test_evidence_is_numbers_with_reasons_of_which_the_first_counts(hosted: HostedSnippets) -> None:
    found = evidence("{'metrics': {'age': {'value': 40, 'reason': 'old'}, 'ok': {'value': True}}}", hosted)
    assert (found.primary, found.scores) == (40.0, {"age": 40.0, "ok": 1.0})
    assert found.metadata == {"reasons": {"age": "old"}}


BAD_EVIDENCE = {
    "no metrics": ("{'metrics': {}}", "returned no metrics"),
    "a number": ("1", "returned a number without metrics"),
    "plain numbers": ("{'metrics': {'age': 40}}", "the metric 'age' has no value"),
    "a text": ("{'metrics': {'age': {'value': '40'}}}", "the metric 'age' is a text, not a number"),
}


@pytest.mark.parametrize(("returned", "words"), BAD_EVIDENCE.values(), ids=BAD_EVIDENCE.keys())
def test_what_is_no_evidence_is_a_failure(returned: str, words: str, hosted: HostedSnippets) -> None:
    with pytest.raises(EvaluationError) as caught:
        evidence(returned, hosted)
    assert words in caught.value.message
