r"""Rules of a fake model server: which request gets which answer, as bytes on the wire, read from a file.

    models = ["gpt-4o-mini"]               # others are answered with 404; without this line, none is
    [[rule]]                               # in JSON: {"models": […], "rule": [{…}, …]}, or the list alone
    when = { user = 'greet (\w+)' }        # all of them have to be found; without `when`: always
    text = "Hello {1}"                     # what the model says

The first rule that matches answers. `when` takes regular expressions: `user` (looked for in the last user
message), `any` (in each message), `model`, `path`, `body` (all that was sent), `headers = { NAME = … }`.
A rule says one of `text`, `json` (a text that is JSON), `body` (all of the body, as it stands) and
`malformed`. Beside it: `status`, `headers`, `delay` (seconds), `times` (so many requests, then the rules
after it), `usage`, `finish_reason`, `message` (what its message has beside role and content, such as
{ reasoning_content = "…" }), `answered_by` (the model that it names), `streamed` (as events of a stream,
wanted or not), `name` (for the record), and `refuse_response_format` (a list of types that it
answers with 400; alone, the rule is for those only). With a status of failure, `text` is the error's message.

In what it says {1} and {name} stand for the groups that were found, {count} for how often the rule has
answered, {model} and {authorization} for what was sent; other braces stand for themselves.
"""

import json
import re
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from difflib import get_close_matches
from enum import Enum
from http import HTTPStatus
from pathlib import Path
from typing import Any

from optimize_eval.base.frozen import frozen

FORMAT = __doc__  # how a file of rules is written, for people
CHAT = "/chat/completions"


@frozen
class ChatRequest:
    """A request as rules see it."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    raw: str
    body: Any  # decoded; None where it is not JSON

    @property
    def model(self) -> str:
        return _text(self._at("model"))

    @property
    def messages(self) -> list[tuple[str, str]]:
        """Role and text of each message."""
        listed = self._at("messages")
        messages = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
        return [(_text(message.get("role")), _text(message.get("content"))) for message in messages]

    @property
    def format(self) -> str:
        wanted = self._at("response_format")
        return _text(wanted.get("type")) if isinstance(wanted, dict) else "text"

    def texts(self, where: str) -> list[str]:
        """List the texts in which a pattern of `when` is looked for."""
        if where in {"path", "model"}:
            return [self.path if where == "path" else self.model]
        if where == "body":
            return [self.raw]
        texts = [text for role, text in self.messages if where == "any" or role == "user"]
        return texts if where == "any" else texts[-1:]

    def _at(self, key: str) -> Any:
        return self.body.get(key) if isinstance(self.body, dict) else None


@frozen
class Rule:
    """One rule; what it does not say is None."""

    name: str
    when: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    when_headers: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    says: Mapping[str, Any] = field(default_factory=dict)  # at most one of text, json, body, malformed
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    times: int | None = None
    finish_reason: str = "stop"
    usage: Mapping[str, Any] | None = None
    message: Mapping[str, Any] = field(default_factory=dict)  # beside role and content
    answered_by: str = ""  # in place of the model of the request
    streamed: bool = False
    refused_formats: tuple[str, ...] = ()

    def groups(self, request: ChatRequest) -> dict[str, str] | None:
        """Find what its patterns captured, by number and name; None where it does not match."""
        if "path" not in self.when and not request.path.endswith(CHAT):
            return None
        if not self.says and self.refused_formats and request.format not in self.refused_formats:
            return None
        captured: dict[str, str] = {}
        looked_for = [(pattern, request.texts(where)) for where, pattern in self.when.items()]
        looked_for += [
            (pattern, [request.headers.get(name, "")]) for name, pattern in self.when_headers.items()
        ]
        for pattern, texts in looked_for:
            match = next((hit for text in texts if (hit := pattern.search(text))), None)
            if match is None:
                return None
            numbered = {str(number): text or "" for number, text in enumerate(match.groups(), 1)}
            captured = numbered | {name: text or "" for name, text in match.groupdict().items()} | captured
        return captured


class Rules:
    """All rules, with how often each has answered; safe to use from several threads."""

    def __init__(self, rules: list[Rule], models: list[str]) -> None:
        self.models = models
        self._rules = rules
        self._answered = [0] * len(rules)
        self._lock = threading.Lock()

    def choose(self, request: ChatRequest) -> tuple[Rule, dict[str, str]] | None:
        """Take the first rule that matches and is not used up, with what stands for its {…}."""
        for index, rule in enumerate(self._rules):
            if (groups := rule.groups(request)) is not None and (count := self._take(index, rule)):
                sent = {"model": request.model, "authorization": request.headers.get("authorization", "")}
                return rule, {"count": str(count), **sent, **groups}
        return None

    def _take(self, place: int, rule: Rule) -> int:
        with self._lock:
            if rule.times is not None and self._answered[place] >= rule.times:
                return 0
            self._answered[place] += 1
            return self._answered[place]


def _text(value: object) -> str:
    if isinstance(value, list):  # a content in parts
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


_PLACE = re.compile(r"\{(\w+)\}")


class Hangup(Enum):
    """What becomes of the connection after an answer."""

    KEPT = "kept"
    CLOSED = "closed"
    HANGING = "hanging"  # until the client leaves


@frozen
class CannedReply:
    """A status, a body and headers; without a status, nothing is sent."""

    status: int | None
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Hangup = Hangup.KEPT
    delay: float = 0.0  # seconds before it

    def on_the_wire(self) -> bytes:
        if self.status is None:
            return b""
        given = {name.lower() for name in self.headers}
        ours = {"content-type": "application/json", "content-length": str(len(self.body))}
        lines = [f"{name}: {value}" for name, value in ours.items() if name not in given]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        head = "\r\n".join([f"HTTP/1.1 {self.status} {_phrase(self.status)}", *lines, "", ""])
        return head.encode("latin-1") + self.body


def of_rule(rule: Rule, request: ChatRequest, filling: Mapping[str, str]) -> CannedReply:
    """Say what a rule says."""
    if request.format in rule.refused_formats:
        return error(400, f"response_format of type {request.format!r} is not supported by this model")
    status = rule.status or 200
    match rule.says:
        case {"malformed": kind}:
            return _malformed(kind, rule, request)
        case {"body": body}:
            return CannedReply(status=status, body=filled(body, filling).encode(), headers=rule.headers)
        case {"json": value} if status >= HTTPStatus.BAD_REQUEST:
            return CannedReply(status=status, body=_encoded(filled(value, filling)), headers=rule.headers)
        case {"json": value}:
            text = json.dumps(filled(value, filling), ensure_ascii=False)
        case _:
            text = filled(rule.says.get("text", ""), filling)
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return error(status, text or _phrase(status), rule.headers)
    body = _completion(rule, request, {"role": "assistant", "content": text, **filled(rule.message, filling)})
    payload = _events(body) if rule.streamed else _encoded(body)
    return CannedReply(
        status=status, body=payload, headers={**(_STREAM if rule.streamed else {}), **rule.headers}
    )


def error(status: int, message: str, headers: Mapping[str, str] | None = None, code: str = "") -> CannedReply:
    problem = {"message": message, "type": code or "fake_error", "code": code or None}
    return CannedReply(status=status, body=_encoded({"error": problem}), headers=headers or {})


def listing(value: object) -> CannedReply:
    return CannedReply(status=200, body=_encoded(value))


def filled(value: object, filling: Mapping[str, str]) -> Any:
    """Put what was found in the place of {…}, in all texts of a value; other braces stay.

    >>> filled({"greeting": "Hi {1}, {other}"}, {"1": "Ada"})
    {'greeting': 'Hi Ada, {other}'}
    """
    if isinstance(value, str):
        return _PLACE.sub(lambda place: filling.get(place[1], place[0]), value)
    if isinstance(value, dict):
        return {key: filled(item, filling) for key, item in value.items()}
    return [filled(item, filling) for item in value] if isinstance(value, list) else value


def _completion(
    rule: Rule, request: ChatRequest, message: Mapping[str, Any], reason: str = ""
) -> dict[str, Any]:
    words = sum(len(text.split()) for _, text in request.messages)
    count = len(str(message.get("content") or "").split())
    usage = {"prompt_tokens": words, "completion_tokens": count, "total_tokens": words + count}
    choice = {"index": 0, "message": message, "finish_reason": reason or rule.finish_reason}
    return {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "model": rule.answered_by or request.model,
        "choices": [choice],
        "usage": usage if rule.usage is None else rule.usage,
    }


def _events(body: Mapping[str, Any]) -> bytes:
    """Write a completion as a stream: text and thoughts letter by letter, then the reason, then the usage."""
    message, reason = body["choices"][0]["message"], body["choices"][0]["finish_reason"]
    texts = {key: text for key, text in message.items() if key != "role" and isinstance(text, str)}
    deltas = [{"role": "assistant"}, *({key: letter} for key in texts for letter in texts[key])]
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    ended = {"index": 0, "delta": {}, "finish_reason": reason}
    shared = {"object": "chat.completion.chunk", "model": body["model"]}
    pieces = [{**shared, "choices": [chunk]} for chunk in (*chunks, ended)]
    events = [*map(json.dumps, [*pieces, {**shared, "choices": [], "usage": body["usage"]}]), "[DONE]"]
    return "".join(f"data: {event}\n\n" for event in events).encode()


def _malformed(kind: str, rule: Rule, request: ChatRequest) -> CannedReply:
    if kind in _ENDINGS:
        return _ENDINGS[kind]
    whole = _completion(rule, request, {"role": "assistant", "content": "fine"})
    if kind in _BODIES:
        return CannedReply(status=rule.status or 200, body=_BODIES[kind], headers=rule.headers)
    if kind == "stream_cut":
        events = _events(whole)
        return CannedReply(status=200, body=events[: len(events) // 2], headers=_STREAM)
    if kind in {"truncated", "close_mid_body"}:
        half = _encoded(whole)[: len(_encoded(whole)) // 2]
        if kind == "truncated":
            return CannedReply(status=200, body=half)
        return CannedReply(status=200, body=half, headers={"content-length": "100000"}, ending=Hangup.CLOSED)
    message, reason = _MESSAGES[kind]
    body = _completion(rule, request, {"role": "assistant", **message}, reason)
    return CannedReply(status=rule.status or 200, body=_encoded(body), headers=rule.headers)


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Odd"


_STREAM = {"content-type": "text/event-stream"}
_CALL = {"id": "call_1", "type": "function", "function": {"name": "score", "arguments": "{}"}}
_ENDINGS = {
    "close": CannedReply(status=None, ending=Hangup.CLOSED),
    "hang": CannedReply(status=None, ending=Hangup.HANGING),
}
_BODIES = {
    "not_json": b"<html>a proxy was here</html>",
    "empty_body": b"",
    "broken_json": b'{"choices": [{"message": {"content": "fine"},, }]}',
    "not_an_object": b"[1, 2]",
    "no_choices": b'{"object": "chat.completion"}',
    "empty_choices": b'{"object": "chat.completion", "choices": []}',
    "error_in_200": b'{"error": {"message": "the upstream model is busy", "code": 503}}',
}
_MESSAGES: dict[str, tuple[dict[str, Any], str]] = {
    "null_content": ({"content": None}, "stop"),
    "lone_surrogate": ({"content": "\ud800"}, "stop"),
    "refusal": ({"content": None, "refusal": "I cannot help with that."}, "stop"),
    "content_filter": ({"content": ""}, "content_filter"),
    "tool_calls": ({"content": None, "tool_calls": [_CALL]}, "tool_calls"),
    "length": ({"content": ""}, "length"),
    "thoughts_only": ({"content": "", "reasoning_content": "I think so."}, "stop"),
    "parts": ({"content": [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}, "stop"),
}
MALFORMED = ("truncated", "stream_cut", "close_mid_body", *_ENDINGS, *_BODIES, *_MESSAGES)


_STATUSES = range(200, 600)
_SHOWN = 60
FORMATS = ("json_schema", "json_object", "text")

_SAYS = ("text", "json", "body", "malformed")
_KEYS_OF_MESSAGES = ("user", "any", "model", "path", "body")
_PLAIN = ("status", "times", "finish_reason", "answered_by", "streamed")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [\t -~]*")


class BadRules(Exception):
    """What is wrong with a file of rules, each problem with the path of its key."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load_rules(path: str) -> Rules:
    """Read a file of rules; raises BadRules with all that is wrong with it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        content = json.loads(text) if path.endswith(".json") else tomllib.loads(text)
    except OSError as error:
        raise BadRules([f"{path}: {error.strerror}"]) from None
    except ValueError as error:  # TOML, JSON and UTF-8 alike
        raise BadRules([f"{path}: {error}"]) from None
    except RecursionError:
        raise BadRules([f"{path}: it is nested too deeply"]) from None
    content = {"rule": content} if isinstance(content, list) else content
    problems = [f"{path}: {problem}" for problem in _problems(content)]
    if problems:
        raise BadRules(problems)
    rules = [_rule(number, table) for number, table in enumerate(content["rule"], 1)]
    return Rules(rules, content.get("models", []))


def _rule(number: int, table: dict[str, Any]) -> Rule:
    given = {key: table[key] for key in (*_PLAIN, "headers", "delay", "usage", "message") if key in table}
    when = dict(table.get("when", {}))
    headers = when.pop("headers", {})
    return Rule(
        name=table.get("name", f"rule[{number}]"),
        when={where: re.compile(pattern, re.DOTALL) for where, pattern in when.items()},
        when_headers={name.lower(): re.compile(pattern) for name, pattern in headers.items()},
        says={key: table[key] for key in _SAYS if key in table},
        refused_formats=tuple(table.get("refuse_response_format", ())),
        **given,
    )


def _problems(content: object) -> Iterator[str]:
    if not isinstance(content, dict):
        yield "neither a table with rules nor a list of them"
        return
    yield from _unknown("", content, ("rule", "models"))
    if not _is_texts(content.get("models", [])):
        yield "models: not a list of texts"
    rules = content.get("rule")
    if not isinstance(rules, list) or not rules:
        yield "rule: there are no rules; write [[rule]] and under it what to answer"
        return
    for number, rule in enumerate(rules, 1):
        yield from (f"rule[{number}]{problem}" for problem in _problems_of(rule))


def _problems_of(rule: object) -> Iterator[str]:
    if not isinstance(rule, dict):
        yield ": not a table"
        return
    yield from _unknown(".", rule, (*_CHECKS, "when"))
    yield from (
        f".{key}: {_shown(rule[key])} is not {_CHECKS[key][1]}" for key in rule if _is_bad(key, rule[key])
    )
    yield from (f".when{problem}" for problem in _problems_when(rule.get("when", {})))
    replies = [key for key in _SAYS if key in rule]
    if len(replies) > 1:
        yield f": it says both {replies[0]} and {replies[1]}; keep one"
    if not replies and not {"status", "refuse_response_format"} & rule.keys():
        yield f": it answers nothing; give one of {', '.join(_SAYS)}, or a status"


def _problems_when(when: object) -> Iterator[str]:
    if not isinstance(when, dict):
        yield f": {_shown(when)} is not a table of patterns"
        return
    yield from _unknown(".", when, (*_KEYS_OF_MESSAGES, "headers"))
    headers = when.get("headers", {})
    if not isinstance(headers, dict):
        yield f".headers: {_shown(headers)} is not a table of patterns"
        headers = {}
    pairs = [(f".{where}", when[where]) for where in _KEYS_OF_MESSAGES if where in when]
    for where, pattern in [*pairs, *((f".headers.{name}", pattern) for name, pattern in headers.items())]:
        if not isinstance(pattern, str):
            yield f"{where}: {_shown(pattern)} is not a regular expression in quotes"
            continue
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"{where}: {pattern!r} is not a regular expression: {error}"


def _unknown(before: str, table: dict[str, Any], keys: tuple[str, ...]) -> Iterator[str]:
    for key in table.keys() - set(keys):
        close = get_close_matches(key, keys, n=1)
        meant = f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(keys)}"
        yield f"{before}{key if key.isprintable() else repr(key)}: unknown key; {meant}"


def _is_bad(key: str, value: object) -> bool:
    return key in _CHECKS and not _CHECKS[key][0](value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _are_headers(value: object) -> bool:
    return isinstance(value, dict) and all(
        _HEADER.fullmatch(f"{name}: {text}") for name, text in value.items()
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (_is_text, "a text"),
    "text": (_is_text, "a text"),
    "json": (lambda value: value is not None, "a value"),
    "body": (_is_text, "a text"),
    "malformed": (lambda value: value in MALFORMED, f"one of {', '.join(MALFORMED)}"),
    "status": (lambda value: type(value) is int and value in _STATUSES, "an HTTP status from 200 to 599"),
    "headers": (_are_headers, 'a table of headers, such as { Retry-After = "1" }'),
    "delay": (_is_number, "a number of seconds"),
    "times": (_is_count, "a count of at least 1"),
    "finish_reason": (_is_text, "a text"),
    "usage": (lambda value: isinstance(value, dict), "a table, such as { prompt_tokens = 7 }"),
    "message": (lambda value: isinstance(value, dict), 'a table, such as { reasoning = "…" }'),
    "answered_by": (_is_text, "a text"),
    "streamed": (lambda value: isinstance(value, bool), "true or false"),
    "refuse_response_format": (
        lambda value: _is_texts(value) and set(value) <= set(FORMATS),
        f"a list of {', '.join(FORMATS)}",
    ),
}


def _shown(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
