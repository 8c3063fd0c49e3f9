"""Which status and body an outcome is, so that a client of ours finds the same outcome in it; pure.

An answer is a 200, and so is a wrong one, as it came: the client judges it by the same function. What
never became an answer is a 500. Nothing that an evaluator did is a 502, 503, 504 or 429, because those are
retried although nobody wants that; a 503 says that nothing was called.
"""

from typing import Any

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError, FailureKind
from optimize_eval.base.protocol import Answered, Skip, decode_answer
from optimize_eval.serve.payloads import BadPayload
from optimize_eval.serve.wire import AGAIN_IN, HttpReply, error_reply

CARRIED = frozenset(
    {
        FailureKind.NO_OUTPUT,
        FailureKind.INVALID_UTF8,
        FailureKind.INVALID_JSON,
        FailureKind.NOT_AN_OBJECT,
        FailureKind.MISSING_SCORE,
        FailureKind.SCORE_TYPE,
        FailureKind.SCORE_NOT_FINITE,
        FailureKind.REPORTED,
    }
)
_OBJECTS = frozenset({FailureKind.MISSING_SCORE, FailureKind.SCORE_TYPE, FailureKind.REPORTED})
_SHOWN_HOST = 100


def answered(answer: Answered, concurrency: int) -> HttpReply:
    """Send an answer; declare how many requests are of use at a time, not what the program declared."""
    told = {"skip": answer.why} if isinstance(answer, Skip) else {"score": answer.score}
    return _object({**told, **answer.side_info}, concurrency)


def failed(error: EvaluationError, concurrency: int) -> HttpReply:
    """Send what was answered where that is the failure, else an error that names the kind."""
    if error.kind not in CARRIED or error.answered is None:
        return error_reply(500, f"{error.kind}: {error.message}", kind=str(error.kind), hint=error.hint)
    if error.kind in _OBJECTS:
        return _object(decode_answer(error.answered), concurrency)
    return HttpReply(status=200, body=error.answered, content_type="application/octet-stream")


def _object(answer: dict[str, Any], concurrency: int) -> HttpReply:
    body = answer | {"_capabilities": {"concurrency": concurrency}}
    return HttpReply(status=200, body=strict_json.dumps(body) + b"\n")


def bad_payload(bad: BadPayload) -> HttpReply:
    return error_reply(400, str(bad))


def from_a_page() -> HttpReply:
    return error_reply(
        403,
        "the request is from a web page (by Origin or Sec-Fetch-Site); pages may not run the evaluator",
    )


def another_host(host: str) -> HttpReply:
    name = host[:_SHOWN_HOST]
    return error_reply(
        403,
        f"the request is for the host {name!r}, which is not this server: a web page may be behind it",
        hint="if the host is this server, start it with --allow-host NAME",
    )


def no_such_path() -> HttpReply:
    return error_reply(404, "there is one path only: POST a payload to /, or GET / to see its state")


def no_such_method() -> HttpReply:
    return error_reply(405, "POST a payload to /, or GET / to see its state", ("Allow", "GET, HEAD, POST"))


def busy(seconds: float) -> HttpReply:
    return error_reply(503, f"nothing was free for {seconds:g} s; nothing was called", AGAIN_IN)


def overloaded(waiting: int) -> HttpReply:
    return error_reply(503, f"{waiting} requests are waiting already; nothing was called", AGAIN_IN)


def stopping() -> HttpReply:
    return error_reply(503, "the server is being stopped", AGAIN_IN)


def broken() -> HttpReply:
    return error_reply(500, "internal: a bug in optimize-eval; its stderr names it", kind="internal")


def health(facts: dict[str, str | int]) -> HttpReply:
    return HttpReply(status=200, body=orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE))
