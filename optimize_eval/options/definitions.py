"""Options of tasks in YAML: values of parameters, what keys in them stand for, what their code runs in."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from optimize_eval.base.errors import UsageError
from optimize_eval.options import values
from optimize_eval.options.compared import RUN
from optimize_eval.options.declared import Heading, Option, OptionGroup

if TYPE_CHECKING:  # most commands have no task
    from optimize_eval.tasks.defined import Given


class Sandbox(StrEnum):
    """How closed off code has to be that a task brings along, or that a model wrote."""

    STRICT = "strict"
    BEST_EFFORT = "best-effort"
    NONE = "none"


class ParameterOptions(OptionGroup):
    """Values of a task's parameters."""

    heading: ClassVar = Heading.DATA

    config: Annotated[
        tuple[str, ...], Option("Set a parameter of a task in YAML.", "KEY=VALUE", values.PAIRS)
    ] = ()
    config_file: Annotated[str | None, Option("Such parameters, in YAML or JSON.", "FILE", values.PATH)] = (
        None
    )


class SandboxOptions(OptionGroup):
    """What code runs in."""

    heading: ClassVar = Heading.EVALUATORS

    sandbox: Annotated[
        Sandbox | None,
        Option(
            "Code: strict|best-effort|none (your rights).",
            "LEVEL",
            values.same(values.OneOf((*Sandbox,))),
            RUN,
        ),
    ] = None


class TurnOptions(OptionGroup):
    """How often a solver may call models."""

    heading: ClassVar = Heading.STOPPING

    max_turns: Annotated[
        int | None,
        Option("Most model calls of a YAML task's sample.", "N", values.COUNT, RUN, least=1),
    ] = None


class DefinitionOptions(ParameterOptions, SandboxOptions, TurnOptions):
    """What a task in YAML is given from outside."""

    model_key: Annotated[
        tuple[str, ...], Option("The model that a task names by KEY.", "KEY=MODEL", values.PAIRS)
    ] = ()


class DefinedDataOptions(DefinitionOptions):
    """The same where a task finds its own dataset."""

    data: Annotated[
        tuple[str, ...], Option("The file of the dataset KEY of a task.", "KEY=FILE", values.PAIRS)
    ] = ()


def given_of(options: DefinitionOptions) -> "Given":
    """Read what tasks are given."""
    from optimize_eval.tasks.defined import Given  # noqa: PLC0415  see above

    return Given(
        config=config_given(options),
        model_keys=pairs("--model-key", options.model_key),
        data=pairs("--data", getattr(options, "data", ())),
        sandbox=str(options.sandbox or ""),
        max_turns=options.max_turns,
    )


def config_given(options: ParameterOptions) -> dict[str, Any]:
    """Read values of parameters: those of a file, and those that stand for themselves, which win."""
    if not options.config and not options.config_file:
        return {}
    from optimize_eval.tasks.yaml.parameters import config_of  # noqa: PLC0415  see above

    return config_of(pairs("--config", options.config), options.config_file or "")


def pairs(option: str, given: Iterable[str | tuple[str, Any]]) -> dict[str, Any]:
    """Read `KEY=VALUE` texts; a program gives pairs."""
    found: dict[str, Any] = {}
    for one in given:
        key, value = _pair(option, one) if isinstance(one, str) else one
        if key in found:
            raise UsageError(f"{option} gives {key} twice", hint="give one of the two")
        found[key] = value
    return found


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key.strip() or not equals:
        raise UsageError(f"{option} {text!r} has no key and value", hint=f"write {option} KEY=VALUE")
    return key.strip(), value
