"""Options of evaluators and judges: which, how they are called, the specification each starts from."""

import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from optimize_eval.base import checks
from optimize_eval.base.checks import HINT, Keys, parse_duration
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import DEFAULT_TIMEOUT, EvaluatorSpec, KnownGood
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.config import values
from optimize_eval.config.compared import PATIENCE, RUN, PatienceOptions
from optimize_eval.config.declared import Heading, Option, OptionGroup
from optimize_eval.evaluators.kinds import parse_headers

if TYPE_CHECKING:
    from optimize_eval.models.judging.rubric import JudgeSpec


class EvaluatorOptions(OptionGroup):
    """Who scores."""

    heading: ClassVar = Heading.EVALUATORS

    evaluators: Annotated[
        tuple[str, ...],
        Option("COMMAND, URL, @METRIC, judge:…, x.py:f", "SPEC", flags=("-e", "--evaluator")),
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

    api_base: Annotated[
        str | None, Option("Base URL of all models; of one: MODEL@URL.", "URL", values.URL)
    ] = None


class NamedEvaluatorOptions(EvaluatorOptions, JudgeModelOptions):
    """Who scores, judges by their models too."""


class ScoringOptions(NamedEvaluatorOptions, ReachOptions, JudgeOptions):
    """Who scores, and how they are called."""


class TrialOptions(OptionGroup):
    """What is known to be good and bad."""

    heading: ClassVar = Heading.EVALUATORS

    good: Annotated[str | None, Option("Field or file that has to score high.", "FIELD", values.TEXT)] = None
    bad: Annotated[tuple[str, ...], Option("Has to score lower; may be repeated.", "FILE", values.PATHS)] = ()
    no_near_misses: Annotated[bool, Option("Leave out answers that are nearly right.")] = False


def starting_spec(
    programs: ProgramOptions, judge: "JudgeSpec | None" = None, manners: Manners | None = None
) -> EvaluatorSpec:
    """Make what every evaluator that is named starts from."""
    return EvaluatorSpec(
        timeout=programs.timeout,
        cwd=programs.cwd,
        score_range=programs.score_range if isinstance(programs, ReachOptions) else ScoreRange.UNIT,
        headers=parse_headers(programs.headers),
        retries=programs.retries,
        persistent=programs.persistent,
        workers=programs.workers,
        target=judge,
        manners=manners,
    )


def judge_of(judging: JudgedByOptions, api_base: str | None = None) -> "JudgeSpec | None":
    """Make what judges start from; None where nothing is said of them."""
    base = judging.api_base if isinstance(judging, JudgeOptions) else api_base
    named = {"objective": judging.objective, "rubric": judging.rubric, "api_base": base}
    given = {name: text for name, text in named.items() if text is not None}
    for name, text in given.items():
        refuse_blank(f"--{name.replace('_', '-')}", text)
    if not given:
        return None
    from optimize_eval.evaluators.judge_kind import plan_judge  # noqa: PLC0415  a plain --help calls no judge

    return plan_judge(given)


def refuse_blank(option: str, text: str | None) -> None:
    """Refuse an option that is there and says nothing, such as "$(cat url)" before the file is written."""
    if text is not None and not text.strip():
        raise UsageError(f"{option} is empty", hint="omit the option, or give it a value")


def manners_of(servers: PatienceOptions, *, seeks_prices: bool = False) -> Manners | None:
    """Make how servers of models are treated; None: as usual."""
    given = [getattr(servers, name, None) for name in ("rpm", "tpm", "prices")]  # not every command has them
    if servers.patience == PATIENCE and given == [None, None, None] and not seeks_prices:
        return None
    rpm, tpm, prices = given
    for option, limit in (("--rpm", rpm), ("--tpm", tpm)):
        if limit is not None and not 0 < limit < math.inf:
            raise UsageError(f"{option} {limit:g} lets no call through", hint="give a number above 0")
    try:
        seconds = parse_duration(servers.patience)
    except ValueError:
        raise UsageError(f"--patience {servers.patience!r} is not a duration", hint=HINT) from None
    table = values.load_prices(prices) if isinstance(prices, str) else prices or {}
    return Manners(patience=seconds, rpm=rpm, tpm=tpm, prices=table, seeks_prices=seeks_prices)


def trial_keys(folder: str) -> Keys:
    """List the keys of [[evaluator]] that say the same of one."""

    def good(value: Any) -> KnownGood:
        return KnownGood(checks.text(value), checks.beside(folder, value))

    def bad(value: object) -> tuple[str, ...]:
        return tuple(checks.beside(folder, path) for path in checks.texts(value))

    return {"good": good, "bad": bad}
