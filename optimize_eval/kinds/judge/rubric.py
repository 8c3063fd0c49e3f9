"""What a judge is to do: its specification; plain data.

What a rubric is stands in judging.form. How one is read from a file is rubric_file's business, how it is put
to a model prompt's.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.models.judging.form import Rubric

if TYPE_CHECKING:  # what judges share with commands loads no HTTP client
    from optimize_eval.models.spec import ModelSpec


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
    shows_model: bool = False  # the name of that model, or of the one that a candidate is for
    hides_model: bool = False  # payloads have such a name, which it is not shown

    @property
    def blind_to(self) -> tuple[str, ...]:
        """Give all fields that it is not shown."""
        return tuple(sorted({*self.hides, *self.human}))

    def hiding(self, fields: Iterable[str], *, models: bool = False) -> Self:
        """Give the judge that is not shown these fields either, nor which model is meant."""
        hides_model = self.hides_model or (models and not self.shows_model)
        return replace(self, hides=tuple(sorted({*self.hides, *fields})), hides_model=hides_model)


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
