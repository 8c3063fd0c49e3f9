"""Keys of models that tasks name: what is called for each, as a model is written elsewhere."""

from collections.abc import Mapping
from difflib import get_close_matches

from optimize_eval.base.errors import UsageError

_THEIRS = "$"  # between a provider and its model, whose dots are gone


def model_text(key: str, given: Mapping[str, str]) -> tuple[str, str]:
    """Find the model that a key stands for, and what to say of how it was found.

    >>> model_text("judge", {"judge": "openai/gpt-4o-mini"})
    ('openai/gpt-4o-mini', '')
    >>> model_text("openai$gpt-4-1-nano", {})[0]
    'openai/gpt-4-1-nano'
    """
    if key in given:
        return given[key], ""
    provider, theirs, name = key.partition(_THEIRS)
    if theirs and provider and name:
        text = f"{provider}/{name}"
        note = f"the model {key} is called {text}: if its name has dots, --model-key '{key}={provider}/NAME'"
        return text, note
    if "/" in key or ":" in key:
        return key, ""
    close = get_close_matches(key, given, n=1)
    instead = f", not {close[0]}=…" if close else ""
    hint = f"say which: --model-key {key}=PROVIDER/MODEL{instead}"
    raise UsageError(f"no model is given for the key {key!r}", hint=hint)
