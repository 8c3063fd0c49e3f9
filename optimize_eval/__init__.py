"""Score anything with an evaluator written in any language.

The public names; each is imported from its module when it is first used, so importing the package is cheap.
"""

TYPE_CHECKING = False  # as typing has it, which takes long to load: until then Ctrl-C is not quiet

if TYPE_CHECKING:
    from typing import Any

    from optimize_eval.api import bench, sweep
    from optimize_eval.api_search import Search, optimize
    from optimize_eval.api_trial import Trial, trial
    from optimize_eval.base.errors import (
        DataError,
        EvaluationError,
        FailureKind,
        OptimizeEvalError,
        Skipped,
        UsageError,
    )
    from optimize_eval.base.outcome import Progress
    from optimize_eval.base.protocol import ScoreRange, validate_evaluator_payload
    from optimize_eval.callables import (
        command_evaluator,
        evaluate,
        has_forbidden,
        http_evaluator,
        label_in_set,
        llm_judge_evaluator,
    )
    from optimize_eval.data.datasets import load_dataset
    from optimize_eval.programs.leftovers import adopt_orphans
    from optimize_eval.results import Run, load_run
    from optimize_eval.store.records import RunRecord

__all__ = [
    "DataError",
    "EvaluationError",
    "FailureKind",
    "OptimizeEvalError",
    "Progress",
    "Run",
    "RunRecord",
    "ScoreRange",
    "Search",
    "Skipped",
    "Trial",
    "UsageError",
    "adopt_orphans",
    "bench",
    "command_evaluator",
    "evaluate",
    "has_forbidden",
    "http_evaluator",
    "label_in_set",
    "llm_judge_evaluator",
    "load_dataset",
    "load_run",
    "optimize",
    "sweep",
    "trial",
    "validate_evaluator_payload",
]

_HOMES = {
    "DataError": "base.errors",
    "EvaluationError": "base.errors",
    "FailureKind": "base.errors",
    "OptimizeEvalError": "base.errors",
    "Progress": "base.outcome",
    "Run": "results",
    "RunRecord": "store.records",
    "ScoreRange": "base.protocol",
    "Search": "api_search",
    "Skipped": "base.errors",
    "Trial": "api_trial",
    "UsageError": "base.errors",
    "adopt_orphans": "programs.leftovers",
    "bench": "api",
    "command_evaluator": "callables",
    "evaluate": "callables",
    "has_forbidden": "callables",
    "http_evaluator": "callables",
    "label_in_set": "callables",
    "llm_judge_evaluator": "callables",
    "load_dataset": "data.datasets",
    "load_run": "results",
    "optimize": "api_search",
    "sweep": "api",
    "trial": "api_trial",
    "validate_evaluator_payload": "base.protocol",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module  # noqa: PLC0415  until the program is there, Ctrl-C is not quiet

    if name == "__version__":
        return import_module(f"{__name__}.base.shipped").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
