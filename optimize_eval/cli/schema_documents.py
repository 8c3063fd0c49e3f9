"""JSON Schemas that are made of the code that knows the document: sweeps, tasks, rubrics, summaries.

A text with << a parameter >> may stand where any value may, and {$ref: FILE} where a mapping may.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from enum import StrEnum
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from optimize_eval.base import checks
from optimize_eval.base.checks import Keys
from optimize_eval.base.documents import JsonDict, kinds_of_hint, places_of
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import LONGEST_TIMEOUT
from optimize_eval.base.protocol import ScoreRange
from optimize_eval.config.declared import all_declared
from optimize_eval.config.evaluators import ReachOptions
from optimize_eval.config.model_tables import model_keys
from optimize_eval.config.sweep_files import (
    GROUPS,
    evaluator_keys,
    gate_keys,
    optimize_keys,
    run_keys,
    target_keys,
)
from optimize_eval.config.values import OneOf, filters
from optimize_eval.findings.board_shapes import Board
from optimize_eval.findings.summary_shape import Summary
from optimize_eval.models.judging.rubric import HOTTEST, KEYS, AnswerForm, Vote
from optimize_eval.tasks.yaml import fields, task_fields
from optimize_eval.tasks.yaml.fields import REQUIRED, ByType, Entity, Field
from optimize_eval.tasks.yaml.parameters import PARAMETER
from optimize_eval.tasks.yaml.part_fields import Evaluator
from optimize_eval.tasks.yaml.task_fields import TASK

Schema = JsonDict

_SCALARS: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
}


def summary_schema() -> Schema:
    """Describe summary.json."""
    return _whole("summary.json of optimize-eval", Summary)


def leaderboard_schema() -> Schema:
    """Describe leaderboard.json."""
    return _whole("leaderboard.json of optimize-eval", Board)


def _whole(title: str, kind: object) -> Schema:
    definitions: dict[str, Schema] = {}
    described = _object(kind, definitions)
    return {"title": title, **described, "$defs": definitions}


def _object(kind: object, definitions: dict[str, Schema]) -> Schema:
    """Describe a document; the keys of one that stands flat in it are its own."""
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for spot in places_of(kind):
        if spot.is_flat:
            inner = _object(kinds_of_hint(spot.hint)[0], definitions)
            properties |= inner["properties"]
            required += inner["required"] if NoneType not in kinds_of_hint(spot.hint) else []
            continue
        properties[spot.key] = _describe(spot.hint, definitions)
        required += [spot.key] * (not spot.is_optional)
    return {"type": "object", "properties": properties, "required": required}


def _describe(hint: Any, definitions: dict[str, Schema]) -> Schema:
    """Describe a value of a type; documents are named once."""
    match kinds_of_hint(hint):
        case (kind,):
            return _of_kind(kind, definitions)
        case kinds:
            return {"anyOf": [_of_kind(kind, definitions) for kind in kinds]}


def _of_kind(kind: Any, definitions: dict[str, Schema]) -> Schema:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if is_dataclass(kind):
        return _named(kind, definitions)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return {"enum": [str(member) for member in kind]}
    return _of_several(get_origin(kind), get_args(kind), definitions)


def _of_several(origin: Any, inner: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    if origin is Literal:
        return {"enum": [*inner]}
    if origin is tuple:
        return {"type": "array", "items": _describe(inner[0], definitions)}
    if origin is Mapping:
        return {"type": "object", "additionalProperties": _describe(inner[1], definitions)}
    return {}  # any JSON


def _named(kind: Any, definitions: dict[str, Schema]) -> Schema:
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # it may hold itself
        definitions[kind.__name__] = _object(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


TEXT: Schema = {"type": "string", "minLength": 1}
TEXTS: Schema = {"type": "array", "items": TEXT, "minItems": 1}
NUMBER: Schema = {"type": "number"}
OBJECT: Schema = {"type": "object"}
BY_NAME: Schema = {"type": "object", "additionalProperties": NUMBER, "minProperties": 1}
OF_TEXTS: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
_ABOVE_ZERO: Schema = {"type": "number", "exclusiveMinimum": 0}
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}

_FORMS: Mapping[Callable[[Any], Any], Schema] = {
    checks.above_zero: _ABOVE_ZERO,
    checks.acceptance: {"enum": ["strict", "equal"]},
    checks.boolean: {"type": "boolean"},
    checks.bounds: BY_NAME,
    checks.span: {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
    checks.command: {"anyOf": [TEXT, {"type": "array", "items": {"type": "string"}, "minItems": 1}]},
    checks.count: {"type": "integer", "minimum": 1},
    checks.duration: {"type": ["string", "number"]},
    checks.environment: OF_TEXTS,
    checks.fields: {"anyOf": [TEXT, TEXTS]},
    filters: {"anyOf": [TEXTS, {"type": "object", "additionalProperties": _SCALAR}]},
    checks.header_pairs: OF_TEXTS,
    checks.ids: {"type": "array", "items": {"type": ["string", "integer"]}, "minItems": 1},
    checks.integer: {"type": "integer"},
    checks.margin: {"anyOf": [_ABOVE_ZERO, BY_NAME]},
    checks.max_failures: {"type": ["integer", "string"]},
    checks.metric: {"type": "string", "pattern": "^@"},
    checks.model: {"type": "string", "minLength": 1},
    checks.name: {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_.-]*$"},
    checks.number: NUMBER,
    checks.engine: {"enum": ["local", "ray"]},
    checks.on_failure: {"enum": ["exclude", "abort"]},
    checks.score_range: {"enum": [str(member) for member in ScoreRange]},
    checks.selection: {"enum": ["pareto", "current_best", "epsilon_greedy", "top_k_pareto"]},
    checks.table: OBJECT,
    checks.table_of_texts: OF_TEXTS,
    checks.temperature: {"type": "number", "minimum": 0, "maximum": checks.HOTTEST},
    checks.text: TEXT,
    checks.texts: TEXTS,
    checks.timeout: {**_ABOVE_ZERO, "maximum": LONGEST_TIMEOUT},
    checks.url: {"type": "string", "pattern": "^https?://"},
    checks.weight: _ABOVE_ZERO,
    checks.weights: BY_NAME,
    checks.whole: {"type": "integer", "minimum": 0},
}


def describe_check(check: Callable[[Any], Any]) -> Schema:
    """Describe what a check takes; those of paths, which know their file's folder, are tried."""
    if isinstance(check, OneOf):
        return {"enum": [*map(str, check.known)]}
    if isinstance(check, checks.Choice):
        return {"enum": [*check.kind]}
    if check in _FORMS:
        return _FORMS[check]
    forms = [form for form, value in ((TEXT, "a"), (TEXTS, ["a"])) if _takes(check, value)]
    return forms[0] if len(forms) == 1 else {}


def _takes(check: Callable[[Any], Any], value: object) -> bool:
    try:
        check(value)
    except (ValueError, UsageError):
        return False
    return True


_SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
_FIELDS: Schema = {"anyOf": [TEXT, TEXTS]}
_LABELS: Schema = {**TEXTS, "uniqueItems": True}
_BOOLEAN: Schema = {"type": "boolean"}


def _rubric_table(main: str, form: Schema, **more: Schema) -> Schema:
    """Describe what stands by name, by its main key alone or as a table, or in a list of tables."""
    own = {main: form, **more}
    named = {"type": "object", "additionalProperties": False, "properties": own}
    listed = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"name": TEXT, **own},
    }
    return {
        "anyOf": [
            {"type": "object", "minProperties": 1, "additionalProperties": {"anyOf": [form, named]}},
            {"type": "array", "minItems": 1, "items": listed},
        ]
    }


_RUBRIC_FORMS: dict[str, Schema] = {
    "objective": {**TEXT, "description": "What the judge looks for."},
    "form": {"enum": [str(form) for form in AnswerForm if form is not AnswerForm.COMPARISON]},
    "dimensions": _rubric_table("weight", _ABOVE_ZERO, description=TEXT),
    "constraints": {"anyOf": [TEXTS, _rubric_table("text", TEXT)]},
    "score_min": NUMBER,
    "score_max": NUMBER,
    "correct_labels": _LABELS,
    "incorrect_labels": _LABELS,
    "labels": {"anyOf": [_LABELS, {"type": "object", "additionalProperties": _SHARE, "minProperties": 1}]},
    "temperature": {"type": "number", "minimum": 0, "maximum": HOTTEST},
    "max_tokens": {"type": "integer", "minimum": 1},
    "seed": {"type": "integer", "minimum": 0},
    "shows": _FIELDS,
    "hides": _FIELDS,
    "human": _FIELDS,
    "human_range": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2},
    "shows_prompt": _BOOLEAN,
    "shows_model": _BOOLEAN,
    "levels": {"type": "object", "additionalProperties": TEXT, "minProperties": 2},
    "abstain": _BOOLEAN,
    "against": TEXT,
    "vote": {"enum": [*Vote]},
    "quorum": {"type": "integer", "minimum": 1},
    "samples": {"type": "integer", "minimum": 1},
}


def rubric_schema() -> Schema:
    """Describe a rubric's file."""
    properties = {key: _RUBRIC_FORMS[key] for key in KEYS}
    return {
        "title": "A rubric of optimize-eval",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }


_HERE = "."
_OF_MODELS: Mapping[str, Schema] = {
    "price": {"type": "object", "properties": dict.fromkeys(("input", "output"), NUMBER), "minProperties": 2},
    "top_p": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "stop": {"anyOf": [TEXT, TEXTS]},
    "extra": OBJECT,
}
_HELP = {"name": "What it is called.", "env": "Variables of its own.", "weight": "Its share of the slots."}


def sweep_schema() -> Schema:
    """Describe a sweep file."""
    evaluator = {**evaluator_table(), "oneOf": [{"required": [target]} for target in target_keys()]}
    model = {**_table(model_keys(), {}), "required": ["name", "model"]}
    model["properties"] |= _OF_MODELS
    helps = _helps(reversed(GROUPS))  # what a search says of an option that `run` has, too, stands last
    return {
        "title": "A sweep file of optimize-eval",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "run": _table(run_keys(_HERE), helps),
            "evaluator": {"type": "array", "items": evaluator},
            "gates": _table(gate_keys(_HERE), helps),
            "optimize": _table(optimize_keys(_HERE), _helps(GROUPS)),
            "prices": {**OBJECT, "description": "Dollars for a million tokens, in and out, by model."},
            "model": {"type": "array", "items": model},
        },
    }


def evaluator_table() -> Schema:
    """Describe the keys of an evaluator."""
    table = _table(evaluator_keys(_HERE), {**_helps([ReachOptions]), **_HELP})
    judge = table["properties"]["judge"]
    # several are a panel
    table["properties"]["judge"] = {"anyOf": [judge, {"type": "array", "items": judge, "minItems": 1}]}
    return table


def _table(keys: Keys, helps: Mapping[str, str]) -> JsonDict:
    properties = {
        key: {**describe_check(check), **({"description": helps[key]} if key in helps else {})}
        for key, check in sorted(keys.items())
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _helps(groups: Iterable[Any]) -> dict[str, str]:
    return {option.key: option.option.help for option in all_declared(groups).values()}


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
            fields.ListOf: lambda what: _or_parameter(self._list(what)),
            fields.Choice: lambda what: {"anyOf": [self.describe(what.text), self.describe(what.other)]},
            fields.OneOf: lambda what: _or_parameter({"enum": [*what.choices]}),
            fields.Boolean: lambda _: _or_parameter({"type": "boolean"}),
            fields.Number: lambda what: _or_parameter(_number(what)),
            fields.Key: lambda _: {**_TEXT, "maxLength": fields.LONGEST_KEY},
            fields.Scalar: lambda _: {"type": ["string", "number", "boolean"]},
            fields.Text: lambda _: _TEXT,
            fields.Column: lambda _: _TEXT,
        }

    def describe(self, what: object) -> Schema:
        """Describe what a field may be; templates, code, messages and JSON may be anything here."""
        form = self._forms.get(type(what))
        return form(what) if form else {}

    def entity(self, what: Entity) -> Schema:
        """Describe a mapping with its fields."""
        return self._fields(what.fields)

    def _named(self, what: object, noun: str, make: Callable[[], Iterable[Schema]]) -> Schema:
        if id(what) not in self._names:
            name = f"{noun.partition(' ')[2]} {len(self._names) + 1}"
            self._names[id(what)] = name
            self.described[name] = {"anyOf": [*make(), _ELSEWHERE]}
        return {"$ref": f"#/$defs/{self._names[id(what)].replace(' ', '%20')}"}

    def _fields(self, listed: Sequence[Field]) -> Schema:
        return {
            "type": "object",
            "additionalProperties": False,
            "properties": {field.name: self._field(field) for field in listed},
            "required": [field.name for field in listed if field.default is REQUIRED],
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

    def _list(self, what: fields.ListOf) -> Schema:
        return {"type": "array", "items": self.describe(what.what), "minItems": what.least}


def _number(what: fields.Number) -> Schema:
    least = {} if what.least is None else {"minimum": what.least}
    return {"type": "integer" if what.is_whole else "number", **least}


def _or_parameter(described: Schema) -> Schema:
    return {"anyOf": [described, _PARAMETER]}
