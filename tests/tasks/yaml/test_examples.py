"""The three examples of the document on task definitions, as they stand there: all are valid."""

from pathlib import Path

import pytest

from optimize_eval.tasks import definition
from optimize_eval.tasks.definition import Entity, Generic, SingleTurn
from optimize_eval.tasks.yaml.loading import load_task
from tests.front_door import Cli
from tests.tasks.yaml.examples import SCORER, SINGLE, TRIVIA, UNIQUENESS
from tests.tasks.yaml.pages import read, written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {"single.yaml": SINGLE, "uniqueness.yaml": UNIQUENESS, "trivia.yaml": TRIVIA}
    for name, text in {**files, "uniqueness_scorer.py": SCORER}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_page_that_runs_them_has_all_of_each_and_adds_metrics_and_actions_alone() -> None:
    shown = {held["key"]: held for _, _, held in written() if "key" in held}
    for text in (SINGLE, UNIQUENESS, TRIVIA):
        example = read(text)
        added = shown[example["key"]]
        assert added["definition"].pop("actions")
        for scorer, ours in zip(
            example["definition"]["scorers"], added["definition"]["scorers"], strict=True
        ):
            kept = scorer.pop("metrics", [])
            assert ours.pop("metrics")[: len(kept)] == kept
        assert added == example


def test_all_are_valid(cli: Cli, folder: Path) -> None:
    done = cli("validate", *(path.name for path in sorted(folder.glob("*.yaml"))), "--json")
    assert (done.status, done.stderr) == (0, "")
    assert [(one["valid"], one["ids"], one["errors"]) for one in done.json["files"]] == [
        (1, [key], []) for key in ("singleturn-generic-input", "hp-trivia", "uniqueness-task")
    ]


def test_they_become_plain_data(folder: Path) -> None:
    single = load_task(str(folder / "single.yaml"))
    assert isinstance(single.solver, SingleTurn)
    assert isinstance(single.solver.builder, Generic)
    assert '"{{ sample.question }}"' in single.solver.builder.template
    assert (single.entity, single.dataset, single.key) == (Entity.MODEL, "qa-single-answers", single.key)
    assert [(one.key, one.how, one.metrics) for one in single.scorers] == [
        ("string_equals", definition.StringEquals(ground_truth="{{ sample.target }}"), None)
    ]
    unique = load_task(str(folder / "uniqueness.yaml"), {"field": "id"})
    (scorer,) = unique.scorers
    assert (unique.entity, unique.dataset, unique.solver) == (Entity.DATASET, "", None)
    assert scorer.metrics == (definition.Number(type="mean", field="is_unique", name="Uniqueness Rate"),)
    assert isinstance(scorer.how, definition.AllSamplesScorer)
    assert 'field_name = "id"' in scorer.how.snippet
    assert unique.config == {"field": "id"}
    (judge,) = load_task(str(folder / "trivia.yaml")).scorers
    assert isinstance(judge.how, definition.Classifier)
    assert (judge.how.correct_labels, judge.how.use_structured_outputs) == (["correct"], True)
