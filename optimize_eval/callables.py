"""Evaluators as plain functions, and assertions over many outputs at once.

The public constructors, for those who bring their own loop or optimizer.

For a program that has all outputs in hand. As evaluators, one output at a time with every failure kept apart,
they are @exact, @contains, @label_in_set and @forbidden.
"""

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError, Skipped, UsageError
from optimize_eval.base.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload, ScoreRange, Skip, check_task_model, parse_score_range
from optimize_eval.base.retries_and_caps import until_answered
from optimize_eval.data.datasets import make_example
from optimize_eval.data.example import Example
from optimize_eval.evaluators.command_kind import command_spec
from optimize_eval.evaluators.endpoint_kind import endpoint_spec
from optimize_eval.evaluators.kinds import connect
from optimize_eval.programs.exchange import split_command


class PlainEvaluator:
    """A callable that scores.

    A failure raises EvaluationError, unless `on_failure` names the score it counts as. An answer that skips
    the example raises Skipped, whatever `on_failure` says.
    Safe to call from several threads; `close` it, or use it as a context manager, when done.
    """

    def __init__(self, spec: EvaluatorSpec, *, task_model: str | None, on_failure: float | None) -> None:
        self._spec = spec
        self._on_failure = _check_on_failure(on_failure)
        self._opened = Opened()
        self._evaluator = connect(spec, self._opened)
        self._task_model = check_task_model(task_model)

    def __call__(
        self, candidate: str, example: JsonMapping | Example | None = None
    ) -> tuple[float, JsonDict]:
        _check_candidate(candidate)
        payload = Payload(candidate=candidate, example=_bytes_of(example), task_model=self._task_model)
        deadline = time.monotonic() + self._spec.timeout
        try:
            call = partial(self._evaluator.call, payload)
            answer, *_ = until_answered(call, deadline, self._spec.retries or 0)
        except EvaluationError as error:
            if self._on_failure is None:
                raise
            return self._on_failure, {**error.side_info, "failure": str(error.kind), "error": error.message}
        if isinstance(answer, Skip):
            raise Skipped(answer.why, side_info=answer.side_info)
        return answer.score, dict(answer.side_info)

    def __reduce__(self) -> tuple[Callable[..., "PlainEvaluator"], tuple[object, ...]]:
        return _rebuild, (self._spec, self._task_model, self._on_failure)

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_candidate(candidate: object) -> None:
    """Refuse what is not one text, such as a candidate of several components."""
    if isinstance(candidate, str):
        return
    parts = f" with {', '.join(map(repr, candidate))}" if isinstance(candidate, Mapping) else ""
    raise UsageError(
        f"the candidate is not a text but a {type(candidate).__name__}{parts}",
        hint="an evaluator scores one text: pass one of its parts, or join them into one text",
    )


def _check_on_failure(score: object) -> float | None:
    """Refuse what a failure could not score, before one comes."""
    if score is None:
        return None
    if isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score):
        return score
    raise UsageError(
        f"on_failure={score!r} is not a score", hint="pass a number, or None to raise the failure"
    )


def _rebuild(spec: EvaluatorSpec, task_model: str | None, on_failure: float | None) -> PlainEvaluator:
    return PlainEvaluator(spec, task_model=task_model, on_failure=on_failure)


def command_evaluator(
    command: str | Sequence[str | Path],
    *,
    timeout: float = DEFAULT_TIMEOUT,
    cwd: str | Path | None = None,
    score_range: ScoreRange | str = ScoreRange.UNIT,
    task_model: str | None = None,
    env: Mapping[str, str] | None = None,
    retries: int | None = None,
    persistent: bool | None = None,
    workers: int | None = None,
    on_failure: float | None = None,
) -> PlainEvaluator:
    r"""Make an evaluator of a program that reads a payload on stdin and prints an answer.

    >>> with command_evaluator(["sh", "-c", "wc -c | sed 's/.*/{\"score\": 1, \"bytes\": &}/'"]) as evaluator:
    ...     evaluator("hello")
    (1.0, {'bytes': 44})
    """
    defaults = EvaluatorSpec(
        timeout=timeout,
        cwd=None if cwd is None else str(cwd),
        score_range=parse_score_range(score_range),
        environment=dict(env or {}),
        retries=retries,
        persistent=persistent,
        workers=workers,
    )
    argv = split_command(command) if isinstance(command, str) else tuple(os.fspath(word) for word in command)
    return PlainEvaluator(command_spec(argv, defaults), task_model=task_model, on_failure=on_failure)


def http_evaluator(
    url: str,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    headers: Mapping[str, str] | None = None,
    score_range: ScoreRange | str = ScoreRange.UNIT,
    task_model: str | None = None,
    retries: int | None = None,
    on_failure: float | None = None,
) -> PlainEvaluator:
    """Make an evaluator of an HTTP endpoint that is POSTed a payload and replies with an answer."""
    defaults = EvaluatorSpec(
        timeout=timeout,
        score_range=parse_score_range(score_range),
        headers=tuple((headers or {}).items()),
        retries=retries,
    )
    return PlainEvaluator(endpoint_spec(url, defaults), task_model=task_model, on_failure=on_failure)


def llm_judge_evaluator(
    objective: str,
    *,
    model: str,
    dimensions: JsonMapping | Sequence[JsonMapping] | None = None,
    constraints: Mapping[str, str] | Sequence[str] | None = None,
    quality_dimensions: JsonMapping | Sequence[JsonMapping] | None = None,
    hard_constraints: Mapping[str, str] | Sequence[str] | None = None,
    rubric: str | Path | JsonMapping | None = None,
    api_base: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    shows: Sequence[str] | None = None,
    hides: Sequence[str] | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    score_range: ScoreRange | str = ScoreRange.UNIT,
    task_model: str | None = None,
    retries: int | None = None,
    on_failure: float | None = None,
) -> PlainEvaluator:
    """Make an evaluator of a language model that judges by an objective; scores are always from 0 to 1.

    `rubric` is a file, or what such a file would say; what is given beside it wins. `shows` and `hides`
    name fields of examples by dotted paths: all that it is shown, and what it never is. `quality_dimensions`
    and `hard_constraints` are other names of `dimensions` and `constraints`.
    """
    from optimize_eval.evaluators.judge_kind import judge_by, judge_spec  # noqa: PLC0415  a command needs no judge

    given = {
        "objective": objective,
        "dimensions": _either("dimensions", dimensions, "quality_dimensions", quality_dimensions),
        "constraints": _either("constraints", constraints, "hard_constraints", hard_constraints),
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "shows": shows,
        "hides": hides,
    }
    judge = replace(judge_by(rubric, given), api_base=api_base or "")
    _check_model(model)
    defaults = EvaluatorSpec(
        timeout=timeout, score_range=parse_score_range(score_range), retries=retries, target=judge
    )
    return PlainEvaluator(judge_spec(model, defaults), task_model=task_model, on_failure=on_failure)


def _either(name: str, value: object, other_name: str, other: object) -> object:
    if value is not None and other is not None:
        raise UsageError(f"{name} and {other_name} mean the same", hint="pass one of them")
    return other if value is None else value


def _check_model(name: object) -> None:
    if not isinstance(name, str):
        raise UsageError(f"the model {name!r} is not a text", hint='write it as "PROVIDER/MODEL"')


def _bytes_of(example: JsonMapping | Example | None) -> bytes | None:
    if example is None:
        return None
    return (example if isinstance(example, Example) else make_example(example)).raw


_PLACES = 4


def evaluate(predictions: Sequence[str], gold: Sequence[str], mode: str) -> float:
    """Average over all pairs, to 4 places, whether a prediction is (`exact`) or `contains` its gold answer.

    Both are compared in lower case and with their ends stripped; nothing to compare is 0.0.

    >>> evaluate(["The capital is Paris.", "Rome"], ["paris", "rome"], "contains")
    1.0
    """
    if mode not in {"exact", "contains"}:
        raise ValueError(f"unknown mode: {mode!r} is neither 'exact' nor 'contains'")
    if len(predictions) != len(gold):
        raise ValueError(f"{len(predictions)} predictions cannot be compared with {len(gold)} gold answers")
    pairs = [(_plain(output), _plain(wanted)) for output, wanted in zip(predictions, gold, strict=True)]
    right = sum(wanted == output if mode == "exact" else wanted in output for output, wanted in pairs)
    return round(right / len(pairs), _PLACES) if pairs else 0.0


def label_in_set(outputs: Iterable[str], allowed: Iterable[str]) -> dict[str, int]:
    """Count the outputs that are an allowed label, their ends stripped, and those that are not.

    >>> label_in_set(["yes", " no ", "maybe"], {"yes", "no"})
    {'passed': 2, 'failed': 1}
    """
    labels = set(_several(allowed, "the allowed labels are"))
    verdicts = [output.strip() in labels for output in _several(outputs, "the outputs are")]
    return {"passed": sum(verdicts), "failed": len(verdicts) - sum(verdicts)}


def has_forbidden(text: str, patterns: Iterable[str]) -> bool:
    """Return True if any of the regular expressions is found in a text.

    >>> has_forbidden("Sorry, as an AI I cannot.", ["as an AI"])
    True
    """
    compiled = [_compile(pattern) for pattern in _several(patterns, "the patterns are")]  # all, before any
    return any(pattern.search(text) for pattern in compiled)


def _plain(text: str) -> str:
    return text.strip().lower()


def _several(texts: Iterable[str], what: str) -> Iterable[str]:
    """Refuse one text, whose letters would be taken for texts."""
    if isinstance(texts, str):
        raise UsageError(f"{what} several texts, not one: {texts!r}", hint="put it into a list")
    return texts


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"{pattern!r} is not a regular expression: {error}", hint="re.escape(text) makes a plain text one"
        ) from error
