"""The evaluators that a command line names, or else those of its sweep file, where flags win."""

from collections.abc import Sequence
from typing import TypeVar

import typer

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.cli import output
from optimize_eval.cli.sweep_file import is_flag, sweep_of
from optimize_eval.config.declared import declared
from optimize_eval.config.evaluators import JudgeOptions, NamedEvaluatorOptions, ReachOptions

Specs = TypeVar("Specs", bound=Sequence[EvaluatorSpec])


def evaluators_of(
    context: typer.Context, named: NamedEvaluatorOptions, defaults: EvaluatorSpec
) -> tuple[EvaluatorSpec, ...]:
    """Make the evaluators that are named, or else those of the sweep file, where flags win."""
    if named.evaluators or named.judge_models:
        return named_evaluators(named, defaults)
    sweep = sweep_of(context)
    if not sweep or not sweep.entries:
        raise _without_evaluator(f" in {sweep.path}" if sweep else "")
    given = {
        **{name: getattr(defaults, name) for name in declared(ReachOptions) if is_flag(context, name)},
        **{
            name: context.params[option]
            for name, option in _of_judges(context).items()
            if is_flag(context, option)
        },
    }
    return check_meant(sweep.specs(defaults, given), defaults)


def _of_judges(context: typer.Context) -> dict[str, str]:
    """Give the options of judges by what they say; --objective of a search is its proposers'."""
    own = {name: f"judge_{name}" for name in declared(JudgeOptions)}
    return {name: option if option in context.params else name for name, option in own.items()}


def named_evaluators(named: NamedEvaluatorOptions, defaults: EvaluatorSpec) -> tuple[EvaluatorSpec, ...]:
    """Make the evaluators that `-e` and `--judge-model` name."""
    from optimize_eval.evaluators.kinds import parse_evaluators  # noqa: PLC0415  a plain --help names none

    return check_meant(parse_evaluators(texts_of(named), defaults), defaults)


def texts_of(named: NamedEvaluatorOptions) -> list[str]:
    """Write all that is named as `-e` takes it."""
    texts = [*named.evaluators, *(f"judge:{model}" for model in named.judge_models)]
    if not texts:
        raise _without_evaluator("")
    return texts


def _without_evaluator(where: str) -> UsageError:
    return UsageError(
        f"no evaluator is named{where}",
        hint="name one with -e (--evaluator): -e './judge.sh', or -e @exact_match",
    )


def check_meant(specs: Specs, defaults: EvaluatorSpec) -> Specs:
    """Refuse options of judges where no judge is named; note other options that nothing named uses."""
    from optimize_eval.evaluators.kinds import check_used  # noqa: PLC0415  see named_evaluators

    check_used(specs, defaults, output.say)
    return specs
