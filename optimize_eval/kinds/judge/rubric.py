"""What a judge is to do: its specification, its rubric and the forms of its answer; plain data.

How a rubric is read from a file is rubric_file's business, how it is put to a model prompt's, what a
reply means reply's.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Self

from optimize_eval.errors import UsageError
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.frozen import frozen

if TYPE_CHECKING:  # what judges share with commands loads no HTTP client
    from optimize_eval.models import ModelSpec


class AnswerForm(StrEnum):
    """What a judge answers with, and what becomes of it."""

    SCORE = "score"  # 0 to 1, or one number for each dimension
    SCORER = "scorer"  # a number between two others, made one from 0 to 1
    CLASSIFIER = "classifier"  # one of the labels that count 1 or 0
    LABELER = "labeler"  # a label, which is what is wanted; it may stand for a score


@frozen
class Dimension:
    """One aspect of the objective; its weight counts against those of the others."""

    name: str
    weight: float = 1.0
    description: str = ""


@frozen
class Constraint:
    """What a candidate must not violate: one that does scores 0."""

    text: str
    name: str = ""

    @property
    def shown(self) -> str:
        return self.name or self.text


@frozen
class Rubric:
    """By what a candidate is judged, besides the objective."""

    form: AnswerForm = AnswerForm.SCORE
    dimensions: tuple[Dimension, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    score_min: float = 0.0
    score_max: float = 1.0
    correct_labels: tuple[str, ...] = ()
    incorrect_labels: tuple[str, ...] = ()
    labels: tuple[tuple[str, float], ...] = ()  # of a labeler, with what each scores; none: any label

    @property
    def shares(self) -> dict[str, float]:
        """Normalise the weights of the dimensions."""
        whole = math.fsum(dimension.weight for dimension in self.dimensions)
        return {dimension.name: dimension.weight / whole for dimension in self.dimensions}

    @property
    def keyed_constraints(self) -> dict[str, Constraint]:
        """Give each constraint the word by which a model names it."""
        return {one.name or f"c{number}": one for number, one in enumerate(self.constraints, 1)}

    @property
    def known_labels(self) -> tuple[str, ...]:
        return (*self.correct_labels, *self.incorrect_labels, *(label for label, _ in self.labels))


@frozen
class JudgeSpec:
    """A model as an evaluator; one without a model stands for the defaults that others are made from."""

    kind: ClassVar[str] = "judge"
    model: str = ""  # PROVIDER/MODEL
    objective: str = ""
    rubric: Rubric = Rubric()
    rubric_file: str = ""  # where the rubric was read from
    api_base: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    table: "ModelSpec | None" = None  # what a table [[model]] says of the model
    shows: tuple[str, ...] = ()  # fields of examples that it is shown alone, by dotted paths; none: all
    hides: tuple[str, ...] = ()  # fields that it is not shown, also among those
    human: tuple[str, ...] = ()  # fields with what people say, which no judge is shown
    shows_prompt: bool = False  # the prompt to which a candidate is a model's reply

    @property
    def blind_to(self) -> tuple[str, ...]:
        """Give all fields that it is not shown."""
        return tuple(sorted({*self.hides, *self.human}))

    def hiding(self, fields: Iterable[str]) -> Self:
        """Give the judge that is not shown these fields either."""
        return replace(self, hides=tuple(sorted({*self.hides, *fields})))


def judge_of(spec: EvaluatorSpec) -> JudgeSpec:
    """Give a specification's judge; that of a specification of something else says nothing."""
    return spec.target if isinstance(spec.target, JudgeSpec) else JudgeSpec()


def check_judge(judge: JudgeSpec) -> JudgeSpec:
    """Refuse a judge that could not be called."""
    if not judge.model.strip():
        raise UsageError("the judge names no model", hint="write judge:PROVIDER/MODEL")
    if judge.objective.strip():
        return judge
    if judge.rubric_file:
        raise UsageError(
            f"{judge.rubric_file}: the rubric has no objective",
            hint='say in it what the judge is to look for: objective = "…", or give --objective',
        )
    raise UsageError(
        f"the judge {judge.model} has no objective",
        hint="say what it is to look for with an objective ('The answer is polite') or a rubric",
    )
