"""Every metric that ships stands its trial, as the function that it is; starters stand theirs as programs."""

import runpy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import _metric
from optimize_eval import Trial, trial
from tests.paths import EVALUATORS
from tests.shipped.asking import METRICS
from tests.tools import need_module

Rows = list[dict[str, Any]]

TEXTS: Rows = [{"id": 1, "target": "Zoë Müller"}, {"id": 2, "target": "the Great Wall of China"}]
TEXTS += [
    {"id": 3, "targets": ["New York City", "NYC"], "target": "New York City"},
    {"id": 4, "target": "PARIS"},
]
NUMBERS: Rows = [{"target": target} for target in ("1,250", "-7", "42", "0.5")]
LETTERS: Rows = [{"target": letter} for letter in "BADC"]
CHOICES: Rows = [{"ground_truth_choice": letter, "choices": [*"ABCD"]} for letter in "BADC"]
LABELS: Rows = [{"target": label} for label in ("yes", "no", "both")]
CALLS: Rows = [
    {"gold": f'["{name}", {{"name": "log", "arguments": {{"n": {number}}}}}]',
     "function_calls": [name, {"name": "log", "arguments": {"n": number}}]}
    for number, name in enumerate(("search", "open", "close"))
]  # fmt: skip
CHECKS: Rows = [{"gold": gold, "checks": [{"equals": gold}]} for gold in ("Paris", "Rome", "Ulm")]


class Case(NamedTuple):
    """What a metric is tried by, and what it is warned of: what it does on purpose."""

    rows: Rows
    good: str = "target"
    warned: frozenset[str] = frozenset()
    bad: str = ""  # a text, where the good one is a text, too


WITHIN = frozenset({"listed", "embedded", "extra"})
CASES = {
    **dict.fromkeys(("accuracy", "edit_similarity", "exact", "exact_match", "string_equals"), Case(TEXTS)),
    **dict.fromkeys(("bleu", "bleu_4", "f1", "rouge_l"), Case(TEXTS)),
    **dict.fromkeys(("contains", "regex_match", "substring_contains"), Case(TEXTS, warned=WITHIN)),
    "function_call_coverage": Case(CALLS, "gold", frozenset({"extra"})),
    "label_in_set": Case(LABELS),
    "multiple_choice": Case(LETTERS, warned=frozenset({"extra"})),
    "numeric_close": Case(NUMBERS),
    "string_equals_mcqa": Case(CHOICES, "ground_truth_choice", frozenset({"extra"})),
    "checks": Case(CHECKS, "gold"),
    "forbidden": Case([{"forbidden": "secret"}], "fine", frozenset({"empty"}), bad="a secret"),
    "json_valid": Case([{"schema": {"type": "object"}}], '{"a": 1}', bad="[1]"),
    "length_limit": Case([{"limit": 9}], "short", frozenset({"empty"}), bad="much too long"),
}


def load_metric(name: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Give a metric as a function of a candidate and an example."""
    declared: dict[str, Any] = {}

    def note(answer: Callable[[_metric.Asked], Any], **others: Any) -> None:
        declared.update(others, answer=answer)

    monkeypatch.setattr(_metric, "run", note)
    runpy.run_path(str(EVALUATORS / f"{name}.py"), run_name="__main__")
    options = {"target_field": None, "variant": (declared.get("variants") or [None])[0]}
    for option, about in declared.get("options", {}).items():
        options[option[2:].replace("-", "_")] = about.get("default")
    fields = declared.get("fields", _metric.TARGETS)

    def judge(candidate: str, example: dict[str, Any] | None = None) -> Any:
        try:
            asked = _metric.Asked({"candidate": candidate, "example": example}, options, fields)
            return declared["answer"](asked)
        except _metric.Fault as fault:
            return {"error": str(fault)}

    return judge


def try_metric(name: str, judge: Callable[..., Any], folder: Path) -> Trial:
    case = CASES[name]
    if not case.bad:
        return trial(judge, case.rows, good=case.good)
    good, bad = folder / f"{name}.good", folder / f"{name}.bad"
    good.write_text(case.good)
    bad.write_text(case.bad)
    return trial(judge, case.rows, good=good, bad=bad)


@need_module("sacrebleu")
@need_module("rapidfuzz")
@need_module("jsonschema")
def test_each_metric_stands_its_trial_and_is_warned_of_what_it_does_on_purpose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judges = {name: load_metric(name, monkeypatch) for name in CASES}
    with ThreadPoolExecutor(len(judges)) as slots:  # each waits for a second to pass
        tried = slots.map(lambda name: try_metric(name, judges[name], tmp_path), judges)
        ended = {name: (one.faults, {*one.warnings}) for name, one in zip(judges, tried, strict=True)}
    assert ended == {name: ({}, {*case.warned}) for name, case in CASES.items()}


def test_all_metrics_are_tried() -> None:
    assert {*METRICS} <= CASES.keys()
