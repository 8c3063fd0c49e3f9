"""Which request gets which answer: requests as rules see them, and rules that know whether they match.

How rules are written, and how they are read from a file, is in rules_file.
"""

import re
import threading
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from optimize_eval.base.frozen import frozen

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
        for place, rule in enumerate(self._rules):
            if (groups := rule.groups(request)) is not None and (count := self._take(place, rule)):
                sent = {"model": request.model, "authorization": request.headers.get("authorization", "")}
                return rule, {"count": str(count), **sent, **groups}
        return None

    def _take(self, place: int, rule: Rule) -> int:
        with self._lock:
            if rule.times is not None and self._answered[place] >= rule.times:
                return 0
            self._answered[place] += 1
            return self._answered[place]


def _text(value: Any) -> str:
    if isinstance(value, list):  # a content in parts
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""
