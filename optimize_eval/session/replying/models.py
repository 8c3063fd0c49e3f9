"""The models that options name, texts or files of [[model]] tables, as specifications."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.config.sweep_files import SUFFIX
from optimize_eval.evaluators.kinds import named_apart
from optimize_eval.evaluators.task_kind import check_one_base, task_spec
from optimize_eval.models.model_kinds import Tasks, identify_model, tasks_of

if TYPE_CHECKING:  # which loads an HTTP client
    from optimize_eval.config.model_tables import NamedModel


def model_specs(
    texts: Sequence[str],
    how: EvaluatorSpec,
    task: Tasks,
    metrics: Iterable[str] = (),
    *,
    sandbox: str = "",
    tables: "Mapping[str, NamedModel] | None" = None,
) -> tuple[EvaluatorSpec, ...]:
    """Make the models of texts; what is the same for all of them is said by `how` and `task`.

    A text may be the name of one of `tables`, which are those of a sweep file.
    """
    known = tables or {}
    if task.api_base:
        check_one_base(text for text in texts if not text.endswith(SUFFIX) and text not in known)
    scorers = tuple(metrics)
    return named_apart(spec for text in texts for spec in _models(text, how, task, scorers, sandbox, known))


def identified(model: EvaluatorSpec) -> EvaluatorSpec:
    """Digest what a model is, once for all evaluators."""
    task = tasks_of(model)
    return replace(model, target=replace(task, known_as=identify_model(task.model, model)))


def _models(
    text: str,
    how: EvaluatorSpec,
    task: Tasks,
    metrics: Sequence[str],
    sandbox: str,
    tables: "Mapping[str, NamedModel]",
) -> Iterator[EvaluatorSpec]:
    """Make the model of a text, or all of a file of [[model]] tables."""
    if not text.endswith(SUFFIX) and text not in tables:
        yield task_spec(text, metrics, how, task, sandbox=sandbox)
        return
    for model in [tables[text]] if text in tables else _of_file(text):
        named = f"{model.name}={model.text}"
        treated = replace(how, manners=model.handled(how.manners))
        yield task_spec(named, metrics, treated, replace(task, table=model.spec), sandbox=sandbox)


def _of_file(path: str) -> "list[NamedModel]":
    from optimize_eval.config.model_tables import load_models  # noqa: PLC0415  it loads an HTTP client

    return load_models(path)
