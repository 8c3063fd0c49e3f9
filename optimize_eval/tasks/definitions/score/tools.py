"""What scorers need and do not make: models, evaluators, code that runs elsewhere, all samples.

Whoever makes the tools makes what they give, shares it and closes it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from optimize_eval.base.evaluator import Evaluator
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.models.judging.asking import Chat
from optimize_eval.tasks.definitions.score import parts
from optimize_eval.tasks.definitions.snippets import Snippets

Keys = Mapping[str, Any]  # as a sweep file's [[evaluator]] has them


@frozen
class Tools:
    """What is handed in."""

    model: Callable[[str], Chat]  # by the key that the task names
    evaluator: Callable[[Keys], Evaluator]
    snippets: Snippets
    samples: Callable[[], Sequence[Mapping[str, Any]]]  # of the split, in the dataset's order


def evaluator_keys(how: parts.How) -> Keys | None:
    """Tell which evaluator a scorer calls; None for those that call none."""
    match how:
        case parts.Bleu():
            return {"use": "@bleu"}
        case parts.StringEquals():
            return {"use": "@string_equals"}
        case parts.ChoiceEquals():
            return {"use": "@string_equals_mcqa"}
        case parts.FunctionCalls(in_order=in_order):
            return {"use": f"@function_call_coverage@{'in' if in_order else 'any'}_order"}
        case parts.Program(keys=keys):
            return keys
    return None


def model_keys(how: parts.How) -> Iterator[str]:
    """List the keys of the models that a scorer calls."""
    match how:
        case parts.Classifier(model_key=key) | parts.JudgeScore(model_key=key) | parts.Labeler(model_key=key):
            yield key
        case parts.RagChecker(judge_model_key=key):
            yield key


def score_range(how: parts.How) -> ScoreRange:
    """Tell which numbers a scorer's may be: any, if code or a program says so; labels are none."""
    match how:
        case parts.PythonScorer() | parts.AllSamplesScorer() | parts.Evidence() | parts.Labeler():
            return ScoreRange.ANY
        case parts.Program(keys=keys):
            return ScoreRange(keys.get("score_range", ScoreRange.UNIT))
    return ScoreRange.UNIT


def ranks(scorer: parts.Scorer) -> bool:
    """Return True if a scorer says which of two is better: quality checks and labels do not."""
    return scorer.purpose == "score" and has_number(scorer.how)


def has_number(how: parts.How) -> bool:
    """Return True if a scorer is to give a number: a labeler gives a label, and code whatever it likes."""
    return not isinstance(how, parts.Labeler)
