"""Prompts and models as a command line names them, or else its sweep file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from optimize_eval.candidates import CandidatePath
from optimize_eval.cli.options.sweep_file import candidates_named, is_flag, sweep_of
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.options.compared import ComparisonOptions
from optimize_eval.options.prompts import PromptingOptions
from optimize_eval.session.replying.prompting import Prompting, check_prompting, load_prompting

Named = tuple[tuple[CandidatePath, ...], tuple[str, ...], Prompting | None]

_CANDIDATES = ("candidate", "candidates", "candidate_fields")


def compared_of(
    context: typer.Context,
    what: ComparisonOptions,
    prompted: PromptingOptions,
    how: EvaluatorSpec,
    api_base: str | None,
) -> Named:
    """Give candidates' files, the fields that have some, or the prompts; flags win over a sweep file's."""
    files, fields = candidates_named(context, what)
    prompts = prompted.prompts
    by_flag = any(is_flag(context, option) for option in _CANDIDATES)
    if not (by_flag and is_flag(context, "prompts")):
        files, fields = ((), ()) if is_flag(context, "prompts") else (files, fields)
        prompts = () if by_flag else prompts
    models = _models(context, prompted, has_prompts=bool(prompts))
    check_prompting(what, prompted, prompts=prompts, models=models, others=(*files, *fields))
    sweep = sweep_of(context)
    if sweep and not is_flag(context, "models") and not is_flag(context, "cwd"):
        how = replace(how, cwd=str(Path(sweep.path).parent))
    tables = sweep.models if sweep else {}
    return files, fields, load_prompting(prompts, models, prompted, how, api_base=api_base, tables=tables)


def _models(context: typer.Context, prompted: PromptingOptions, *, has_prompts: bool) -> Sequence[str]:
    """Give the models that are named, else all tables [[model]] that no evaluator judges by."""
    sweep = sweep_of(context)
    if prompted.models and (has_prompts or is_flag(context, "models")):
        return prompted.models
    return [*sweep.models] if sweep and has_prompts else ()
