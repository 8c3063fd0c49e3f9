"""The tables [[model]]: a model by a name of its own, where it is, and how it is called.

A sweep file's judges name them; `bench --model FILE.toml` takes all of a file.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from typing import Any

from optimize_eval.base import checks, files, strict_json
from optimize_eval.base.checks import Keys
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.base.retries_and_caps import Manners
from optimize_eval.config.values import price_of, prices_of, telling_of
from optimize_eval.models.chat import ChatSpec
from optimize_eval.models.providers import apart

_MANNERS = ("rpm", "tpm", "concurrency")


@frozen
class NamedModel:
    """A model of a table; its price counts with those of [prices]."""

    name: str
    spec: ChatSpec
    manners: JsonMapping = field(default_factory=dict)
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Write it as --model and judge: take it."""
        return f"{self.spec.name}@{self.spec.api_base}" if self.spec.api_base else self.spec.name

    def handled(self, manners: Manners | None) -> Manners | None:
        """Treat its server as its table says, otherwise as all others are."""
        if not self.manners and not self.prices:
            return manners
        usual = manners or Manners()
        return replace(usual, prices={**usual.prices, **self.prices}, **self.manners)


def model_keys() -> Keys:
    """List what [[model]] takes."""
    return {
        "name": checks.name,
        "model": checks.model,
        "base": checks.url,
        "temperature": checks.temperature,
        "max_tokens": checks.count,
        "seed": checks.whole,
        "reasoning_effort": checks.text,
        "top_p": _share,
        "stop": _stop,
        "system": checks.text,
        "headers": checks.header_pairs,
        "extra": _table,
        "key_variable": checks.text,
        "rpm": checks.above_zero,
        "tpm": checks.above_zero,
        "concurrency": checks.count,
        "price": price_of,
    }


def named_model(checked: JsonMapping) -> NamedModel:
    """Make a model of a table whose keys are checked; raises UsageError."""
    if not {"name", "model"} <= checked.keys():
        raise UsageError("a model has a name and a model", hint='name = "mine", model = "openai/gpt-4o-mini"')
    called, base = apart(checked["model"])
    own = {part.name for part in fields(ChatSpec)} - {"name"}
    spec = ChatSpec(
        name=called,
        api_base=checked.get("base", base),
        **{key: value for key, value in checked.items() if key in own},
    )
    manners = {key: checked[key] for key in _MANNERS if key in checked}
    prices = {called: checked["price"]} if "price" in checked else {}
    return NamedModel(name=checked["name"], spec=spec, manners=manners, prices=prices)


def load_models(path: str) -> list[NamedModel]:
    """Read the models of a file; raises DataError with what is wrong first."""
    with telling_of(path):
        tables = strict_json.loads_toml(files.read(path, files.SETTINGS).decode())
        keys, prices = model_keys(), prices_of(tables.get("prices", {}))
        listed = tables.get("model")
        if not isinstance(listed, list) or not listed:
            raise ValueError("there is no [[model]] in it")
        models = [named_model(_check(table, keys)) for table in listed]
    return [replace(model, prices={**prices, **model.prices}) for model in models]


def _check(table: object, known: Mapping[str, Callable[[Any], Any]]) -> JsonDict:
    if not isinstance(table, dict) or not table.keys() <= known.keys():
        unknown = next((key for key in table if key not in known), "") if isinstance(table, dict) else ""
        raise ValueError(f"[[model]]: unknown key {unknown!r}: it takes {', '.join(sorted(known))}")
    checked = {}
    for key, value in table.items():
        try:
            checked[key] = known[key](value)
        except ValueError as error:
            raise ValueError(f"[[model]] {key}: {error}") from None
    return checked


def _share(value: object) -> float:
    share = checks.number(value)
    if not 0 < share <= 1:
        raise ValueError("write a number above 0, at most 1")
    return share


def _stop(value: object) -> tuple[str, ...]:
    return (checks.text(value),) if isinstance(value, str) else tuple(checks.texts(value))


def _table(value: object) -> JsonDict:
    if not isinstance(value, dict):
        raise ValueError("write a table of what requests have besides: {top_k = 40}")  # noqa: TRY004
    return value
