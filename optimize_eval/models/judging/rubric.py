"""What a judge is to do: by what it judges, in which form it answers, and reading that from TOML or JSON.

All problems of a file are told at once. How a rubric is put to a model stands in judge.
"""

import math
import re
import statistics
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

from optimize_eval.base import files, shipped, strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import DataError, Problem, UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import Payload
from optimize_eval.data.selection import value_at
from optimize_eval.models.chat import ChatSpec, with_options


class AnswerForm(StrEnum):
    """What a judge answers with, and what becomes of it."""

    SCORE = "score"  # 0 to 1, or one number for each dimension
    SCORER = "scorer"  # a number between two others, made one from 0 to 1
    CLASSIFIER = "classifier"  # one of the labels that count 1 or 0
    LABELER = "labeler"  # a label, which is what is wanted; it may stand for a score
    COMPARISON = "comparison"  # which of two candidates is better, or neither; `against` alone makes it so


class Vote(StrEnum):
    """What becomes of several votes."""

    MEAN = "mean"
    MEDIAN = "median"
    MAJORITY = "majority"  # 1 where more are above 0.5 than below it, 0 where fewer are, else 0.5
    ALL = "all"  # the least of them; all are needed


EVEN = 0.5


def score_of(rule: Vote, votes: Sequence[float]) -> float:
    """Make a score of votes.

    >>> [score_of(rule, [1.0, 0.6, 0.2]) for rule in (Vote.MEDIAN, Vote.MAJORITY, Vote.ALL)]
    [0.6, 1.0, 0.2]
    """
    match rule:
        case Vote.MEDIAN:
            return statistics.median(votes)
        case Vote.MAJORITY:
            more = sum((vote > EVEN) - (vote < EVEN) for vote in votes)
            return EVEN + (more > 0) / 2 - (more < 0) / 2
        case Vote.ALL:
            return min(votes)
    return votes[0] if len(votes) == 1 else statistics.fmean(votes)


@frozen
class Dimension:
    """One aspect of the objective; its weight counts against those of the others."""

    name: str
    weight: float = 1.0
    description: str = ""


@frozen
class Constraint:
    """What a candidate must not violate: one that does scores 0."""

    text: str
    name: str = ""

    @property
    def shown(self) -> str:
        return self.name or self.text


@frozen
class Rubric:
    """By what a candidate is judged, besides the objective."""

    form: AnswerForm = AnswerForm.SCORE
    dimensions: tuple[Dimension, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    score_min: float = 0.0
    score_max: float = 1.0
    correct_labels: tuple[str, ...] = ()
    incorrect_labels: tuple[str, ...] = ()
    labels: tuple[tuple[str, float], ...] = ()  # of a labeler, with what each scores; none: any label
    levels: tuple[tuple[float, str], ...] = ()  # what numbers of a scorer stand for
    abstain: bool = False  # it may say that it cannot judge, and the example is skipped

    @property
    def shares(self) -> dict[str, float]:
        """Normalise the weights of the dimensions."""
        whole = math.fsum(dimension.weight for dimension in self.dimensions)
        return {dimension.name: dimension.weight / whole for dimension in self.dimensions}

    @property
    def keyed_constraints(self) -> dict[str, Constraint]:
        """Give each constraint the word by which a model names it."""
        return {
            constraint.name or f"c{number}": constraint
            for number, constraint in enumerate(self.constraints, 1)
        }

    @property
    def known_labels(self) -> tuple[str, ...]:
        return (*self.correct_labels, *self.incorrect_labels, *(label for label, _ in self.labels))


PLACES = ("first", "second", "tie")  # what is better, of two
BASELINE = "@baseline"
_AGAINST = f'name a field of the examples, or write "{BASELINE}"'
COMPARING = Rubric(form=AnswerForm.COMPARISON)

_SHARE: JsonMapping = {"type": "number", "minimum": 0, "maximum": 1}
_TEXT: JsonMapping = {"type": "string"}


def schema_of(rubric: Rubric) -> JsonDict:
    """Describe the answer in which every key is required."""
    keys: JsonDict = {"reasoning": _TEXT}
    match rubric.form:
        case AnswerForm.CLASSIFIER:
            keys["prediction"] = _one_of(rubric.known_labels)
        case AnswerForm.LABELER:
            keys["label"] = _one_of(rubric.known_labels) if rubric.labels else _TEXT
        case AnswerForm.COMPARISON:
            return _object({**keys, "better": _one_of(PLACES)})
        case AnswerForm.SCORE if rubric.dimensions:
            keys["dimensions"] = _object({dimension.name: _SHARE for dimension in rubric.dimensions})
        case _:
            ends = {"minimum": _plain(rubric.score_min), "maximum": _plain(rubric.score_max)}
            keys["score"] = {"type": "number", **ends}
    if rubric.constraints:
        keys["violated"] = {"type": "array", "items": _one_of(rubric.keyed_constraints)}
    if rubric.abstain:
        keys["abstain"] = {"type": "boolean"}
    return _object({**keys, "confidence": _SHARE})


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else number  # of an int, Python 3.11 cannot ask


def _one_of(known: Iterable[str]) -> JsonDict:
    return {"type": "string", "enum": list(known)}


def _object(keys: JsonMapping) -> JsonDict:
    return {
        "type": "object",
        "properties": dict(keys),
        "required": list(keys),
        "additionalProperties": False,
    }


@frozen
class JudgeSpec:
    """A model as an evaluator; one without a model stands for the defaults that others are made from."""

    kind: ClassVar[str] = "judge"
    model: str = ""  # PROVIDER/MODEL
    objective: str = ""
    rubric: Rubric = Rubric()
    rubric_file: str = ""  # where the rubric was read from
    api_base: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    table: ChatSpec | None = None  # what a table [[model]] says of the model
    shows: tuple[str, ...] = ()  # fields of examples that it is shown alone, by dotted paths; none: all
    hides: tuple[str, ...] = ()  # fields that it is not shown, also among those
    human: tuple[str, ...] = ()  # fields with what people say, which no judge is shown
    human_range: tuple[float, float] | None = None  # of their numbers; None: from 0 to 1
    shows_prompt: bool = False  # the prompt to which a candidate is a model's reply
    shows_model: bool = False  # the name of that model, or of the one that a candidate is for
    hides_model: bool = False  # payloads have such a name, which it is not shown
    against: str = ""  # compares, with the text in a field or with the baseline's; empty: it scores
    panel: "tuple[PanelMember, ...]" = ()  # further models that judge the same
    vote: Vote = Vote.MEAN  # of all of them
    quorum: int | None = None  # votes at least; None: all
    samples: int = 1  # votes of each

    @property
    def members(self) -> "list[JudgeSpec]":
        """Give the judges of a panel, each with its model alone."""
        others = ({key: getattr(member, key) for key in _OF_MEMBERS} for member in self.panel)
        return [replace(self, panel=(), **said) for said in ({}, *others)]

    @property
    def calls(self) -> int:
        """Count the calls of models for one score."""
        return (1 + len(self.panel)) * self.samples * (2 if self.against else 1)

    @property
    def least_votes(self) -> int:
        every = (1 + len(self.panel)) * self.samples
        return every if self.quorum is None else self.quorum

    @property
    def blind_to(self) -> tuple[str, ...]:
        """Give all fields that it is not shown."""
        return tuple(sorted({*self.hides, *self.human, *self.rival_fields}))

    @property
    def rival_fields(self) -> tuple[str, ...]:
        """Name the field of examples with which it compares."""
        return (self.against,) if self.against and self.against != BASELINE else ()

    @property
    def objective_fields(self) -> tuple[str, ...]:
        """Name the fields of examples that the objective takes in."""
        return tuple(dict.fromkeys(_FIELD.findall(self.objective)))

    @property
    def compares_with_baseline(self) -> bool:
        return self.against == BASELINE

    @property
    def answers(self) -> Rubric:
        """Say in which form it answers."""
        return COMPARING if self.against else self.rubric

    def hiding(self, fields: Collection[str], *, models: bool = False) -> Self:
        """Give the judge that is not shown these fields either, nor which model is meant."""
        hides_model = self.hides_model or (models and not self.shows_model)
        _check_objective(self, fields)
        return replace(self, hides=tuple(sorted({*self.hides, *fields})), hides_model=hides_model)


_FIELD = re.compile(r"\{\{[ \t]*+([\w.-]++)[ \t]*+\}\}")


def _is_within(path: str, hidden: Iterable[str]) -> bool:
    """Return True if a path names what is hidden, something in it, or what holds it."""
    return any(f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.") for other in hidden)


def _check_objective(judge: JudgeSpec, fields: Collection[str] = ()) -> None:
    """Refuse an objective that would show a judge what it may not see."""
    hidden = {*fields, *judge.human, *judge.rival_fields}
    if shown := sorted(path for path in judge.objective_fields if _is_within(path, hidden)):
        raise UsageError(
            f"the objective of {judge.model} takes in {shown[0]!r}, which no judge may see",
            hint="it holds a candidate, a rival or what people say: name another field in {{…}}",
        )


def objective_for(judge: JudgeSpec, example: bytes | None) -> str:
    """Write the objective for an example; raises KeyError with a field that is not there."""
    if "{{" not in judge.objective:
        return judge.objective
    value = strict_json.loads(example.decode(), unique_keys=False) if example else {}

    def fill(field: re.Match[str]) -> str:
        if (said := value_at(value, field[1])) is None:
            raise KeyError(field[1])
        return said if isinstance(said, str) else strict_json.dumps(said).decode()

    return _FIELD.sub(fill, judge.objective)


@frozen
class PanelMember:
    """A further model on a panel."""

    model: str
    api_base: str = ""
    table: ChatSpec | None = None


_OF_MEMBERS = ("model", "api_base", "table")


def judge_of(spec: EvaluatorSpec) -> JudgeSpec:
    """Give a specification's judge; that of a specification of something else says nothing."""
    return spec.target if isinstance(spec.target, JudgeSpec) else JudgeSpec()


def model_of(judge: JudgeSpec) -> ChatSpec:
    """Describe the model that a judge calls."""
    return with_options(
        judge.table,
        judge.model,
        api_base=judge.api_base,
        temperature=judge.temperature,
        max_tokens=judge.max_tokens,
        seed=judge.seed,
    )


def shown_example(judge: JudgeSpec, payload: Payload) -> bytes | None:
    """Give what the judge may see of the example; as it came where that is all of it."""
    if payload.example is None or not (judge.shows or judge.blind_to):
        return payload.example
    example = strict_json.loads(payload.example.decode(), unique_keys=False)
    if judge.shows:
        example = _only(example, judge.shows)
    for path in judge.blind_to:
        _drop(example, path)
    return strict_json.dumps(example)


def _only(value: object, paths: Iterable[str]) -> Any:
    """Keep what stands at dotted paths, in its order."""
    if not isinstance(value, dict):
        return value
    deeper = {
        head: [path[len(head) + 1 :] for path in paths if path.startswith(f"{head}.")] for head in value
    }
    return {
        key: item if key in paths else _only(item, deeper[key])
        for key, item in value.items()
        if key in paths or (deeper[key] and isinstance(item, dict))
    }


def _drop(value: object, path: str) -> None:
    """Take out what stands at a dotted path; a key that itself has dots is found too."""
    if isinstance(value, dict):
        head, dot, rest = path.partition(".")
        if path in value:
            del value[path]
        elif dot:
            _drop(value.get(head), rest)


def check_judge(judge: JudgeSpec) -> JudgeSpec:
    """Refuse a judge that could not be called."""
    if not judge.model.strip():
        raise UsageError("the judge names no model", hint="write judge:PROVIDER/MODEL")
    if judge.against and (judge.rubric != Rubric() or judge.shows_prompt or judge.shows_model):
        raise UsageError(
            f"the judge {judge.model} compares (against), and says more than which text is better",
            hint="leave out dimensions, constraints, labels, scales, shows_prompt and shows_model",
        )
    _check_votes(judge)
    _check_objective(judge)
    if judge.against.startswith("@") and not judge.compares_with_baseline:
        raise UsageError(f"against {judge.against!r}", hint=_AGAINST)
    if judge.objective.strip():
        return judge
    if judge.rubric_file:
        raise UsageError(
            f"{judge.rubric_file}: the rubric has no objective",
            hint='say in it what the judge is to look for: objective = "…", or give --objective',
        )
    raise UsageError(
        f"the judge {judge.model} has no objective",
        hint="say what it is to look for with an objective ('The answer is polite') or a rubric",
    )


def _check_votes(judge: JudgeSpec) -> None:
    every = (1 + len(judge.panel)) * judge.samples
    if judge.quorum is not None and not 1 <= judge.quorum <= every:
        raise UsageError(f"a quorum of {judge.quorum} cannot be: there are {every} votes")
    if judge.vote is Vote.ALL and judge.least_votes < every:
        raise UsageError('vote = "all" needs every vote', hint="leave the quorum out, or take another vote")


Complain = Callable[[str, str], None]  # key.path, what is wrong with it

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_SHOWN_KEY = 40


def read_text(value: Any, key: str, complain: Complain) -> str:
    if isinstance(value, str) and value.strip() and _is_unicode(value):
        return value
    complain(key, 'write a text in quotes: "…"')
    return ""


def _is_unicode(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


def read_number(value: Any, key: str, complain: Complain) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) < 1e300 and math.isfinite(value):  # noqa: PLR2004  sums stay finite
        return float(value)
    complain(key, "write a number")
    return 0.0


def read_weight(value: Any, key: str, complain: Complain) -> float:
    weight = read_number(value, key, lambda *_: None)
    if weight <= 0:
        complain(key, "write a number above 0: twice the weight counts twice")
    return weight


def read_between(value: Any, key: str, complain: Complain, *, most: float) -> float:
    number = read_number(value, key, complain)
    if not 0 <= number <= most:
        complain(key, f"write a number from 0 to {most:g}")
    return number


def read_whole(value: Any, key: str, complain: Complain, *, least: int) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63:
        return value
    complain(key, f"write a whole number from {least}")
    return 0


def read_labels(value: Any, key: str, complain: Complain) -> tuple[str, ...]:
    listed = value if isinstance(value, list | tuple) else ()
    if not listed or not all(map(_is_label, listed)):
        complain(key, 'write a list of labels, without blanks around them: ["yes", "no"]')
        return ()
    refuse_repeated(value, key, complain)
    return tuple(value)


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and value == value.strip() and _is_unicode(value)


def read_fields(value: Any, key: str, complain: Complain) -> tuple[str, ...]:
    """Read dotted paths of examples, one or a list."""
    listed = value if isinstance(value, list | tuple) else (value,)
    if not listed or not all(_is_label(item) for item in listed):
        complain(key, 'name fields of the examples: ["question", "meta.topic"]')
        return ()
    return tuple(dict.fromkeys(listed))


def read_against(value: Any, key: str, complain: Complain) -> str:
    if _is_label(value) and (value == BASELINE or value[0] != "@"):
        return str(value)
    complain(key, _AGAINST)
    return ""


def read_span(value: Any, key: str, complain: Complain) -> tuple[float, float]:
    """Read the two ends of a scale."""
    ends = value if isinstance(value, list | tuple) and len(value) == len((0, 1)) else ()
    low, high = (read_number(end, key, lambda *_: None) for end in ends or (0, 0))
    if low >= high:
        complain(key, "write the lowest and the highest number that people may say: [1, 5]")
    return low, high


def read_boolean(value: Any, key: str, complain: Complain) -> bool:
    if not isinstance(value, bool):
        complain(key, "write true or false")
    return value is True


def read_name(value: Any, where: str, complain: Complain) -> str:
    if isinstance(value, str) and _NAME.fullmatch(value):
        return value
    complain(where, "name it with a letter, then letters, digits, _ and -")
    return ""


def refuse_repeated(names: Iterable[str], key: str, complain: Complain) -> None:
    names = [name for name in names if name]
    for name in dict.fromkeys(other for other in names if names.count(other) > 1):
        complain(key, f"{quoted(name)} is there twice")


def at(where: str, key: object) -> str:
    plain = key if isinstance(key, str) and re.fullmatch(r"[\w-]+", key) else quoted(str(key))
    return f"{where}.{plain}" if where else plain


def quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_KEY else text[: _SHOWN_KEY - 1] + "…")


FieldCheck = Callable[[Any, str, Complain], Any]

RESERVED = frozenset(  # keys of a judge's side info, which no dimension can have
    {
        "abstain",
        "abstained",
        "better",
        "clamped_from",
        "confidence",
        "is_correct",
        "label",
        "prediction",
        "failed_votes",
        "raw_score",
        "reasoning",
        "reasoning_second",
        "same",
        "score",
        "usage",
        "violated",
        "votes",
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
    "levels": (AnswerForm.SCORER,),
    "abstain": tuple(AnswerForm),
}
_DIMENSION = ("name", "weight", "description")
_CONSTRAINT = ("name", "text")


def load_rubric(path: str) -> JudgeSpec:
    """Read a file, or one that ships, into a judge without a model; raises DataError with all problems."""
    file = str(shipped.rubric_path(path[1:])) if path.startswith("@") else path
    return replace(read_rubric(said_in(file), file), rubric_file=path)


def read_rubric_text(text: str, source: str) -> JudgeSpec:
    """Read a rubric that is given as JSON itself; raises DataError with all its problems."""
    try:
        return read_rubric(_json_object(text), source)
    except ValueError as error:
        raise DataError([Problem(path=source, rule="bad_rubric", reason=str(error))]) from None


def said_in(path: str) -> JsonDict:
    """Decode a rubric's file; raises DataError."""
    raw = files.read(path, files.SETTINGS)
    try:
        return _decode(path, raw)
    except ValueError as error:
        raise DataError([Problem(path=path, rule="bad_rubric", reason=str(error))]) from None


def read_rubric(said: JsonMapping, source: str) -> JudgeSpec:
    """Make a judge without a model of what is said in `source`; raises DataError with all problems."""
    problems: list[Problem] = []

    def complain(key: str, reason: str) -> None:
        problems.append(Problem(path=source, rule="bad_rubric", reason=f"{key}: {reason}"))

    _refuse_unknown("", said, _CHECKS, complain)
    fields = {key: check(said[key], key, complain) for key, check in _CHECKS.items() if key in said}
    fields["form"] = form = fields.get("form") or _form_of(said)
    if levels := fields.get("levels"):
        ends = {"score_min": levels[0][0], "score_max": levels[-1][0]}
        fields |= {key: fields.get(key, end) for key, end in ends.items()}
    for key in said.keys() & _OF_A_FORM.keys():
        if form not in _OF_A_FORM[key]:
            complain(key, f"this is no key of the form {form}")
    if not problems:
        _check_together(form, fields, complain)
    if problems:
        raise DataError(sorted(problems, key=lambda one: _place(one, said)))
    of_rubric = {key: fields.pop(key) for key in ("form", *_OF_A_FORM) if key in fields}
    return JudgeSpec(**fields, rubric=Rubric(**of_rubric))


def _decode(path: str, raw: bytes) -> JsonDict:
    """Decode a file by its ending; ValueError says why it cannot be."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: byte 0x{raw[error.start]:02X} at offset {error.start}") from None
    match Path(path).suffix:
        case ".toml":
            try:
                return strict_json.loads_toml(text)
            except strict_json.TomlFault as fault:
                raise ValueError(f"not TOML: {fault}") from None
        case ".json":
            return _json_object(text)
    raise ValueError("a rubric is a .toml or a .json file")


def _json_object(text: str) -> JsonDict:
    try:
        said = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        line, column = text.count("\n", 0, fault.offset) + 1, fault.offset - text.rfind("\n", 0, fault.offset)
        raise ValueError(f"not JSON: {fault.reason} (at line {line}, column {column})") from None
    if not isinstance(said, dict):
        raise ValueError('write one JSON object: {"objective": "…"}')  # noqa: TRY004  a value of a file
    return said


def _place(problem: Problem, said: JsonMapping) -> int:
    """Put problems in the order of the keys they are about."""
    key = re.split(r"[.:\[]", problem.reason, maxsplit=1)[0]
    return list(said).index(key) if key in said else len(said)


def _form_of(said: JsonMapping) -> AnswerForm:
    """Find the form by the keys that only one has."""
    forms_named = (forms[0] for key, forms in _OF_A_FORM.items() if key in said and len(forms) == 1)
    return next(forms_named, AnswerForm.SCORE)


def _check_together(form: AnswerForm, found: JsonMapping, complain: Complain) -> None:
    if form is AnswerForm.SCORER and not found.get("score_min", 0.0) < found.get("score_max", 1.0):
        complain("score_min" if "score_min" in found else "score_max", "score_min is not below score_max")
    if form is AnswerForm.CLASSIFIER:
        sides = [found.get(key, ()) for key in ("correct_labels", "incorrect_labels")]
        if not all(sides):
            complain("correct_labels", "a classifier has correct_labels and incorrect_labels")
        if both := sorted({*sides[0]} & {*sides[1]}):
            complain("incorrect_labels", f"{quoted(both[0])} is among the correct_labels too")


def _refuse_unknown(
    where: str, said: JsonMapping, known: Iterable[str], complain: Complain, near: str = "it takes "
) -> None:
    known = list(known)
    for key in said:
        if key not in known:
            close = get_close_matches(str(key), known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"{near}{', '.join(known)}"
            complain(at(where, key), f"unknown key: {hint}")


def _vote(value: Any, key: str, complain: Complain) -> Vote | None:
    if isinstance(value, str) and value in {*Vote}:
        return Vote(value)
    complain(key, f"write one of: {', '.join(Vote)}")
    return None


def _form(value: Any, key: str, complain: Complain) -> AnswerForm | None:
    known = [form for form in AnswerForm if form is not AnswerForm.COMPARISON]
    if isinstance(value, str) and value in known:
        return AnswerForm(value)
    complain(key, f"write one of: {', '.join(known)}")
    return None


def _dimensions(value: Any, key: str, complain: Complain) -> tuple[Dimension, ...]:
    """Read {name = weight}, {name = {weight, description}} or a list of {name, weight, description}."""
    dimensions = [
        _dimension(said, where, complain)
        for where, said in _entries(value, key, complain, "weight", "{clarity = 2, tone = 1}")
    ]
    refuse_repeated([dimension.name for dimension in dimensions], key, complain)
    return tuple(dimensions)


def _dimension(said: JsonMapping, where: str, complain: Complain) -> Dimension:
    _refuse_unknown(where, said, _DIMENSION, complain)
    name = read_name(said.get("name"), where, complain)
    if name in RESERVED:
        complain(where, f"{name} is a word of a judge's answer: call the dimension otherwise")
    weight = read_weight(said["weight"], f"{where}.weight", complain) if "weight" in said else 1.0
    text = read_text(said["description"], f"{where}.description", complain) if "description" in said else ""
    return Dimension(name=name, weight=weight, description=text)


def _constraints(value: Any, key: str, complain: Complain) -> tuple[Constraint, ...]:
    """Read a list of texts or of {name, text}, or {name = text}."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value) and value:
        constraints = [
            Constraint(text=read_text(item, f"{key}[{n}]", complain)) for n, item in enumerate(value)
        ]
    else:
        constraints = [
            _constraint(said, where, complain)
            for where, said in _entries(value, key, complain, "text", '["It promises no refund"]')
        ]
    refuse_repeated([constraint.shown for constraint in constraints], key, complain)
    return tuple(constraints)


def _constraint(said: JsonMapping, where: str, complain: Complain) -> Constraint:
    _refuse_unknown(where, said, _CONSTRAINT, complain)
    name = read_name(said["name"], where, complain) if "name" in said else ""
    if _NUMBERED.fullmatch(name):
        complain(where, f"{name} is what constraints without a name are called: call it otherwise")
    return Constraint(name=name, text=read_text(said.get("text"), f"{where}.text", complain))


def _entries(
    value: Any, key: str, complain: Complain, main: str, example: str
) -> list[tuple[str, JsonMapping]]:
    """List tables with the key.path of each; in a table by name, what is no table stands for its main key."""
    if isinstance(value, Mapping) and value:
        return [
            (at(key, name), {**(item if isinstance(item, Mapping) else {main: item}), "name": name})
            for name, item in value.items()
        ]
    if isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
        return [(f"{key}[{number}]", item) for number, item in enumerate(value)]
    complain(key, f"write them by name, as in {example}, or as a list of tables")
    return []


def _scored_labels(value: Any, key: str, complain: Complain) -> tuple[tuple[str, float], ...]:
    """Read labels, each with the score that it stands for; in a list each scores 1."""
    if not isinstance(value, Mapping):
        return tuple((label, 1.0) for label in read_labels(value, key, complain))
    labels = read_labels([*value], key, complain)
    return tuple((label, read_between(value[label], at(key, label), complain, most=1)) for label in labels)


def _levels(value: Any, key: str, complain: Complain) -> tuple[tuple[float, str], ...]:
    """Read what numbers stand for, in their order."""
    said = value if isinstance(value, Mapping) else {}
    try:
        levels = sorted((float(number), text) for number, text in said.items())
    except (TypeError, ValueError):
        levels = []
    if len(levels) < 2 or not all(math.isfinite(number) for number, _ in levels):  # noqa: PLR2004  no scale
        complain(key, 'write what two numbers or more stand for: {1 = "not at all", 5 = "fully"}')
        return ()
    return tuple((number, read_text(text, at(key, f"{number:g}"), complain)) for number, text in levels)


_CHECKS: Mapping[str, FieldCheck] = {
    "objective": read_text,
    "form": _form,
    "dimensions": _dimensions,
    "constraints": _constraints,
    "score_min": read_number,
    "score_max": read_number,
    "correct_labels": read_labels,
    "incorrect_labels": read_labels,
    "labels": _scored_labels,
    "levels": _levels,
    "abstain": read_boolean,
    "temperature": partial(read_between, most=HOTTEST),
    "max_tokens": partial(read_whole, least=1),
    "seed": partial(read_whole, least=0),
    "shows": read_fields,
    "hides": read_fields,
    "human": read_fields,
    "human_range": read_span,
    "shows_prompt": read_boolean,
    "shows_model": read_boolean,
    "against": read_against,
    "vote": _vote,
    "quorum": partial(read_whole, least=1),
    "samples": partial(read_whole, least=1),
}
KEYS = (*_CHECKS,)
