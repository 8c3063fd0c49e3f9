"""What the arguments of `sweep`, `bench` and `optimize` name: evaluators, candidates, and lists of either."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.files import STDIN
from optimize_eval.config.sweep_files import read_evaluator, spec_of
from optimize_eval.data.candidates import LONGEST_NAME, Candidate, CandidatePath
from optimize_eval.evaluators.kinds import check_used, named_apart, parse_evaluator
from optimize_eval.session.host import Say
from optimize_eval.session.inputs import is_utf8

OneEvaluator = str | Mapping[str, Any]
OneCandidate = str | Path | Mapping[str, str]
OnePrompt = str | Path | Mapping[str, str | Sequence[Mapping[str, str]] | Mapping[str, str]]

_LIST = ".jsonl"


def listed_as(what: str, given: Any) -> list[Any]:
    """Give one of something, or several, as a list."""
    if isinstance(given, str | Path | Mapping):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, bytes):
        return [*given]
    raise UsageError(
        f"{given!r} is neither one {what} nor a list of them", hint=f"give one {what}, or a list"
    )


def texts_of(what: str, given: Any) -> list[str]:
    """Give texts, of which there may be one alone."""
    listed = listed_as(what, given)
    if wrong := [one for one in listed if not isinstance(one, str)]:
        raise UsageError(f"the {what} {wrong[0]!r} is not a text", hint="write it as the option takes it")
    return listed


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


def candidates_of(given: OneCandidate | Iterable[OneCandidate]) -> list[CandidatePath | Candidate]:
    """Read candidates: a text is a file, a glob or a JSONL list; a mapping has texts by their names."""
    return [found for one in listed_as("candidate", given) for found in _candidates(one)]


def _candidates(given: object) -> list[CandidatePath | Candidate]:
    match given:
        case str() | Path() if os.fspath(given) != STDIN:
            return [CandidatePath(os.fspath(given), is_list=os.fspath(given).endswith(_LIST))]
        case Mapping():
            return [_candidate(name, text) for name, text in given.items()]
    raise UsageError(
        f"{given!r} is not a candidate", hint='name its file, "prompt.txt", or give its text: {"v1": "…"}'
    )


def prompts_of(given: OnePrompt | Iterable[OnePrompt]) -> list[str | Candidate]:
    """Read prompts: a text is a file or a glob; a mapping has texts or messages by their names."""
    named = [found for one in listed_as("prompt", given) for found in _candidates(_with_texts(one))]
    return [one.path if isinstance(one, CandidatePath) else one for one in named]


def _with_texts(given: object) -> object:
    """Write messages among prompts as the texts that stand for them."""
    if not isinstance(given, Mapping):
        return given
    from optimize_eval.tasks.prompts import prompt_of_messages  # noqa: PLC0415  most calls have none

    return {
        name: one if isinstance(one, str) else prompt_of_messages(str(name), one).text
        for name, one in given.items()
    }


def _candidate(name: object, text: object) -> Candidate:
    for what in (name, text):
        if not isinstance(what, str) or not is_utf8(what):
            raise UsageError(f"candidate {name!r} is not a text of UTF-8", hint='write {"v1": "…"}')
    if not 0 < len(str(name)) <= LONGEST_NAME:
        raise UsageError(
            f"a candidate has a name of {len(str(name)):,} letters", hint=f"from 1 to {LONGEST_NAME}"
        )
    return Candidate(name=str(name), text=str(text))
