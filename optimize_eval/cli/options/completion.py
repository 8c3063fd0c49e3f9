"""What a shell offers after Tab where an option's value is one of ours; for the rest it offers files."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

_RUNS = Path("runs")
_MODELS = ("toy", "silent", "cmd:", "replay:", "http://", "https://")
_EVALUATORS = ("task:", "judge:", "http://", "https://")


def complete_run(incomplete: str) -> list[str]:
    """Offer the runs under runs/."""
    from optimize_eval.store.folder import MANIFEST  # noqa: PLC0415  a plain --help completes nothing

    return _begun((str(path.parent) for path in sorted(_RUNS.glob(f"*/{MANIFEST}"))), incomplete)


def complete_model(incomplete: str) -> list[str]:
    """Offer what a model's text can begin with."""
    from optimize_eval.models.providers import PROVIDERS  # noqa: PLC0415  see above

    return _begun([*_MODELS, *(f"{name}/" for name in PROVIDERS)], incomplete)


def complete_evaluator(incomplete: str) -> list[str]:
    """Offer the evaluators that ship, and what other kinds begin with."""
    return _begun([*(f"@{name}" for name in _shipped()), *_EVALUATORS], incomplete)


def complete_shipped(incomplete: str) -> list[str]:
    """Offer the names of evaluators that ship, with or without their @."""
    return _begun((f"{'@' * incomplete.startswith('@')}{name}" for name in _shipped()), incomplete)


BY_METAVAR: Mapping[str, Callable[[str], list[str]]] = {
    "RUN": complete_run,
    "RUN|auto": complete_run,
    "BENCH": complete_run,
    "MODEL": complete_model,
    "SPEC": complete_evaluator,
}


def _shipped() -> Iterable[str]:
    from optimize_eval.base import shipped  # noqa: PLC0415  see above

    return shipped.programs()


def _begun(words: Iterable[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]
