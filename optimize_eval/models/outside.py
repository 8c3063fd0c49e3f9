"""Providers that our table lacks, through litellm where it is installed; imported only for those.

What litellm answers or raises becomes a response as HTTP has them, so that it is read as all others are.
"""

import os
import re
import shlex
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import orjson

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.secrets import Secrets, is_confidential, to_hide
from optimize_eval.models import providers, requests
from optimize_eval.models.chat import ChatSpec
from optimize_eval.models.providers import imported, knows
from optimize_eval.models.refusals import Callee, failed
from optimize_eval.programs.exchange import is_loopback, show_url
from optimize_eval.programs.http_client import Response

_WRAPPERS = re.compile(r"^(litellm\.)?(\w+Error: )*(\w+Exception - )?")
_INSTALL = f"{shlex.quote(sys.executable)} -m pip install 'litellm>=1.84'"
_SHORTEST_SECRET = 12  # of any variable with such a name: shorter values are words too often


class ThroughLitellm:
    """The way to a provider that litellm knows."""

    def __init__(self, spec: ChatSpec, headers: Mapping[str, str], hidden: Secrets) -> None:
        provider, model = providers.split(spec.name)
        if find_spec("litellm") is None:
            raise providers.unknown(spec.name, f"for other providers: {_INSTALL}")
        self._spec = spec
        base, variable = spec.api_base, spec.key_variable
        is_open = bool(base) and urlsplit(base).scheme != "https" and not is_loopback(base)
        key = providers.key_in(variable, spec, is_needed=True) if variable else ""
        self.note = f"the key of {provider} is not sent to {show_url(base)}, which is not https" * is_open
        self._options = _without_empty(
            api_base=base, api_key="none" if is_open else key, extra_headers=headers
        )
        self._litellm = imported()
        if not knows(spec.name):
            raise providers.unknown(spec.name, "litellm does not know it either")
        self.callee = Callee(
            name=spec.name,
            model=model,
            base=spec.api_base or f"{provider} (through litellm)",
            key_variable=variable or f"the key variable of {provider}",
            sent_key=not is_open,
            fields=requests.given(spec),
            hidden=(*hidden, *to_hide([key]), *to_hide(_confidential(), _SHORTEST_SECRET)),
        )

    def post(self, body: JsonDict, deadline: float) -> Response:
        left = deadline - time.monotonic()
        if left <= 0:
            raise EvaluationError(FailureKind.TIMEOUT, "no time was left for the call")
        options = {**body, **self._options, "model": self._spec.name, "timeout": left, "max_retries": 0}
        try:
            answer = self._litellm.completion(**options)
        except Exception as error:  # noqa: BLE001  its exceptions have no root of their own
            return self._response(error)
        return Response(status=200, body=orjson.dumps(self._reply_of(answer)))

    def close(self) -> None:
        """Leave its connections to it: it shares them."""

    def _reply_of(self, answer: Any) -> JsonDict:
        """Give what the server said; where it reported no usage, litellm says 0, and we say nothing."""
        reply: JsonDict = answer.model_dump(mode="json")
        usage = reply.get("usage") or {}
        if not any(isinstance(count, int) and count for count in usage.values()):
            return {key: value for key, value in reply.items() if key != "usage"}
        with suppress(Exception):  # it has no price for most models
            usage.setdefault("cost", self._litellm.completion_cost(completion_response=answer) or None)
        return reply

    def _response(self, error: Exception) -> Response:
        """Make of an exception what the server had answered."""
        if isinstance(error, self._litellm.Timeout):
            raise EvaluationError(FailureKind.TIMEOUT, "no whole answer before the deadline") from None
        if isinstance(error, self._litellm.APIConnectionError):
            raise failed(
                f"no answer from {self._spec.name}: {_inner(error)}", "is the server there?", 0.0
            ) from None
        status = getattr(error, "status_code", None)
        headers = getattr(error, "litellm_response_headers", None) or {}
        return Response(
            status=status if isinstance(status, int) and status >= 400 else 400,  # noqa: PLR2004
            headers={str(name).lower(): str(text) for name, text in dict(headers).items()},
            body=orjson.dumps({"error": {"message": _inner(error)}}),
        )


def _without_empty(**options: object) -> JsonDict:
    return {name: value for name, value in options.items() if value}


def _inner(error: Exception) -> str:
    """Take off what litellm wraps around the words of a server."""
    return _WRAPPERS.sub("", str(error))


def _confidential() -> list[str]:
    return [value for name, value in os.environ.items() if is_confidential(name)]
