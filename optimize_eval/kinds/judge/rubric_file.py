"""Reading a rubric, from a TOML or JSON file or from what a program passes; every problem at once.

What the keys mean is said in rubric, how their plain values are read in rubric_values.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from optimize_eval.base import files, strict_json, strict_toml
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.kinds.judge import rubric_values as values
from optimize_eval.kinds.judge.rubric import JudgeSpec
from optimize_eval.kinds.judge.rubric_values import Complain
from optimize_eval.models.judging.form import AnswerForm, Constraint, Dimension, Rubric

FieldCheck = Callable[[Any, str, Complain], Any]

RESERVED = frozenset(  # keys of a judge's side info, which no dimension can have
    {
        "clamped_from",
        "confidence",
        "is_correct",
        "label",
        "prediction",
        "raw_score",
        "reasoning",
        "score",
        "usage",
        "violated",
    }
)

_NUMBERED = re.compile(r"c\d+")
HOTTEST = 2.0
_OF_A_FORM = {  # key → the forms that have it
    "dimensions": (AnswerForm.SCORE,),
    "constraints": (AnswerForm.SCORE, AnswerForm.SCORER),
    "score_min": (AnswerForm.SCORER,),
    "score_max": (AnswerForm.SCORER,),
    "correct_labels": (AnswerForm.CLASSIFIER,),
    "incorrect_labels": (AnswerForm.CLASSIFIER,),
    "labels": (AnswerForm.LABELER,),
}
_DIMENSION = ("name", "weight", "description")
_CONSTRAINT = ("name", "text")


def load_rubric(path: str) -> JudgeSpec:
    """Read a file into a judge without a model; raises DataError with all its problems."""
    return replace(read_rubric(said_in(path), path), rubric_file=path)


def read_rubric_text(text: str, source: str) -> JudgeSpec:
    """Read a rubric that is given as JSON itself; raises DataError with all its problems."""
    try:
        return read_rubric(_json_object(text), source)
    except ValueError as error:
        raise DataError([Problem(path=source, rule="bad_rubric", reason=str(error))]) from None


def said_in(path: str) -> dict[str, Any]:
    """Decode a rubric's file; raises DataError."""
    raw = files.read(path, files.SETTINGS)
    try:
        return _decoded(path, raw)
    except ValueError as error:
        raise DataError([Problem(path=path, rule="bad_rubric", reason=str(error))]) from None


def read_rubric(said: Mapping[str, Any], source: str) -> JudgeSpec:
    """Make a judge without a model of what is said in `source`; raises DataError with all problems."""
    problems: list[Problem] = []

    def complain(key: str, reason: str) -> None:
        problems.append(Problem(path=source, rule="bad_rubric", reason=f"{key}: {reason}"))

    _refuse_unknown("", said, _CHECKS, complain)
    found = {key: check(said[key], key, complain) for key, check in _CHECKS.items() if key in said}
    found["form"] = form = found.get("form") or _form_of(said)
    for key in said.keys() & _OF_A_FORM.keys():
        if form not in _OF_A_FORM[key]:
            complain(key, f"this is no key of the form {form}")
    if not problems:
        _check_together(form, found, complain)
    if problems:
        raise DataError(sorted(problems, key=lambda one: _place(one, said)))
    of_rubric = {key: found.pop(key) for key in ("form", *_OF_A_FORM) if key in found}
    return JudgeSpec(**found, rubric=Rubric(**of_rubric))


def _decoded(path: str, raw: bytes) -> dict[str, Any]:
    """Decode a file by its ending; ValueError says why it cannot be."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte 0x{raw[error.start]:02X} at offset {error.start}") from None
    match Path(path).suffix:
        case ".toml":
            try:
                return strict_toml.loads(text)
            except strict_toml.TomlFault as fault:
                raise ValueError(f"not TOML: {fault}") from None
        case ".json":
            return _json_object(text)
    raise ValueError("a rubric is a .toml or a .json file")


def _json_object(text: str) -> dict[str, Any]:
    try:
        said = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        line, column = text.count("\n", 0, fault.offset) + 1, fault.offset - text.rfind("\n", 0, fault.offset)
        raise ValueError(f"not JSON: {fault.reason} (at line {line}, column {column})") from None
    if not isinstance(said, dict):
        raise ValueError('write one JSON object: {"objective": "…"}')  # noqa: TRY004  a value of a file
    return said


def _place(problem: Problem, said: Mapping[str, Any]) -> int:
    """Put problems in the order of the keys they are about."""
    key = re.split(r"[.:\[]", problem.reason, maxsplit=1)[0]
    return list(said).index(key) if key in said else len(said)


def _form_of(said: Mapping[str, Any]) -> AnswerForm:
    """Find the form by the keys that only one has."""
    forms_named = (forms[0] for key, forms in _OF_A_FORM.items() if key in said and len(forms) == 1)
    return next(forms_named, AnswerForm.SCORE)


def _check_together(form: AnswerForm, found: Mapping[str, Any], complain: Complain) -> None:
    if form is AnswerForm.SCORER and not found.get("score_min", 0.0) < found.get("score_max", 1.0):
        complain("score_min" if "score_min" in found else "score_max", "score_min is not below score_max")
    if form is AnswerForm.CLASSIFIER:
        sides = [found.get(key, ()) for key in ("correct_labels", "incorrect_labels")]
        if not all(sides):
            complain("correct_labels", "a classifier has correct_labels and incorrect_labels")
        if both := sorted({*sides[0]} & {*sides[1]}):
            complain("incorrect_labels", f"{values.quoted(both[0])} is among the correct_labels too")


def _refuse_unknown(
    where: str, said: Mapping[str, Any], known: Iterable[str], complain: Complain, near: str = "it takes "
) -> None:
    known = list(known)
    for key in said:
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"{near}{', '.join(known)}"
            complain(values.at(where, key), f"unknown key: {hint}")


def _form(value: Any, key: str, complain: Complain) -> AnswerForm | None:
    if isinstance(value, str) and value in {*AnswerForm}:
        return AnswerForm(value)
    complain(key, f"write one of: {', '.join(AnswerForm)}")
    return None


def _dimensions(value: Any, key: str, complain: Complain) -> tuple[Dimension, ...]:
    """Read {name = weight}, {name = {weight, description}} or a list of {name, weight, description}."""
    found = [
        _dimension(one, where, complain)
        for where, one in _entries(value, key, complain, "weight", "{clarity = 2, tone = 1}")
    ]
    values.refuse_repeated([one.name for one in found], key, complain)
    return tuple(found)


def _dimension(said: Mapping[str, Any], where: str, complain: Complain) -> Dimension:
    _refuse_unknown(where, said, _DIMENSION, complain)
    name = values.name(said.get("name"), where, complain)
    if name in RESERVED:
        complain(where, f"{name} is a word of a judge's answer: call the dimension otherwise")
    weight = values.weight(said["weight"], f"{where}.weight", complain) if "weight" in said else 1.0
    text = values.text(said["description"], f"{where}.description", complain) if "description" in said else ""
    return Dimension(name=name, weight=weight, description=text)


def _constraints(value: Any, key: str, complain: Complain) -> tuple[Constraint, ...]:
    """Read a list of texts or of {name, text}, or {name = text}."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value) and value:
        found = [Constraint(text=values.text(one, f"{key}[{n}]", complain)) for n, one in enumerate(value)]
    else:
        found = [
            _constraint(one, where, complain)
            for where, one in _entries(value, key, complain, "text", '["It promises no refund"]')
        ]
    values.refuse_repeated([one.shown for one in found], key, complain)
    return tuple(found)


def _constraint(said: Mapping[str, Any], where: str, complain: Complain) -> Constraint:
    _refuse_unknown(where, said, _CONSTRAINT, complain)
    name = values.name(said["name"], where, complain) if "name" in said else ""
    if _NUMBERED.fullmatch(name):
        complain(where, f"{name} is what constraints without a name are called: call it otherwise")
    return Constraint(name=name, text=values.text(said.get("text"), f"{where}.text", complain))


def _entries(
    value: Any, key: str, complain: Complain, main: str, example: str
) -> list[tuple[str, Mapping[str, Any]]]:
    """List tables with the key.path of each; in a table by name, what is no table stands for its main key."""
    if isinstance(value, Mapping) and value:
        return [
            (values.at(key, name), {**(one if isinstance(one, Mapping) else {main: one}), "name": name})
            for name, one in value.items()
        ]
    if isinstance(value, list | tuple) and value and all(isinstance(one, Mapping) for one in value):
        return [(f"{key}[{number}]", one) for number, one in enumerate(value)]
    complain(key, f"write them by name, as in {example}, or as a list of tables")
    return []


def _scored_labels(value: Any, key: str, complain: Complain) -> tuple[tuple[str, float], ...]:
    """Read labels, each with the score that it stands for; in a list each scores 1."""
    if not isinstance(value, Mapping):
        return tuple((label, 1.0) for label in values.labels(value, key, complain))
    labels = values.labels([*value], key, complain)
    return tuple((one, values.between(value[one], values.at(key, one), complain, most=1)) for one in labels)


_CHECKS: Mapping[str, FieldCheck] = {
    "objective": values.text,
    "form": _form,
    "dimensions": _dimensions,
    "constraints": _constraints,
    "score_min": values.number,
    "score_max": values.number,
    "correct_labels": values.labels,
    "incorrect_labels": values.labels,
    "labels": _scored_labels,
    "temperature": partial(values.between, most=HOTTEST),
    "max_tokens": partial(values.whole, least=1),
    "seed": partial(values.whole, least=0),
    "shows": values.fields,
    "hides": values.fields,
    "human": values.fields,
    "shows_prompt": values.boolean,
    "shows_model": values.boolean,
}
KEYS = (*_CHECKS,)
