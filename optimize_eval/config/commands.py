"""All that a command takes, as one group of options: what reads some of them is given all."""

from optimize_eval.config.compared import (
    BoardGateOptions,
    ComparisonOptions,
    EngineOptions,
    FolderOptions,
    HandlingOptions,
    PricedServerOptions,
    RecheckOptions,
    RunGateOptions,
)
from optimize_eval.config.evaluators import ScoringOptions
from optimize_eval.config.printing import (
    LastFailedOptions,
    PlanOptions,
    RunPlanOptions,
    ShownOptions,
    ViewOptions,
)
from optimize_eval.config.prompts import (
    BenchOptions,
    BoardOptions,
    DefinedDataOptions,
    DefinitionOptions,
    OneTaskOptions,
    PromptingOptions,
)


class RunCommand(
    ComparisonOptions,
    PromptingOptions,
    ScoringOptions,
    DefinitionOptions,
    PricedServerOptions,
    HandlingOptions,
    RecheckOptions,
    EngineOptions,
    RunGateOptions,
    FolderOptions,
    RunPlanOptions,
    LastFailedOptions,
    ShownOptions,
    ViewOptions,
):
    """What `run` takes."""


class BenchCommand(
    BenchOptions,
    DefinedDataOptions,
    PricedServerOptions,
    HandlingOptions,
    EngineOptions,
    BoardGateOptions,
    BoardOptions,
    OneTaskOptions,
    FolderOptions,
    PlanOptions,
    ShownOptions,
    ViewOptions,
):
    """What `bench` takes."""
