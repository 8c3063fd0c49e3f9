"""What an evaluator that calls models is of: the models, and the evaluators that score their outputs."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Self

from optimize_eval.base.evaluator import EvaluatorSpec, Sighted
from optimize_eval.base.frozen import frozen

if TYPE_CHECKING:  # a program as a model needs no HTTP client
    from optimize_eval.models.spec import ModelSpec
    from optimize_eval.programs.identity import Identity


@frozen
class Tasks:
    """A model under test and its scorers; or the scorers of what several models reply.

    A program as a model is run with what the EvaluatorSpec around it says of folder, environment, timeout,
    workers and keeping alive.
    """

    kind: ClassVar[str] = "task"
    model: str = ""  # as it was written; empty: each payload's task model
    metrics: tuple[EvaluatorSpec, ...] = ()  # by their names, which are the metrics' ids
    models: tuple[EvaluatorSpec, ...] = ()  # of which a payload's task model names one
    is_stored: bool = False  # replies are read where they were written down, and no model is called
    outputs: str = ""  # where what models say is written down; empty: nowhere
    known_as: "Identity | None" = None  # the model's, where it was digested already
    replayed: str = ""  # whose recorded outputs count, by identity, where a file has several of one name
    loaded: Mapping[tuple[int | None, bytes], object] = field(
        default_factory=dict, compare=False, repr=False
    )  # tasks by line and record, where their file was read already
    scorer: EvaluatorSpec | None = None  # who scores whatever a task's metric is; None: the metrics do
    api_base: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    table: "ModelSpec | None" = None  # what a table [[model]] says of the model
    keep_thoughts: bool = False  # score a model's text as it came, thoughts included
    fails_refusals: bool = False  # a model's refusal is a failure, not a reply
    tells_thoughts: bool = False  # as side info of each score; otherwise they are with the outputs alone
    batch_size: int | None = None  # prompts in one call at most; None: as the program declares

    @property
    def scorers(self) -> tuple[EvaluatorSpec, ...]:
        """Give the evaluators that score outputs."""
        return (self.scorer,) if self.scorer else self.metrics


@frozen
class Prompted:
    """An evaluator of models' replies: a candidate is a prompt, and each task model one of the models.

    A model is a specification of Tasks, by its name. Who scores sees the reply, not the prompt.
    """

    kind: ClassVar[str] = "prompted"
    scorer: EvaluatorSpec
    models: tuple[EvaluatorSpec, ...]
    extract: str = ""  # what of a reply is scored; empty: all
    is_stored: bool = False  # replies are read where they were written down, and no model is called

    @property
    def _sighted(self) -> Sighted | None:
        target: object = self.scorer.target
        return target if isinstance(target, Sighted) else None

    @property
    def shows(self) -> tuple[str, ...]:
        """What a judge that scores is shown of an example, as the other fields of the example here."""
        return self._sighted.shows if self._sighted else ()

    @property
    def hides(self) -> tuple[str, ...]:
        return self._sighted.hides if self._sighted else ()

    @property
    def human(self) -> tuple[str, ...]:
        return self._sighted.human if self._sighted else ()

    def hiding(self, fields: Iterable[str], *, models: bool = False) -> Self:
        return replace(self, scorer=self.scorer.hiding(fields, models=models))


def tasks_of(spec: EvaluatorSpec) -> Tasks:
    """Give a specification's tasks; those of a specification of something else say nothing."""
    return spec.target if isinstance(spec.target, Tasks) else _NO_TASKS


_NO_TASKS = Tasks()


def prompted_of(spec: EvaluatorSpec) -> Prompted | None:
    """Give what an evaluator of models' replies is of; None for any other."""
    return spec.target if isinstance(spec.target, Prompted) else None
