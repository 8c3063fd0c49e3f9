"""What a model's server answered with a status of success: a reply, or which failure it is; pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from optimize_eval import strict_json
from optimize_eval.errors import EvaluationError
from optimize_eval.http import SUCCESS, Response
from optimize_eval.models.refusals import Asked, cut, error_inside, failed, refused
from optimize_eval.models.spec import Reply
from optimize_eval.redaction import redact

_WRONG_BASE = "is the base URL right? It is what stands before /chat/completions, and mostly ends in /v1"
_ODD = "ask again; if it stays so, look at the server's log"


def parse_reply(response: Response, asked: Asked, left: float) -> Reply:
    """Read a reply or raise the failure that it is; `left` seconds remain in which to ask again."""
    if response.status not in SUCCESS:
        raise refused(response, asked, left)
    answer = _decoded(response.body, asked)
    if error := answer.get("error"):
        raise error_inside(error, asked, left)
    choice, message = _first_choice(answer, asked, left)
    reason = choice.get("finish_reason")
    text = _text(message, reason, asked)
    return Reply(
        text=redact(text, asked.hidden),
        prompt_tokens=_count(answer, "prompt_tokens"),
        completion_tokens=_count(answer, "completion_tokens"),
        finish_reason=cut(reason, asked) if isinstance(reason, str) else None,
    )


def _decoded(body: bytes, asked: Asked) -> dict[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _no_json(body, asked) from None
    if not isinstance(answer, dict):
        raise failed(f"the answer of {asked.name} is JSON, but no object: {_shown(body, asked)}", _WRONG_BASE)
    return answer


def _no_json(body: bytes, asked: Asked) -> EvaluationError:
    text = body.decode("utf-8", "replace").strip()
    if not text.startswith(("{", "[")):
        said = _shown(body, asked) or "it is empty"
        return failed(f"the answer of {asked.name} is not JSON: {said}", _WRONG_BASE)
    try:
        strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault as fault:
        if fault.offset >= len(text) or "unterminated" in fault.reason.lower():
            return failed(f"the JSON that {asked.name} answered breaks off after {len(body):,} bytes", _ODD)
        return failed(f"the answer of {asked.name} is not JSON: {fault.reason} at {fault.offset}", _ODD)
    return failed(f"the answer of {asked.name} is not JSON in UTF-8", _ODD)


def _shown(body: bytes, asked: Asked) -> str:
    return cut(body.decode("utf-8", "replace"), asked)


def _first_choice(
    answer: Mapping[str, Any], asked: Asked, left: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    match answer.get("choices"):
        case [{"error": {"message": str()} as error}, *_]:
            raise error_inside(error, asked, left)
        case [{"message": dict(message)} as choice, *_]:
            return choice, message
        case []:
            raise failed(f"{asked.name} answered with an empty list of choices", _ODD)
    raise failed(
        f"the answer of {asked.name} is no chat completion: it has no choice with a message", _WRONG_BASE
    )


def _text(message: Mapping[str, Any], reason: object, asked: Asked) -> str:
    """Take the text of a message; what has none says why."""
    text, refusal = _content(message.get("content")), _refusal(message)
    if refusal:
        raise failed(f"{asked.name} refused to answer: {cut(refusal, asked)}", "change what is asked of it")
    if reason == "content_filter":
        raise failed(
            f"the answer of {asked.name} was held back by a content filter", "change what is asked of it"
        )
    if text and (text.strip() or reason != "length"):
        return text
    if message.get("tool_calls") or message.get("function_call"):
        raise failed(f"{asked.name} answered with tool calls in place of text", "ask for text in the prompt")
    if reason == "length":
        raise failed(
            f"{asked.name} used up its tokens before any text",
            "raise max_tokens: models that reason spend it on their thoughts first",
        )
    if text is None:
        raise failed(f"{asked.name} answered with no content (null)", _ODD)
    return text


def _content(content: object) -> str | None:
    """Take the text of a content: as it is, or as the parts with text joined."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None


def _refusal(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    said = next((one["refusal"] for one in (message, *parts) if one.get("refusal")), "")
    return said if isinstance(said, str) else ""


def _count(answer: Mapping[str, Any], name: str) -> int | None:
    usage = answer.get("usage")
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if type(count) is int and count >= 0 else None
