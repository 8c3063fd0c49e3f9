r"""Rules for a fake model server, read from a TOML or JSON file; all that is wrong with one at once.

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
import tomllib
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from optimize_eval.fakes.answers import MALFORMED
from optimize_eval.fakes.rules import Rule, Rules

_STATUSES = range(200, 600)
_SHOWN = 60
FORMATS = ("json_schema", "json_object", "text")

_SAYS = ("text", "json", "body", "malformed")
_MESSAGES = ("user", "any", "model", "path", "body")
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


def _problems(content: Any) -> Iterator[str]:
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


def _problems_of(rule: Any) -> Iterator[str]:
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


def _problems_when(when: Any) -> Iterator[str]:
    if not isinstance(when, dict):
        yield f": {_shown(when)} is not a table of patterns"
        return
    yield from _unknown(".", when, (*_MESSAGES, "headers"))
    headers = when.get("headers", {})
    if not isinstance(headers, dict):
        yield f".headers: {_shown(headers)} is not a table of patterns"
        headers = {}
    pairs = [(f".{where}", when[where]) for where in _MESSAGES if where in when]
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


def _is_bad(key: str, value: Any) -> bool:
    return key in _CHECKS and not _CHECKS[key][0](value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _are_headers(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _HEADER.fullmatch(f"{name}: {text}") for name, text in value.items()
    )


def _is_text(value: Any) -> bool:
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


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
