"""What a judge's reply means: a score and side info, or the reason why it cannot be used; pure.

A reply is one JSON object, also in a fence or among words, else a bare label or number. Nothing is guessed:
a label is never found inside a word, a text is never a number, and of two answers neither counts.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Never

from optimize_eval import wrong_answers
from optimize_eval.errors import EvaluationError
from optimize_eval.reach.rubric import Constraint, Form, Rubric

_OBJECT_STARTS = re.compile(r'\{\s*(?=["}])')
_FENCED = re.compile(r"```\w*\s*\n(.*?)\n?\s*```", re.DOTALL)
_UNFINISHED = re.compile(r"[\w.+-]*\s*")  # a number or word that stops, up to the end of a text
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_MAIN_KEY = {
    Form.SCORE: "score",
    Form.SCORER: "score",
    Form.CLASSIFIER: "prediction",
    Form.LABELER: "label",
}
_LONGEST_LABEL = 200
_SHOWN = 60


class Unusable(ValueError):
    """Why a reply cannot be used, in words that the model is told too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was judged: always from 0 to 1."""

    score: float
    side_info: Mapping[str, Any] = field(default_factory=dict)


def parse_reply(text: str, rubric: Rubric, candidate: str = "") -> Verdict:
    """Read a reply or raise Unusable; an answer among words that stands in the candidate is only quoted.

    >>> parse_reply('{"reasoning": "short", "score": 0.5}', Rubric())
    Verdict(score=0.5, side_info={'reasoning': 'short'})
    """
    said = _object_in(text, rubric, candidate) or _bare(text, rubric)
    noted = {**_reasoning(said), **_confidence(said)}
    match rubric.form:
        case Form.CLASSIFIER:
            return _classified(said, rubric, noted)
        case Form.LABELER:
            return _labelled(said, rubric, noted)
        case Form.SCORER:
            return _constrained(_scaled(said, rubric, noted), said, rubric)
        case _ if rubric.dimensions:
            return _constrained(_weighted(said, rubric, noted), said, rubric)
    return _constrained(_scored(said, noted), said, rubric)


def _scored(said: Mapping[str, Any], noted: Mapping[str, Any]) -> Verdict:
    number = _number(said, "score")
    score = _clamped(number)
    changed = {} if score == number else {"clamped_from": {"score": number}}
    return Verdict(score=score, side_info={**noted, **changed})


def _weighted(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Verdict:
    given = said.get("dimensions", said)
    if given is said and not _is_flat(said, rubric):
        _missing("dimensions")
    if not isinstance(given, dict):
        raise Unusable("dimensions is not an object with a number for each dimension")
    numbers = {one.name: _number(given, one.name, "dimensions.") for one in rubric.dimensions}
    scores = {name: _clamped(number) for name, number in numbers.items()}
    shares = rubric.shares
    changed = {name: number for name, number in numbers.items() if number != scores[name]}
    side_info = {**noted, **scores, **({"clamped_from": changed} if changed else {})}
    whole = math.fsum(shares[name] * score for name, score in scores.items())
    return Verdict(score=_clamped(whole), side_info=side_info)


def _scaled(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Verdict:
    least, most = rubric.score_min, rubric.score_max
    number = _number(said, "score")
    if not least <= number <= most:
        raise Unusable(f"score {number:g} is not between {least:g} and {most:g}")
    return Verdict(
        score=_clamped((number - least) / (most - least)), side_info={**noted, "raw_score": number}
    )


def _constrained(verdict: Verdict, said: Mapping[str, Any], rubric: Rubric) -> Verdict:
    """Let a violated constraint make the score 0; a reply that does not say which are is none."""
    if not rubric.constraints:
        return verdict
    named = said["violated"] if "violated" in said else _missing("violated")
    if not isinstance(named, list):
        raise Unusable("violated is not a list of names")
    violated = list(dict.fromkeys(_violated(one, rubric).shown for one in named))
    score = 0.0 if violated else verdict.score
    return Verdict(score=score, side_info={**verdict.side_info, "violated": violated})


def _violated(given: Any, rubric: Rubric) -> Constraint:
    """Find a constraint by its name, else by its whole text."""
    texts = {one.text.strip().casefold(): one for one in rubric.constraints}
    keyed = rubric.keyed_constraints
    said = given.strip().casefold() if isinstance(given, str) else ""
    if said in texts and said not in map(str.casefold, keyed):
        return texts[said]
    return keyed[_label(given, keyed, "violated")]


def _classified(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Verdict:
    given = said["prediction"] if "prediction" in said else _missing("prediction")
    label = _label(given, rubric.known_labels, "prediction")
    is_correct = label in rubric.correct_labels
    return Verdict(
        score=float(is_correct), side_info={**noted, "prediction": label, "is_correct": is_correct}
    )


def _labelled(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Verdict:
    given = said["label"] if "label" in said else _missing("label")
    if rubric.labels:
        label = _label(given, rubric.known_labels, "label")
        return Verdict(score=dict(rubric.labels)[label], side_info={**noted, "label": label})
    if not isinstance(given, str) or not 0 < len(given.strip()) <= _LONGEST_LABEL:
        raise Unusable("label is not a short text")
    return Verdict(score=1.0, side_info={**noted, "label": _unicode(given.strip())})


def _object_in(text: str, rubric: Rubric, candidate: str) -> dict[str, Any] | None:
    """Find the answer among whatever else was said; None where there is no JSON object at all."""
    written = list(_objects(text))
    found = [one for _, one in written]
    spellings = [spelt for spelt, one in written if _is_answer(one, rubric)]
    answers = [one for one in found if _is_answer(one, rubric)]
    if answers and all(spelt in candidate for spelt in spellings) and _has_words(text):
        raise Unusable("it only quotes an answer that the candidate holds")
    if any(one != answers[0] for one in answers[1:]):
        raise Unusable(f"it holds {len(answers)} different answers")
    return answers[0] if answers else (found[0] if found else None)


def _is_answer(one: Mapping[str, Any], rubric: Rubric) -> bool:
    return _main_key(rubric) in one or _is_flat(one, rubric)


def _is_flat(one: Mapping[str, Any], rubric: Rubric) -> bool:
    """Return True if the dimensions stand beside the other keys, not in an object of their own."""
    return bool(rubric.dimensions) and all(dimension.name in one for dimension in rubric.dimensions)


def _has_words(text: str) -> bool:
    """Tell whether a text is more than one JSON object, bare or in a fence."""
    bare = _without_fence(text)
    return not (bare.startswith("{") and bare.endswith("}"))


def _without_fence(text: str) -> str:
    fenced = _FENCED.fullmatch(text.strip())
    return (fenced[1] if fenced else text).strip()


def _objects(text: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Decode the objects in a text, each beside how it is spelt.

    What starts like one has to be one, for inside it may be others.
    """
    place = 0
    while start := _OBJECT_STARTS.search(text, place):
        try:
            said, place = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            is_cut = _UNFINISHED.fullmatch(text, error.pos) or error.msg.startswith("Unterminated")
            raise Unusable("its JSON is cut off" if is_cut else f"its JSON is broken: {error.msg}") from None
        except RecursionError:
            raise Unusable("its JSON is nested too deeply") from None
        yield text[start.start() : place], said


def _bare(text: str, rubric: Rubric) -> dict[str, Any]:
    """Take a text without JSON as the one thing that was asked for, if it is that and nothing else."""
    said = _without_fence(text)
    key = _main_key(rubric)
    if key in {"prediction", "label"} and said and "\n" not in said and said[0] not in "{[":
        return {key: said}
    if key == "score" and _NUMBER.fullmatch(said):
        return {key: float(said)}
    raise Unusable("it is empty" if not said else f"it is no JSON object: {_shown(said)}")


def _main_key(rubric: Rubric) -> str:
    return "dimensions" if rubric.dimensions else _MAIN_KEY[rubric.form]


def _number(said: Mapping[str, Any], key: str, inside: str = "") -> float:
    what = f"{inside}{key}"
    value = said[key] if key in said else _missing(what)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_answers.wrong_type(value)
        if not math.isfinite(number := _float(value)):
            raise wrong_answers.not_finite(number)
    except EvaluationError as error:
        raise Unusable(f"{what}{error.message.removeprefix('score')}") from None
    return number + 0.0  # turns -0.0 into 0.0


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _label(given: Any, known: Iterable[str], key: str) -> str:
    """Find a label as it is spelt, else by its letters whatever their case; never as a part of a text."""
    known = list(known)
    said = given.strip() if isinstance(given, str) else None
    if said in known:
        return str(said)
    alike = [one for one in known if said is not None and one.casefold() == said.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise Unusable(f"{key} {_shown(given)} is none of {', '.join(map(_shown, known))}")


def _reasoning(said: Mapping[str, Any]) -> dict[str, str]:
    told = said.get("reasoning")
    return {"reasoning": _unicode(told)} if isinstance(told, str) else {}


def _confidence(said: Mapping[str, Any]) -> dict[str, float]:
    told = said.get("confidence")
    if not isinstance(told, int | float) or isinstance(told, bool):
        return {}
    return {"confidence": _float(told)} if math.isfinite(_float(told)) else {}


def _clamped(number: float) -> float:
    return min(1.0, max(0.0, number))


def _missing(key: str) -> Never:
    raise Unusable(f'it has no "{key}"')


def _unicode(text: str) -> str:
    """Replace halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode()


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _refuse_constant(name: str) -> Never:
    raise Unusable(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    said = dict(pairs)
    if len(said) < len(pairs):
        raise Unusable("its JSON has a key twice")
    return said


def _integer(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # Python reads no integer of so many digits; nothing here needs one
        return math.inf


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_integer, object_pairs_hook=_unique)
