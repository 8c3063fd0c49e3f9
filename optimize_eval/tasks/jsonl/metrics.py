"""The closed vocabulary of metrics: which evaluator each name means in each dialect of task files.

A further metric is an evaluator in evaluators/ and a line here. An id names one definition for good: it is
what `-e @ID` runs, it stands in every result, and boards that differ in it are not compared.
"""

import re
from typing import NamedTuple


class _Metric(NamedTuple):
    name: str
    in_spec: str  # an id; empty where the dialect does not know the name
    in_examples: str


_METRICS = (
    _Metric("exact_match", "exact_match@strict", "exact_match@normalised"),
    _Metric("f1", "f1", "f1"),
    _Metric("bleu_4", "bleu_4", "bleu_4"),
    _Metric("rouge_l", "rouge_l@unicode", "rouge_l@ascii"),
    _Metric("accuracy", "accuracy", "accuracy"),
    _Metric("code_exec", "code_exec@assertions", "code_exec@io_pairs"),
    _Metric("multiple_choice", "", "multiple_choice"),
    _Metric("substring_contains", "", "substring_contains"),
    _Metric("exact", "", "exact"),
    _Metric("contains", "", "contains"),
    _Metric("string_equals", "", "string_equals"),
    _Metric("label_in_set", "", "label_in_set"),
    _Metric("regex_match", "", "regex_match"),
    _Metric("regex_match@full", "", "regex_match@full"),
    _Metric("numeric_close", "", "numeric_close"),
    _Metric("numeric_close@whole", "", "numeric_close@whole"),
    _Metric("edit_similarity", "", "edit_similarity"),
    _Metric("bleu", "", "bleu"),
    _Metric("exact_match@strict", "", "exact_match@strict"),
    _Metric("exact_match@normalised", "", "exact_match@normalised"),
    _Metric("rouge_l@unicode", "", "rouge_l@unicode"),
    _Metric("rouge_l@ascii", "", "rouge_l@ascii"),
    _Metric("code_exec@assertions", "", "code_exec@assertions"),
    _Metric("code_exec@io_pairs", "", "code_exec@io_pairs"),
    _Metric("code_exec@stdout", "", "code_exec@stdout"),
)
OWN = "evaluator:"  # before the name of an evaluator of one's own, in the examples dialect
IN_SPEC = {metric.name: metric.in_spec for metric in _METRICS if metric.in_spec}
IN_EXAMPLES = {metric.name: metric.in_examples for metric in _METRICS}

_OWN = re.compile(rf"{OWN}[A-Za-z0-9_.-]{{1,250}}")


def is_own(metric: str) -> bool:
    """Return True if a metric names an evaluator of one's own."""
    return _OWN.fullmatch(metric) is not None


def evaluator_of(metric: str) -> str:
    """Write the evaluator text that scores by a metric id; one's own is its metric's name."""
    return metric if is_own(metric) else f"@{metric}"
