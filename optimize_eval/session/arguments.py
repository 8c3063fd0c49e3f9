"""The arguments of `sweep` and `bench`: checked as the keys of a sweep file are, and what they name."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimize_eval import checks
from optimize_eval.candidates import LONGEST_NAME, STDIN, Candidate, Named
from optimize_eval.durations import parse_duration
from optimize_eval.errors import UsageError
from optimize_eval.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec
from optimize_eval.findings.demands import GateOptions
from optimize_eval.kinds.judge.kind import plan_judge
from optimize_eval.kinds.table import check_used, named_apart, parse_evaluator
from optimize_eval.protocol import ScoreRange
from optimize_eval.run.stop import instant_after
from optimize_eval.session.host import Say
from optimize_eval.session.inputs import is_utf8
from optimize_eval.session.settings import Handling
from optimize_eval.store.note import check_note
from optimize_eval.sweepfile import spec_of
from optimize_eval.sweepfile.evaluator_keys import evaluator_keys
from optimize_eval.sweepfile.keys import run_keys
from optimize_eval.sweepfile.prices import Prices, load_prices, prices_of
from optimize_eval.sweepfile.reading import read_evaluator

if TYPE_CHECKING:
    from optimize_eval.models import Manners

OneEvaluator = str | Mapping[str, Any]
OneCandidate = str | Path | Mapping[str, str]

_LIST = ".jsonl"
SANDBOXES = ("strict", "best-effort", "none")

_JUDGING = ("objective", "rubric", "api_base")
_GATES = ("fail_under", "max_gap", "no_regression_against")
_HANDLING = (
    *("concurrency", "on_failure", "max_failures", "keep_stderr", "no_preflight", "fresh", "replace"),
    *("reuse", "note", "max_cost", "max_tokens_total"),
)


def _path(value: object) -> str:
    if not isinstance(value, str | Path) or not os.fspath(value):
        raise ValueError("write a path")
    return os.fspath(value)


def _list_of(check: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    def checked(value: object) -> list[Any]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError('write a list of texts: ["…", "…"]')  # noqa: TRY004  as other checks
        return [check(one) for one in value]

    return checked


def _bounds(value: Any) -> list[str]:
    """Read the lowest scores, by names or as the option's texts."""
    if isinstance(value, Mapping):
        return [f"{name}={least!r}" for name, least in checks.bounds(dict(value)).items()]
    return checks.texts(value)


def _prices(value: object) -> Prices:
    """Read a table of prices, or the file that has one."""
    return load_prices(value) if isinstance(value, str) else prices_of(value)


def _note(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("write a text")  # noqa: TRY004  as other checks
    return check_note(value) or ""


def _sandbox(value: object) -> str:
    if value not in SANDBOXES:
        raise ValueError(f"write one of: {', '.join(SANDBOXES)}")
    return str(value)


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    **{name: check for name, check in run_keys(".").items() if name != "candidates"},
    **evaluator_keys("."),
    **dict.fromkeys(("dataset", "valset", "testset", "out", "cwd", "rubric"), _path),
    **dict.fromkeys(
        ("candidate_fields", "task_models", "group_by", "models", "replace"), _list_of(checks.text)
    ),
    **dict.fromkeys(
        ("keep_stderr", "no_preflight", "fresh", "allow_bad_tasks", "keep_thoughts"), checks.boolean
    ),
    **dict.fromkeys(("include_per_example",), checks.boolean),
    **dict.fromkeys(("recheck", "batch_size"), checks.count),
    "seed": checks.integer,
    "filters": checks.filters,
    "note": _note,
    "fail_under": _bounds,
    "max_gap": checks.number,
    "no_regression_against": _path,
    "files": _list_of(_path),
    "reuse": lambda value: _list_of(_path)([value] if isinstance(value, str | Path) else value),
    "format": checks.text,
    "sandbox": _sandbox,
    "prices": _prices,
}


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Check what is known by name, and leave out what is None; raises UsageError at the first wrong one."""
    found = {}
    for name, value in given.items():
        try:
            if name in _CHECKS and value is not None:
                found[name] = _CHECKS[name](value)
        except UsageError as error:  # a ValueError, too: it comes first
            raise UsageError(f"{name}: {error.message}", hint=error.hint) from None
        except ValueError as error:  # without the value, which may be a secret
            raise UsageError(f"{name}: {error}") from None
    return found


def listed_as(what: str, given: Any) -> list[Any]:
    """Give one of something, or several, as a list."""
    if isinstance(given, str | Path | Mapping):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        return [*given]
    raise UsageError(f"{given!r} is no {what} and no list of them", hint=f"give one {what}, or a list")


def texts_of(what: str, given: Any) -> list[str]:
    """Give texts, of which there may be one alone."""
    listed = listed_as(what, given)
    if wrong := [one for one in listed if not isinstance(one, str)]:
        raise UsageError(f"the {what} {wrong[0]!r} is not a text", hint="write it as the option takes it")
    return listed


def handling_of(given: Mapping[str, Any]) -> Handling:
    ends_at = instant_after(given.get("max_time"))
    return Handling(ends_at=ends_at, **{name: given[name] for name in _HANDLING if name in given})


def _manners(given: Mapping[str, Any]) -> "Manners | None":
    """Make of arguments how servers of models are treated; None: as usual."""
    said = {name: given[name] for name in ("rpm", "tpm", "prices") if name in given}
    if "patience" in given:
        said["patience"] = parse_duration(given["patience"])
    if not said and "max_cost" not in given:
        return None
    from optimize_eval.models import Manners  # noqa: PLC0415  most runs call no model

    return Manners(**said, seeks_prices="max_cost" in given)


def gates_of(given: Mapping[str, Any]) -> GateOptions:
    return GateOptions(**{name: given[name] for name in _GATES if name in given})


def defaults_of(given: Mapping[str, Any]) -> EvaluatorSpec:
    """Make what every evaluator that is given as a text starts from."""
    judging = {name: given[name] for name in _JUDGING if name in given}
    return EvaluatorSpec(
        timeout=given.get("timeout", DEFAULT_TIMEOUT),
        cwd=given.get("cwd"),
        score_range=given.get("score_range", ScoreRange.UNIT),
        headers=given.get("headers", ()),
        manners=_manners(given),
        retries=given.get("retries"),
        persistent=given.get("persistent"),
        workers=given.get("workers"),
        target=plan_judge(judging) if judging else None,
    )


def evaluators_of(
    given: OneEvaluator | Iterable[OneEvaluator], defaults: EvaluatorSpec, say: Say
) -> tuple[EvaluatorSpec, ...]:
    """Read evaluators, each a text as -e takes it or what an [[evaluator]] of a sweep file says."""
    listed = listed_as("evaluator", given)
    if not listed:
        raise UsageError("no evaluator is named", hint='name one: sweep(["./judge.sh"], …)')
    specs = [_evaluator(one, f"evaluator {number}", defaults) for number, one in enumerate(listed, 1)]
    check_used(specs, defaults, say)
    return named_apart(specs)


def _evaluator(given: object, called: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    match given:
        case str():
            return parse_evaluator(given, defaults)
        case Mapping():
            return spec_of(read_evaluator(given, called), defaults, {})
    raise UsageError(
        f"{called} is neither a text nor a table: {given!r}",
        hint='write it as -e takes it, "./judge.sh", or as a sweep file says it, {"command": "./judge.sh"}',
    )


def candidates_of(given: OneCandidate | Iterable[OneCandidate]) -> list[Named | Candidate]:
    """Read candidates: a text is a file, a glob or a JSONL list; a mapping has texts by their names."""
    return [found for one in listed_as("candidate", given) for found in _candidates(one)]


def _candidates(given: object) -> list[Named | Candidate]:
    match given:
        case str() | Path() if os.fspath(given) != STDIN:
            return [Named(os.fspath(given), is_list=os.fspath(given).endswith(_LIST))]
        case Mapping():
            return [_candidate(name, text) for name, text in given.items()]
    raise UsageError(
        f"{given!r} is no candidate", hint='name its file, "prompt.txt", or give its text: {"v1": "…"}'
    )


def _candidate(name: object, text: object) -> Candidate:
    for what in (name, text):
        if not isinstance(what, str) or not is_utf8(what):
            raise UsageError(f"candidate {name!r} is not a text of UTF-8", hint='write {"v1": "…"}')
    if not 0 < len(str(name)) <= LONGEST_NAME:
        raise UsageError(
            f"a candidate has a name of {len(str(name)):,} letters", hint=f"from 1 to {LONGEST_NAME}"
        )
    return Candidate(name=str(name), text=str(text))
