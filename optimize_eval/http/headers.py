"""Request headers as users write them, and what of them must not be shown or stored."""

import os
import re
from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from optimize_eval.errors import UsageError
from optimize_eval.secrets import VARIABLE, Secrets, filled, is_confidential, to_hide

Headers = tuple[tuple[str, str], ...]

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OWNER = re.compile(r"([^\s:=]+)=")
_VALUE = re.compile(r"[\t -~\xa0-\xff]*")
_OURS = frozenset({"content-length", "transfer-encoding", "host", "connection"})
_HINT = "--header 'Authorization: Bearer ${TOKEN}'"


def parse(text: str) -> tuple[str, str]:
    """Split `Name: value`; the message for a bad one does not repeat it, for it may hold a secret."""
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError("a header is not written as NAME: VALUE", hint=_HINT)
    return name.strip(), value.strip()


def parse_addressed(text: str) -> tuple[str, str]:
    """Split `Name: value` or `OWNER=Name: value`; whose it is stays before the name: see own."""
    owned = _OWNER.match(text)
    owner, rest = (owned[1], text[owned.end() :]) if owned else ("", text)
    name, value = parse(rest)
    return f"{owner}={name}", value


def own(headers: Headers, name: str) -> Headers:
    """Give the headers that one evaluator or model sends: those that are nobody else's."""
    named: tuple[tuple[Any, str], ...] = headers  # a program may give what is no text, which expand refuses
    return tuple(
        (header.rpartition("=")[2] if isinstance(header, str) else header, value)
        for header, value in named
        if not isinstance(header, str) or header.rpartition("=")[0] in {"", name}
    )


def expand(headers: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Put environment variables in the place of ${NAME}; ours go in where the user gives none."""
    expanded = {"Content-Type": "application/json"}
    for name, value in headers:
        if not _are_texts(name, value):
            raise UsageError(f"the header {name!r} is not a pair of texts", hint=_HINT)
        _check(name, full := _filled(name, value))
        expanded = {header: text for header, text in expanded.items() if header.lower() != name.lower()}
        expanded[name] = full
    return expanded


def secrets(headers: tuple[tuple[str, str], ...], url: str) -> Secrets:
    """List what must not be shown: confidential headers, values from the environment, what a URL hides."""
    values = [part for name, value in headers for part in _confidential_parts(name, value)]
    parts = urlsplit(url)
    values += [unquote(part) for part in (parts.username, parts.password) if part]
    if parts.username:  # as an Authorization header has them
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        values.append(b64encode(pair.encode("utf-8", "surrogateescape")).decode())
    values += [value for _, value in parse_qsl(parts.query)]
    return to_hide(values)


def _confidential_parts(name: str, value: str) -> list[str]:
    variables = [os.environ.get(variable, "") for variable in VARIABLE.findall(value)]
    if not variables and not is_confidential(name):
        return []
    full = _filled(name, value)
    return [full, *variables, *_decoded(full)]


def _decoded(value: str) -> list[str]:
    """Find user and password in the value of an Authorization header that has them in base64."""
    scheme, _, digits = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = b64decode(digits, validate=True).decode()
    except ValueError:
        return []
    return [pair, *pair.split(":", 1)]


def _filled(name: str, value: str) -> str:
    return filled(value, f"the header {name}").strip()


def _are_texts(*pair: object) -> bool:
    return all(isinstance(text, str) for text in pair)


def _check(name: str, value: str) -> None:
    if not _NAME.fullmatch(name) or name.lower() in _OURS:
        raise UsageError(f"{name!r} is not a header that can be sent", hint=_HINT)
    if not _VALUE.fullmatch(value):
        raise UsageError(
            f"the value of the header {name} holds a character that headers cannot hold", hint=_HINT
        )
