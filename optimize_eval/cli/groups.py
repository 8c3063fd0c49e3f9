"""Groups of options in the signature and in the help of a command."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from optimize_eval.config.declared import REQUIRED, Declared, Heading, OptionGroup, declared, made
from optimize_eval.config.printing import PrintOptions

_COMPLETED = {"RUN", "RUN|auto", "BENCH", "MODEL", "SPEC"}  # metavars of options whose values are ours
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


def _completion_of(metavar: str) -> Callable[[str], list[str]] | None:
    """Give what typer calls with the beginning of a word, whose signature it reads."""

    def complete(incomplete: str) -> list[str]:
        return _complete(metavar, incomplete)

    return complete if metavar in _COMPLETED else None


def _complete(metavar: str, incomplete: str) -> list[str]:
    from optimize_eval.cli.known_elsewhere import COMPLETIONS  # noqa: PLC0415  few starts complete a word

    return COMPLETIONS[metavar](incomplete)


def typer_option(declaration: Declared) -> Any:
    """Make typer's option of a declared one."""
    option = declaration.option
    return typer.Option(
        *declaration.flags,
        metavar=option.metavar,
        autocompletion=_completion_of(option.metavar or ""),
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
