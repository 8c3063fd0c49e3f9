"""The arguments of `sweep`, `bench` and `optimize` for whoever writes a call: names, and types of values.

What each does, its default and its check are where the option is declared; a test holds the two together.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from optimize_eval.base.protocol import ScoreRange


class SplitArguments(TypedDict, total=False):
    """See options of the same names, as in the other classes here."""

    dataset: str | Path | None
    valset: str | Path | None
    testset: str | Path | None


class ChoiceArguments(TypedDict, total=False):
    filters: Mapping[str, Any] | Sequence[str] | None
    ids: Sequence[str | int] | None


class PartArguments(ChoiceArguments, total=False):
    limit: int | None
    sample: int | None
    seed: int
    repeats: int


class HandlingArguments(TypedDict, total=False):
    concurrency: int | None
    on_failure: Literal["exclude", "abort"]
    max_failures: int | str | None
    max_time: float | str | None
    max_cost: float | None
    max_tokens_total: int | None
    estimate_tokens: bool
    keep_stderr: bool
    no_preflight: bool
    out: str | Path | None
    fresh: bool
    replace: Sequence[str]
    reuse: str | Path | Sequence[str | Path]
    note: str | None


class ReachingArguments(TypedDict, total=False):
    timeout: float | None
    cwd: str | Path | None
    headers: Mapping[str, str] | None
    retries: int | None
    persistent: bool | None
    workers: int | None
    api_base: str | None
    patience: float | str | None
    rpm: float | None
    tpm: float | None
    prices: str | Mapping[str, Mapping[str, float]] | None


class GateArguments(TypedDict, total=False):
    fail_under: Mapping[str, float] | Sequence[str] | None
    no_regression_against: str | Path | None


class DefinitionArguments(TypedDict, total=False):
    config: Mapping[str, Any] | Sequence[str]
    config_file: str | Path | None
    model_key: Mapping[str, str] | Sequence[str]
    max_turns: int | None
    sandbox: Literal["strict", "best-effort", "none"] | None


class SweepArguments(
    SplitArguments,
    PartArguments,
    DefinitionArguments,
    HandlingArguments,
    ReachingArguments,
    GateArguments,
    total=False,
):
    candidate_fields: Sequence[str]
    task_models: Sequence[str]
    baseline: str | None
    cluster_by: str | None
    group_by: Sequence[str]
    leaks: Literal["drop", "keep"]
    max_gap: float | None
    margin: float | Mapping[str, float] | None
    score_range: ScoreRange | str | None
    objective: str | None
    rubric: str | Path | None
    recheck: int | None
    system: str | Path | None
    extract: str | None
    temperature: float | None
    max_tokens: int | None
    keep_thoughts: bool
    refusals: Literal["score", "fail"]


class BenchArguments(
    PartArguments, DefinitionArguments, HandlingArguments, ReachingArguments, GateArguments, total=False
):
    data: Mapping[str, str | Path] | Sequence[str]
    evaluators: Sequence[str]
    objective: str | None
    rubric: str | Path | None
    format: str | None
    allow_bad_tasks: bool
    tags: Sequence[str]
    batch_size: int | None
    temperature: float | None
    max_tokens: int | None
    keep_thoughts: bool
    refusals: Literal["score", "fail"]
    include_per_example: bool


class OptimizeArguments(SplitArguments, ChoiceArguments, DefinitionArguments, total=False):
    val_share: float | None
    choose_share: float | None
    choose_rows: int | None
    search_val: int | None
    val_chooses: bool
    objective: str | None
    background: str | None
    components: bool
    budget: int | None
    max_time: float | str | None
    early_stop: bool | None
    early_stop_window: int
    early_stop_threshold: float
    climb: str | None
    goal: Mapping[str, float] | None
    minibatch: int | None
    proposals: int
    acceptance: Literal["strict", "equal"]
    selection: str
    merge: bool
    max_candidate_chars: int | None
    top: int
    repeats: int
    seed: int
    concurrency: int | None
    score_range: str | None
    timeout: float | None
    cwd: str | Path | None
    api_base: str | None
    patience: float | str | None
    rpm: float | None
    tpm: float | None
    prices: str | Mapping[str, Mapping[str, float]] | None
    max_cost: float | None
    max_tokens_total: int | None
    estimate_tokens: bool
    cluster_by: str | None
    leaks: Literal["drop", "keep"]
    note: str | None
    reuse: str | Path | Sequence[str | Path]
    fresh: bool
    system: str | Path | None
    extract: str | None
    temperature: float | None
    max_tokens: int | None
    keep_thoughts: bool
    refusals: Literal["score", "fail"]
