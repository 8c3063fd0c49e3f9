"""What the value of an option may be in a sweep file and in a program; prices in a TOML file."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from optimize_eval.base import checks, files, strict_json
from optimize_eval.base.checks import Check
from optimize_eval.base.errors import DataError, Problem
from optimize_eval.data.datasets import rows_of
from optimize_eval.data.selection import parse_filter

if TYPE_CHECKING:
    from optimize_eval.base.retries_and_caps import Prices


SUFFIX = ".toml"  # of a sweep file


class OptionValue(NamedTuple):
    """How a value is checked, which raises ValueError with what to write."""

    key: Callable[[str], Check]  # for a sweep file in this folder
    argument: Check  # for a program


def same(check: Check) -> OptionValue:
    return OptionValue(lambda _folder: check, check)


def path(value: object) -> str:
    if not isinstance(value, str | Path) or not os.fspath(value):
        raise ValueError("write a path")
    return os.fspath(value)


def dataset(value: object) -> str:
    """Check the path of a dataset, or the rows that stand for one."""
    if isinstance(value, str | Path):
        return path(value)
    if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes):
        return rows_of(value)
    raise ValueError('write a path, or a list of rows: [{"question": "…"}, …]')


def list_of(check: Check) -> Check:
    def checked(value: object) -> list[Any]:
        if isinstance(value, str) or not isinstance(value, Iterable):
            raise ValueError('write a list of texts: ["…", "…"]')  # noqa: TRY004  as other checks
        return [check(item) for item in value]

    return checked


class OneOf(NamedTuple):
    """A check that lets these texts pass."""

    known: tuple[str, ...]

    def __call__(self, value: object) -> str:
        if value not in self.known:
            raise ValueError(f"write one of: {', '.join(self.known)}")
        return str(value)


def _beside(folder: str, value: object) -> str:
    return checks.beside(folder, checks.text(value))


def _all_beside(folder: str, value: object) -> list[str]:
    return [_beside(folder, text) for text in checks.texts(value)]


def _runs(folder: str, value: object) -> list[str]:
    return [text if text == "auto" else _beside(folder, text) for text in checks.texts(value)]


def _bounds(value: object) -> list[str]:
    """Read the lowest scores, by names or as the option's texts."""
    if isinstance(value, Mapping):
        return [f"{name}={least!r}" for name, least in checks.bounds(dict(value)).items()]
    return checks.texts(value)


def _weights(value: object) -> list[str]:
    return [f"{name}={weight!r}" for name, weight in checks.weights(value).items()]


def _pairs(value: object) -> Any:
    """Read values by their keys, in pairs, or as the option's texts."""
    return [*value.items()] if isinstance(value, Mapping) else checks.texts(value)


def filters(value: object) -> list[str]:
    """Read a table of fields and their values, or a list of texts, as the option's texts."""
    if isinstance(value, dict):
        if not (value and all(isinstance(wanted, str | int | float | bool) for wanted in value.values())):
            raise ValueError(
                'write fields with texts, numbers, true or false: {"metadata.difficulty" = "hard"}'
            )
        return [f"{path}={_as_json(wanted)}" for path, wanted in value.items()]
    return [str(parse_filter(text)) for text in checks.texts(value)]


def _as_json(value: str | float) -> str:
    return value if isinstance(value, str) else strict_json.dumps(value).decode()


def _headers(value: object) -> list[str]:
    return [f"{name}: {text}" for name, text in checks.header_pairs(value)]


def _note(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("write a text")  # noqa: TRY004  as other checks
    return checks.check_note(value) or ""


def _prices(value: object) -> Any:
    """Read a table of prices, or the file that has one."""
    return load_prices(value) if isinstance(value, str) else prices_of(value)


ABOVE_ZERO = same(checks.above_zero)
ACCEPTANCE = same(checks.acceptance)
BOOLEAN = same(checks.boolean)
DATASET = OptionValue(lambda folder: partial(_beside, folder), dataset)
COUNT = same(checks.count)
DURATION = same(checks.duration)
FILTERS = same(filters)
HEADERS = OptionValue(lambda _folder: checks.header_pairs, _headers)
IDS = same(checks.ids)
INTEGER = same(checks.integer)
LOWEST = OptionValue(lambda _folder: checks.bounds, _bounds)
MARGIN = same(checks.margin)
MAX_FAILURES = same(checks.max_failures)
NOTE = same(_note)
NUMBER = same(checks.number)
ENGINE = same(checks.engine)
ON_FAILURE = same(checks.on_failure)
PAIRS = OptionValue(lambda _folder: checks.table, _pairs)
PATH = OptionValue(lambda folder: partial(_beside, folder), path)
PATHS = OptionValue(lambda folder: partial(_all_beside, folder), list_of(path))
PRICES = same(_prices)
RUNS = OptionValue(
    lambda folder: partial(_runs, folder),
    lambda value: list_of(path)([value] if isinstance(value, str | Path) else value),
)
SCORE_RANGE = same(checks.score_range)
SECONDS = same(checks.timeout)
SELECTION = OptionValue(lambda _folder: checks.selection, lambda value: value)  # the search has its own words
TEMPERATURE = same(checks.temperature)
TEXT = same(checks.text)
TEXTS = OptionValue(lambda _folder: checks.texts, list_of(checks.text))
URL = same(checks.url)
WEIGHTS = OptionValue(lambda _folder: checks.weights, _weights)
WHOLE = same(checks.whole)


HINT = 'write what a million tokens cost: "PROVIDER/MODEL" = {input = 0.15, output = 0.6}'


def load_prices(path: str) -> "Prices":
    """Read the prices of a file, a sweep file or one of its own; raises DataError."""
    with telling_of(path, "prices: "):
        return prices_of(strict_json.loads_toml(files.read(path, files.SETTINGS).decode()).get("prices", {}))


@contextmanager
def telling_of(path: str, before: str = "") -> Iterator[None]:
    """Say of which file it is what is wrong with a table in TOML."""
    try:
        yield
    except DataError:
        raise  # it names the file already
    except UnicodeDecodeError:
        raise _wrong(path, "not UTF-8") from None
    except strict_json.TomlFault as fault:
        raise _wrong(path, f"not TOML: {fault.reason}", fault.line) from None
    except ValueError as error:
        raise _wrong(path, f"{before}{error}") from None


def prices_of(table: object) -> "Prices":
    """Check a table of prices; raises ValueError."""
    if not isinstance(table, dict):
        raise ValueError(HINT)  # noqa: TRY004  as other checks of keys
    return {model: price_of(price) for model, price in table.items()}


def price_of(price: object) -> tuple[float, float]:
    """Check what a million tokens of prompts and of replies cost; raises ValueError."""
    if not (isinstance(price, dict) and price.keys() == {"input", "output"}):
        raise ValueError(HINT)
    if not all(_is_amount(amount) for amount in price.values()):
        raise ValueError(HINT)
    return float(price["input"]), float(price["output"])


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _wrong(path: str, reason: str, line: int | None = None) -> DataError:
    return DataError([Problem(path=path, rule="bad_value", reason=reason, line=line)])
