"""A task in YAML as JSON Schema: the tables of its fields.

A text with << a parameter >> may stand where any value may, and {$ref: FILE} where a mapping may.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from optimize_eval.cli.schemas.checks import Schema
from optimize_eval.cli.schemas.sweep import evaluator_table
from optimize_eval.tasks.yaml import fields as values
from optimize_eval.tasks.yaml import task_fields
from optimize_eval.tasks.yaml.fields import REQUIRED, ByType, Entity, Field
from optimize_eval.tasks.yaml.parameters import PARAMETER
from optimize_eval.tasks.yaml.part_fields import Evaluator
from optimize_eval.tasks.yaml.task_fields import TASK

_PARAMETER: Schema = {"type": "string", "pattern": "<<"}
_ELSEWHERE: Schema = {"type": "object", "required": ["$ref"], "properties": {"$ref": {"type": "string"}}}
_TEXT: Schema = {"type": "string"}


def task_schema() -> Schema:
    """Describe a task file."""
    definitions = _Definitions()
    task = definitions.entity(TASK)
    parameters = {"type": "array", "items": definitions.describe(PARAMETER)}
    task["properties"]["config_spec"] = {"anyOf": [parameters, {"type": "null"}]}
    return {"title": "A task of optimize-eval", **task, "$defs": definitions.described}


class _Definitions:
    """What fields may be, described; what has fields of its own stands by a name, once, as it may recur."""

    def __init__(self) -> None:
        self.described: dict[str, Schema] = {}
        self._names: dict[int, str] = {}
        self._forms: Mapping[type, Callable[[Any], Schema]] = {
            Entity: lambda what: self._named(what, what.noun, lambda: [self.entity(what)]),
            ByType: lambda what: self._named(what, what.noun, lambda: self._family(what)),
            Evaluator: lambda what: self._named(what, "an evaluator", lambda: [self._evaluator(what)]),
            task_fields.FilterOf: lambda what: self._named(what, "a filter", lambda: self._filters(what)),
            values.ListOf: lambda what: _or_parameter(self._list(what)),
            values.Choice: lambda what: {"anyOf": [self.describe(what.text), self.describe(what.other)]},
            values.OneOf: lambda what: _or_parameter({"enum": [*what.choices]}),
            values.Boolean: lambda _: _or_parameter({"type": "boolean"}),
            values.Number: lambda what: _or_parameter(_number(what)),
            values.Key: lambda _: {**_TEXT, "maxLength": values.LONGEST_KEY},
            values.Scalar: lambda _: {"type": ["string", "number", "boolean"]},
            values.Text: lambda _: _TEXT,
            values.Column: lambda _: _TEXT,
        }

    def describe(self, what: Any) -> Schema:
        """Describe what a field may be; templates, code, messages and JSON may be anything here."""
        form = self._forms.get(type(what))
        return form(what) if form else {}

    def entity(self, what: Entity) -> Schema:
        """Describe a mapping with its fields."""
        return self._fields(what.fields)

    def _named(self, what: Any, noun: str, make: Callable[[], Iterable[Schema]]) -> Schema:
        if id(what) not in self._names:
            name = f"{noun.partition(' ')[2]} {len(self._names) + 1}"
            self._names[id(what)] = name
            self.described[name] = {"anyOf": [*make(), _ELSEWHERE]}
        return {"$ref": f"#/$defs/{self._names[id(what)].replace(' ', '%20')}"}

    def _fields(self, fields: Sequence[Field]) -> Schema:
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {field.name: self._field(field) for field in fields},
            "required": [field.name for field in fields if field.default is REQUIRED],
        }

    def _field(self, field: Field) -> Schema:
        described = self.describe(field.what)
        return {"anyOf": [described, {"type": "null"}]} if field.default is None and described else described

    def _family(self, what: ByType) -> list[Schema]:
        return [self._member(what, name) for name in what.entities]

    def _member(self, family: ByType, name: str) -> Schema:
        """Describe one of a family, by all names that its type goes by."""
        member = family.entities[name]
        described = self._evaluator(member) if isinstance(member, Evaluator) else self.entity(member)
        names = [name, *(other for other, own in family.other_names.items() if own == name)]
        described["properties"] = {**described["properties"], "type": {"enum": names}}
        described["required"] = [*(["type"] * (name != family.default)), *described["required"]]
        return described

    def _evaluator(self, what: Evaluator) -> Schema:
        own = self._fields(what.common)
        return {**own, "properties": {**evaluator_table()["properties"], **own["properties"]}}

    def _filters(self, what: task_fields.FilterOf) -> list[Schema]:
        return [self.entity(entity) for entity in task_fields.entities_of(what.expression).values()]

    def _list(self, what: values.ListOf) -> Schema:
        return {"type": "array", "items": self.describe(what.what), "minItems": what.least}


def _number(what: values.Number) -> Schema:
    least = {} if what.least is None else {"minimum": what.least}
    return {"type": "integer" if what.is_whole else "number", **least}


def _or_parameter(described: Schema) -> Schema:
    return {"anyOf": [described, _PARAMETER]}
