"""What a judge's reply means: a score and side info, or the reason why it cannot be used; pure.

Which part of a reply is the answer is decided in answer. Nothing is guessed: a label is never found inside a
word.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from typing import Any, Never

from optimize_eval.base import wrong_answers
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.frozen import frozen
from optimize_eval.judging.answer import EMPHASIS, NUMBER, answer_in, is_flat, shown
from optimize_eval.judging.form import AnswerForm, Constraint, Rubric
from optimize_eval.judging.objects import Unusable

_LONGEST_LABEL = 200
_ROUNDING = 0.001  # so far beyond its end a number is still on the scale


@frozen
class Judgement:
    """What was judged: always from 0 to 1."""

    score: float
    side_info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def off_scale(self) -> str:
        """Say which number was on another scale; empty if none was."""
        return off_scale(self.side_info)


def off_scale(side_info: Mapping[str, Any]) -> str:
    """Say of a judge's side info which number was not from 0 to 1, other than by rounding."""
    changed: Mapping[str, float] = side_info.get("clamped_from", {})
    if not changed:
        return ""
    told = (f"{name} {given:g} is not between 0 and 1" for name, given in changed.items() if _is_off(given))
    return next(told, "")


def _is_off(number: float) -> bool:
    return not -_ROUNDING <= number <= 1 + _ROUNDING


def parse_reply(text: str, rubric: Rubric, judged: Collection[str] = ()) -> Judgement:
    """Read a reply or raise Unusable; an answer among words that stands in what is `judged` is only quoted.

    >>> parse_reply('{"reasoning": "short", "score": 0.5}', Rubric())
    Judgement(score=0.5, side_info={'reasoning': 'short'})
    """
    answer = answer_in(text, rubric, judged)
    noted = {**_reasoning(answer), **_confidence(answer)}
    match rubric.form:
        case AnswerForm.CLASSIFIER:
            return _classified(answer, rubric, noted)
        case AnswerForm.LABELER:
            return _labelled(answer, rubric, noted)
        case AnswerForm.SCORER:
            return _constrained(_scaled(answer, rubric, noted), answer, rubric)
        case _ if rubric.dimensions:
            return _constrained(_weighted(answer, rubric, noted), answer, rubric)
    return _constrained(_scored(answer, noted), answer, rubric)


def _scored(said: Mapping[str, Any], noted: Mapping[str, Any]) -> Judgement:
    number = _number(said, "score")
    score = _clamped(number)
    changed = {} if score == number else {"clamped_from": {"score": number}}
    return Judgement(score=score, side_info={**noted, **changed})


def _weighted(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Judgement:
    given = said.get("dimensions", said)
    if given is said and not is_flat(said, rubric):
        _missing("dimensions")
    if not isinstance(given, dict):
        raise Unusable("dimensions is not an object with a number for each dimension")
    numbers = {one.name: _number(given, one.name, "dimensions.") for one in rubric.dimensions}
    scores = {name: _clamped(number) for name, number in numbers.items()}
    shares = rubric.shares
    changed = {name: number for name, number in numbers.items() if number != scores[name]}
    side_info = {**noted, **scores, **({"clamped_from": changed} if changed else {})}
    whole = math.fsum(shares[name] * score for name, score in scores.items())
    return Judgement(score=_clamped(whole), side_info=side_info)


def _scaled(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Judgement:
    least, most = rubric.score_min, rubric.score_max
    number = _number(said, "score")
    if not least <= number <= most:
        raise Unusable(f"score {number:g} is not between {least:g} and {most:g}")
    return Judgement(
        score=_clamped((number - least) / (most - least)), side_info={**noted, "raw_score": number}
    )


def _constrained(verdict: Judgement, said: Mapping[str, Any], rubric: Rubric) -> Judgement:
    """Let a violated constraint make the score 0; a reply that does not say which are is none."""
    if not rubric.constraints:
        return verdict
    named = said["violated"] if "violated" in said else _missing("violated")
    if not isinstance(named, list):
        raise Unusable("violated is not a list of names")
    violated = list(dict.fromkeys(_violated(one, rubric).shown for one in named))
    score = 0.0 if violated else verdict.score
    return Judgement(score=score, side_info={**verdict.side_info, "violated": violated})


def _violated(given: Any, rubric: Rubric) -> Constraint:
    """Find a constraint by its name, else by its whole text."""
    texts = {one.text.strip().casefold(): one for one in rubric.constraints}
    keyed = rubric.keyed_constraints
    said = given.strip().casefold() if isinstance(given, str) else ""
    if said in texts and said not in map(str.casefold, keyed):
        return texts[said]
    return keyed[_label(given, keyed, "violated")]


def _classified(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Judgement:
    given = said["prediction"] if "prediction" in said else _missing("prediction")
    label = _label(given, rubric.known_labels, "prediction")
    is_correct = label in rubric.correct_labels
    return Judgement(
        score=float(is_correct), side_info={**noted, "prediction": label, "is_correct": is_correct}
    )


def _labelled(said: Mapping[str, Any], rubric: Rubric, noted: Mapping[str, Any]) -> Judgement:
    given = said["label"] if "label" in said else _missing("label")
    if rubric.labels:
        label = _label(given, rubric.known_labels, "label")
        return Judgement(score=dict(rubric.labels)[label], side_info={**noted, "label": label})
    if not isinstance(given, str) or not 0 < len(given.strip()) <= _LONGEST_LABEL:
        raise Unusable("label is not a short text")
    return Judgement(score=1.0, side_info={**noted, "label": _unicode(given.strip())})


def _number(said: Mapping[str, Any], key: str, inside: str = "") -> float:
    what = f"{inside}{key}"
    value = _read_number(said[key]) if key in said else _missing(what)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_answers.wrong_type(value)
        if not math.isfinite(number := _float(value)):
            raise wrong_answers.not_finite(number)
    except EvaluationError as error:
        raise Unusable(f"{what}{error.message.removeprefix('score')}") from None
    return number + 0.0  # turns -0.0 into 0.0


def _read_number(value: Any) -> Any:
    """Take a text that is a number, and nothing else, for that number."""
    is_number = isinstance(value, str) and NUMBER.fullmatch(value.strip())
    return float(value) if is_number else value


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _label(given: Any, known: Iterable[str], key: str) -> str:
    """Find a label as it is spelt, else by its letters whatever their case; never as a part of a text."""
    known = list(known)
    said = given.strip() if isinstance(given, str) else ""
    for spelt in (said, _without_emphasis(said)):
        if spelt in known:
            return spelt
        alike = [one for one in known if one.casefold() == spelt.casefold()]
        if len(alike) == 1:
            return alike[0]
    raise Unusable(f"{key} {shown(given)} is none of {', '.join(map(shown, known))}")


def _without_emphasis(text: str) -> str:
    """Take off the marks around a word, and a full stop behind it: **Yes.** is Yes."""
    return text.strip(EMPHASIS).removesuffix(".").strip(EMPHASIS)


def _reasoning(said: Mapping[str, Any]) -> dict[str, str]:
    told = said.get("reasoning")
    return {"reasoning": _unicode(told)} if isinstance(told, str) else {}


def _confidence(said: Mapping[str, Any]) -> dict[str, float]:
    """Read a confidence as a score is read; what is none is dropped."""
    if "confidence" not in said:
        return {}
    try:
        told = _number(said, "confidence")
    except Unusable:
        return {}
    return {"confidence": _clamped(told)} if not _is_off(told) else {}


def _clamped(number: float) -> float:
    return min(1.0, max(0.0, number))


def _missing(key: str) -> Never:
    raise Unusable(f'it has no "{key}"')


def _unicode(text: str) -> str:
    """Replace halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode()
