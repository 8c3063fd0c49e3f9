"""A task in YAML once it was read: its rules, solvers, scorers and metrics as plain data."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields
from enum import StrEnum
from hashlib import sha256
from typing import Any, ClassVar

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import Problem
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange


@frozen
class PythonMetric:
    """Code over all scores: `compute_metrics(scores)`."""

    snippet: str
    key: str = ""


@frozen
class Binary:
    """Accuracy, precision, recall and F1 of a field that has one of two answers."""

    field_gt: str
    field_pred: str
    positive_answer: str
    negative_answer: str
    key: str = ""


@frozen
class Multiclass:
    """Accuracy, and precision and recall of each class."""

    field_gt: str
    field_pred: str
    key: str = ""


@frozen
class Number:
    """One number of a field's values."""

    type: str  # mean, max, min, std_dev
    field: str
    name: str = ""  # empty: {field}_{type}
    key: str = ""


@frozen
class Frequency:
    """The share of each value of a field."""

    field: str
    key: str = ""


@frozen
class Counted:
    """A rate of counts that are summed over all samples first."""

    type: str  # recall, precision, f1_score
    num_true_positives_field: str
    num_false_negatives_field: str = ""
    num_false_positives_field: str = ""
    name: str = ""  # empty: its type
    key: str = ""


Metric = PythonMetric | Binary | Multiclass | Number | Frequency | Counted


_TYPES: Mapping[type, str] = {
    PythonMetric: "python",
    Binary: "binary-classification",
    Multiclass: "multiclass-classification",
    Frequency: "frequency",
}
_MADE: Mapping[str, type] = {
    **{name: made for made, name in _TYPES.items()},
    **dict.fromkeys(("mean", "max", "min", "std_dev"), Number),
    **dict.fromkeys(("recall", "precision", "f1_score"), Counted),
}


def type_of(metric: Metric) -> str:
    """Give a metric's type, as tasks write it."""
    return metric.type if isinstance(metric, Number | Counted) else _TYPES[type(metric)]


def known_results(metric: Metric) -> tuple[str, ...]:
    """List what a metric's results are called, as far as neither data nor code decides it."""
    match metric:
        case Number():
            return (metric.name or f"{metric.field}_{metric.type}",)
        case Counted():
            return (metric.name or metric.type,)
        case Binary():
            return ("accuracy", "precision", "recall", "f1_score")
        case Multiclass():
            return ("accuracy",)
    return ()


def qualified(metric: Metric, name: str) -> str:
    """Name a result that another metric of the scorer has, too."""
    return f"{metric.key or type_of(metric).replace('-', '_')}.{name}"


def metric_to_dict(metric: Metric) -> dict[str, str]:
    """Write a metric as JSON, without what is empty."""
    given = {slot.name: getattr(metric, slot.name) for slot in fields(metric)}
    return {"type": type_of(metric), **{key: value for key, value in given.items() if value}}


def metric_of(written: Mapping[str, str]) -> Metric:
    """Read what `to_dict` wrote."""
    made: Any = _MADE[written["type"]]
    has_type = made in {Number, Counted}
    return made(**{key: value for key, value in written.items() if has_type or key != "type"})  # type: ignore[no-any-return]


def digest_of(rows: Sequence[JsonMapping]) -> str:
    """Digest rows, which are in their order: by this and its snippet, a metric that is code is found."""
    digest = sha256()
    for row in rows:
        digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def digest_of_code(metric: PythonMetric) -> str:
    return sha256(metric.snippet.encode()).hexdigest()


_EXACT = 1 << 53  # up to here a number of floating point is the integer that it looks like


def text_of(value: object) -> str:
    """Write a value as text: as JSON does, a text as it is, 2.0 as 2.

    >>> text_of("yes"), text_of(True), text_of(2.0), text_of([1])
    ('yes', 'true', '2', '[1]')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def is_text_of(text: str, value: object) -> bool:
    """Return True if a text says a value; true may be True, and 2.0 is said as it is, too."""
    return text in {text_of(value), str(value)} if isinstance(value, bool | float) else text == text_of(value)


def are_alike(one: Any, other: Any) -> bool:
    """Return True if two values are equal, or one is a text that says the other; true is not 1.

    >>> are_alike(5, "5"), are_alike(5.0, "5.0"), are_alike(True, "True"), are_alike(True, 1)
    (True, True, True, False)
    """
    if isinstance(one, str) or isinstance(other, str):
        return is_text_of(one, other) if isinstance(one, str) else is_text_of(other, one)
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


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


def filter_to_dict(filter_: Filter) -> JsonDict:
    """Write a filter as JSON, as tasks have it."""
    written = {slot.name: getattr(filter_, slot.name) for slot in fields(filter_)}
    return {**written, "values": list(written["values"])} if "values" in written else written


def filter_of(written: JsonMapping) -> Filter:
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


def _calls_of(builders: Sequence[Builder]) -> int:
    return sum(
        builder.most * _calls_of(builder.builders)
        if isinstance(builder, Loop)
        else not isinstance(builder, ChatMessage)
        for builder in builders
    )


CANDIDATE = "candidate"  # as texts of a task name it


def texts_of(solver: Solver) -> Iterator[str]:
    """List the templates of a solver."""
    match solver:
        case SingleTurn(builder=Generic(template=template)):
            yield template
        case SingleTurn(builder=ChatCompletion(messages=messages)):
            yield from (message.content for message in messages)
        case MultiTurn(builders=builders):
            yield from _texts_in(builders)
        case PassThrough() | PythonSolver():
            pass


def _texts_in(builders: Sequence[Builder]) -> Iterator[str]:
    for builder in builders:
        match builder:
            case ChatMessage(said=said):
                yield said.content
            case GenerateMessage(messages=messages):
                yield from (message.content for message in messages)
            case Loop(builders=inner):
                yield from _texts_in(inner)
            case Generate():
                pass


JUDGE_SAYS = "You are a helpful assistant and will be used to judge the output of another model."
LABELER_SAYS = (
    "You are a helpful assistant and will be used to label the output of another model or a dataset sample."
)
RAG_SCORES = (  # of claims, see rag
    "recall",
    "precision",
    "f1_score",
    "claim_recall",
    "context_precision",
    "context_utilization",
    "noise_sensitivity_in_relevant",
    "noise_sensitivity_in_irrelevant",
    "hallucination",
    "self_knowledge",
    "faithfulness",
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
        Sequence[str | JsonMapping] | str
    )  # each a name, or {name, arguments}; a text: a template of such a list in JSON
    in_order: bool = False


@frozen
class Evidence:
    """Code of a system task, which looks at what it likes: `compute_evidence()`."""

    snippet: str


@frozen
class Program:
    """Any evaluator: keys as a sweep file's [[evaluator]] has them."""

    keys: JsonMapping
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


Keys = JsonMapping  # as a sweep file's [[evaluator]] has them


def evaluator_keys(how: How) -> Keys | None:
    """Tell which evaluator a scorer calls; None for those that call none."""
    match how:
        case Bleu():
            return {"use": "@bleu"}
        case StringEquals():
            return {"use": "@string_equals"}
        case ChoiceEquals():
            return {"use": "@string_equals_mcqa"}
        case FunctionCalls(in_order=in_order):
            return {"use": f"@function_call_coverage@{'in' if in_order else 'any'}_order"}
        case Program(keys=keys):
            return keys
    return None


@frozen
class Scorer:
    """One scorer of a task."""

    key: str  # its own, or made of its type
    type: str  # as tasks write it
    how: How
    purpose: str = "score"  # score, or qa, which never ranks
    display_name: str = ""
    metrics: Sequence[Metric] | None = None  # None: those that its type has by default

    @property
    def ranks(self) -> bool:
        """Return True if it says which of two is better: quality checks and labels do not."""
        return self.purpose == "score" and not isinstance(self.how, Labeler)

    @property
    def score_range(self) -> ScoreRange:
        """Tell which numbers its scores may be: any, if code or a program says so; labels are none."""
        match self.how:
            case PythonScorer() | AllSamplesScorer() | Evidence() | Labeler():
                return ScoreRange.ANY
            case Program(keys=keys):
                return ScoreRange(keys.get("score_range", ScoreRange.UNIT))
        return ScoreRange.UNIT

    @property
    def is_shipped(self) -> bool:
        """Return True if the evaluator that it calls ships with the package."""
        return self.evaluator_keys is not None and not isinstance(self.how, Program)

    @property
    def evaluator_keys(self) -> Keys | None:
        """Tell which evaluator it calls; None for one that calls none."""
        return evaluator_keys(self.how)


class Entity(StrEnum):
    """What a task evaluates."""

    MODEL = "model"
    DATASET = "dataset"
    SYSTEM = "system"  # nothing but what its own snippet looks at


@frozen
class NamedColumn:
    """A column that a task names, where it does, and whether each sample fails without it."""

    name: str
    place: Problem
    is_needed: bool


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
    config: JsonMapping = field(
        default_factory=dict
    )  # the parameters' values, which are in all texts already
    columns: Sequence[NamedColumn] = ()  # those that its texts name
    names_candidate: bool = False  # in any text of its solver

    @property
    def calls_model(self) -> bool:
        """Return True if a model under test is called."""
        return self.solver is not None and self.solver.calls_model

    def most_calls(self, most: int | None = None) -> int:
        """Say how many calls of models a sample takes at most, of which `most` may bound the number."""
        if isinstance(self.solver, PythonSolver):
            return MOST_TURNS if most is None else most
        if isinstance(self.solver, MultiTurn):
            calls = _calls_of(self.solver.builders)
        else:
            calls = int(self.calls_model)
        return calls if most is None else min(calls, most)
