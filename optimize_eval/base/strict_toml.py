"""TOML read with a reason and a place for every error."""

import re
from typing import Any

_PLACE = r"(?s)(.*) \(at line (\d+), column (\d+)\)"
_MOST_DIGITS = 4300  # Python's own limit for text to integer


class TomlFault(ValueError):
    """Why a text is not TOML, and where; line and column count from 1, None where that is not known."""

    def __init__(self, reason: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(reason if line is None else f"{reason} (at line {line}, column {column})")
        self.reason = reason
        self.line = line
        self.column = column


def loads(text: str) -> dict[str, Any]:
    """Decode a document or raise TomlFault."""
    import tomllib  # noqa: PLC0415  most commands read none, and it costs 2 ms

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.fullmatch(_PLACE, str(error))
        raise (
            TomlFault(match[1], int(match[2]), int(match[3])) if match else TomlFault(str(error))
        ) from None
    except RecursionError:
        raise TomlFault("nested too deeply") from None
    except ValueError:  # what tomllib leaves to int()
        raise TomlFault(f"an integer of more than {_MOST_DIGITS:,} digits") from None
