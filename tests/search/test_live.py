"""The scorer that calls evaluators: real programs, journaled, never called twice for what is recorded."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.outcome import Failed, Scored
from optimize_eval.data.datasets import read_dataset
from optimize_eval.evaluators.kinds import identify, parse_evaluators
from optimize_eval.run.host import Stop
from optimize_eval.search.ending import Meter, Over, Why
from optimize_eval.search.outcomes import Trial
from optimize_eval.search.scorer import LiveScorer
from optimize_eval.store.folder import EVALUATIONS
from tests.run.projects import Project

PAIRS = [Trial(text, "train", line) for text in ("a", "bbb") for line in (1, 2, 3)]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    project = Project(tmp_path / "p", 3)
    monkeypatch.setenv("COUNT", str(project.counted))
    return project


@contextmanager
def scorer(project: Project, *texts: str, stop: Stop | None = None) -> Iterator[LiveScorer]:
    specs = parse_evaluators(texts or ["./counts.sh"], EvaluatorSpec(cwd=str(project.folder)))
    lines = read_dataset(project.folder / "d.jsonl").examples
    with LiveScorer(
        specs,
        [identify(spec) for spec in specs],
        {("train", example.line): example for example in lines},
        stop=stop or Stop(),
        meter=Meter(),
        slots=2,
        path=project.folder / EVALUATIONS,
    ) as live:
        yield live


def test_pairs_are_scored_once_in_this_session_and_in_all_later_ones(project: Project) -> None:
    with scorer(project) as first:
        assert first.owed(PAIRS) == 6
        before = first.score(PAIRS[:4])
        assert first.owed(PAIRS) == 2
    with scorer(project) as second:
        outcomes = second.score(PAIRS)
        assert second.made == 6

    assert [one[0].score for one in outcomes if isinstance(one[0], Scored)] == [
        0.11,
        0.21,
        0.31,
        0.13,
        0.23,
        0.33,
    ]
    assert len(before) == 4
    assert set(project.asked().values()) == {1}


def test_a_recorded_failure_is_final(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILS", "a:2")
    with scorer(project) as first:
        (failed,) = first.score(PAIRS[1:2])
    with scorer(project) as second:
        (again,) = second.score(PAIRS[1:2])
        assert second.made == 1

    for one in (failed[0], again[0]):
        assert isinstance(one, Failed)
        assert (one.kind, "out of luck" in one.stderr) == ("exit_code", True)


def test_several_evaluators_answer_in_their_order(project: Project) -> None:
    with scorer(project, "./counts.sh", "second=./counts.sh") as live:
        assert live.owed(PAIRS[:2]) == 4
        outcomes = live.score(PAIRS[:2])

    assert all(len(one) == 2 for one in outcomes)
    assert project.asked() == {"a:1": 2, "a:2": 2}


def test_a_stop_ends_the_scoring_and_what_was_scored_stays(project: Project) -> None:
    stop = Stop()
    stop.request()
    with scorer(project, stop=stop) as live, pytest.raises(Over) as raised:
        live.score(PAIRS)

    assert raised.value.why is Why.INTERRUPTED
