#!/usr/bin/env python3
"""Routing: 1 when the first rule that matches names the right team, 0.3 when a later one does, else 0.

Reads payloads, one a line, until stdin ends; runs without optimize-eval installed. A candidate has a rule a
line: `invoice, wrong -> billing`, `refund, amount > 100 -> billing` or `* -> team`; `#` starts a comment.
"""

import json
import re
import sys
import textwrap
from typing import Any, NamedTuple

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_AMOUNT = re.compile(rf"amount\s*>\s*({_NUMBER.pattern})", re.IGNORECASE)


class Rule(NamedTuple):
    number: int
    words: list[str]
    limits: list[float]
    team: str


def read_rules(candidate: str) -> list[Rule]:
    rules: list[Rule] = []
    for at, line in enumerate(candidate.split("\n"), 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        left, _, team = (side.strip() for side in line.rpartition("->"))
        parts = [part.strip() for part in left.split(",") if part.strip()]
        limits = [float(found[1]) for part in parts if (found := _AMOUNT.fullmatch(part))]
        words = [part for part in parts if part != "*" and not _AMOUNT.fullmatch(part)]
        if not (parts and team) or any(">" in word for word in words):
            raise ValueError(f"line {at} of the candidate is no rule, `words -> team`: {line.strip()}")
        rules.append(Rule(len(rules) + 1, words, limits, team))
    return rules


def matches(rule: Rule, message: str) -> bool:
    met = all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", message, re.IGNORECASE) for word in rule.words)
    number = _NUMBER.search(message)  # the first in the message is the amount
    if met and rule.limits and not number:
        raise ValueError(f"rule {rule.number} compares an amount, and the message has none")
    return met and all(number and float(number[0]) > limit for limit in rule.limits)


def explain(message: str, team: str, first: Rule | None, later: list[Rule]) -> str:
    if first is None:
        return f'No rule matched "{message}", so this message reached nobody; it belongs to the {team} team.'
    if first.team == team:
        return f'Rule {first.number} sent "{message}" to {team}, and {team} is the team it belongs to.'
    also = f"which rule {later[0].number} would have found" if later else "which no later rule names"
    return f'Rule {first.number} sent "{message}" to {first.team}, but it belongs to {team}, {also}.'


def answer(payload: dict[str, Any]) -> dict[str, Any]:
    message, team = (payload.get("example", {}).get(key) for key in ("message", "team"))
    if not isinstance(message, str) or not isinstance(team, str):
        return {"error": 'routing needs an example with a "message" and its "team" (texts)'}
    try:
        matched = [rule for rule in read_rules(payload["candidate"]) if matches(rule, message)]
    except ValueError as fault:
        return {"error": str(fault)}
    first = matched[0] if matched else None
    worded = [rule for rule in matched if rule.words or rule.limits]  # all but `*`
    later = [rule for rule in worded if rule is not first and rule.team == team]
    chosen = {"team": first.team, "rule": first.number} if first else {"team": None, "rule": None}
    return {
        "score": 1.0 if chosen["team"] == team else 0.3 if later else 0.0,
        **chosen,
        "confident": len({rule.team for rule in worded}) == 1,
        "reasoning": explain(textwrap.shorten(message, 50, placeholder="…"), team, first, later),
    }


def reply(payload: dict[str, Any]) -> dict[str, Any]:
    said = {"_id": payload["_id"]} if "_id" in payload else {}
    if "examples" in payload:  # a batch: one candidate, several examples
        return said | {"results": [answer({**payload, "example": one}) for one in payload["examples"]]}
    return said | answer(payload) | {"_capabilities": {"persistent": True, "batch": 64}}


def main() -> None:
    for line in sys.stdin.buffer:  # bytes: JSON is UTF-8 whatever the locale is
        print(json.dumps(reply(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
