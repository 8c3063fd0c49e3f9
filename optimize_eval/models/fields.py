"""What a model takes of the fields of a request: what it refuses is renamed or left out, from then on."""

import re
from collections.abc import Mapping
from typing import Any

from optimize_eval.programs.http_client import Response

NEWER_LIMIT = "max_completion_tokens"  # as OpenAI's models that reason call max_tokens

_LIMIT = "max_tokens"
_REFUSALS = frozenset({400, 404, 415, 422})
_DISPENSABLE = ("temperature", "seed", "top_p", "reasoning_effort")
_UNSUPPORTED = re.compile(
    r"support|unknown|unrecogni[sz]ed|unexpected|extra|not (permitted|allowed|available)|deprecated|cannot be"
)


class Fields:
    """What is known of one model; safe to use from several threads."""

    def __init__(self) -> None:
        self._limit = _LIMIT
        self._left_out: dict[str, None] = {}

    def fitting(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give a body as far as the model takes it."""
        if self._limit == _LIMIT and not self._left_out:
            return dict(body)
        fields = ((self._limit if key == _LIMIT else key, value) for key, value in body.items())
        return {key: value for key, value in fields if key not in self._left_out}

    def learn(self, sent: Mapping[str, Any], response: Response) -> bool:
        """Learn from a refusal; true where another request may be taken."""
        if response.status not in _REFUSALS:
            return False
        text = response.body.decode("utf-8", "replace")
        if _LIMIT in sent and NEWER_LIMIT in text:
            self._limit = NEWER_LIMIT
            return True
        refused = next((name for name in _DISPENSABLE if name in sent and _refuses(text, name)), None)
        if refused:
            self._left_out[refused] = None
        return refused is not None

    @property
    def note(self) -> str:
        names = " and ".join(self._left_out)
        return f"it does not take {names}, and was called without" if names else ""


def _refuses(text: str, name: str) -> bool:
    return bool(re.search(rf"\b{name}\b", text) and _UNSUPPORTED.search(text.lower()))
