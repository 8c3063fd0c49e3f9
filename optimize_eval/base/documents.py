"""Documents: frozen dataclasses that JSON is made of, and read from, by nothing but their fields.

A field's name is its key. Annotations say more: `FLAT` documents have their keys in the one that holds them,
`IF_ANY` fields are omitted where there is nothing to tell, `IF_KNOWN` ones where they are None, `UNSAID`
ones always, `Key`s are no names in Python.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from operator import contains
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, get_args, get_origin

from optimize_eval.base.frozen import frozen

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

JsonMapping: TypeAlias = Mapping[str, Any]  # a JSON object that is read, of keys that no type knows
JsonDict: TypeAlias = dict[str, Any]  # one that is made or changed

_Document = TypeVar("_Document", bound="DataclassInstance")
_Read = Callable[[Any], Any]


class _Mark(Enum):
    FLAT = "its keys stand in the document around it"
    IF_ANY = "omitted where it is nothing: None, 0 or empty"
    IF_KNOWN = "omitted where it is None"
    UNSAID = "known where it was computed, and in no document"


FLAT: Final = _Mark.FLAT
IF_ANY: Final = _Mark.IF_ANY
IF_KNOWN: Final = _Mark.IF_KNOWN
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
    is_known: bool  # whatever else its value is, it is no None


def to_dict(document: "DataclassInstance") -> JsonDict:
    """Make of a document what JSON has."""
    made: JsonDict = {}
    for slot in places_of(type(document)):
        value = getattr(document, slot.name)
        if slot.is_flat:
            made.update({} if value is None else to_dict(value))
        elif value or not slot.is_optional or (slot.is_known and value is not None):
            made[slot.key] = _plain(value)
    return made


def from_dict(kind: type[_Document], value: JsonMapping, *, is_partial: bool = False) -> _Document:
    """Read a document; one that is partial may lack fields, which are then empty.

    Raises LookupError, TypeError, ValueError or AttributeError where it is no such document.
    """
    return kind(**dict(_read_fields(kind, value, is_partial=is_partial)))


def from_foreign_dict(kind: type[_Document], value: object) -> _Document:
    """Read a document that somebody may have edited: each value has the type of its field.

    Raises LookupError, TypeError or ValueError where it is no such document.
    """
    entry = _check({dict}, value)
    given = (slot for slot in places_of(kind) if slot.key in entry or not slot.is_optional)
    return kind(**{slot.name: _checked_reader(slot.hint)(entry[slot.key]) for slot in given})


def check_type(hint: object, value: object) -> None:
    """Raise as from_foreign_dict does where a value is of another type."""
    _checked_reader(hint)(value)


@cache
def _checked_reader(hint: object) -> _Read:
    """Choose how a value is read that may be of another type."""
    kinds = kinds_of_hint(hint)
    kind, arguments = kinds[0], get_args(kinds[0])
    read: _Read
    if isinstance(kind, type) and is_dataclass(kind):
        read = partial(from_foreign_dict, kind)
    elif get_origin(kind) is tuple and arguments[1] is not Ellipsis:
        read = partial(_read_row, [*map(_scalars_of, arguments)], [*map(_checked_reader, arguments)])
    elif get_origin(kind) is tuple:
        read = partial(_read_list, _checked_reader(arguments[0]), _scalars_of(arguments[0]))
    elif get_origin(kind) is Mapping and arguments[1] is not Any:
        read = partial(_read_table, _checked_reader(arguments[1]))
    elif get_origin(kind) is Mapping:
        return partial(_check, {dict, *kinds[1:]})
    elif _scalars_of(hint):
        return partial(_check, _scalars_of(hint))
    else:
        read = kind
    return partial(_read_if_any, read) if NoneType in kinds else read


def _scalars_of(hint: object) -> frozenset[Any]:
    """Give the types of a value of one of several scalar types; none where it may be another."""
    return frozenset(kinds_of_hint(hint)) if _SCALARS.issuperset(kinds_of_hint(hint)) else frozenset()


def _check(kinds: Collection[Any], value: object) -> Any:
    if type(value) not in kinds:
        raise TypeError(f"{type(value).__name__} where another type is expected")
    return value


def _read_list(read: _Read, scalars: frozenset[Any], values: Any) -> tuple[Any, ...]:
    if scalars and scalars.issuperset(map(type, _check({list}, values))):
        return tuple(values)  # of a hundred thousand lines, say
    return tuple(map(read, _check({list}, values)))


def _read_row(scalars: Sequence[frozenset[Any]], reads: Sequence[_Read], values: object) -> tuple[Any, ...]:
    if (
        type(values) is list
        and len(values) == len(scalars)
        and all(map(contains, scalars, map(type, values)))
    ):
        return tuple(values)
    return tuple(read(value) for read, value in zip(reads, _check({list}, values), strict=True))


def _read_table(read: _Read, values: object) -> JsonDict:
    return {key: read(value) for key, value in _check({dict}, values).items()}


def _read_fields(kind: object, value: JsonMapping, *, is_partial: bool) -> Iterator[tuple[str, Any]]:
    for slot in places_of(kind):
        if slot.is_flat:
            inner = kinds_of_hint(slot.hint)[0]
            is_there = NoneType not in kinds_of_hint(slot.hint) or places_of(inner)[0].key in value
            yield slot.name, from_dict(inner, value, is_partial=is_partial) if is_there else None
        elif slot.key in value:
            yield slot.name, _reader(slot.hint, is_partial)(value[slot.key])
        elif not slot.is_optional:
            yield slot.name, _empty(slot.hint) if is_partial else value[slot.key]


@cache
def places_of(kind: Any) -> tuple[_FieldPlace, ...]:
    return tuple(_place(field) for field in fields(kind) if UNSAID not in _marks(field))


def _marks(field: Field[Any]) -> tuple[Any, ...]:
    hint: object = field.type
    return getattr(hint, "__metadata__", ())


def _place(field: Field[Any]) -> _FieldPlace:
    hint: Any = field.type
    marks = _marks(field)
    return _FieldPlace(
        name=field.name,
        key=next((mark.name for mark in marks if isinstance(mark, Key)), field.name),
        hint=hint.__origin__ if marks else hint,
        is_flat=FLAT in marks,
        is_optional=IF_ANY in marks or IF_KNOWN in marks,
        is_known=IF_KNOWN in marks,
    )


def _plain(value: object) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return to_dict(value) if is_dataclass(value) and not isinstance(value, type) else value


@cache
def _reader(hint: object, is_partial: bool) -> _Read:  # noqa: FBT001  a cache counts it as it does the hint
    """Choose how a value of a type is read."""
    kind: object = kinds_of_hint(hint)[0]
    read: _Read
    if isinstance(kind, type) and is_dataclass(kind):
        read = partial(from_dict, kind, is_partial=is_partial)
    elif get_origin(kind) is tuple:
        read = partial(_read_tuple, _reader(get_args(kind)[0], is_partial))
    elif get_origin(kind) is Mapping:
        read = partial(_read_mapping, _reader(get_args(kind)[1], is_partial))
    else:
        return _as_it_is
    return partial(_read_if_any, read) if NoneType in kinds_of_hint(hint) else read


def kinds_of_hint(hint: object) -> tuple[Any, ...]:
    return get_args(hint) if isinstance(hint, UnionType) else (hint,)


def _empty(hint: object) -> Any:
    return None if NoneType in kinds_of_hint(hint) else _EMPTY[get_origin(hint) or hint]


def _as_it_is(value: object) -> Any:
    return value


def _read_if_any(read: _Read, value: object) -> Any:
    return None if value is None else read(value)


def _read_tuple(read: _Read, values: Any) -> tuple[Any, ...]:
    return tuple(map(read, values))


def _read_mapping(read: _Read, values: JsonMapping) -> JsonDict:
    return {key: read(value) for key, value in values.items()}
