"""Which part of a judge's reply is its answer; pure. What the answer means, reply says.

It is one JSON object, also in a fence or among words, else a bare label or number. Of two answers neither
counts. Among words an object counts if it has every key of the form, and never where it stands in what is
judged.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from optimize_eval.judging.form import AnswerForm, Rubric
from optimize_eval.judging.objects import JsonObject, Unusable, objects, own_among
from optimize_eval.judging.schema import schema_of

EMPHASIS = "*_`\"'"
NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")

_FENCED = re.compile(r"```\w*+[^\S\n]*+\n(.*)```", re.DOTALL)
_FENCE = re.compile(r"\s*+(```\w*+\s*+```)?\s*+")
_MAIN_KEY = {
    AnswerForm.SCORE: "score",
    AnswerForm.SCORER: "score",
    AnswerForm.CLASSIFIER: "prediction",
    AnswerForm.LABELER: "label",
}
_SHOWN = 60


def answer_in(text: str, rubric: Rubric, judged: Collection[str]) -> dict[str, Any]:
    """Find the answer or raise Unusable; what stands in a text that is `judged` is none, among words."""
    return _object_in(text, rubric, judged) or _bare(text, rubric)


def object_with(text: str, key: str, judged: Collection[str]) -> dict[str, Any]:
    """Find the one object with a key, or raise Unusable; one that is only quoted among words is none."""
    found = list(objects(text))
    answers = [item for item in found if key in item.value]
    if _has_words(text, found):
        answers = own_among(answers, judged)
    if not answers:
        raise Unusable(f'it has no object with "{key}"')
    if any(item.value != answers[0].value for item in answers):
        raise Unusable(f"it holds {len(answers)} different answers")
    if key in answers[0].lenient:
        raise Unusable(f"its JSON is broken inside {key}")
    return answers[0].value


def is_flat(one: Mapping[str, Any], rubric: Rubric) -> bool:
    """Return True if the dimensions stand beside the other keys, not in an object of their own."""
    return bool(rubric.dimensions) and all(dimension.name in one for dimension in rubric.dimensions)


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _object_in(text: str, rubric: Rubric, judged: Collection[str]) -> dict[str, Any] | None:
    """Find the answer among whatever else was said; None where there is no JSON object at all."""
    found = list(objects(text))
    answers = [item for item in found if _is_answer(item.value, rubric)]
    own = _own(answers, rubric, judged) if answers and _has_words(text, found) else answers
    if len(own) > 1 and any(item.value != own[0].value for item in own):
        raise Unusable(f"it holds {len(own)} different answers")
    if own and own[0].lenient and (odd := own[0].lenient & {*_deciding(rubric)}):
        raise Unusable(f"its JSON is broken inside {min(odd)}")
    first = own or found
    return first[0].value if first else None


def _own(answers: list[JsonObject], rubric: Rubric, judged: Collection[str]) -> list[JsonObject]:
    """Leave out answers that are only quoted, or that lack keys of the form."""
    own = own_among(answers, judged)
    if not own:
        raise Unusable("it only quotes an answer that the candidate or the example holds")
    if whole := [answer for answer in own if _is_whole(answer.value, rubric)]:
        return whole
    missing = next(key for key in _required(rubric) if key not in own[0].value)
    raise Unusable(f'among words it has an object without "{missing}"')


def _is_answer(one: Mapping[str, Any], rubric: Rubric) -> bool:
    return _main_key(rubric) in one or is_flat(one, rubric)


def _is_whole(one: Mapping[str, Any], rubric: Rubric) -> bool:
    flat = {"dimensions"} if is_flat(one, rubric) else set()
    return {*_required(rubric)} <= {*one, *flat}


def _required(rubric: Rubric) -> list[str]:
    required: list[str] = schema_of(rubric)["required"]
    return required


def _deciding(rubric: Rubric) -> Iterable[str]:
    return (_main_key(rubric), "violated", *(dimension.name for dimension in rubric.dimensions))


def _has_words(text: str, found: Sequence[JsonObject]) -> bool:
    """Return True if there is more than the objects in a text, and a fence around them."""
    if found[0].start == 0 and found[0].end == len(text):
        return False
    ends = [0, *(one.end for one in found)]
    starts = [*(one.start for one in found), len(text)]
    between = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return bool(_FENCE.fullmatch(between) is None)


def _without_fence(text: str) -> str:
    fenced = _FENCED.fullmatch(text.strip())
    return (fenced[1] if fenced else text).strip()


def _bare(text: str, rubric: Rubric) -> dict[str, Any]:
    """Take a text without JSON as the one value of the form, if it is that and nothing else."""
    content = _without_fence(text)
    plain = content.strip(EMPHASIS)
    key = _main_key(rubric)
    if key in {"prediction", "label"} and content and "\n" not in content and content[0] not in "{[":
        return {key: content}
    if key == "score" and NUMBER.fullmatch(plain):
        return {key: float(plain)}
    raise Unusable("it is empty" if not content else f"it is no JSON object: {shown(content)}")


def _main_key(rubric: Rubric) -> str:
    return "dimensions" if rubric.dimensions else _MAIN_KEY[rubric.form]
