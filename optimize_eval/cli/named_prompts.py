"""Prompts and models as a command line names them, or else its sweep file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.cli.command_line import candidates_named, is_flag, sweep_of
from optimize_eval.config.compared import CandidateOptions
from optimize_eval.config.prompts import ModelOptions, PromptingOptions, check_prompting
from optimize_eval.data.candidates import CandidatePath
from optimize_eval.run.prompting import Prompting, load_prompting

Named = tuple[tuple[CandidatePath, ...], tuple[str, ...], Prompting | None]

_MODELS_OF_A_SEARCH = (
    "name what is improved: --prompt FILE; --reflection-model MODEL proposes, --judge-model MODEL judges, "
    "--task-model NAME is metadata"
)
_CANDIDATES = ("candidate", "candidates", "candidate_fields")


def compared_of(
    context: typer.Context,
    what: CandidateOptions,
    prompted: PromptingOptions,
    how: EvaluatorSpec,
    *,
    api_base: str | None,
    task_models: Sequence[str],
    has_tasks: bool,
) -> Named:
    """Give candidates' files, the fields that have some, or the prompts; flags win over a sweep file's.

    Tasks in YAML call models, too; --task-model is another name of these.
    """
    files, fields = candidates_named(context, what)
    prompts = prompted.prompts
    by_flag = any(is_flag(context, option) for option in _CANDIDATES)
    if not (by_flag and is_flag(context, "prompts")):
        files, fields = ((), ()) if is_flag(context, "prompts") else (files, fields)
        prompts = () if by_flag else prompts
    models = _models(context, prompted, has_prompts=bool(prompts) or has_tasks)
    check_prompting(
        prompts=prompts,
        models=models,
        others=(*files, *fields),
        task_models=task_models,
        system=prompted.system,
        extract=prompted.extract,
        has_tasks=has_tasks,
    )
    called = models or (task_models if has_tasks else ())
    return files, fields, _load(context, prompts, called, prompted, how, api_base)


def improved_of(
    context: typer.Context,
    prompted: PromptingOptions,
    how: EvaluatorSpec,
    *,
    api_base: str | None,
    task_model: str | None,
    is_candidate: bool,
    has_tasks: bool,
) -> Prompting | None:
    """Give the prompts that a search improves; a candidate that is named wins over a sweep file's prompts.

    Tasks in YAML call a model, too; --task-model is another name of it.
    """
    prompts = prompted.prompts if is_flag(context, "prompts") or not is_candidate else ()
    models = _models(context, prompted, has_prompts=bool(prompts) or has_tasks)
    if models and not prompts and not has_tasks:
        raise UsageError("--model replies to a prompt, and none is named", hint=_MODELS_OF_A_SEARCH)
    task_models = [task_model] if task_model else []
    check_prompting(
        prompts=prompts,
        models=models,
        others=(),
        task_models=task_models,
        system=prompted.system,
        extract=prompted.extract,
        has_tasks=has_tasks,
    )
    called = models or (task_models if has_tasks else ())
    return _load(context, prompts, called, prompted, how, api_base)


def _models(context: typer.Context, prompted: ModelOptions, *, has_prompts: bool) -> Sequence[str]:
    """Give the models that are named, else all tables [[model]] that no evaluator judges by."""
    sweep = sweep_of(context)
    if prompted.models and (has_prompts or is_flag(context, "models")):
        return prompted.models
    return [*sweep.models] if sweep and has_prompts else ()


def _load(
    context: typer.Context,
    prompts: Sequence[str],
    models: Sequence[str],
    prompted: PromptingOptions,
    how: EvaluatorSpec,
    api_base: str | None,
) -> Prompting | None:
    """Load prompts and models; programs that a sweep file names are where it is."""
    sweep = sweep_of(context)
    if sweep and not is_flag(context, "models") and not is_flag(context, "cwd"):
        how = replace(how, cwd=str(Path(sweep.path).parent))
    tables = sweep.models if sweep else {}
    return load_prompting(prompts, models, prompted, how, api_base=api_base, tables=tables)
