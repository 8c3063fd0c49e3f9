"""A command line: what it names, by flags or else in its sweep file, and the words that start it again.

Groups of options stand in the signature and in the help of a command.
"""

import inspect
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperOption

from optimize_eval.base import files
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.secrets import mask
from optimize_eval.cli import output
from optimize_eval.cli.known_elsewhere import BY_METAVAR, QUOTE
from optimize_eval.config.compared import CandidateOptions
from optimize_eval.config.declared import REQUIRED, Declared, Heading, OptionGroup, declared, made
from optimize_eval.config.evaluators import JudgeOptions, NamedEvaluatorOptions, ReachOptions
from optimize_eval.config.printing import PrintOptions
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
        raise UsageError(f"{path} is a second sweep file", hint="name one: as the argument, or with -c")
    from optimize_eval.config.sweep_files import load_sweep  # noqa: PLC0415  few need it

    if not path.endswith(SUFFIX):
        meant = _ABOUT_YAML if path.endswith(_YAML) else f"name a candidate with --candidate; {QUOTE}"
        raise UsageError(f"{path!r} is no sweep file ({SUFFIX})", hint=meant)
    context.obj = sweep = load_sweep(path)
    keys = {**sweep.options, **(sweep.search if context.info_name == "optimize" else {})}
    context.default_map = {
        name: _default(option, keys[option.key])
        for name, option in options_of(context.command.callback).items()
        if option.key in keys
    }
    return path


def _default(option: Declared, value: Any) -> Any:
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


def keys_of(context: typer.Context) -> Mapping[str, Any]:
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


ORDER = "optimize_eval.order"
_OPTIONS = "options"  # the attribute of a command that has what it declared


def bound(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command that takes groups be called with each of their options."""
    parameters = inspect.signature(command).parameters
    groups = {name: parameter for name, parameter in parameters.items() if _is_group(parameter.annotation)}

    def call(**given: Any) -> None:
        alone = {name: given[name] for name in parameters if name not in groups}
        command(**alone, **{name: made(parameter.annotation, given) for name, parameter in groups.items()})

    known = {name: declaration for parameter in groups.values() for name, declaration in _options(parameter)}
    call.__doc__, call.__name__ = command.__doc__, command.__name__
    vars(call).update(
        {"__signature__": inspect.Signature([*_signature(parameters, groups)]), _OPTIONS: known}
    )
    return call


def options_of(command: Any) -> Mapping[str, Declared]:
    """List the options of the groups that a command takes, by their names."""
    return getattr(command, _OPTIONS, {})


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, OptionGroup)


def _signature(
    parameters: Mapping[str, inspect.Parameter], groups: Mapping[str, inspect.Parameter]
) -> Iterator[inspect.Parameter]:
    for name, parameter in parameters.items():
        if name not in groups:
            yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            continue
        for option, declaration in _options(parameter):
            default = inspect.Parameter.empty if declaration.default is REQUIRED else declaration.default
            yield inspect.Parameter(
                option,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=Annotated[_type_of(declaration), typer_option(declaration)],
                default=None if declaration.is_repeated and default == () else default,
            )


def _options(parameter: inspect.Parameter) -> Iterator[tuple[str, Declared]]:
    """List the options of a group; one that is given as the parameter's default has defaults of its own."""
    for name, declaration in declared(parameter.annotation).items():
        if parameter.default is not parameter.empty:
            declaration = declaration._replace(default=getattr(parameter.default, name))  # noqa: PLW2901  the same option
        yield name, declaration


def _type_of(declaration: Declared) -> Any:
    """Give the type that typer reads a command line by."""
    if declaration.option.typed is not None:
        return declaration.option.typed
    if not declaration.is_repeated:
        return declaration.type
    return list[str] if declaration.default is REQUIRED else list[str] | None


def typer_option(declaration: Declared) -> Any:
    """Make typer's option of a declared one."""
    option = declaration.option
    return typer.Option(
        *declaration.flags,
        metavar=option.metavar,
        autocompletion=BY_METAVAR.get(option.metavar or ""),
        help=option.help,
        min=option.least,
        max=option.most,
        envvar=option.variable,
        show_envvar=False,
        callback=option.callback,
        show_default=option.shows_default,
        hidden=option.hidden,
        rich_help_panel=declaration.heading,
    )


_PLAIN = "Options"
_FIRST = 30  # the widest column of flags
_RANGE = re.compile(r"(?:; |(?<=\[))x[<>]=[\d.]+(?:<=\d+)?|  \[x[<>]=[\d.]+\]")


def write_options(parameters: Iterable[Any], context: Any, formatter: Any) -> None:
    """Write arguments, then options, in the order of the headings."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        if (record := parameter.get_help_record(context)) is not None:
            sections.setdefault(_heading(parameter), []).append(record)
    if sections.keys() & {*Heading} and _PLAIN in sections:  # what every command has, such as --help
        sections.setdefault(Heading.OUTPUT, []).extend(sections.pop(_PLAIN))
    widest = max(len(first) for name, rows in sections.items() if name != "Arguments" for first, _ in rows)
    for name in ("Arguments", *Heading, _PLAIN):
        if name in sections:
            with formatter.section(name):
                _write(sections[name], formatter, 0 if name == "Arguments" else min(widest, _FIRST))


def _heading(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or _PLAIN


def _write(rows: list[tuple[str, str]], formatter: Any, width: int) -> None:
    formatter.write_dl([(f"{first:<{width}}", _without_noise(text)) for first, text in rows])


def _without_noise(text: str) -> str:
    """Leave out ranges, which an error says, and what typer before 0.21.2 writes for Rich alone."""
    return _RANGE.sub("", text.replace("\\[", "[")).removesuffix("  []")


Json = Annotated[bool, typer_option(declared(PrintOptions)["as_json"])]


_ALL = "optimize_eval.help_all"
_USUAL = {  # command with many options → those of its first screen of help
    "run": ("candidate", "prompts", "models", "evaluators", "dataset", "valset", "fail_under", "out"),
    "bench": ("models", "evaluators", "limit", "repeats", "fail_under", "out", "details", "dry_run"),
    "optimize": (
        *("prompts", "models", "evaluators", "dataset"),
        *("valset", "proposer", "reflection_model", "budget"),
    ),
    "preflight": ("candidate", "prompts", "models", "evaluators", "dataset", "valset", "seconds", "as_json"),
    "report": ("format", "output", "details", "filters", "fail_under", "check", "all", "as_json"),
}


def _show_all(context: Any, _parameter: Any, is_wanted: bool) -> None:
    if is_wanted and not context.resilient_parsing:
        context.meta[_ALL] = True
        typer.echo(context.get_help())
        context.exit()


class InOrder(TyperCommand):
    """A command that keeps in which order its options were written, by their names; its help has headings."""

    def get_params(self, context: Any) -> list[Any]:
        """Add --help-all where --help shows the usual options alone."""
        parameters = super().get_params(context)
        if self.name not in _USUAL:
            return parameters
        every = TyperOption(
            param_decls=["--help-all"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            help="Show every option.",
        )
        return [*parameters[:-1], every, parameters[-1]]

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        written = self.make_parser(context).parse_args(args=[*arguments])[2]
        context.meta[ORDER] = [parameter.name for parameter in written]
        return super().parse_args(context, arguments)

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write the options into the command's help."""
        parameters = self.get_params(context)
        usual = _USUAL.get(self.name or "")
        if usual is None or _ALL in context.meta:
            write_options(parameters, context, formatter)
            return
        named = {parameter.name: parameter for parameter in parameters}
        ends = [parameter for parameter in parameters if parameter.name in {"help", "help_all"}]
        arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
        with formatter.section("Arguments") if arguments else nullcontext():
            _write(_records(arguments, context), formatter, 0)
        with formatter.section("Usual options"):
            rows = _records([*(named[name] for name in usual), *ends], context)
            _write(rows, formatter, min(_FIRST, max(len(first) for first, _ in rows)))


def _records(parameters: Iterable[Any], context: Any) -> list[tuple[str, str]]:
    return [record for parameter in parameters if (record := parameter.get_help_record(context)) is not None]
