"""What scorers are, as tasks write them: plain data. Prompts, `value` and `ground_truth` are templates."""

from collections.abc import Mapping, Sequence
from typing import Any

from optimize_eval.base.frozen import frozen
from optimize_eval.tasks.definitions.score.metrics import Metric

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
