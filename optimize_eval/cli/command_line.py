"""A command line: what it names, by flags or else in its sweep file, and the words that start it again."""

import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from optimize_eval.base import files
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.secrets import mask
from optimize_eval.cli import output
from optimize_eval.cli.groups import ORDER, options_of
from optimize_eval.config.compared import CandidateOptions
from optimize_eval.config.declared import Declared, Heading, declared
from optimize_eval.config.evaluators import JudgeOptions, NamedEvaluatorOptions, ReachOptions
from optimize_eval.config.values import SUFFIX
from optimize_eval.data.candidates import CandidatePath
from optimize_eval.evaluators.kinds import check_used, parse_evaluators

if TYPE_CHECKING:
    from optimize_eval.config.sweep_files import Sweep


_YAML = (".yaml", ".yml")
_ABOUT_YAML = (
    "`optimize-eval bench FILE --model toy` runs a task, `optimize-eval validate FILE` says what a file is"
)

USUAL = "optimize-eval.toml"  # in the folder where a command starts

_FILES = ("candidate", "candidates")
_NAMING = {"evaluators", "judge_models", "_sweep_file", "_spec_file"}


def take_sweep(context: typer.Context, path: str | None) -> str | None:
    """Read a sweep file before the other parameters are, and let it be their defaults."""
    path = path or _usual(context)
    if path is None:
        return None
    if context.obj is not None:
        raise UsageError(
            f"two sweep files are named, the second is {path}", hint="name one: as the argument, or with -c"
        )
    from optimize_eval.config.sweep_files import load_sweep  # noqa: PLC0415  few need it

    if not path.endswith(SUFFIX):
        meant = _ABOUT_YAML if path.endswith(_YAML) else f"name a candidate with --candidate; {output.QUOTE}"
        raise UsageError(f"{path!r} is not a sweep file ({SUFFIX})", hint=meant)
    context.obj = sweep = load_sweep(path)
    keys = {**sweep.options, **(sweep.search if context.info_name == "optimize" else {})}
    context.default_map = {
        name: _default(option, keys[option.key])
        for name, option in options_of(context.command.callback).items()
        if option.key in keys
    }
    return path


def _default(option: Declared, value: object) -> Any:
    """Give the value of a key; of a list, a command that takes one of it takes the first."""
    return value[0] if isinstance(value, list) and not option.is_repeated else value


def _usual(context: typer.Context) -> str | None:
    """Give the folder's own sweep file where the command names neither an evaluator nor another one."""
    if context.resilient_parsing or not _NAMING.isdisjoint(context.meta[ORDER]) or not Path(USUAL).is_file():
        return None
    output.say(f"note: the sweep file is {USUAL} in this folder")
    return USUAL


def take_sweep_of_search(context: typer.Context, paths: list[str] | None) -> list[str] | None:
    """Take a first argument that is a sweep file with [optimize] as that, not as a candidate."""
    if not paths or not paths[0].endswith(".toml") or not _has_table(paths[0], "optimize"):
        take_sweep(context, None)
        return paths
    take_sweep(context, paths[0])
    return paths[1:] or None


def _take_option(context: typer.Context, path: str | None) -> str | None:
    """Take a sweep file that an option names; the other way to name one is the argument."""
    return take_sweep(context, path) if path is not None else None


def _has_table(path: str, name: str) -> bool:
    try:
        lines = files.read(path, files.CANDIDATE).decode().splitlines()
    except (OSError, UsageError, UnicodeDecodeError):
        return False
    return any(line.strip() == f"[{name}]" for line in lines)


SweepFile = Annotated[
    str | None,
    typer.Argument(
        metavar="SWEEP.toml",
        help="Config file (TOML); flags override it.",
        callback=take_sweep,
        is_eager=True,
    ),
]
SearchedCandidates = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CANDIDATE…",
        help="What to improve; further ones join the race. Or a sweep file with [optimize].",
        callback=take_sweep_of_search,
        is_eager=True,
    ),
]
SweepOption = Annotated[
    str | None,
    typer.Option(
        "-c",
        "--sweep",
        metavar="FILE",
        help="The sweep file, as an option.",
        callback=_take_option,
        is_eager=True,
        rich_help_panel=Heading.COMPARED,
    ),
]
SpecFile = Annotated[
    str | None,
    typer.Option("--spec-file", metavar="FILE", hidden=True, callback=_take_option, is_eager=True),
]


def keys_of(context: typer.Context) -> JsonMapping:
    """Give what a sweep file says by its keys, also by those that this command does not have."""
    sweep = sweep_of(context)
    return sweep.options if sweep else {}


def sweep_of(context: typer.Context) -> "Sweep | None":
    """Give the sweep file that a command was given, if there is one."""
    taken: Sweep | None = context.obj  # by take_sweep
    return taken


def candidates_named(
    context: typer.Context, given: CandidateOptions
) -> tuple[tuple[CandidatePath, ...], tuple[str, ...]]:
    """Give the candidates in the order in which they are written, and the fields that have some.

    A flag that names candidates replaces all of a sweep file's, whichever way it names them.
    """
    if not any(is_flag(context, option) for option in (*_FILES, "candidate_fields")):
        sweep = sweep_of(context)
        return sweep.candidates if sweep else (), given.candidate_fields
    left = {"candidate": iter(given.candidate), "candidates": iter(given.candidates)}
    order = [option for option in context.meta[ORDER] if option in _FILES]
    named = tuple(CandidatePath(next(left[option]), is_list=option == "candidates") for option in order)
    return named, given.candidate_fields if is_flag(context, "candidate_fields") else ()


def is_flag(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def is_said(context: typer.Context, option: str) -> bool:
    """Return True if a flag or the sweep file names an option, and not the environment alone."""
    source = context.get_parameter_source(option)
    return source is not None and source.name in {"COMMANDLINE", "DEFAULT_MAP"}


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
    check_used(specs, defaults, output.say)
    return specs


_AS_WRITTEN: Mapping[str, str] = {}
_OF_THIS_MACHINE = re.compile(r"(?:^|[\s=:'\"])/[^/\s]")  # an absolute path


def kept_command() -> str:
    """Give what run.json keeps of this command: nothing where it names where a project is, which may move."""
    return "" if any(_OF_THIS_MACHINE.search(word) for word in sys.argv[1:]) else same_command()


def same_command(*more: str, instead: Mapping[str, str] = _AS_WRITTEN) -> str:
    """Give the words that start this command again, to be pasted, unless there is a secret among them.

    `instead` are evaluators that were not written as they were meant.
    """
    written = (_correct(word, instead) for word in sys.argv[1:] if word != "--fresh")
    command = shlex.join(["optimize-eval", *written, *more])
    shown = mask(command)
    return command if shown == command else f"the same command again ({shown})"


def _correct(word: str, instead: Mapping[str, str]) -> str:
    """Put the command that was meant in the place of an evaluator's, which may stand after its name."""
    for text, meant in instead.items():
        if word == text or word.endswith(f"={text}"):
            return word.removesuffix(text) + meant
    return word
