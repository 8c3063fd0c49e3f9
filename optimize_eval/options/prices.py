"""Prices of models in a TOML file: the table [prices], in dollars for a million tokens."""

import math
from typing import TYPE_CHECKING, Any

from optimize_eval.base import files, strict_toml
from optimize_eval.base.errors import DataError, Problem

if TYPE_CHECKING:
    from optimize_eval.base.manners import Prices

HINT = 'write what a million tokens cost: "PROVIDER/MODEL" = {input = 0.15, output = 0.6}'


def load_prices(path: str) -> "Prices":
    """Read the prices of a file, a sweep file or one of its own; raises DataError."""
    try:
        table = strict_toml.loads(files.read(path, files.SETTINGS).decode()).get("prices", {})
        return prices_of(table)
    except DataError:
        raise  # it names the file already
    except UnicodeDecodeError:
        raise _wrong(path, "not UTF-8") from None
    except strict_toml.TomlFault as fault:
        raise _wrong(path, f"not TOML: {fault.reason}", fault.line) from None
    except ValueError as error:
        raise _wrong(path, f"prices: {error}") from None


def prices_of(table: Any) -> "Prices":
    """Check a table of prices; raises ValueError."""
    if not isinstance(table, dict):
        raise ValueError(HINT)  # noqa: TRY004  as other checks of keys
    return {model: price_of(price) for model, price in table.items()}


def price_of(price: Any) -> tuple[float, float]:
    """Check what a million tokens of prompts and of replies cost; raises ValueError."""
    if not (isinstance(price, dict) and price.keys() == {"input", "output"}):
        raise ValueError(HINT)
    if not all(_is_amount(amount) for amount in price.values()):
        raise ValueError(HINT)
    return float(price["input"]), float(price["output"])


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _wrong(path: str, reason: str, line: int | None = None) -> DataError:
    return DataError([Problem(path=path, rule="bad_value", reason=reason, line=line)])
