"""Candidates of several named texts, which are improved one at a time; evaluators are given one JSON text."""

from collections.abc import Mapping

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.errors import UsageError

ONLY = "candidate"  # what the only text of a plain candidate is called

Texts = Mapping[str, str]


def plain(text: str) -> Texts:
    return {ONLY: text}


def is_plain(texts: Texts) -> bool:
    return list(texts) == [ONLY]


def of_json(text: str, path: str) -> Texts:
    """Read a candidate of several texts: one JSON object of them."""
    try:
        value = strict_json.loads(text, unique_keys=True)
    except strict_json.JsonFault as fault:
        raise UsageError(f"{path}: components are one JSON object: {fault.reason}", hint=_FORM) from None
    if not isinstance(value, dict) or not value or not all(isinstance(one, str) for one in value.values()):
        raise UsageError(f"{path}: components are one JSON object of texts", hint=_FORM)
    if list(value) == [ONLY]:
        raise UsageError(
            f"{path}: a candidate of components is several texts, and this is one",
            hint="give the text itself",
        )
    return value


def text_of(texts: Texts) -> str:
    """Write a candidate as evaluators are given it."""
    if is_plain(texts):
        return texts[ONLY]
    return orjson.dumps(dict(texts)).decode()


def shown(texts: Texts) -> str | dict[str, str]:
    """Give a candidate as proposers and JSON have it: a text, or an object of them."""
    return texts[ONLY] if is_plain(texts) else dict(texts)


_FORM = 'write {"system": "…", "examples": "…"}'
