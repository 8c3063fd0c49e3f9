"""Options of evaluators and of judges: which, and how they are called."""

from typing import Annotated, ClassVar

from optimize_eval.base.evaluator import DEFAULT_TIMEOUT
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.options import values
from optimize_eval.options.compared import RUN
from optimize_eval.options.declared import Heading, Option, OptionGroup


class EvaluatorOptions(OptionGroup):
    """Who scores."""

    heading: ClassVar = Heading.EVALUATORS

    evaluators: Annotated[
        tuple[str, ...],
        Option("COMMAND, URL, unix:PATH, @METRIC, judge:…", "SPEC", flags=("-e", "--evaluator")),
    ] = ()


class ProgramOptions(OptionGroup):
    """How programs and URLs are called: evaluators, and models that are either."""

    heading: ClassVar = Heading.EVALUATORS

    timeout: Annotated[float, Option("How long one call may take.", "SECONDS", values.SECONDS)] = (
        DEFAULT_TIMEOUT
    )
    cwd: Annotated[str | None, Option("The folder that programs run in.", "DIR", values.PATH)] = None
    headers: Annotated[
        tuple[str, ...], Option("NAME: VALUE for a URL; ${VAR} expands.", "HEADER", values.HEADERS)
    ] = ()
    retries: Annotated[
        int | None, Option("Further attempts (URL: 2, else 0).", "N", values.WHOLE, least=0)
    ] = None
    persistent: Annotated[
        bool | None,
        Option(
            "Force, or forbid, keeping the program alive.",
            value=values.BOOLEAN,
            flags=("--persistent/--no-persistent",),
            shows_default=False,
        ),
    ] = None
    workers: Annotated[
        int | None, Option("Worker processes (default: number of CPUs).", "N", values.COUNT, least=1)
    ] = None


class ReachOptions(ProgramOptions):
    """How evaluators are called, and what their scores may be."""

    score_range: Annotated[
        ScoreRange, Option("0 to 1, or any number.", value=values.SCORE_RANGE, table=RUN)
    ] = ScoreRange.UNIT


class JudgeModelOptions(OptionGroup):
    """Models that judge."""

    heading: ClassVar = Heading.MODELS

    judge_models: Annotated[tuple[str, ...], Option("Same as -e judge:MODEL.", "MODEL")] = ()


class JudgedByOptions(OptionGroup):
    """By what judges judge."""

    heading: ClassVar = Heading.MODELS

    objective: Annotated[str | None, Option("What a judge looks for.", "TEXT", values.TEXT)] = None
    rubric: Annotated[str | None, Option("TOML or JSON: how a judge judges.", "FILE", values.PATH)] = None


class JudgeOptions(JudgedByOptions):
    """By what judges judge, and where they are called."""

    heading: ClassVar = Heading.MODELS

    api_base: Annotated[str | None, Option("Base URL of models, as of a proxy: …/v1.", "URL", values.URL)] = (
        None
    )


class NamedEvaluatorOptions(EvaluatorOptions, JudgeModelOptions):
    """Who scores, judges by their models too."""


class ScoringOptions(NamedEvaluatorOptions, ReachOptions, JudgeOptions):
    """Who scores, and how they are called."""
