"""Options that several commands share: one name, one help line, one meaning.

A sweep file gives what was not given as flags: it becomes the defaults of its command.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from optimize_eval.candidates import Named
from optimize_eval.cli import output
from optimize_eval.cli.commands.table import ORDER
from optimize_eval.errors import UsageError
from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.protocol import ScoreRange
from optimize_eval.store.note import check_note

if TYPE_CHECKING:
    from optimize_eval.kinds.judge.rubric import JudgeSpec
    from optimize_eval.models import Manners
    from optimize_eval.sweepfile import Sweep

Specs = TypeVar("Specs", bound=Sequence[EvaluatorSpec])


class OnFailure(StrEnum):
    """What a failed call does to a run."""

    EXCLUDE = "exclude"
    ABORT = "abort"


Evaluators = Annotated[
    list[str] | None,
    typer.Option(
        "-e", "--evaluator", metavar="[NAME=]SPEC", help="COMMAND|URL|unix:PATH|@METRIC|judge:MODEL."
    ),
]
CandidateFiles = Annotated[
    list[str] | None, typer.Option("--candidate", metavar="FILE", help="A file, a glob, or - for stdin.")
]
CandidateLists = Annotated[
    list[str] | None, typer.Option("--candidates", metavar="FILE", help='JSONL of {"id", "candidate"}.')
]
CandidateFields = Annotated[
    list[str] | None, typer.Option("--candidate-field", metavar="FIELD", help="Score recorded outputs.")
]
Timeout = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long one call may take.")]
Cwd = Annotated[
    str | None,
    typer.Option("--cwd", metavar="DIR", help="The folder that the evaluator runs in."),
]
Range = Annotated[ScoreRange, typer.Option("--score-range", help="0 to 1, or any number.")]
TaskModel = Annotated[
    str | None,
    typer.Option("--task-model", metavar="NAME", help="A model's name, handed on to the evaluator."),
]
Headers = Annotated[
    list[str] | None,
    typer.Option("--header", metavar="HEADER", help="NAME: VALUE for a URL; ${VAR} expands."),
]
Retries = Annotated[
    int | None, typer.Option("--retries", metavar="N", min=0, help="Further attempts (URL: 2, else 0).")
]
Persistent = Annotated[
    bool | None,
    typer.Option("--persistent/--no-persistent", help="Overrule what it declares.", show_default=False),
]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", min=1, help="Kept-alive processes (CPUs).")
]
JudgeModels = Annotated[
    list[str] | None, typer.Option("--judge-model", metavar="MODEL", help="As -e judge:MODEL.")
]
Objective = Annotated[
    str | None, typer.Option("--objective", metavar="TEXT", help="What a judge is to look for.")
]
RubricFile = Annotated[
    str | None, typer.Option("--rubric", metavar="FILE", help="TOML or JSON: how a judge is to judge.")
]
ApiBase = Annotated[
    str | None, typer.Option("--api-base", metavar="URL", help="Where a judge's model is asked.")
]

QUOTE = "an option takes one value: quote a pattern, 'prompts/*.txt', or your shell makes many words of it"

_OF_A_SPEC = {  # option → what it is called of an evaluator
    "timeout": "timeout",
    "cwd": "cwd",
    "score_range": "score_range",
    "header": "headers",
    "retries": "retries",
    "persistent": "persistent",
    "workers": "workers",
}
_CANDIDATES = ("candidate", "candidates")
_OF_A_JUDGE = ("objective", "rubric", "api_base")

Concurrency = Annotated[
    int, typer.Option("--concurrency", metavar="N", min=1, help="Calls at once, at most.")
]
HowOnFailure = Annotated[OnFailure, typer.Option("--on-failure", metavar="HOW", help="exclude it, or abort.")]
MaxFailures = Annotated[
    str | None, typer.Option("--max-failures", metavar="N|P%", help="Stop beyond so many.")
]
Filters = Annotated[
    list[str] | None,
    typer.Option("--filter", metavar="FIELD=VALUE", help="Only examples with this; may be repeated."),
]
Ids = Annotated[
    list[str] | None, typer.Option("--id", metavar="ID", help="Only this example; may be repeated.")
]
TrainAgain = Annotated[
    str | None, typer.Option("--dataset", metavar="FILE", help="Where the train examples are now.")
]
ValAgain = Annotated[
    str | None, typer.Option("--valset", metavar="FILE", help="Where the val examples are now.")
]
TestAgain = Annotated[
    str | None, typer.Option("--testset", metavar="FILE", help="Where the test examples are now.")
]
MaxTime = Annotated[
    str | None,
    typer.Option("--max-time", metavar="DURATION", help="Begin no call after so long: 10m, 1h30m."),
]
Note = Annotated[
    str | None,
    typer.Option(
        "--note", metavar="TEXT", help="What to note of the run; empty: nothing.", callback=check_note
    ),
]
KeepStderr = Annotated[bool, typer.Option("--keep-stderr", help="Keep it of scored calls, too.")]
NoPreflight = Annotated[bool, typer.Option("--no-preflight", help="Ask all, though the first calls fail.")]
Reuse = Annotated[
    list[str] | None,
    typer.Option("--reuse", metavar="RUN|auto", help="Take the same calls from there."),
]
Replace = Annotated[
    list[str] | None,
    typer.Option("--replace", metavar="NAME", help="Call this evaluator anew."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only the verdict and the folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON value instead of text.")]


def defaults(
    *,
    timeout: float,
    cwd: str | None,
    score_range: ScoreRange,
    header: list[str] | None,
    retries: int | None,
    persistent: bool | None,
    workers: int | None,
    objective: str | None,
    rubric: str | None,
    api_base: str | None,
    manners: "Manners | None" = None,
) -> EvaluatorSpec:
    """Make of the options above what every `-e` of a command starts from."""
    from optimize_eval.kinds.table import parse_headers  # noqa: PLC0415  many commands ask no evaluator

    return EvaluatorSpec(
        timeout=timeout,
        cwd=cwd,
        score_range=score_range,
        headers=parse_headers(header or ()),
        retries=retries,
        persistent=persistent,
        workers=workers,
        target=_judge(objective=objective, rubric=rubric, api_base=api_base),
        manners=manners,
    )


def _judge(**said: str | None) -> "JudgeSpec | None":
    given = {name: text for name, text in said.items() if text is not None}
    for name in given.keys() & {"objective", "rubric", "api_base"}:
        if not given[name].strip():
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} is empty", hint="leave the option away, or give it a value")
    if not given:
        return None
    from optimize_eval.kinds.judge.kind import plan_judge  # noqa: PLC0415  see defaults

    return plan_judge(given)


def take_sweep(context: typer.Context, path: str | None) -> str | None:
    """Read a sweep file before the other parameters are, and let it be their defaults."""
    if path is None:
        return None
    from optimize_eval.sweepfile import SUFFIX  # noqa: PLC0415  most commands have none
    from optimize_eval.sweepfile.reading import load_sweep  # noqa: PLC0415

    if not path.endswith(SUFFIX):
        raise UsageError(
            f"{path!r} is no sweep file ({SUFFIX})", hint=f"name a candidate with --candidate; {QUOTE}"
        )
    context.obj = sweep = load_sweep(path)
    said = {**sweep.options, **(sweep.search if context.info_name == "optimize" else {})}
    single = {one.name for one in context.command.params if not getattr(one, "multiple", False)}
    context.default_map = {
        name: value[0] if isinstance(value, list) and name in single else value
        for name, value in said.items()
    }
    return path


def take_sweep_of_search(context: typer.Context, paths: list[str] | None) -> list[str] | None:
    """Take a first argument that is a sweep file with [optimize] as that, not as a candidate."""
    if not paths or not paths[0].endswith(".toml") or not _has_table(paths[0], "optimize"):
        return paths
    take_sweep(context, paths[0])
    return paths[1:] or None


def _has_table(path: str, name: str) -> bool:
    from optimize_eval.reading import files  # noqa: PLC0415  see take_sweep

    try:
        lines = files.read(path, files.CANDIDATE).decode().splitlines()
    except (OSError, UsageError, UnicodeDecodeError):
        return False
    return any(line.strip() == f"[{name}]" for line in lines)


SweepFile = Annotated[
    str | None,
    typer.Argument(
        metavar="SWEEP.toml", help="A file that says it all; flags win.", callback=take_sweep, is_eager=True
    ),
]


def evaluators(
    context: typer.Context,
    texts: list[str] | None,
    judge_models: list[str] | None,
    defaults: EvaluatorSpec,
) -> tuple[EvaluatorSpec, ...]:
    """Make the evaluators that are named, or else those of the sweep file, where flags win."""
    if texts or judge_models:
        return named_evaluators(texts, judge_models, defaults)
    sweep = sweep_of(context)
    if not sweep or not sweep.entries:
        raise _without_evaluator(f" in {sweep.path}" if sweep else "")
    given = {
        **{name: getattr(defaults, name) for option, name in _OF_A_SPEC.items() if is_flag(context, option)},
        **{name: context.params[name] for name in _OF_A_JUDGE if is_flag(context, name)},
    }
    return check_meant(sweep.specs(defaults, given), defaults)


def named_evaluators(
    texts: list[str] | None, judge_models: list[str] | None, defaults: EvaluatorSpec
) -> tuple[EvaluatorSpec, ...]:
    """Make the evaluators that `-e` and `--judge-model` name."""
    from optimize_eval.kinds.table import parse_evaluators  # noqa: PLC0415  see defaults

    return check_meant(parse_evaluators(texts_of(texts, judge_models), defaults), defaults)


def texts_of(texts: list[str] | None, judge_models: list[str] | None) -> list[str]:
    """Write all that is named as `-e` takes it."""
    found = [*(texts or ()), *(f"judge:{model}" for model in judge_models or ())]
    if not found:
        raise _without_evaluator("")
    return found


def _without_evaluator(where: str) -> UsageError:
    return UsageError(
        f"no evaluator is named{where}",
        hint="name one with -e (--evaluator): -e './judge.sh', or -e @exact_match",
    )


def check_meant(specs: Specs, defaults: EvaluatorSpec) -> Specs:
    """Refuse options of judges where no judge is named; tell other options that nothing named uses."""
    from optimize_eval.kinds.table import check_used  # noqa: PLC0415  see defaults

    check_used(specs, defaults, output.say)
    return specs


def said_of_runs(context: typer.Context) -> Mapping[str, Any]:
    """Tell what a sweep file says by options' names, also for options that this command does not have."""
    sweep = sweep_of(context)
    return sweep.options if sweep else {}


def sweep_of(context: typer.Context) -> "Sweep | None":
    """Give the sweep file that a command was given, if there is one."""
    taken: Sweep | None = context.obj  # by take_sweep
    return taken


def candidates_named(
    context: typer.Context, files: list[str] | None, lists: list[str] | None, fields: list[str] | None
) -> tuple[tuple[Named, ...], list[str] | None]:
    """Give the candidates in the order in which they are written, and the fields that have some.

    A flag that names candidates replaces all of a sweep file's, whichever way it names them.
    """
    if not any(is_flag(context, option) for option in (*_CANDIDATES, "candidate_field")):
        sweep = sweep_of(context)
        return sweep.candidates if sweep else (), fields
    left = {"candidate": iter(files or ()), "candidates": iter(lists or ())}
    order = [option for option in context.meta[ORDER] if option in _CANDIDATES]
    named = tuple(Named(next(left[option]), is_list=option == "candidates") for option in order)
    return named, fields if is_flag(context, "candidate_field") else None


def is_flag(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"
