"""The options in a command's help, under headings where they have some, one line each."""

import re
from collections.abc import Iterable
from typing import Any

from optimize_eval.config.declared import Heading

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
