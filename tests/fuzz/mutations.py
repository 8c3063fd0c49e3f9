"""Documents made wrong: bytes changed at random, values of JSON and TOML replaced by odd ones."""

import json
import random
from typing import Any

_DEEP = 300
_TOKENS = (  # written as they are, in JSON and in TOML
    *(b"null", b"true", b"false", b"0", b"-1", b"1.5", b"1e308", b"1e999", b"-0.0", b"NaN", b"inf", b"nan"),
    *(b"2147483648", b"9223372036854775808", b"18446744073709551616", b"1" * 400, b"1" * 5000, b"0x1F"),
    *(b'""', b'"x"', b'"\\ud800"', b'"\\u0000"', b'"%s"' % (b"a" * 5000), b'"../x"', b'"NaN"', b'"*"'),
    *(b"[]", b"{}", b"[[]]", b"[null]", b"[{}]", b'[""]', b'{"": ""}', b"[" * _DEEP + b"]" * _DEEP),
    *(b"1979-05-27", b"07:32:00", b"1979-05-27T07:32:00Z", b"{a = 1}", b"'''", b'"""', b"\\", b"\0", b"\xff"),
    *(
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\n",
        b"\xe2\x80\xa8",
        b'"a@b"',
        b"=",
        b",",
        b":",
        b"#",
        b"-",
    ),
    *(b"[", b"]", b"{", b"}", b'"'),
)
_VALUES = tuple(token for token in _TOKENS if token[:1] in b'ntf0-129"[{N' and token.strip(b'"[]{}- '))


def mutated(data: bytes, dice: random.Random) -> bytes:
    """Change some bytes, one to four times."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        data = _mutate(data, dice)
    return data


def with_odd_values(data: bytes, dice: random.Random) -> bytes:
    """Change values and keys of one JSON document, one to three times."""
    try:
        document = json.loads(data)
    except ValueError:
        return mutated(data, dice)
    odd: dict[str, bytes] = {}
    for _ in range(dice.choice((1, 1, 2, 3))):
        document = _replace(document, dice, odd)
    text = json.dumps(document).encode()
    for name, token in odd.items():
        text = text.replace(f'"{name}"'.encode(), token)
    return text


def with_odd_settings(data: bytes, dice: random.Random) -> bytes:
    """Change what stands after the = of a line of TOML."""
    return _after(b"=", data, dice)


def with_odd_fields(data: bytes, dice: random.Random) -> bytes:
    """Change what stands after the : of a line of YAML."""
    return _after(b":", data, dice)


def _after(sign: bytes, data: bytes, dice: random.Random) -> bytes:
    lines = data.split(b"\n")
    places = [place for place, line in enumerate(lines) if sign in line]
    for place in dice.sample(places, min(len(places), dice.choice((1, 1, 2)))):
        key = lines[place].partition(sign)[0]
        lines[place] = key + sign + b" " + dice.choice(_TOKENS)
    return b"\n".join(lines)


def _mutate(data: bytes, dice: random.Random) -> bytes:
    start = dice.randrange(len(data) + 1)
    end = min(len(data), start + dice.choice((0, 1, 1, 4, 30)))
    match dice.randrange(6):
        case 0:
            return data[:start] + dice.choice(_TOKENS) + data[end:]
        case 1:
            return data[:start] + data[end:]
        case 2:
            return data[:end] + data[start:]
        case 3:
            return data[:start] + bytes([dice.randrange(256)]) + data[end:]
        case 4:
            lines = data.split(b"\n")
            dice.shuffle(lines)
            return b"\n".join(lines)
        case _:
            return data[: start or None]


def _replace(document: Any, dice: random.Random, odd: dict[str, bytes]) -> Any:
    """Walk down to a random place, and put something else there."""
    if isinstance(document, dict | list) and document and dice.random() < 0.85:
        key = dice.choice(sorted(document) if isinstance(document, dict) else range(len(document)))
        match dice.randrange(12):
            case 0:
                del document[key]
            case 1 if isinstance(document, dict):
                document[dice.choice(("", "x", key + key, "schema"))] = document.pop(key)
            case 1 if isinstance(document, list):
                document.append(document[key])
            case _:
                document[key] = _replace(document[key], dice, odd)
        return document
    name = f"odd value {len(odd)}"
    odd[name] = dice.choice(_VALUES)
    return name
