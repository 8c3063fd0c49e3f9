"""What a model's server answered with success: a reply, its thoughts and its usage, or a failure; pure.

A server either gives them in a field of their own or leaves them in the text, between marks. Only marks at
the start of a text are read as such: what a model says of them later on is a part of its answer.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from optimize_eval.base import strict_json
from optimize_eval.base.documents import JsonDict, JsonMapping
from optimize_eval.base.errors import EvaluationError
from optimize_eval.base.secrets import redact
from optimize_eval.base.spent import counts_of
from optimize_eval.models.chat import CUT_OFF, Reply
from optimize_eval.models.refusals import Callee, cut, error_inside, failed, refused
from optimize_eval.programs.http_client import SUCCESS, Response


def counts_in(response: Response) -> JsonDict:
    """Read what a call used that gave no reply; one that the server refused used nothing."""
    if response.status not in SUCCESS:
        return counts_of({"prompt_tokens": 0, "completion_tokens": 0, "cost": 0})
    body: object = None
    with suppress(orjson.JSONDecodeError):
        body = orjson.loads(response.body)
    return counts_of(body.get("usage") if isinstance(body, dict) else None)


_ANY_OPENING = re.compile(r"<(think|thinking)>", re.IGNORECASE)
_OPENING = re.compile(rf"\s*{_ANY_OPENING.pattern}", re.IGNORECASE)
_CLOSING = re.compile(r"(?<![`'\"])</(think|thinking)>(?![`'\"])", re.IGNORECASE)  # in quotes it is spoken of
_CHANNEL = re.compile(r"\s*(<\|start\|>assistant)?<\|channel\|>(?!final)")
_FINAL = re.compile(r"<\|channel\|>final[^<]*<\|message\|>")
_MESSAGE = re.compile(r"<\|message\|>(.*?)(?=<\|[a-z]+\|>|$)", re.DOTALL)
_START_OF_MESSAGE = "<|message|>"
_FIELDS = ("reasoning_content", "reasoning")
_PARTS = ("thinking", "reasoning")  # types of parts of a content


class SplitText(NamedTuple):
    """A text taken apart; `is_open`: its thoughts have no end, so that there is no answer."""

    thoughts: str
    answer: str
    is_open: bool = False


def split_thoughts(text: str) -> SplitText:
    r"""Take the thoughts off the start of a text.

    >>> split_thoughts("<think>Option A? No.</think>\n\nB")
    SplitText(thoughts='Option A? No.', answer='B', is_open=False)
    """
    if "<" not in text:
        return SplitText("", text)
    if _CHANNEL.match(text):
        return _of_channels(text)
    if _OPENING.match(text) is None:
        return _with_swallowed_opening(text)
    return _of_marks(text)


def thoughts_apart(message: JsonMapping) -> str:
    """Find the thoughts that a message has beside its text: in a field, or as parts of its content."""
    content = message.get("content")
    parts = content if isinstance(content, list) else ()
    thought = [_of_part(part) for part in parts if is_thought(part)]
    fields = [text for key in _FIELDS if isinstance(text := message.get(key), str)]
    return joined(*fields, *thought)


def is_thought(part: object) -> bool:
    return isinstance(part, dict) and part.get("type") in _PARTS


def joined(*thoughts: str) -> str:
    """Put thoughts one after the other, each once: some servers tell them in two places."""
    return "\n\n".join(dict.fromkeys(thought.strip() for thought in thoughts if thought.strip()))


def _of_part(part: JsonMapping) -> str:
    thought = next((part[key] for key in (*_PARTS, "text") if part.get(key)), "")
    inner = thought if isinstance(thought, list) else [{"text": thought}]
    texts = [entry.get("text") for entry in inner if isinstance(entry, dict)]
    return "".join(text for text in texts if isinstance(text, str))


def _of_marks(text: str) -> SplitText:
    """Take the thoughts off a text that begins with some; several may follow each other."""
    thoughts: list[str] = []
    end = 0
    while opening := _OPENING.match(text, end):
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            return SplitText(joined(*thoughts, text[opening.end() :]), "", is_open=True)
        thoughts.append(text[opening.end() : closing.start()])
        end = closing.end()
    return SplitText(joined(*thoughts), text[end:].lstrip())


def _of_channels(text: str) -> SplitText:
    """Take a text of several channels apart: the last one that is final is the answer."""
    finals = list(_FINAL.finditer(text))
    if not finals:
        return SplitText(joined(*_MESSAGE.findall(text)), "", is_open=True)
    final = finals[-1]
    answer = _MESSAGE.match(text, final.end() - len(_START_OF_MESSAGE))
    return SplitText(joined(*_MESSAGE.findall(text[: final.start()])), answer[1].strip() if answer else "")


def _with_swallowed_opening(text: str) -> SplitText:
    """Split where thoughts end whose opening stands in the prompt; JSON with such a mark is an answer."""
    closing = _CLOSING.search(text)
    if closing is None or _ANY_OPENING.search(text, 0, closing.start()) or _is_json(text):
        return SplitText("", text)
    return SplitText(text[: closing.start()].strip(), text[closing.end() :].lstrip())


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_END = "[DONE]"
_NAMES = frozenset({"role", "id", "type", "name"})


def is_stream(body: bytes) -> bool:
    """Return True if a body is events of a stream, of which the first may be a comment."""
    return body.lstrip()[:6].startswith((b"data:", b"event:", b": ", b":\n"))


def put_together(body: bytes) -> JsonDict | None:
    """Make one completion of the events; None where they break off, or one of them is not a JSON object."""
    events = list(_events(body.decode("utf-8", "replace")))
    is_whole = _END in events
    try:
        chunks = [orjson.loads(event) for event in events if event != _END]
    except orjson.JSONDecodeError:
        return None
    if not all(isinstance(chunk, dict) for chunk in chunks):
        return None
    if error := next((chunk["error"] for chunk in chunks if chunk.get("error")), None):
        return {"error": error}
    choice = _choice([first for chunk in chunks if (first := _first_of(chunk))])
    if not is_whole and choice["finish_reason"] is None:
        return None
    fields = {key: chunk[key] for chunk in chunks for key in chunk if chunk[key] is not None}
    return {**fields, "choices": [choice]}


def _events(text: str) -> Iterable[str]:
    for line in re.split(r"\r\n|\n|\r", text):  # splitlines knows more ends of lines, which JSON may hold
        name, colon, value = line.partition(":")
        if colon and name.strip() == "data" and value.strip():
            yield value.strip()


def _first_of(chunk: JsonMapping) -> JsonMapping | None:
    match chunk.get("choices"):
        case [dict(choice), *_]:
            return choice
    return None


def _choice(choices: Iterable[JsonMapping]) -> JsonDict:
    """Join what the first choice said piece by piece."""
    message: JsonDict = {}
    reason = None
    for choice in choices:
        reason = choice.get("finish_reason") or reason
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            message = _join(message, delta)
    return {"message": message, "finish_reason": reason}


def _join(said: JsonMapping, more: JsonMapping) -> JsonDict:
    """Add a piece: texts but names add up, calls by their number; of all else the last counts."""
    both = dict(said)
    for key, value in more.items():
        match both.get(key), value:
            case str(text), str() if key not in _NAMES:
                both[key] = text + value
            case dict(part), dict():
                both[key] = _join(part, value)
            case calls, list() if key == "tool_calls":
                both[key] = _joined_calls(calls if isinstance(calls, list) else [], value)
            case _, None:
                both.setdefault(key, None)
            case _:
                both[key] = value
    return both


def _joined_calls(calls: Sequence[Any], pieces: Sequence[Any]) -> list[Any]:
    """Add pieces of calls of tools; one that does not say which call it belongs to is one more."""
    by_number = dict(enumerate(calls))
    for piece in pieces:
        number = piece.get("index") if isinstance(piece, dict) else None
        number = number if isinstance(number, int) else len(by_number)
        before = by_number.get(number, {})
        is_more = isinstance(before, dict) and isinstance(piece, dict)
        by_number[number] = _join(before, piece) if is_more else piece
    return [by_number[number] for number in sorted(by_number)]


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


def _decoded(body: bytes, callee: Callee) -> JsonDict:
    if is_stream(body):
        return _read_stream(body, callee)
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _no_json(body, callee) from None
    if not isinstance(answer, dict):
        raise failed(
            f"the answer of {callee.name} is JSON, but no object: {_show(body, callee)}", _WRONG_BASE
        )
    return answer


def _read_stream(body: bytes, callee: Callee) -> JsonDict:
    answer = put_together(body)
    if answer is None:
        message = f"{callee.name} answered with a stream, which breaks off after {len(body):,} bytes"
        raise failed(message, _ODD, retry_after=0.0)
    return answer


def _no_json(body: bytes, callee: Callee) -> EvaluationError:
    text = body.decode("utf-8", "replace").strip()
    if not text.startswith(("{", "[")):
        start = _show(body, callee) or "it is empty"
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


def _show(body: bytes, callee: Callee) -> str:
    return cut(body.decode("utf-8", "replace"), callee)


def _first_choice(answer: JsonMapping, callee: Callee, left: float) -> tuple[JsonDict, JsonDict]:
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


def _split_text(message: JsonMapping, reason: object, callee: Callee, *, keep_thoughts: bool) -> SplitText:
    """Take text and thoughts of a message; what has no text says why."""
    text = _content(message.get("content"))
    if reason in _HELD_BACK:
        raise _held_back(callee)
    parts = SplitText("", text or "") if keep_thoughts else split_thoughts(text or "")
    if apart := thoughts_apart(message):
        parts = parts._replace(thoughts=joined(apart, parts.thoughts))
    if parts.answer.strip():
        return parts
    if text is not None and not parts.thoughts and reason != CUT_OFF and not _calls_tools(message):
        return parts  # it says nothing
    error = _without_text(message, reason, parts, callee)
    error.side_info = {"reasoning": redact(parts.thoughts, callee.hidden)} if parts.thoughts else {}
    raise error


def _without_text(message: JsonMapping, reason: object, parts: SplitText, callee: Callee) -> EvaluationError:
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


def _calls_tools(message: JsonMapping) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def tool_calls_of(message: JsonMapping) -> tuple[JsonDict, ...]:
    """List the calls of a message that name a function."""
    listed = message.get("tool_calls") or [{"function": message.get("function_call")}]
    calls = listed if isinstance(listed, list) else []
    return tuple(_call(call) for call in calls if isinstance(call, dict) and _is_named(call.get("function")))


def _call(call: JsonMapping) -> JsonDict:
    function = call["function"]
    given = function.get("arguments")
    text = given if isinstance(given, str) else strict_json.dumps(given or {}).decode()
    return {**call, "type": "function", "function": {**function, "arguments": text}}


def _is_named(function: object) -> bool:
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _without_secrets(value: object, callee: Callee) -> Any:
    if not callee.hidden or not value:
        return value
    return orjson.loads(redact(orjson.dumps(value).decode(), callee.hidden))


def _content(content: object) -> str | None:
    """Take the text of a content: as it is, or as the parts with text joined."""
    if isinstance(content, str):
        return content
    parts = [part for part in content if not is_thought(part)] if isinstance(content, list) else ()
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    return "".join(texts) if texts else None


def _refusal(message: JsonMapping, reason: object) -> str:
    """Give the text of a refusal: what says that it is one, or what a filter left of an answer."""
    content = message.get("content")
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    refusal = next((entry["refusal"] for entry in (message, *parts) if entry.get("refusal")), "")
    if isinstance(refusal, str) and refusal.strip():
        return refusal
    text = (_content(content) or "") if reason in _HELD_BACK else ""
    return text if text.strip() else ""


def _refused(message: JsonMapping, refusal: str, callee: Callee) -> EvaluationError:
    if refusal == _content(message.get("content")):
        return _held_back(callee)
    return failed(f"{callee.name} refused to answer: {cut(refusal, callee)}", "change the prompt")


def _held_back(callee: Callee) -> EvaluationError:
    return failed(f"the answer of {callee.name} was held back by a content filter", "change the prompt")


def _name(value: object, callee: Callee) -> str | None:
    return cut(value, callee) if isinstance(value, str) and value.strip() else None
