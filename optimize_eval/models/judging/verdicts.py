"""What a judge's reply means: which part is its answer, and a score with side info or why not; pure.

The answer is one JSON object, also in a fence or among words, else a bare label or number. Among words an
object counts if it has every key of the form, and never where it stands in what is judged. Of two answers
neither counts, and a label is never looked for inside a word: nothing is guessed.

What is wrong with JSON is overlooked where nothing is guessed by it (a raw line feed or an odd escape in a
text, a comma before the end), but never inside the values that decide.
"""

import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, Never

from optimize_eval.base import wrong_answers
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.protocol import as_float
from optimize_eval.models.judging.rubric import PLACES, AnswerForm, Constraint, Rubric, schema_of

Said = JsonMapping  # an object that a judge answered with
SideInfo = JsonMapping  # what stands beside its score
_STARTS = re.compile(r'\{\s*(?=["}])')
_UNFINISHED = re.compile(r"[\w.+-]*\s*")  # a number or word that stops, up to the end of a text
# A text without its end goes on to the last letter: else each quote in it would be looked at as a beginning.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\]]|,(?=\s*(?P<closing>[}\]]))', re.DOTALL)
_IN_TEXT = re.compile(r'\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]|(?P<odd>\\)|(?P<control>[\x00-\x1f])')
_MARK = "\ue000"  # stands where something was overlooked; no text that has it already is read so
_NOT_ALONE = "it is not the JSON object alone"
_MOST_TRIES = 2000
_MOST_DIFFERENT = 50  # objects among words: for each, what is judged is read
_DEEPEST = 3  # texts that hold JSON, in JSON that a text holds


class Unusable(ValueError):
    """Why a reply cannot be used, in words that the model is told too."""


class JsonObject(NamedTuple):
    """An object in a text; `lenient` are the keys whose values hold something that was overlooked."""

    value: JsonDict
    start: int
    end: int
    lenient: frozenset[str] = frozenset()


def objects(text: str) -> Iterator[JsonObject]:
    """Decode the objects in a text. What starts like one has to be one, for inside it may be others."""
    at = 0
    while start := _STARTS.search(text, at):
        try:
            value, at = _DECODER.raw_decode(text, start.start())
            yield JsonObject(value, start.start(), at)
        except json.JSONDecodeError as error:
            item = _fix(text, start.start(), error)
            at = item.end
            yield item
        except RecursionError:
            raise Unusable("its JSON is nested too deeply") from None


def own_among(found: Iterable[JsonObject], texts: Collection[str]) -> list[JsonObject]:
    """Leave out objects that a text holds; raises Unusable for more different ones than anybody answers."""
    decided: list[tuple[Said, bool]] = []
    own = []
    for item in found:
        is_own = next((is_own for value, is_own in decided if value == item.value), None)
        if is_own is None:
            if len(decided) == _MOST_DIFFERENT:
                raise Unusable(_NOT_ALONE)
            is_own = not _is_quoted(item.value, texts)
            decided.append((item.value, is_own))
        own.extend([item] if is_own else [])
    return own


def _is_quoted(value: Said, texts: Collection[str]) -> bool:
    """Return True if an object stands in one of the texts, however it is spelt there.

    Also where a text holds too much that looks like JSON to be sure that it does not.
    """
    try:
        return any(value == other for text in texts for other in _all_in(text, _DEEPEST))
    except RecursionError:
        raise Unusable(_NOT_ALONE) from None


def _all_in(text: str, deep: int) -> Iterator[object]:
    """Decode every object in a text, those inside others and inside their texts, too."""
    at = tries = 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            at, tries = start + 1, tries + 1
            if tries > _MOST_TRIES:
                raise Unusable(_NOT_ALONE) from None
            continue
        yield from _within(value, deep)


def _within(value: object, deep: int) -> Iterator[object]:
    match value:
        case dict():
            yield value
            for item in value.values():
                yield from _within(item, deep)
        case list():
            for item in value:
                yield from _within(item, deep)
        case str() if deep and "{" in value:
            yield from _all_in(value, deep - 1)


def _fix(text: str, start: int, error: json.JSONDecodeError) -> JsonObject:
    """Decode an object with small faults; raises Unusable where it has others."""
    try:
        item = _overlooking(text, start)
    except RecursionError:
        raise Unusable("its JSON is nested too deeply") from None
    if item is None:
        raise _fault_of(text, error) from None
    return item


def _overlooking(text: str, start: int) -> JsonObject | None:
    """Decode an object with its small faults marked; None where it is broken still."""
    end = _end_of(text, start)
    if end is None or _MARK in text:
        return None
    marked = _TOKEN.sub(_mark, text[start:end])
    try:
        decoded = _DECODER.decode(marked)
    except json.JSONDecodeError:
        return None
    lenient = frozenset(key for key, value in decoded.items() if _has_mark(value))
    return JsonObject(_without_marks(decoded), start, end, lenient)


def _end_of(text: str, start: int) -> int | None:
    deep = 0
    for token in _TOKEN.finditer(text, start):
        deep += (token[0] in "{[") - (token[0] in "}]")
        if not deep:
            return token.end()
    return None


def _mark(token: re.Match[str]) -> str:
    if token[0] == ",":
        return f',"{_MARK}":0' if token["closing"] == "}" else f',"{_MARK}"'
    return _IN_TEXT.sub(_escape, token[0]) if token[0].startswith('"') else token[0]


def _escape(found: re.Match[str]) -> str:
    if found["odd"]:
        return f"{_MARK}\\\\"
    return f"{_MARK}\\u{ord(found[0]):04x}" if found["control"] else found[0]


def _has_mark(value: object) -> bool:
    return _MARK in json.dumps(value, ensure_ascii=False)


def _without_marks(value: object) -> Any:
    match value:
        case dict():
            return {_without_marks(key): _without_marks(item) for key, item in value.items() if key != _MARK}
        case list():
            return [_without_marks(item) for item in value if item != _MARK]
        case str():
            return value.replace(_MARK, "")
    return value


def _fault_of(text: str, error: json.JSONDecodeError) -> Unusable:
    is_cut = _UNFINISHED.fullmatch(text, error.pos) or error.msg.startswith("Unterminated")
    return Unusable("its JSON is cut off" if is_cut else f"its JSON is broken: {error.msg}")


def _refuse_constant(name: str) -> Never:
    raise Unusable(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> JsonDict:
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


EMPHASIS = "*_`\"'"
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")

_FENCED = re.compile(r"```\w*+[^\S\n]*+\n(.*)```", re.DOTALL)
_FENCE = re.compile(r"\s*+(```\w*+\s*+```)?\s*+")
_MAIN_KEY = {
    AnswerForm.SCORE: "score",
    AnswerForm.SCORER: "score",
    AnswerForm.CLASSIFIER: "prediction",
    AnswerForm.LABELER: "label",
    AnswerForm.COMPARISON: "better",
}
_SHOWN = 60


def answer_in(text: str, rubric: Rubric, judged: Collection[str]) -> JsonDict:
    """Find the answer or raise Unusable; what stands in a text that is `judged` is none, among words."""
    return _object_in(text, rubric, judged) or _bare(text, rubric)


def object_with(text: str, key: str, judged: Collection[str]) -> JsonDict:
    """Find the one object with a key, or raise Unusable; one that is only quoted among words is none."""
    items = list(objects(text))
    answers = [item for item in items if key in item.value]
    if items and _has_words(text, items):
        answers = own_among(answers, judged)
    if not answers:
        raise Unusable(f'it has no object with "{key}"')
    if any(item.value != answers[0].value for item in answers):
        raise Unusable(f"it holds {len(answers)} different answers")
    if key in answers[0].lenient:
        raise Unusable(f"its JSON is broken inside {key}")
    return answers[0].value


def is_flat(one: Said, rubric: Rubric) -> bool:
    """Return True if the dimensions stand beside the other keys, not in an object of their own."""
    return bool(rubric.dimensions) and all(dimension.name in one for dimension in rubric.dimensions)


def shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _object_in(text: str, rubric: Rubric, judged: Collection[str]) -> JsonDict | None:
    """Find the answer among whatever else was said; None where there is no JSON object at all."""
    items = list(objects(text))
    answers = [item for item in items if _is_answer(item.value, rubric)]
    own = _own(answers, rubric, judged) if answers and _has_words(text, items) else answers
    if len(own) > 1 and any(item.value != own[0].value for item in own):
        raise Unusable(f"it holds {len(own)} different answers")
    if own and own[0].lenient and (odd := own[0].lenient & {*_deciding(rubric)}):
        raise Unusable(f"its JSON is broken inside {min(odd)}")
    first = own or items
    return first[0].value if first else None


def _own(answers: list[JsonObject], rubric: Rubric, judged: Collection[str]) -> list[JsonObject]:
    """Leave out answers that are only quoted, or that lack keys of the form."""
    own = own_among(answers, judged)
    if not own:
        raise Unusable("it only quotes an answer that the candidate or the example holds")
    if whole := [answer for answer in own if _is_whole(answer.value, rubric)]:
        return whole
    missing = next(key for key in _required_keys(rubric) if key not in own[0].value)
    raise Unusable(f'among words it has an object without "{missing}"')


def _is_answer(one: Said, rubric: Rubric) -> bool:
    return _main_key(rubric) in one or is_flat(one, rubric)


def _is_whole(one: Said, rubric: Rubric) -> bool:
    flat = {"dimensions"} if is_flat(one, rubric) else set()
    return {*_required_keys(rubric)} <= {*one, *flat}


def _required_keys(rubric: Rubric) -> list[str]:
    required: list[str] = schema_of(rubric)["required"]
    return required


def _deciding(rubric: Rubric) -> Iterable[str]:
    return (_main_key(rubric), "violated", *(dimension.name for dimension in rubric.dimensions))


def _has_words(text: str, found: Sequence[JsonObject]) -> bool:
    """Return True if there is more than the objects in a text, and a fence around them."""
    if found[0].start == 0 and found[0].end == len(text):
        return False
    ends = [0, *(item.end for item in found)]
    starts = [*(item.start for item in found), len(text)]
    between = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return bool(_FENCE.fullmatch(between) is None)


def _without_fence(text: str) -> str:
    fenced = _FENCED.fullmatch(text.strip())
    return (fenced[1] if fenced else text).strip()


def _bare(text: str, rubric: Rubric) -> JsonDict:
    """Take a text without JSON as the one value of the form, if it is that and nothing else."""
    content = _without_fence(text)
    plain = content.strip(EMPHASIS)
    key = _main_key(rubric)
    if (
        key in {"prediction", "label", "better"}
        and content
        and "\n" not in content
        and content[0] not in "{["
    ):
        return {key: content}
    if key == "score" and NUMBER.fullmatch(plain):
        return {key: float(plain)}
    raise Unusable("it is empty" if not content else f"it is no JSON object: {shown(content)}")


def _main_key(rubric: Rubric) -> str:
    return "dimensions" if rubric.dimensions else _MAIN_KEY[rubric.form]


_FIRST = dict(zip(PLACES, (1.0, 0.0, 0.5), strict=True))  # what the first place scores
_LONGEST_LABEL = 200
_ROUNDING = 0.001  # so far beyond its end a number is still on the scale


@frozen
class Judgement:
    """What was judged: always from 0 to 1."""

    score: float
    side_info: SideInfo = field(default_factory=dict)
    abstains: bool = field(default=False, repr=False)  # then the score says nothing

    @property
    def off_scale(self) -> str:
        """Say which number was on another scale; empty if none was."""
        return off_scale(self.side_info)


def off_scale(side_info: SideInfo) -> str:
    """Say of a judge's side info which number was not from 0 to 1, other than by rounding."""
    changed: Mapping[str, float] = side_info.get("clamped_from", {})
    if not changed:
        return ""
    words = (f"{name} {given:g} is not between 0 and 1" for name, given in changed.items() if _is_off(given))
    return next(words, "")


def _is_off(number: float) -> bool:
    return not -_ROUNDING <= number <= 1 + _ROUNDING


def parse_reply(text: str, rubric: Rubric, judged: Collection[str] = ()) -> Judgement:
    """Read a reply or raise Unusable; an answer among words that stands in what is `judged` is only quoted.

    >>> parse_reply('{"reasoning": "short", "score": 0.5}', Rubric())
    Judgement(score=0.5, side_info={'reasoning': 'short'})
    """
    answer = answer_in(text, rubric, judged)
    noted = {**_reasoning(answer), **_confidence(answer)}
    if rubric.abstain and answer.get("abstain") is True:
        return Judgement(score=0.0, side_info=noted, abstains=True)
    return _judge(answer, rubric, noted)


def _judge(answer: Said, rubric: Rubric, noted: SideInfo) -> Judgement:
    match rubric.form:
        case AnswerForm.CLASSIFIER:
            return _judge_class(answer, rubric, noted)
        case AnswerForm.LABELER:
            return _judge_label(answer, rubric, noted)
        case AnswerForm.COMPARISON:
            return _judge_places(answer, noted)
        case AnswerForm.SCORER:
            return _hold_to_constraints(_judge_on_scale(answer, rubric, noted), answer, rubric)
        case _ if rubric.dimensions:
            return _hold_to_constraints(_judge_dimensions(answer, rubric, noted), answer, rubric)
    return _hold_to_constraints(_judge_score(answer, noted), answer, rubric)


def _judge_score(said: Said, noted: SideInfo) -> Judgement:
    number = _number(said, "score")
    score = _clamp(number)
    changed = {} if score == number else {"clamped_from": {"score": number}}
    return Judgement(score=score, side_info={**noted, **changed})


def _judge_dimensions(said: Said, rubric: Rubric, noted: SideInfo) -> Judgement:
    given = said.get("dimensions", said)
    if given is said and not is_flat(said, rubric):
        _missing("dimensions")
    if not isinstance(given, dict):
        raise Unusable("dimensions is not an object with a number for each dimension")
    numbers = {
        dimension.name: _number(given, dimension.name, "dimensions.") for dimension in rubric.dimensions
    }
    scores = {name: _clamp(number) for name, number in numbers.items()}
    shares = rubric.shares
    changed = {name: number for name, number in numbers.items() if number != scores[name]}
    side_info = {**noted, **scores, **({"clamped_from": changed} if changed else {})}
    whole = math.fsum(shares[name] * score for name, score in scores.items())
    return Judgement(score=_clamp(whole), side_info=side_info)


def _judge_on_scale(said: Said, rubric: Rubric, noted: SideInfo) -> Judgement:
    least, most = rubric.score_min, rubric.score_max
    number = _number(said, "score")
    if not least <= number <= most:
        raise Unusable(f"score {number:g} is not between {least:g} and {most:g}")
    return Judgement(
        score=_clamp((number - least) / (most - least)), side_info={**noted, "raw_score": number}
    )


def _hold_to_constraints(verdict: Judgement, said: Said, rubric: Rubric) -> Judgement:
    """Let a violated constraint make the score 0; a reply that does not say which are is none."""
    if not rubric.constraints:
        return verdict
    named = said["violated"] if "violated" in said else _missing("violated")
    if not isinstance(named, list):
        raise Unusable("violated is not a list of names")
    violated = list(dict.fromkeys(_constraint_of(name, rubric).shown for name in named))
    score = 0.0 if violated else verdict.score
    return Judgement(score=score, side_info={**verdict.side_info, "violated": violated})


def _constraint_of(given: object, rubric: Rubric) -> Constraint:
    """Find a constraint by its name, else by its whole text."""
    texts = {constraint.text.strip().casefold(): constraint for constraint in rubric.constraints}
    keyed = rubric.keyed_constraints
    said = given.strip().casefold() if isinstance(given, str) else ""
    if said in texts and said not in map(str.casefold, keyed):
        return texts[said]
    return keyed[_label(given, keyed, "violated")]


def _judge_class(said: Said, rubric: Rubric, noted: SideInfo) -> Judgement:
    given = said["prediction"] if "prediction" in said else _missing("prediction")
    label = _label(given, rubric.known_labels, "prediction")
    is_correct = label in rubric.correct_labels
    return Judgement(
        score=float(is_correct), side_info={**noted, "prediction": label, "is_correct": is_correct}
    )


def _judge_label(said: Said, rubric: Rubric, noted: SideInfo) -> Judgement:
    given = said["label"] if "label" in said else _missing("label")
    if rubric.labels:
        label = _label(given, rubric.known_labels, "label")
        return Judgement(score=dict(rubric.labels)[label], side_info={**noted, "label": label})
    if not isinstance(given, str) or not 0 < len(given.strip()) <= _LONGEST_LABEL:
        raise Unusable("label is not a short text")
    return Judgement(score=1.0, side_info={**noted, "label": _unicode(given.strip())})


def _judge_places(said: Said, noted: SideInfo) -> Judgement:
    """Score what stands in the first place."""
    better = _label(said["better"] if "better" in said else _missing("better"), PLACES, "better")
    return Judgement(score=_FIRST[better], side_info={**noted, "better": better})


def _number(said: Said, key: str, inside: str = "") -> float:
    what = f"{inside}{key}"
    value = _read_number(said[key]) if key in said else _missing(what)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_answers.wrong_type(value)
        if not math.isfinite(number := as_float(value)):
            raise wrong_answers.not_finite(number)
    except EvaluationError as error:
        raise Unusable(f"{what}{error.message.removeprefix('score')}") from None
    return number + 0.0  # turns -0.0 into 0.0


def _read_number(value: Any) -> Any:
    """Take a text that is a number, and nothing else, for that number."""
    is_number = isinstance(value, str) and NUMBER.fullmatch(value.strip())
    return float(value) if is_number else value


def _label(given: object, known: Iterable[str], key: str) -> str:
    """Find a label as it is spelt, else by its letters whatever their case; never as a part of a text."""
    known = list(known)
    said = given.strip() if isinstance(given, str) else ""
    for spelt in (said, _without_emphasis(said)):
        if spelt in known:
            return spelt
        alike = [label for label in known if label.casefold() == spelt.casefold()]
        if len(alike) == 1:
            return alike[0]
    raise Unusable(f"{key} {shown(given)} is none of {', '.join(map(shown, known))}")


def _without_emphasis(text: str) -> str:
    """Take off the marks around a word, and a full stop behind it: **Yes.** is Yes."""
    return text.strip(EMPHASIS).removesuffix(".").strip(EMPHASIS)


def _reasoning(said: Said) -> dict[str, str]:
    reasoning = said.get("reasoning")
    return {"reasoning": _unicode(reasoning)} if isinstance(reasoning, str) else {}


def _confidence(said: Said) -> dict[str, float]:
    """Read a confidence as a score is read; what is none is dropped."""
    if "confidence" not in said:
        return {}
    try:
        confidence = _number(said, "confidence")
    except Unusable:
        return {}
    return {"confidence": _clamp(confidence)} if not _is_off(confidence) else {}


def _clamp(number: float) -> float:
    return min(1.0, max(0.0, number))


def _missing(key: str) -> Never:
    raise Unusable(f'it has no "{key}"')


def _unicode(text: str) -> str:
    """Replace halves of surrogate pairs, which have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode()
