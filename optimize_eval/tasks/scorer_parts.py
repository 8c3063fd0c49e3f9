"""What a scorer is given, needs and makes: fields of a sample and its trace, models, numbers.

Whoever makes the tools makes what they give, shares it and closes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import NamedTuple, Protocol, runtime_checkable

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.evaluator import Evaluator
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import Skip
from optimize_eval.base.spent import NOTHING, Spent
from optimize_eval.models.chat import Chat, Message, Reply
from optimize_eval.models.under_test import ASSISTANT, ModelUnderTest, Prompt, joined
from optimize_eval.models.under_test import Message as Said
from optimize_eval.tasks.code import Snippets
from optimize_eval.tasks.definition import Keys
from optimize_eval.tasks.templates.fault import RULE, TemplateFault
from optimize_eval.tasks.templates.hosted import with_conversation
from optimize_eval.tasks.templates.template import task_template_of
from optimize_eval.tasks.trace import Trace

STAGE = "scorer"
FIRST = ("is_correct", "score")  # of code's fields: the one that counts

_PARTS = ("scores", "metadata")
_MOST_NAMED = 5


class Case(NamedTuple):
    """A sample with what was said about it; `place` is its index among all samples, where that is known."""

    sample: JsonMapping
    trace: Trace | None
    fields: JsonMapping
    place: int | None = None

    @property
    def last_text(self) -> str:
        """Give the last text of the assistant; an empty one where there is none."""
        return (self.trace and self.trace.last_text(ASSISTANT)) or ""


def case_of(sample: JsonMapping, trace: Trace | None, place: int | None = None) -> Case:
    return Case(sample, trace, variables(sample, trace), place)


def variables(sample: JsonMapping, trace: Trace | None) -> JsonDict:
    """Give a template's variables; without a trace there is the sample alone."""
    fields = {"sample": sample}
    return fields if trace is None else with_conversation(fields, plain(trace))


def plain(trace: Trace) -> JsonDict:
    """Give a trace as plain JSON."""
    return {"items": list(trace.items), "completion": trace.completion}


@frozen
class Tools:
    """What is handed in."""

    model: Callable[[str], Chat]  # by the key that the task names
    evaluator: Callable[[Keys], Evaluator]
    snippets: Snippets
    samples: Callable[[], Sequence[JsonMapping]]  # of the split, in the dataset's order


@runtime_checkable
class TakesMessages(Chat, Protocol):
    """A model that is called with messages as they are, and may be held to a schema."""


def chat_of(model: ModelUnderTest) -> Chat:
    """Give a model under test as one that judges."""
    return model if isinstance(model, TakesMessages) else ChatUnderTest(model)


class ChatUnderTest:
    """Calls a model that takes prompts; it is held to no schema."""

    def __init__(self, model: ModelUnderTest) -> None:
        self._model = model

    def chat(
        self,
        messages: Sequence[Message],
        deadline: float,
        *,
        schema: JsonMapping | None = None,
    ) -> Reply:
        """Reply before `deadline`, or raise EvaluationError."""
        del schema
        several = tuple(Said(message["role"], message["content"]) for message in messages)
        output = self._model.generate(Prompt(text=joined(several), several=several), deadline)
        return Reply(
            text=output.text,
            prompt_tokens=output.side.get("prompt_tokens"),
            completion_tokens=output.side.get("completion_tokens"),
            finish_reason=output.side.get("finish_reason"),
            reasoning=output.reasoning,
            model=output.side.get("answered_by"),
            spent=output.spent,
        )


@frozen
class Scored:
    """What a scorer says of a sample."""

    primary: float | None  # None: the scorer gave a label, or only texts
    scores: JsonMapping
    metadata: JsonMapping = field(default_factory=dict)
    spent: Spent = NOTHING

    @property
    def side_info(self) -> JsonDict:
        """Give the fields as a record keeps them."""
        metadata = {"metadata": self.metadata} if self.metadata else {}
        return {"scores": self.scores, **metadata}


def scored_by_code(returned: object) -> Scored:
    """Read what code returned: its scores alone, or beside metadata; raises EvaluationError."""
    if not isinstance(returned, Mapping):
        raise unusable(f"compute_scores returned {kind(returned)}, not scores by their names")
    scores, metadata = _parts(returned)
    return Scored(primary=primary_of(scores), scores=scores, metadata=metadata)


def _parts(returned: JsonMapping) -> tuple[JsonMapping, JsonMapping]:
    """Take scores and metadata apart; without a mapping of scores, all of it is scores."""
    scores, metadata = returned.get("scores"), returned.get("metadata")
    if not isinstance(scores, Mapping):
        return returned, {}
    if others := [name for name in returned if name not in _PARTS]:
        named = ", ".join(map(repr, others[:_MOST_NAMED]))
        hint = "put it into scores, or into metadata, which is kept out of metrics"
        raise unusable(f"compute_scores returned {named} beside scores and metadata", hint)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise unusable(f"compute_scores returned {kind(metadata)} as metadata, not an object")
    return scores, metadata or {}


def primary_of(scores: JsonMapping) -> float | None:
    """Find the number that counts: is_correct, else score, else the first there is.

    >>> primary_of({"words": 7, "label": "x", "is_correct": True})
    1.0
    """
    names = (*FIRST, *scores)
    return next((number(scores[name]) for name in names if _is_number(scores.get(name))), None)


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float)


def number(value: float) -> float:
    """Make a number of an integer of any size; raises EvaluationError where it is too large."""
    try:
        return float(value)
    except OverflowError:
        raise unusable("a number is too large to compute with") from None


def unusable(message: str, hint: str = "") -> EvaluationError:
    """Make the failure of a scorer whose own words or data are wrong."""
    return EvaluationError(FailureKind.REPORTED, message, hint=hint)


def kind(value: object) -> str:
    """Say what kind of JSON value something is."""
    return "null" if value is None else _KINDS.get(type(value), "an object")


_KINDS = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}


Scoring = Callable[[Case, float], Scored | Skip]


@contextmanager
def failing(key: str) -> Iterator[None]:
    """Let whatever goes wrong say which scorer it was."""
    try:
        yield
    except EvaluationError as error:
        error.message = f"{STAGE} {key}: {error.message}"
        error.stage = STAGE
        raise
    except TemplateFault as fault:
        failure = unusable(f"{STAGE} {key}: {RULE}: {fault.reason}")
        failure.stage = STAGE
        raise failure from None


Text = Callable[[Case], str]


def text_of(template: str) -> Text:
    """Parse a template, which is rendered for each case."""
    render = task_template_of(template).render
    return lambda case: render(case.fields)
