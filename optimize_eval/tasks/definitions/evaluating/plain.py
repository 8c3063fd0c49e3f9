"""The parts of a task as data of JSON: what digests are made of, and which models' keys they name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

_MODEL_KEYS = ("model_key", "judge_model_key")
_CODE = ("snippet",)


def plain(part: Any) -> Any:
    """Write a part with the name of its class; what is as by default is left out, so that parts may grow."""
    if is_dataclass(part) and not isinstance(part, type):
        said = {one.name: getattr(part, one.name) for one in fields(part)}
        chosen = {one.name: plain(said[one.name]) for one in fields(part) if said[one.name] != _default(one)}
        return [type(part).__name__, chosen]
    if isinstance(part, Mapping):
        return {str(key): plain(value) for key, value in part.items()}
    if isinstance(part, Sequence) and not isinstance(part, str):
        return [plain(one) for one in part]
    return part


def model_keys(part: Any) -> Iterator[str]:
    """Find the keys of models in a part and whatever is in it."""
    return _values(part, _MODEL_KEYS)


def has_code(part: Any) -> bool:
    """Return True if there is code in a part or whatever is in it."""
    return any(_values(part, _CODE))


def _values(part: Any, names: Sequence[str]) -> Iterator[str]:
    """Find the values of the fields of these names."""
    if is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            value = getattr(part, one.name)
            if one.name in names:
                yield value
            else:
                yield from _values(value, names)
    elif isinstance(part, list | tuple):
        for one in part:
            yield from _values(one, names)


def _default(one: Any) -> Any:
    if one.default is not MISSING:
        return one.default
    return one.default_factory() if one.default_factory is not MISSING else MISSING
