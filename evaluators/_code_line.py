"""The line between the candidate's side and the expressions' side of code_exec, and what stands for objects.

A message is a JSON list: ["?", operation, values, keywords] asks, ["=", value] answers, ["!", type, text]
is an exception. Both sides may ask while they are asked (a lambda of an expression is called by the
candidate); on the expressions' side nothing can be done with what it has but calling it. JSON objects are
never values but tags. Plain values are built anew; an Object stands for what is not plain, which equals
nothing and is neither true nor false: the candidate has no say in a comparison. This file is sent into the
sandbox: it has to stand alone and to start fast.
"""

from __future__ import annotations

import builtins
import operator
import os

TYPE_CHECKING = False  # typing costs a candidate's start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

make_encoder: Any
make_scanner: Any
encode_basestring_ascii: Any
try:  # the package json loads ten modules, which is half of a start
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:
    encode_basestring_ascii = make_encoder = make_scanner = None


class _Reading:
    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


def loads(text: str) -> Any:
    if make_scanner is None:
        return __import__("json").loads(text)
    return make_scanner(_Reading)(text, 0)[0]


def dumps(value: object) -> str:
    if make_scanner is None:
        return str(__import__("json").dumps(value))
    write = make_encoder(None, repr, encode_basestring_ascii, None, ": ", ", ", False, False, True)  # noqa: FBT003
    return "".join(write(value, 0))


_PLAIN = (int, float, str, tuple, list, dict, set, frozenset, bytes, complex)
_DEEPEST = 100
_BY_TEXT = {"fractions.Fraction", "decimal.Decimal", "datetime.date", "datetime.datetime"}
_ABSENT = object()
_HARMLESS = (
    "__name__",
    "__qualname__",
    "__doc__",
    "__dict__",
    "__next__",
    "__iter__",
    "__len__",
    "__getitem__",
)
_TELLING = {  # what says yes or no of Python's own types; an object of another could always say yes
    name for kind in (str, bytes, set, float) for name in dir(kind) if name[:2] == "is" or name[-4:] == "with"
}


class NotPlain(Exception):
    """A value is no plain one where it has to be."""


class Peer:
    """One end of the line between the two sides."""

    def __init__(self, operations: Mapping[str, Callable[..., Any]]) -> None:
        self._input, self.line = os.fdopen(os.dup(0), "rb"), os.dup(1)
        self._operations = operations
        self._kept: list[Any] = []

    def receive(self) -> Any:
        line = self._input.readline()
        if not line:
            os._exit(0)
        return loads(line.decode())

    def send(self, message: list[Any]) -> None:
        line = memoryview(dumps(message).encode() + b"\n")
        while line:
            line = line[os.write(self.line, line) :]

    def ask(self, operation: str, *values: Any, **keywords: Any) -> Any:
        named = {name: self.encode(value) for name, value in keywords.items()}
        self.send(["?", operation, [self.encode(value) for value in values], named])
        while (message := self.receive())[0] == "?":
            self.serve(message)
        if message[0] == "!":
            raise _exception(message[1], message[2], ends=operation == "next")
        return self.decode(message[1])

    def serve(self, message: list[Any]) -> None:
        try:
            _, name, values, keywords = message
            given = [self.decode(value) for value in values]
            named = {key: self.decode(value) for key, value in keywords.items()}
            said = ["=", self.encode(self._operations[name](*given, **named))]
        except BaseException as error:  # noqa: BLE001  SystemExit of a candidate too is an answer
            said = ["!", type(error).__name__, text_of(error)]
        self.send(said)

    def encode(self, value: Any, depth: int = 0) -> Any:
        if depth > _DEEPEST:
            raise NotPlain("a value is nested too deeply")
        own = object.__getattribute__(value, "_own") if type(value) is Object else None
        if own is not None:
            return {"yours": own}
        if type(value) in _PLAIN or value is None or type(value) is bool:
            return self._plain(value, type(value), depth)
        if (tag := f"{type(value).__module__}.{type(value).__name__}") in _BY_TEXT:
            return {tag: str(value)}
        name = getattr(value, "__name__", "")
        if self._operations is CALLING and isinstance(name, str) and vars(builtins).get(name) is value:
            return {"builtin": name}
        self._kept.append(value)
        said = {"object": len(self._kept) - 1}
        for kind in _PLAIN:
            if isinstance(value, kind):  # a named tuple, a Counter: an object that has a plain value
                said["plain"] = self._plain(_BARE.get(kind, kind)(value), kind, depth)
                break
        return said

    def _plain(self, value: Any, kind: type, depth: int) -> Any:
        if kind in {float, str, bool, type(None)} or (kind is int and -(1 << 53) < value < 1 << 53):
            return value
        if kind is int:
            return {"int": hex(value)}
        if kind is complex:
            return {"complex": [value.real, value.imag]}
        if kind is bytes:
            return {"bytes": value.hex()}
        if kind is dict:
            items = [
                [self.encode(key, depth + 1), self.encode(item, depth + 1)] for key, item in value.items()
            ]
            return {"dict": items}
        items = [self.encode(item, depth + 1) for item in value]
        return items if kind is list else {kind.__name__: items}

    def decode(self, said: Any) -> Any:
        if isinstance(said, list):
            return [self.decode(item) for item in said]
        if not isinstance(said, dict):
            return said
        if "object" in said:
            plain = self.decode(said["plain"]) if "plain" in said else _ABSENT
            return Object(self, said["object"], plain)
        ((tag, inner),) = said.items()
        if tag == "yours":
            return self._kept[inner]
        if tag == "builtin" and self._operations is not CALLING:
            return getattr(builtins, inner)
        return _from_text(tag, inner) if tag in _BY_TEXT else _BUILD[tag](self, inner)


_BARE: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}
_BUILD: dict[str, Callable[[Peer, Any], Any]] = {
    "int": lambda _, text: int(text, 16),
    "complex": lambda _, parts: complex(*parts),
    "bytes": lambda _, text: bytes.fromhex(text),
    "tuple": lambda peer, items: tuple(map(peer.decode, items)),
    "set": lambda peer, items: set(map(peer.decode, items)),
    "frozenset": lambda peer, items: frozenset(map(peer.decode, items)),
    "dict": lambda peer, items: {peer.decode(key): peer.decode(item) for key, item in items},
}


def _from_text(tag: str, text: str) -> Any:
    module, name = tag.split(".")
    kind = getattr(__import__(module), name)
    return getattr(kind, "fromisoformat", kind)(text)


class Object:
    """What stays on the other side: used there, but compared here, by its plain value if it has one."""

    __slots__ = ("_own", "_peer", "_value")

    def __init__(self, peer: Peer, own: int, value: Any) -> None:
        self._peer, self._own, self._value = peer, own, value

    def __getattr__(self, name: str) -> Any:
        if self._value is not _ABSENT and hasattr(self._value, name):
            return getattr(self._value, name)
        if name in _TELLING or (name[:2] == "__" and name not in _HARMLESS):
            raise NotPlain(f"{name} of an object that is not plain is not asked for: it could say anything")
        return self._peer.ask("getattr", self, name)

    def __call__(self, *values: Any, **keywords: Any) -> Any:
        return self._peer.ask("call", self, *values, **keywords)

    def __hash__(self) -> int:
        return hash(plain_value(self))

    def __bool__(self) -> bool:
        return bool(plain_value(self))


def plain_value(value: Any) -> Any:
    if type(value) is not Object:
        return value
    plain = object.__getattribute__(value, "_value")
    if plain is _ABSENT:
        raise NotPlain("the candidate's value is an object that is not plain: it equals nothing")
    return plain


def _compare(name: str) -> Callable[[Any, Any], Any]:
    def compare(one: Any, other: Any) -> Any:
        return getattr(operator, name)(plain_value(one), plain_value(other))

    return compare


def _forward(operation: str) -> Callable[..., Any]:
    def forward(self: Object, *values: Any) -> Any:
        return self._peer.ask(operation, self, *values)

    return forward


def _calculate(operation: str, *, turned: bool = False) -> Callable[[Object, Any], Any]:
    """Calculate with plain values; of objects only among themselves, or `f(2) - 4` would give the 4 away."""

    def calculate(self: Object, other: Any) -> Any:
        both = (other, self) if turned else (self, other)
        if all(type(one) is Object and one._value is _ABSENT for one in both):  # noqa: SLF001  its own
            return self._peer.ask(operation, *both)
        return getattr(operator, f"__{operation}__")(*map(plain_value, both))

    return calculate


BINARY = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
UNARY = (
    "neg",
    "pos",
    "abs",
    "invert",
    "len",
    "iter",
    "next",
    "str",
    "repr",
    "int",
    "float",
    "index",
    "round",
)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Object, f"__{_name}__", _compare(f"__{_name}__"))
for _name in (*UNARY, "getitem", "format"):
    setattr(Object, f"__{_name}__", _forward(_name))
for _name in BINARY:
    setattr(Object, f"__{_name}__", _calculate(_name))
    setattr(Object, f"__r{_name}__", _calculate(_name, turned=True))

CALLING: dict[str, Callable[..., Any]] = {
    "call": lambda function, *values, **keywords: function(*values, **keywords)
}


def _exception(name: str, text: str, *, ends: bool) -> Exception:
    """Build what was raised there; a call made by `map` must not end the `all` around it as true."""
    kind = vars(builtins).get(name) if ends or name != "StopIteration" else None
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, UnicodeError):
        return kind(text)
    return RuntimeError(f"{name}: {text}")


def text_of(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except BaseException:  # noqa: BLE001  its __str__ is the candidate's
        return "an exception without a text"
