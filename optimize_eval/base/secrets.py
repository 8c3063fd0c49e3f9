"""Secrets: ${NAME} in their place until they are used, struck out of texts; and request headers.

`mask` knows what secrets look like in a command line; `redact` knows the secrets themselves. It finds one
as it is, escaped as JSON, URLs and HTML do it, also twice, and in base64 or hexadecimal, also as a part of
what was encoded (`user:key`). What else a server does to it, is unknown.
"""

import os
import re
import shlex
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from optimize_eval.base.errors import UsageError

Secrets = tuple[str, ...]  # the longest first: one may hold another

VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")

_SHORTEST_SECRET = 6
_SCHEMES = frozenset({"bearer", "basic", "digest", "negotiate"})  # stand before a key for all to see
_STRUCK = "***"
_ROUNDS = 4  # of escapes within escapes
# Patterns as texts: most commands have no secrets, and would wait for each to be compiled.
_CONFIDENTIAL = r"(?i)auth|cookie|credential|key|pass|secret|session|signature|token|^sig$"
_CONFIDENTIAL_VARIABLE = r"(?i)(?:^|_)PAT(?:_|$)|webhook|PWD$|DSN(?:_|$)"
_FOLDERS = frozenset({"PWD", "OLDPWD"})  # which a shell sets
_WITH_USER = r"://[^/@\s:]{0,255}:[^/@\s]{1,255}@"
_RUN = r"[0-9A-Za-z+/_=-]+"  # what may be base64 or hexadecimal
_PERCENT = r"(?:%[0-9A-Fa-f]{2})+"
_CODED = r"((?:(?<!\\)\\+u[0-9A-Fa-f]{4})+)|(?<!\\)\\+x([0-9A-Fa-f]{2})"
_ZEROS = r"(&#[xX]?)0{8,}+"
_NO_CHARACTER = r"&#(?:[0-9]{8,}+|[xX][0-9A-Fa-f]{8,}+);?"
_MARKS = frozenset("\\%&")  # each begins an escape
_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}

# Looked for where a word begins, and then the word is taken whole: else it is read once for each letter.
_CONFIDENTIAL_NAME = r"(?=[\w-]*?(?:auth|credential|key|passw|secret|token))[\w-]++"
_SCHEME_WORD = r"(?:(?:Basic|Bearer|Token|ApiKey)\s++)?+"  # it tells nothing, and a line to paste needs it
_ONE_VARIABLE = rf"[\"']?{_SCHEME_WORD}\$\{{\w+\}}[\"']?(?=\s|$)"
_IN_COMMANDS = (
    (r"(https?://)[^/@\s'\"]+@", r"\1***@"),  # user and password of a URL
    (
        r"(https?://[^\s'\"?]++)(\?[^\s'\"]++)?",
        lambda url: f"{url[1]}?***" if url[2] else url[0],
    ),  # its query
    (rf"(?i)((?<![\w-]){_CONFIDENTIAL_NAME}:\s*+{_SCHEME_WORD})(?!\$\{{)[^'\"$]+", r"\1***"),  # a header
    (
        rf"(?i)(?<![\w-])(?!--model-key=)({_CONFIDENTIAL_NAME}=)(?!{_ONE_VARIABLE})('[^']*'|\"[^\"]*\"|[^\s'\"]+)",
        r"\1***",
    ),
    (
        rf"(?i)(?<![\w-])(?!--model-key\s)(--?{_CONFIDENTIAL_NAME}\s++)(?!-|\d{{1,6}}\b)('[^']*'|\"[^\"]*\"|[^\s'\"]+)",
        r"\1***",
    ),
    (rf"(?i)((?:-H|--header)[\s=]+'?[\w-]+:\s*+{_SCHEME_WORD})(?!\$\{{)[^'\"$]+", r"\1***"),
)
_MARKED = ("://", "auth", "cred", "key", "passw", "secret", "token", "-h")  # one of which each needs
_IN_QUOTES = r'([\\"`]|\$(?!\{[A-Za-z_][A-Za-z0-9_]*\}))'


def fill_in(text: str, what: str) -> str:
    """Put environment variables in the place of ${NAME}; where one is missing, `what` needs it is named."""
    return VARIABLE.sub(lambda match: _look_up(match[1], what), text)


def for_shell(text: str) -> str:
    """Write a text as a word for a shell, which then puts in what its ${NAME} stand for."""
    if not VARIABLE.search(text):
        return shlex.quote(text)
    escaped = re.sub(_IN_QUOTES, r"\\\1", text)
    return f'"{escaped}"'


def _look_up(name: str, what: str) -> str:
    if name not in os.environ:
        raise UsageError(
            f"{what} needs the environment variable {name}, which is not set", hint=f"export {name}=…"
        )
    return os.environ[name]


def is_confidential(name: str) -> bool:
    """Return True if what has this name (a header, a variable, a part of a URL's query) is a secret."""
    return re.search(_CONFIDENTIAL, name) is not None


def is_confidential_variable(name: str, value: str) -> bool:
    """Return True if a variable of the environment looks like a secret: its name, or a URL with a password.

    >>> is_confidential_variable("GITHUB_PAT", "x"), is_confidential_variable("PATH", "/bin")
    (True, False)
    >>> is_confidential_variable("DATABASE_URL", "postgres://me:pw@host/db")
    True
    """
    if name in _FOLDERS:
        return False
    is_named = is_confidential(name) or re.search(_CONFIDENTIAL_VARIABLE, name) is not None
    return is_named or re.search(_WITH_USER, value) is not None


def mask(command: str) -> str:
    """Strike out what looks like a secret in a command line.

    >>> mask("./judge --api-key sk-1 --max-tokens 500 http://me:pw@host/x?token=t")
    './judge --api-key *** --max-tokens 500 http://***@host/x?***'
    >>> mask("./judge --header 'Authorization: Bearer ${TOKEN}'")
    "./judge --header 'Authorization: Bearer ${TOKEN}'"
    >>> mask("bench t.yaml --model-key judge=cmd:./judge --key sk-1")
    'bench t.yaml --model-key judge=cmd:./judge --key ***'
    """
    folded = command.casefold()
    if not any(mark in folded for mark in _MARKED):
        return command
    for pattern, struck in _IN_COMMANDS:
        command = re.sub(pattern, struck, command)
    return command


def to_hide(values: Iterable[str], shortest: int = _SHORTEST_SECRET) -> Secrets:
    """List what must not be shown of confidential values: each whole, and each word of it."""
    words = {word for value in values for word in (value.strip(), *re.split(r"[\s;,=]+", value))}
    secret = (word for word in words if len(word) >= shortest and word.lower() not in _SCHEMES)
    return tuple(sorted(secret, key=len, reverse=True))


def redact(text: str, hidden: Secrets) -> str:
    """Strike out secrets that a server sends back, as they are, escaped or encoded.

    >>> redact("bad token: sk-canary, or c2stY2FuYXJ5", ("sk-canary",))
    'bad token: ***, or ***'
    """
    if not hidden:
        return text
    for secret in hidden:
        text = text.replace(secret, _STRUCK)
    if len(text) < _SHORTEST_SECRET:
        return text
    if any(form in text for form in _encoded_forms(hidden)):
        text = _without_encoded(text, _encoded_forms(hidden))
    return text if _MARKS.isdisjoint(text) else _without_escaped(text, hidden)


def redact_values(value: object, hidden: Secrets) -> Any:
    """Strike secrets out of the texts and keys of a decoded answer; numbers stay as they came."""
    if isinstance(value, str):
        return redact(value, hidden)
    if isinstance(value, dict):
        return {redact(key, hidden): redact_values(item, hidden) for key, item in value.items()}
    return [redact_values(item, hidden) for item in value] if isinstance(value, list) else value


@lru_cache(maxsize=64)
def _shortest_of(hidden: Secrets) -> Secrets:
    """List the secrets that hold no other one: where these are not, the others are not either."""
    return tuple(
        secret for secret in hidden if not any(other in secret for other in hidden if other != secret)
    )


@lru_cache(maxsize=64)
def _encoded_forms(hidden: Secrets) -> tuple[str, ...]:
    """List what secrets look like in base64 and hexadecimal."""
    raws = dict.fromkeys(raw for secret in _shortest_of(hidden) for raw in _raws(secret))
    return tuple(
        dict.fromkeys(form for raw in raws for form in (raw.hex(), raw.hex().upper(), *_base64s(raw)))
    )


def _raws(secret: str) -> Iterator[bytes]:
    for encoding in ("utf-8", "latin-1"):  # as bodies and as headers have it
        with suppress(UnicodeEncodeError):
            yield secret.encode(encoding)


def _base64s(raw: bytes) -> Iterator[str]:
    """Write the digits that bytes have for sure, for any bytes before and after them in the encoded text."""
    for before in range(3):
        first, end = -(-8 * before // 6), 8 * (before + len(raw)) // 6
        digits = b2a_base64(bytes(before) + raw, newline=False).decode()[first:end]
        yield from (digits, digits.translate({ord("+"): "-", ord("/"): "_"}))


def _without_encoded(text: str, forms: tuple[str, ...]) -> str:
    """Strike out whole runs of digits: those at the edges of a secret tell a part of it, too."""
    return re.sub(_RUN, lambda run: _STRUCK if any(form in run[0] for form in forms) else run[0], text)


def _without_escaped(text: str, hidden: Secrets) -> str:
    """Strike out what is a secret without its escapes; all of the text where the two cannot be separated."""
    if not _is_inside(text, hidden):
        return text
    for secret in hidden:
        text = _pattern_of(secret).sub(_STRUCK, text)
    return _STRUCK if _is_inside(text, hidden) else text


def _is_inside(text: str, hidden: Secrets) -> bool:
    plain = _unescape(text)
    return any(form in plain for form in _forms_to_find(hidden))


@lru_cache(maxsize=64)
def _forms_to_find(hidden: Secrets) -> tuple[str, ...]:
    """List what to look for in a text without escapes: what looks like one in a secret is gone there, too."""
    plain = ((secret, _unescape(secret)) for secret in _shortest_of(hidden))
    return (
        *(less if len(less) >= _SHORTEST_SECRET else secret for secret, less in plain),
        *_encoded_forms(hidden),
    )


def _unescape(text: str) -> str:
    """Take escapes away, also those within escapes."""
    from html import unescape  # noqa: PLC0415  with a large table of names

    for _ in range(_ROUNDS):
        before = text
        text = re.sub(_CODED, _characters, text).replace("\\", "")
        text = unescape(_with_short_numbers(re.sub(_PERCENT, _decode_octets, text)))
        if text == before:
            break
    return text


def _with_short_numbers(text: str) -> str:
    """Shorten `&#0000…65;`, and say at once that no character has a number of so many digits."""
    if "&#" not in text:  # Python makes no integer of more than some thousand digits
        return text
    return re.sub(_NO_CHARACTER, "\ufffd", re.sub(_ZEROS, r"\1", text))


def _decode_octets(octets: re.Match[str]) -> str:
    return bytes.fromhex(octets[0].replace("%", "")).decode("utf-8", "replace")


def _characters(escape: re.Match[str]) -> str:
    units, byte = escape.groups()
    if byte:
        return chr(int(byte, 16))
    return bytes.fromhex(units.replace("\\", "").replace("u", "")).decode("utf-16-be", "surrogatepass")


@lru_cache(maxsize=64)
def _pattern_of(secret: str) -> re.Pattern[str]:
    """Find a secret in a text with escapes, also those of a text in a text."""
    return re.compile("".join(_any_form(char, is_first=index == 0) for index, char in enumerate(secret)))


def _any_form(char: str, *, is_first: bool) -> str:
    """Match a character in any of its forms; as many backslashes as a few levels of escapes put before it."""
    units, several = char.encode("utf-16-be", "surrogatepass").hex(), r"\\{1,8}"
    in_json = "".join(f"{several}u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4))
    in_code = f"{several}x(?i:{ord(char):02x})"
    in_url = "".join(f"(?i:%(?:25)*{byte:02x})" for byte in char.encode("utf-8", "surrogatepass"))
    name = f"|{_NAMED[char]}" if char in _NAMED else ""
    in_html = f"&(?:amp;)*(?:#0*{ord(char)}|#[xX]0*(?i:{ord(char):x}){name});?"
    plain = several if char == "\\" else ("" if is_first else r"\\{0,8}") + re.escape(char)
    return f"(?:{in_json}|{in_code}|{plain}|{in_url}|{in_html})"


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
    named: tuple[tuple[Any, str], ...] = (
        headers  # a program may give what is not a text, which expand refuses
    )
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
        _check(name, full := _fill_in_header(name, value))
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
        values.append(b2a_base64(pair.encode("utf-8", "surrogateescape"), newline=False).decode())
    values += [value for _, value in parse_qsl(parts.query)]
    return to_hide(values)


def _confidential_parts(name: str, value: str) -> list[str]:
    variables = [os.environ.get(variable, "") for variable in VARIABLE.findall(value)]
    if not variables and not is_confidential(name):
        return []
    full = _fill_in_header(name, value)
    return [full, *variables, *_decoded_value(full)]


def _decoded_value(value: str) -> list[str]:
    """Find user and password in the value of an Authorization header that has them in base64."""
    scheme, _, digits = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        pair = a2b_base64(digits, strict_mode=True).decode()
    except ValueError:
        return []
    return [pair, *pair.split(":", 1)]


def _fill_in_header(name: str, value: str) -> str:
    return fill_in(value, f"the header {name}").strip()


def _are_texts(*pair: object) -> bool:
    return all(isinstance(text, str) for text in pair)


def _check(name: str, value: str) -> None:
    if not _NAME.fullmatch(name) or name.lower() in _OURS:
        raise UsageError(f"{name!r} is not a header that can be sent", hint=_HINT)
    if not _VALUE.fullmatch(value):
        raise UsageError(
            f"the value of the header {name} holds a character that headers cannot hold", hint=_HINT
        )
