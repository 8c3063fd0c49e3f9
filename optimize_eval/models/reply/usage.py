"""What a call that gave no reply took, by what its server answered; pure."""

from contextlib import suppress
from typing import Any

import orjson

from optimize_eval.base.spent import counts_of
from optimize_eval.programs.http_client import SUCCESS, Response


def counts_in(response: Response) -> dict[str, Any]:
    """Read what a call used that gave no reply; one that the server refused used nothing."""
    if response.status not in SUCCESS:
        return counts_of({"prompt_tokens": 0, "completion_tokens": 0, "cost": 0})
    body: Any = None
    with suppress(orjson.JSONDecodeError):
        body = orjson.loads(response.body)
    return counts_of(body.get("usage") if isinstance(body, dict) else None)
