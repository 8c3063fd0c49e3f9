"""Documents: frozen dataclasses that JSON is made of, and read from, by nothing but their fields.

A field's name is its key. Annotations say more: `FLAT` documents have their keys in the one that holds them,
`IF_ANY` fields are omitted where there is nothing to tell, `UNSAID` ones always, `Key`s are no names in
Python.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, get_origin

from optimize_eval.base.frozen import frozen

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Document = TypeVar("_Document", bound="DataclassInstance")
_Read = Callable[[Any], Any]


class _Mark(Enum):
    FLAT = "its keys stand in the document around it"
    IF_ANY = "omitted where it is nothing: None, 0 or empty"
    UNSAID = "known where it was computed, and in no document"


FLAT: Final = _Mark.FLAT
IF_ANY: Final = _Mark.IF_ANY
UNSAID: Final = _Mark.UNSAID

_SCALARS = frozenset({str, int, float, bool, NoneType})
_EMPTY: Mapping[object, Any] = {str: "", int: 0, float: 0.0, bool: False, tuple: (), Mapping: {}}


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a field that cannot be called so."""

    name: str


@frozen
class _FieldPlace:
    """Where a field stands in JSON."""

    name: str
    key: str
    hint: Any
    is_flat: bool
    is_optional: bool


def to_dict(document: "DataclassInstance") -> dict[str, Any]:
    """Make of a document what JSON has."""
    made: dict[str, Any] = {}
    for slot in places_of(type(document)):
        value = getattr(document, slot.name)
        if slot.is_flat:
            made.update({} if value is None else to_dict(value))
        elif value or not slot.is_optional:
            made[slot.key] = _plain(value)
    return made


def from_dict(kind: type[_Document], value: Mapping[str, Any], *, is_partial: bool = False) -> _Document:
    """Read a document; one that is partial may lack fields, which are then empty.

    Raises LookupError, TypeError, ValueError or AttributeError where it is no such document.
    """
    return kind(**dict(_read_fields(kind, value, is_partial=is_partial)))


def _read_fields(kind: Any, value: Mapping[str, Any], *, is_partial: bool) -> Iterator[tuple[str, Any]]:
    for slot in places_of(kind):
        if slot.is_flat:
            inner = _kinds(slot.hint)[0]
            is_there = NoneType not in _kinds(slot.hint) or places_of(inner)[0].key in value
            yield slot.name, from_dict(inner, value, is_partial=is_partial) if is_there else None
        elif slot.key in value:
            yield slot.name, _reader(slot.hint, is_partial)(value[slot.key])
        elif not slot.is_optional:
            yield slot.name, _empty(slot.hint) if is_partial else value[slot.key]


@cache
def places_of(kind: Any) -> tuple[_FieldPlace, ...]:
    return tuple(_place(field) for field in fields(kind) if UNSAID not in _marks(field))


def _marks(field: Field[Any]) -> tuple[Any, ...]:
    hint: Any = field.type
    return getattr(hint, "__metadata__", ())


def _place(field: Field[Any]) -> _FieldPlace:
    hint: Any = field.type
    marks = _marks(field)
    return _FieldPlace(
        name=field.name,
        key=next((mark.name for mark in marks if isinstance(mark, Key)), field.name),
        hint=hint.__origin__ if marks else hint,
        is_flat=FLAT in marks,
        is_optional=IF_ANY in marks,
    )


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return to_dict(value) if is_dataclass(value) and not isinstance(value, type) else value


@cache
def _reader(hint: Any, is_partial: bool) -> _Read:  # noqa: FBT001  a cache counts it as it does the hint
    """Choose how a value of a type is read."""
    kind: Any = _kinds(hint)[0]
    read: _Read
    if isinstance(kind, type) and is_dataclass(kind):
        read = partial(from_dict, kind, is_partial=is_partial)
    elif get_origin(kind) is tuple:
        read = partial(_read_tuple, _reader(get_args(kind)[0], is_partial))
    elif get_origin(kind) is Mapping:
        read = partial(_read_mapping, _reader(get_args(kind)[1], is_partial))
    else:
        return _as_it_is
    return partial(_read_if_any, read) if NoneType in _kinds(hint) else read


def _kinds(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _empty(hint: Any) -> Any:
    return None if NoneType in _kinds(hint) else _EMPTY[get_origin(hint) or hint]


def _as_it_is(value: Any) -> Any:
    return value


def _read_if_any(read: _Read, value: Any) -> Any:
    return None if value is None else read(value)


def _read_tuple(read: _Read, values: Any) -> tuple[Any, ...]:
    return tuple(map(read, values))


def _read_mapping(read: _Read, values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: read(value) for key, value in values.items()}
