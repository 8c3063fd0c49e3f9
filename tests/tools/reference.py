"""The reference, written by the code: commands and options, keys of files and documents, providers.

    python -m tests.tools.reference    write docs/reference anew

tests/config/test_reference.py holds the pages to the code.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from optimize_eval.base.errors import FailureKind
from optimize_eval.cli.command_table import NAMES, load_command
from optimize_eval.cli.commands.schema import Document, schema_text
from optimize_eval.models.providers import PROVIDERS
from tests.paths import ROOT

FOLDER = ROOT / "docs" / "reference"

_HOW = "The code writes this page: `python -m tests.tools.reference`."
_HEADS = {
    "commands": f"""# Commands and options

{_HOW} `optimize-eval COMMAND --help-all` says the same.
[How a command ends](endings.md) has the exit codes.
""",
    "sweep-files": f"""# Keys of a sweep file

{_HOW} [ci](../ci.md#a-sweep-file) is the guide; `optimize-eval schema sweep` lets editors check a file.
""",
    "task-files": f"""# Fields of a task in YAML

{_HOW} [tasks](../tasks.md) is the guide; `optimize-eval schema task` lets editors check a file.
A field in **bold** has to be there. A text with `<< config.K >>` may stand for any value, and a mapping with
`$ref: FILE` for any mapping.
""",
    "endings": f"""# Exit codes and kinds of failure

{_HOW} [runs](../runs.md#when-it-goes-wrong) says what a run does with a failure.
""",
    "json-documents": f"""# JSON documents

{_HOW} `optimize-eval schema DOCUMENT` prints each as a JSON Schema.
[protocol](../protocol.md) explains payload and answer, [runs](../runs.md) what a run has. A key in **bold**
is always there; what stands in *italics* is described further below.
""",
    "providers": f"""# Providers

{_HOW} `--model NAME/MODEL` takes these;
[models](../models.md) is the guide. The variable `NAME_BASE_URL`, in capitals, names another server; a
provider of your own is one by such a variable alone.
""",
}


class Option(NamedTuple):
    """An option as its command has it."""

    written: str
    help: str


Schema = Mapping[str, Any]


def write() -> dict[str, str]:
    """Write each page, by its name."""
    bodies = {
        "commands": _commands(),
        "sweep-files": _sweep(json.loads(schema_text(Document.SWEEP))),
        "task-files": _task(json.loads(schema_text(Document.TASK))),
        "endings": _endings(),
        "json-documents": _documents(),
        "providers": _providers(),
    }
    return {f"{name}.md": "\n".join([_HEADS[name], *body, ""]) for name, body in bodies.items()}


def _commands() -> Iterator[str]:
    commands = dict(_every_command())
    options = {name: [*_options_of(command)] for name, command in commands.items()}
    many = Counter(option for own in options.values() for option in own)
    for name, command in commands.items():
        yield f"## {name}\n\n{_in_cell(_first_line(command.help))}\n"
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        yield f"    optimize-eval {' '.join([name, *(p.make_metavar(None) for p in arguments)])}\n"
        yield from _table(
            ("argument or option", "what it says"),
            [(p.make_metavar(None), p.help or "") for p in arguments]
            + [option for option in options[name] if many[option] == 1],
        )
    yield "## Options of several commands\n"
    rows = [
        (option.written, option.help, ", ".join(name for name in commands if option in options[name]))
        for option in sorted(many, key=lambda option: option.written.partition("--")[2])
        if many[option] > 1
    ]
    yield from _table(("option", "what it says", "of"), rows)


def _every_command() -> Iterator[tuple[str, Any]]:
    """Give commands, and those that they have, by their words."""
    for name in NAMES:
        command = load_command(name)
        for inner, below in sorted(getattr(command, "commands", {}).items()):
            yield f"{name} {inner}", below
        if not getattr(command, "commands", None):
            yield name, command


def _options_of(command: Any) -> Iterator[Option]:
    for parameter in command.params:
        if parameter.param_type_name == "option" and not parameter.hidden:
            value = "" if parameter.is_flag or parameter.count else f" {parameter.make_metavar(None)}"
            flags = "/".join(["`, `".join(parameter.opts), *parameter.secondary_opts])
            yield Option(f"`{flags}{value}`", parameter.help or "")


def _first_line(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def _sweep(schema: Schema) -> Iterator[str]:
    for name, table in schema["properties"].items():
        is_list = table.get("type") == "array"
        keys = (table["items"] if is_list else table).get("properties", {})
        yield f"## {f'`[[{name}]]`, once for each' if is_list else f'`[{name}]`'}\n"
        if not keys:
            yield f"By model: {_kind_of(table.get('additionalProperties', {}))}.\n"
        yield from _table(
            ("key", "is", "what it says"),
            [(f"`{key}`", _kind_of(value), value.get("description", "")) for key, value in keys.items()],
        )


def _task(schema: Schema) -> Iterator[str]:
    yield "## The file\n"
    yield from _fields_of([schema])
    for name, definition in schema["$defs"].items():
        variants = [each for each in definition["anyOf"] if "$ref" not in each.get("properties", {})]
        yield f"## {_noun(name)}\n"
        yield from _fields_of(variants)


def _fields_of(variants: list[Schema]) -> Iterator[str]:
    """Write the fields of something, of which there may be several types."""
    typed = {_type_of(variant): variant for variant in variants}
    shared = (
        set.intersection(*({*_written_fields(each)} for each in variants)) if len(variants) > 1 else set()
    )
    rows = [
        (f"`{name}`", ", ".join(text for text in _written_fields(variant) if text not in shared) or "none")
        for name, variant in typed.items()
        if len(variants) > 1
    ]
    if rows:
        yield from _table(("type", "fields"), rows)
        if shared:
            yield f"Each has {', '.join(t for t in _written_fields(variants[0]) if t in shared)}.\n"
        return
    yield f"{', '.join(_written_fields(variants[0]))}.\n"


def _written_fields(variant: Schema) -> Iterator[str]:
    required = variant.get("required", [])
    for name, value in variant["properties"].items():
        if name != "type" or not _is_marked(value):
            kind = _kind_of(value)
            written = f"**`{name}`**" if name in required else f"`{name}`"
            yield f"{written} ({kind})" if kind != "text" else written


def _type_of(variant: Schema) -> str:
    """Name a variant by its `type`, else by its `op`."""
    for key in ("type", "op"):
        if choices := variant["properties"].get(key, {}).get("enum"):
            return "`, `".join(dict.fromkeys(choices))
    return " ".join(variant["properties"])


def _is_marked(value: Schema) -> bool:
    return "enum" in value


def _kind_of(value: Schema) -> str:
    """Say what a value is."""
    match value:
        case {"$ref": str(place)}:
            noun = _noun(unquote(place.rpartition("/")[2]))
            return f"[{noun.lower()}](#{noun.lower().replace(' ', '-')})"
        case {"enum": list(choices)}:
            return ", ".join(f"`{choice}`" for choice in dict.fromkeys(choices))
        case {"anyOf": list(kinds)}:
            return " or ".join(dict.fromkeys(_kind_of(kind) for kind in kinds if _is_told(kind))) or "text"
        case {"type": "array", "items": items}:
            return f"list of {_kind_of(items)}"
        case {"type": kinds}:
            return " or ".join(_KINDS[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds))
    return "text"


def _is_told(kind: Schema) -> bool:
    return kind.get("type") != "null" and kind.get("pattern") != "<<" and kind.get("required") != ["$ref"]


_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "mapping",
    "null": "null",
    "array": "list",
}


def _noun(name: str) -> str:
    """Give the name of a definition, without its number: `message builder 6`."""
    return (name.rpartition(" ")[0].strip() or "terminate_if").capitalize()


_ELSEWHERE = {Document.SWEEP, Document.TASK}  # each has a page of its own


def _documents() -> Iterator[str]:
    for document in Document:
        if document not in _ELSEWHERE:
            schema = json.loads(schema_text(document))
            yield f"## {document}\n\n{_in_cell(schema.get('description', '') or schema['title'] + '.')}\n"
            yield from _keys_of(schema)
            for name, definition in schema.get("$defs", {}).items():
                keys = [*_keys_of(definition)] if _objects_in(definition) else [f"{_shape_of(definition)}.\n"]
                said = f"*{name}*: {_in_cell(definition.get('description', ''))}".rstrip()
                yield f"{said}\n" if keys[0].startswith("|") else f"{said} {keys.pop(0)}"
                yield from keys


def _objects_in(schema: Schema) -> list[Schema]:
    """Give an object, or each that something may be."""
    return [each for each in [schema, *schema.get("anyOf", ())] if each.get("properties")]


def _keys_of(schema: Schema) -> Iterator[str]:
    for each in _objects_in(schema):
        if each is not schema and "description" in each:
            yield f"{_in_cell(each['description'])}\n"
        required = each.get("required", ())
        rows = [
            (f"**`{name}`**" if name in required else f"`{name}`", _shape_of(value), _said_of(value))
            for name, value in each["properties"].items()
            if value is not False
        ]
        short = ", ".join(f"{name} ({shape})" for name, shape, said in rows if not said)
        yield from _table(("key", "is", "what it says"), [row for row in rows if row[2]])
        if short:
            yield f"{short}.\n"


def _said_of(value: Any) -> str:
    return str(value.get("description", "")) if isinstance(value, dict) else ""


def _shape_of(value: Any) -> str:
    match value:
        case {"$ref": str(place)}:
            return f"*{place.rpartition('/')[2]}*"
        case {"const": constant}:
            return f"`{constant}`"
        case {"anyOf": list(kinds)}:
            return " or ".join(dict.fromkeys(map(_shape_of, kinds)))
        case {"type": "array", "items": dict(items)}:
            return f"list of {_shape_of(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"mapping to {_shape_of(values)}"
    return _kind_of(value) if value else "anything"


def _providers() -> Iterator[str]:
    rows = [
        (f"`{name}`", provider.base or "your own, in `AZURE_BASE_URL`", f"`{provider.key_variable}`", need)
        for name, provider in PROVIDERS.items()
        for need in ["" if provider.needs_key else "needs none"]
    ]
    yield from _table(("provider", "server", "key", ""), rows)


def _endings() -> Iterator[str]:
    """Take what the code says beside each code and each kind."""
    code = (ROOT / "optimize_eval" / "base" / "errors.py").read_text(encoding="utf-8")
    said = dict(re.findall(r'^    [A-Z\d_]+ = "(\w+)"  # (.*)$', code, re.MULTILINE))
    codes = re.findall(r"^[A-Z_]+ = (\d+)  # (.*)$", code, re.MULTILINE)
    yield from _table(("exit code", "means"), codes)
    yield from _table(
        ("kind of failure", "what happened"), [(f"`{kind}`", said[kind]) for kind in FailureKind]
    )


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write a table of Markdown; nothing where it has no rows."""
    if listed := [*rows]:
        lines = [heads, ("---",) * len(heads), *listed]
        yield "\n".join(f"| {' | '.join(map(_in_cell, line))} |" for line in lines) + "\n"


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<") if "`" not in text else text.replace("|", "\\|")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in write().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
