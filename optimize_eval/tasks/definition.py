"""A task in YAML once it was read: its rules, solvers and scorers as plain data."""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from enum import StrEnum
from typing import Any, ClassVar

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.metric_parts import Metric
from optimize_eval.tasks.yaml_problems import NamedColumn

Scalar = str | int | float | bool


@frozen
class Comparison:
    """Compares an expression's value."""

    op: str  # equals, not_equals, greater_than, less_than, greater_or_equal, less_or_equal
    expression: str
    value: Scalar


@frozen
class Membership:
    """Looks for an expression's value among others."""

    op: str  # in, not_in
    expression: str
    values: Sequence[Scalar]


@frozen
class Unary:
    """Asks something of an expression's value alone."""

    op: str  # exists, not_exists, is_true, is_false
    expression: str


Filter = Comparison | Membership | Unary


def filter_to_dict(filter_: Filter) -> dict[str, Any]:
    """Write a filter as JSON, as tasks have it."""
    written = {slot.name: getattr(filter_, slot.name) for slot in fields(filter_)}
    return {**written, "values": list(written["values"])} if "values" in written else written


def filter_of(written: Mapping[str, Any]) -> Filter:
    """Read what `to_dict` wrote."""
    if "values" in written:
        return Membership(**{**written, "values": tuple(written["values"])})
    return Comparison(**written) if "value" in written else Unary(**written)


@frozen
class Action:
    """A rule that leaves samples out of metrics."""

    key: str
    filter: Filter


@frozen
class Said:
    """A message."""

    role: str  # system, user, assistant
    content: str


@frozen
class Stop:
    """A text that ends a loop, or outside of one the conversation."""

    includes: str  # no template
    keep_iteration: bool = True  # False: what this round of the loop said is dropped


@frozen
class Generic:
    """A template that makes JSON: what is sent to the model."""

    template: str


@frozen
class ChatCompletion:
    """Messages that are sent to the model."""

    messages: Sequence[Said]


@frozen
class SingleTurn:
    """One question, one reply."""

    calls_model: ClassVar[bool] = True
    builder: Generic | ChatCompletion


@frozen
class ChatMessage:
    """Adds a message."""

    said: Said
    stop: Stop | None = None


@frozen
class Generate:
    """Adds what the model under test replies."""

    stop: Stop | None = None


@frozen
class GenerateMessage:
    """Adds what another model replies, who is sent the conversation and these messages."""

    model_key: str
    messages: Sequence[Said]
    role: str = "assistant"
    has_conversation: bool = True  # include_conversation; False: it is sent these messages alone
    stop: Stop | None = None


@frozen
class Loop:
    """Does what is in it again and again."""

    builders: "Sequence[Builder]"
    most: int = 10
    fails_at_most: bool = True  # on_max_iterations: error; False: continue


Builder = ChatMessage | Generate | GenerateMessage | Loop


@frozen
class MultiTurn:
    """A conversation, built message by message."""

    calls_model: ClassVar[bool] = True
    builders: Sequence[Builder]


@frozen
class PassThrough:
    """A conversation that the sample holds already."""

    calls_model: ClassVar[bool] = False
    column: str


@frozen
class PythonSolver:
    """Code that calls the model: `async def run_solver(sample, model, trace)`."""

    calls_model: ClassVar[bool] = True
    snippet: str


MOST_TURNS = 200  # calls of models for one sample, of code that says no number

Solver = SingleTurn | MultiTurn | PassThrough | PythonSolver


def most_calls(solver: Solver, most: int | None = None) -> int:
    """Say how many calls of models a sample takes at most, of which `most` may bound the number."""
    if isinstance(solver, PythonSolver):
        return MOST_TURNS if most is None else most
    calls = _calls_of(solver.builders) if isinstance(solver, MultiTurn) else int(solver.calls_model)
    return calls if most is None else min(calls, most)


def _calls_of(builders: Sequence[Builder]) -> int:
    return sum(
        builder.most * _calls_of(builder.builders)
        if isinstance(builder, Loop)
        else not isinstance(builder, ChatMessage)
        for builder in builders
    )


JUDGE_SAYS = "You are a helpful assistant and will be used to judge the output of another model."
LABELER_SAYS = (
    "You are a helpful assistant and will be used to label the output of another model or a dataset sample."
)
COVERAGE = (  # the scores of calls that have to be made
    "all_required_calls_made",
    "required_calls_coverage",
    "num_required_calls_made",
    "num_required_calls_not_made",
    "num_unrequired_calls",
    "num_required_calls_total",
)


@frozen
class Bleu:
    """How much of the ground truth's wording is there."""

    ground_truth: str
    value: str | None = None  # None: the last text of the assistant


@frozen
class StringEquals:
    """Whether both texts are the same."""

    ground_truth: str
    value: str | None = None


@frozen
class ChoiceEquals:
    """Whether the reply begins with the letter of the right choice."""

    ground_truth_choice: str
    choices: Sequence[str] | str  # a text: a template of a JSON or Python list


@frozen
class Classifier:
    """A judge that names a label, some of which are right."""

    model_key: str
    user_prompt: str
    correct_labels: Sequence[str]
    incorrect_labels: Sequence[str]
    system_prompt: str = JUDGE_SAYS
    use_structured_outputs: bool = False


@frozen
class JudgeScore:
    """A judge that names a number."""

    model_key: str
    user_prompt: str
    system_prompt: str = JUDGE_SAYS
    score_min: float = 0.0
    score_max: float = 1.0
    use_structured_outputs: bool = False


@frozen
class Labeler:
    """A model that names a label, none of which is better than another."""

    model_key: str
    user_prompt: str
    valid_labels: Sequence[str] = ()
    system_prompt: str = LABELER_SAYS
    use_structured_outputs: bool = False


@frozen
class PythonScorer:
    """Code that scores one sample: `compute_scores(sample[, solver_output])`."""

    snippet: str


@frozen
class AllSamplesScorer:
    """Code that scores all samples at once: `compute_scores(samples)`."""

    snippet: str


@frozen
class RagChecker:
    """Claims of the answer and of the target, checked against each other and the passages."""

    judge_model_key: str
    query_column: str = "query"
    target_column: str = "target"
    context_column: str = ""
    scores_to_compute: Sequence[str] = ()


@frozen
class FunctionCalls:
    """Which of the calls that have to be made were made."""

    function_calls: (
        Sequence[str | Mapping[str, Any]] | str
    )  # each a name, or {name, arguments}; a text: a template of such a list in JSON
    in_order: bool = False


@frozen
class Evidence:
    """Code of a system task, which looks at what it likes: `compute_evidence()`."""

    snippet: str


@frozen
class Program:
    """Any evaluator: keys as a sweep file's [[evaluator]] has them."""

    keys: Mapping[str, Any]
    value: str | None = None


How = (
    Bleu
    | StringEquals
    | ChoiceEquals
    | Classifier
    | JudgeScore
    | Labeler
    | PythonScorer
    | AllSamplesScorer
    | RagChecker
    | FunctionCalls
    | Evidence
    | Program
)


@frozen
class Scorer:
    """One scorer of a task."""

    key: str  # its own, or made of its type
    type: str  # as tasks write it
    how: How
    purpose: str = "score"  # score, or qa, which never ranks
    display_name: str = ""
    metrics: Sequence[Metric] | None = None  # None: those that its type has by default


class Entity(StrEnum):
    """What a task evaluates."""

    MODEL = "model"
    DATASET = "dataset"
    SYSTEM = "system"  # nothing but what its own snippet looks at


@frozen
class TaskDefinition:
    """A task: what is sent about each sample, and who scores what comes back."""

    key: str
    display_name: str
    description: str
    entity: Entity
    path: str  # of the file, as it was named
    folder: str = ""  # that was named in the place of the file
    long_description: str = ""
    tags: Sequence[str] = ()
    dataset: str = ""  # its key; empty: the run names one
    solver: Solver | None = None
    scorers: Sequence[Scorer] = ()
    actions: Sequence[Action] = ()
    config: Mapping[str, Any] = field(
        default_factory=dict
    )  # the parameters' values, which are in all texts already
    columns: Sequence[NamedColumn] = ()  # those that its texts name
