"""litellm, where it is installed: what it knows of providers and of prices; it takes seconds to import."""

import os
from importlib import import_module
from typing import Any


def table_of_prices() -> dict[str, dict[str, Any]]:
    """Give litellm's table of models, each with what a token costs."""
    table: dict[str, dict[str, Any]] = imported().model_cost
    return table


def knows(name: str) -> bool:
    """Return True if litellm knows the provider of a model by its name alone."""
    try:
        imported().get_llm_provider(model=name)
    except Exception:  # noqa: BLE001  its exceptions have no root of their own
        return False
    return True


def imported() -> Any:
    """Import it, so that it neither writes to stdout nor loads a list of prices from the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    return litellm
