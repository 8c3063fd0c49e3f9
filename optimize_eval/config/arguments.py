"""Options as the arguments of `sweep`, `bench` and `optimize`: names, types, checks, signatures.

What each does, its default and its check are where the option is declared; a test holds the two together.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Generic, Literal, TypedDict, TypeVar

from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.config.declared import Made, declared, made
from optimize_eval.config.values import OptionValue


class SplitArguments(TypedDict, total=False):
    """See options of the same names, as in the other classes here."""

    dataset: str | Path | Iterable[JsonMapping] | None
    valset: str | Path | Iterable[JsonMapping] | None
    testset: str | Path | Iterable[JsonMapping] | None


class ChoiceArguments(TypedDict, total=False):
    filters: JsonMapping | Sequence[str] | None
    ids: Sequence[str | int] | None


class PartArguments(ChoiceArguments, total=False):
    limit: int | None
    sample: int | None
    seed: int
    repeats: int


class EngineArguments(TypedDict, total=False):
    engine: Literal["local", "ray"]
    address: str | None
    slots_per_node: int | None
    chunk: int
    inflight: int
    working_dir: str | Path | None


class HandlingArguments(EngineArguments, total=False):
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
    config: JsonMapping | Sequence[str]
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
    min_agreement: Mapping[str, float] | Sequence[str] | None
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
    evaluators: str | JsonMapping | Callable[..., Any] | Sequence[Any]
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


class OptimizeArguments(SplitArguments, ChoiceArguments, DefinitionArguments, EngineArguments, total=False):
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


Decorated = TypeVar("Decorated", bound=Callable[..., Any])


@dataclass(frozen=True)
class Keywords(Generic[Made]):
    """The arguments that a function takes by name: their types, and the command whose options they are."""

    function: str
    types: Any  # a TypedDict
    command: type[Made]

    def read(self, given: JsonMapping) -> Made:
        """Check values and make options of them; raises UsageError at the first wrong one."""
        options, values = declared(self.command), {}
        for name, value in given.items():
            if value is not None:
                values[name] = check_value(name, options[name].option.value, value)
        return made(self.command, values)

    def shown(self, function: Decorated) -> Decorated:
        """Show each argument with its default in the signature that help and notebooks read.

        It may be called in the singular or the plural, or as a sweep file calls it.
        """
        options = declared(self.command)
        own = signature(function)
        kept = [
            parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD
        ]
        named = [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=options[name].default)
            for name, kind in self.types.__annotations__.items()
        ]
        known = {parameter.name for parameter in (*kept, *named)}

        @wraps(function)
        def call(*values: object, **given: object) -> Any:
            return function(*values, **self._as_known(given, known))

        vars(call)["__signature__"] = own.replace(parameters=[*kept, *named])
        return call  # type: ignore[return-value]  # it takes what the function takes

    def _as_known(self, given: JsonMapping, known: Collection[str]) -> JsonDict:
        """Give arguments the names that they have; raises TypeError where one has none, or has two."""
        keys = {option.key: name for name, option in declared(self.command).items() if name in known}
        named: JsonDict = {}
        for name, value in given.items():
            others = (name, keys.get(name, ""), f"{name}s", name.removesuffix("s"))
            meant = next((other for other in others if other in known), "")
            if not meant:
                raise TypeError(_say_unknown(self.function, name, known))
            if meant in named or (meant != name and meant in given):
                raise TypeError(f"{self.function}() got {meant} twice: once as {name}")
            named[meant] = value
        return named


def _say_unknown(function: str, name: str, known: Iterable[str]) -> str:
    close = get_close_matches(name, [*known], n=1)
    meant = f"; did you mean {close[0]}?" if close else ""
    return f"{function}() got an unexpected keyword argument {name!r}{meant}"


def check_value(name: str, kind: OptionValue | None, value: object) -> Any:
    """Check the value of an argument; raises UsageError, with its name."""
    if kind is None:
        return value
    try:
        return kind.argument(value)
    except UsageError as error:  # a ValueError, too: it comes first
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from None
    except ValueError as error:  # without the value, which may be a secret
        raise UsageError(f"{name}: {error}") from None
