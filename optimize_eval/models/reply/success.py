"""What a model's server answered with a status of success: a reply, or which failure it is; pure."""

from collections.abc import Mapping
from typing import Any

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.secrets import redact
from optimize_eval.base.spent import counts_of
from optimize_eval.models.reply import streamed, thoughts
from optimize_eval.models.reply.refusals import Callee, cut, error_inside, failed, refused
from optimize_eval.models.reply.thoughts import SplitText
from optimize_eval.models.spec import CUT_OFF, Reply
from optimize_eval.programs.http_client import SUCCESS, Response

_WRONG_BASE = "is the base URL right? It is what stands before /chat/completions, and usually ends in /v1"
_THOUGHTS_FIRST = "raise max_tokens: models that reason spend it on their thoughts first"
_HELD_BACK = frozenset({"content_filter", "refusal"})  # finish reasons
_ODD = "call it again; if that does not help, look at the server's log"


def parse_reply(
    response: Response,
    callee: Callee,
    left: float,
    *,
    keep_thoughts: bool = False,
    is_whole: bool = False,
    takes_refusals: bool = False,
) -> Reply:
    """Read a reply or raise the failure that it is; `left` seconds remain for a retry.

    Thoughts before the answer are taken off its text,
    unless they are to be kept there. A whole reply is all that was sent, and may be calls of tools alone.
    A refusal is a failure, unless the caller takes it as a reply.
    """
    if response.status not in SUCCESS:
        raise refused(response, callee, left)
    answer = _decoded(response.body, callee)
    if error := answer.get("error"):
        raise error_inside(error, callee, left)
    choice, message = _first_choice(answer, callee, left)
    reason = choice.get("finish_reason")
    calls = tool_calls_of(message) if is_whole else ()
    refusal = _refusal(message, reason)
    if refusal and not takes_refusals:
        raise _refused(message, refusal, callee)
    try:
        parts = (
            SplitText("", refusal)
            if refusal
            else _split_text(message, reason, callee, keep_thoughts=keep_thoughts)
        )
    except EvaluationError as error:
        if not calls:
            raise
        parts = SplitText(error.side_info.get("reasoning", ""), "")
    return Reply(
        text=redact(parts.answer, callee.hidden),
        reasoning=redact(parts.thoughts, callee.hidden),
        finish_reason=_name(reason, callee),
        refused=bool(refusal),
        model=_name(answer.get("model"), callee),
        fingerprint=_name(answer.get("system_fingerprint"), callee),
        tool_calls=_without_secrets(calls, callee),
        raw=_without_secrets(answer, callee) if is_whole else {},
        **counts_of(answer.get("usage")),
    )


def _decoded(body: bytes, callee: Callee) -> dict[str, Any]:
    if streamed.is_stream(body):
        return _streamed(body, callee)
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _no_json(body, callee) from None
    if not isinstance(answer, dict):
        raise failed(
            f"the answer of {callee.name} is JSON, but no object: {_shown(body, callee)}", _WRONG_BASE
        )
    return answer


def _streamed(body: bytes, callee: Callee) -> dict[str, Any]:
    answer = streamed.put_together(body)
    if answer is None:
        message = f"{callee.name} answered with a stream, which breaks off after {len(body):,} bytes"
        raise failed(message, _ODD, retry_after=0.0)
    return answer


def _no_json(body: bytes, callee: Callee) -> EvaluationError:
    text = body.decode("utf-8", "replace").strip()
    if not text.startswith(("{", "[")):
        start = _shown(body, callee) or "it is empty"
        return failed(f"the answer of {callee.name} is not JSON: {start}", _WRONG_BASE)
    try:
        strict_json.loads(text, unique_keys=False)
    except strict_json.JsonFault as fault:
        if fault.offset >= len(text) or "unterminated" in fault.reason.lower():
            return failed(
                f"the JSON that {callee.name} answered breaks off after {len(body):,} bytes", _ODD, 0.0
            )
        problem = f"the answer of {callee.name} is not JSON: {fault.reason} at {fault.offset}"
        return failed(problem, _ODD, 0.0)
    return failed(f"the answer of {callee.name} is not JSON in UTF-8", _ODD, 0.0)


def _shown(body: bytes, callee: Callee) -> str:
    return cut(body.decode("utf-8", "replace"), callee)


def _first_choice(
    answer: Mapping[str, Any], callee: Callee, left: float
) -> tuple[dict[str, Any], dict[str, Any]]:
    match answer.get("choices"):
        case [{"error": {"message": str()} as error}, *_]:
            raise error_inside(error, callee, left)
        case [{"message": dict(message)} as choice, *_]:
            return choice, message
        case []:
            raise failed(f"{callee.name} answered with an empty list of choices", _ODD, 0.0)
    raise failed(
        f"the answer of {callee.name} is not a chat completion: it has no choice with a message", _WRONG_BASE
    )


def _split_text(
    message: Mapping[str, Any], reason: object, callee: Callee, *, keep_thoughts: bool
) -> SplitText:
    """Take text and thoughts of a message; what has no text says why."""
    text = _content(message.get("content"))
    if reason in _HELD_BACK:
        raise _held_back(callee)
    parts = SplitText("", text or "") if keep_thoughts else thoughts.split(text or "")
    if apart := thoughts.apart(message):
        parts = parts._replace(thoughts=thoughts.joined(apart, parts.thoughts))
    if parts.answer.strip():
        return parts
    if text is not None and not parts.thoughts and reason != CUT_OFF and not _calls_tools(message):
        return parts  # it says nothing
    error = _without_text(message, reason, parts, callee)
    error.side_info = {"reasoning": redact(parts.thoughts, callee.hidden)} if parts.thoughts else {}
    raise error


def _without_text(
    message: Mapping[str, Any], reason: object, parts: SplitText, callee: Callee
) -> EvaluationError:
    if _calls_tools(message):
        return failed(
            f"{callee.name} answered with tool calls in place of text", "ask for text in the prompt"
        )
    if reason == CUT_OFF:
        return failed(f"{callee.name} used up its tokens before any text", _THOUGHTS_FIRST)
    if parts.is_open:
        hint = f"{_THOUGHTS_FIRST}; bench --keep-thoughts takes the text as it came"
        return failed(f"the thoughts of {callee.name} have no end, so there is no answer behind them", hint)
    if parts.thoughts:
        return failed(f"{callee.name} gave its thoughts, and no answer after them", _THOUGHTS_FIRST)
    return failed(f"{callee.name} answered with no content (null)", _ODD)


def _calls_tools(message: Mapping[str, Any]) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def tool_calls_of(message: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """List the calls of a message that name a function."""
    listed = message.get("tool_calls") or [{"function": message.get("function_call")}]
    calls = listed if isinstance(listed, list) else []
    return tuple(_call(one) for one in calls if isinstance(one, dict) and _is_named(one.get("function")))


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    given = function.get("arguments")
    text = given if isinstance(given, str) else strict_json.dumps(given or {}).decode()
    return {**call, "type": "function", "function": {**function, "arguments": text}}


def _is_named(function: object) -> bool:
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _without_secrets(value: Any, callee: Callee) -> Any:
    if not callee.hidden or not value:
        return value
    return orjson.loads(redact(orjson.dumps(value).decode(), callee.hidden))


def _content(content: object) -> str | None:
    """Take the text of a content: as it is, or as the parts with text joined."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if not thoughts.is_thought(part)] if isinstance(content, list) else ()
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None


def _refusal(message: Mapping[str, Any], reason: object) -> str:
    """Give the text of a refusal: what says that it is one, or what a filter left of an answer."""
    content = message.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    refusal = next((one["refusal"] for one in (message, *parts) if one.get("refusal")), "")
    if isinstance(refusal, str) and refusal.strip():
        return refusal
    text = (_content(content) or "") if reason in _HELD_BACK else ""
    return text if text.strip() else ""


def _refused(message: Mapping[str, Any], refusal: str, callee: Callee) -> EvaluationError:
    if refusal == _content(message.get("content")):
        return _held_back(callee)
    return failed(f"{callee.name} refused to answer: {cut(refusal, callee)}", "change the prompt")


def _held_back(callee: Callee) -> EvaluationError:
    return failed(f"the answer of {callee.name} was held back by a content filter", "change the prompt")


def _name(value: object, callee: Callee) -> str | None:
    return cut(value, callee) if isinstance(value, str) and value.strip() else None
