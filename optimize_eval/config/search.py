"""Options of `optimize` alone: what is improved, by whom, and how far."""

from enum import StrEnum
from typing import Annotated, ClassVar

from optimize_eval.config import values
from optimize_eval.config.compared import (
    RUN,
    ChoiceOptions,
    EngineOptions,
    LeakOptions,
    NoteOptions,
    PricedServerOptions,
    SlotOptions,
    SpendingOptions,
    SplitOptions,
    TaskModelOption,
    TimeOptions,
)
from optimize_eval.config.declared import Heading, Option, OptionGroup
from optimize_eval.config.evaluators import NamedEvaluatorOptions, ReachOptions
from optimize_eval.config.printing import RunPlanOptions, ShownOptions, ViewOptions
from optimize_eval.config.prompts import DefinitionOptions, PromptingOptions

OPTIMIZE = "optimize"  # the table of a sweep file
MODEL_VARIABLE = "OPTIMIZE_ANYTHING_MODEL"


class AcceptanceRule(StrEnum):
    """What a proposal has to be on its minibatch."""

    STRICT = "strict"
    EQUAL = "equal"


class SelectionRule(StrEnum):
    """From whom the next proposal is made."""

    PARETO = "pareto"
    CURRENT_BEST = "current_best"
    EPSILON_GREEDY = "epsilon_greedy"
    TOP_K_PARETO = "top_k_pareto"


class SearchSplitOptions(SplitOptions, ChoiceOptions):
    """The files of a search's examples, and which of these take part."""

    dataset: Annotated[str | None, Option("Train: what the search uses.", "FILE", values.DATASET)] = None
    valset: Annotated[str | None, Option("Val: held out until the end.", "FILE", values.DATASET)] = None
    testset: Annotated[
        str | None, Option("Test: opened at the end; val chooses.", "FILE", values.DATASET)
    ] = None
    cluster_by: Annotated[
        str | None, Option("Field of examples that belong together.", "PATH", values.TEXT, RUN)
    ] = None
    val_share: Annotated[
        float | None, Option("Hold out a share of --dataset as val.", "SHARE", values.NUMBER, OPTIMIZE)
    ] = None
    choose_share: Annotated[
        float | None,
        Option("Share of --dataset that chooses (.5).", "SHARE", values.NUMBER, OPTIMIZE),
    ] = None
    choose_rows: Annotated[
        int | None, Option("Only N of these in the search.", "N", values.COUNT, OPTIMIZE, least=1)
    ] = None
    search_val: Annotated[int | None, Option("", "N", values.COUNT, OPTIMIZE, least=1, hidden=True)] = None
    val_chooses: Annotated[
        bool, Option("Let val choose; it then confirms nothing.", None, values.BOOLEAN, OPTIMIZE)
    ] = False


class ProposerOptions(OptionGroup):
    """Who proposes."""

    heading: ClassVar = Heading.IMPROVED

    proposer: Annotated[
        tuple[str, ...],
        Option(
            "[NAME=]COMMAND or URL; several take turns.",
            "SPEC",
            values.TEXTS,
            OPTIMIZE,
            key="proposers",
        ),
    ] = ()
    reflection_model: Annotated[
        tuple[str, ...],
        Option(
            "A language model that proposes.",
            "MODEL",
            values.TEXTS,
            OPTIMIZE,
            key="reflection_models",
            variable=MODEL_VARIABLE,
        ),
    ] = ()


class ProposerTimeOptions(OptionGroup):
    """How long who proposes may take."""

    heading: ClassVar = Heading.IMPROVED

    proposer_timeout: Annotated[
        float, Option("How long one proposal may take (300).", "SECONDS", shows_default=False)
    ] = 300.0


class GoalOptions(OptionGroup):
    """What is improved, and to what end."""

    heading: ClassVar = Heading.IMPROVED

    objective: Annotated[str | None, Option("What proposers aim for.", "TEXT", values.TEXT, OPTIMIZE)] = None
    background: Annotated[
        str | None, Option("What proposers should know.", "TEXT", values.TEXT, OPTIMIZE)
    ] = None
    components: Annotated[
        bool,
        Option("The candidate is a JSON object of texts.", None, values.BOOLEAN, OPTIMIZE),
    ] = False
    climb: Annotated[
        str | None, Option("The evaluator to improve (first).", "NAME", values.TEXT, OPTIMIZE)
    ] = None
    goal: Annotated[
        tuple[str, ...], Option("Improve a weighted mean instead.", "NAME=W", values.WEIGHTS, OPTIMIZE)
    ] = ()


class FirstTextOptions(OptionGroup):
    """Where the first candidate comes from."""

    heading: ClassVar = Heading.IMPROVED

    candidate: Annotated[tuple[str, ...], Option("The same as CANDIDATE.", "FILE")] = ()
    from_scratch: Annotated[
        bool, Option("Let the proposer write the first candidate.", flags=("--from-scratch", "--no-seed"))
    ] = False


class BudgetOptions(OptionGroup):
    """How far a search goes."""

    heading: ClassVar = Heading.STOPPING

    budget: Annotated[
        int | None, Option("Most calls of the search.", "N", values.COUNT, OPTIMIZE, least=1)
    ] = None
    early_stop: Annotated[
        bool | None,
        Option(
            "Stop when nothing improves.",
            None,
            values.BOOLEAN,
            OPTIMIZE,
            flags=("--early-stop/--no-early-stop",),
            shows_default=False,
        ),
    ] = None
    early_stop_window: Annotated[
        int,
        Option("Proposals without a gain (10).", "N", values.COUNT, OPTIMIZE, least=1, shows_default=False),
    ] = 10
    early_stop_threshold: Annotated[
        float,
        Option(
            "Least gain, of the range (.005).", "X", values.NUMBER, OPTIMIZE, least=0.0, shows_default=False
        ),
    ] = 0.005


class StepOptions(OptionGroup):
    """How a search goes about it."""

    heading: ClassVar = Heading.SEARCH

    minibatch: Annotated[
        int | None, Option("Train examples per proposal (3).", "N", values.COUNT, OPTIMIZE, least=1)
    ] = None
    proposals: Annotated[int, Option("Proposals at once.", "N", values.COUNT, OPTIMIZE, least=1)] = 1
    acceptance: Annotated[
        AcceptanceRule,
        Option(
            "Better on its minibatch, or as good.", None, values.ACCEPTANCE, OPTIMIZE, shows_default=False
        ),
    ] = AcceptanceRule.STRICT
    selection: Annotated[
        SelectionRule,
        Option(
            "Whose text is improved next (pareto).", "NAME", values.SELECTION, OPTIMIZE, shows_default=False
        ),
    ] = SelectionRule.PARETO
    merge: Annotated[
        bool,
        Option("Join components of good candidates.", None, values.BOOLEAN, OPTIMIZE),
    ] = False
    max_candidate_chars: Annotated[
        int | None, Option("Refuse longer proposals.", "N", values.COUNT, OPTIMIZE, least=1)
    ] = None
    top: Annotated[
        int,
        Option(
            "Candidates in the final sweep (3).", "N", values.COUNT, OPTIMIZE, least=1, shows_default=False
        ),
    ] = 3
    repeats: Annotated[
        int, Option("Final calls per example (1).", "N", values.COUNT, least=1, shows_default=False)
    ] = 1
    seed: Annotated[int, Option("For random choices.", "S", values.INTEGER)] = 0


class SearchJudgeOptions(OptionGroup):
    """How judges of a search judge; its objective is the proposers' first."""

    heading: ClassVar = Heading.MODELS

    judge_objective: Annotated[str | None, Option("What a judge looks for.", "TEXT")] = None
    rubric: Annotated[
        str | None,
        Option("TOML or JSON: how a judge judges.", "FILE", flags=("--rubric", "--intake-file")),
    ] = None
    intake_json: Annotated[str | None, Option("The same as JSON.", "TEXT")] = None
    api_base: Annotated[
        str | None, Option("Base URL of all judges; of one: MODEL@URL.", "URL", values.URL)
    ] = None


class SearchFolderOptions(OptionGroup):
    """Where a search is on disk."""

    heading: ClassVar = Heading.OUTPUT

    out: Annotated[
        str | None, Option("The search's folder.", "DIR", values.PATH, flags=("--out", "--run-dir"))
    ] = None
    fresh: Annotated[
        bool,
        Option("Delete what is in the folder and start over.", value=values.BOOLEAN),
    ] = False
    reuse: Annotated[
        tuple[str, ...],
        Option(
            "Copy scores of the same calls from there.",
            "RUN|auto",
            values.RUNS,
            RUN,
            flags=("--reuse", "--cache-from"),
        ),
    ] = ()


class BestOptions(OptionGroup):
    """What is written of the best candidate, and when that counts."""

    heading: ClassVar = Heading.OUTPUT

    output: Annotated[
        str | None,
        Option("Write the best candidate there.", "FILE", values.PATH, OPTIMIZE, flags=("-o", "--output")),
    ] = None
    require_better: Annotated[
        bool,
        Option("Exit 1 if there is no clear gain.", None, values.BOOLEAN, OPTIMIZE),
    ] = False


class IgnoredOptions(OptionGroup):
    """Flags of other optimizers that change nothing here."""

    heading: ClassVar = Heading.OUTPUT

    cache: Annotated[bool, Option("", flags=("--cache",), hidden=True)] = False
    diff: Annotated[bool, Option("", flags=("--diff",), hidden=True)] = False


class SearchOptions(GoalOptions, SearchSplitOptions, LeakOptions, StepOptions, BudgetOptions):
    """All that says what is searched for, and how far."""


class OptimizeCommand(
    SearchOptions,
    FirstTextOptions,
    PromptingOptions,
    ProposerOptions,
    ProposerTimeOptions,
    NamedEvaluatorOptions,
    SearchJudgeOptions,
    DefinitionOptions,
    ReachOptions,
    TaskModelOption,
    EngineOptions,
    SlotOptions,
    TimeOptions,
    SpendingOptions,
    PricedServerOptions,
    NoteOptions,
    SearchFolderOptions,
    BestOptions,
    IgnoredOptions,
    RunPlanOptions,
    ShownOptions,
    ViewOptions,
):
    """What `optimize` takes."""
