"""The checks of code_exec: what a candidate in the sandbox is asked, and what its replies are worth.

What is expected stays here, and is compared here. A reply may be forged in whatever way: it only chooses a
value, which is built anew as plain data.
"""

from __future__ import annotations

import ast
import builtins
import json
import warnings
from typing import TYPE_CHECKING, Any

from _code_inside import shown
from _metric import Answer, Fault, shortened
from _running import Running, Stopped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Case = dict[str, Any]

MODULES = (  # what a target may use of the standard library; the candidate cannot put its own there
    *("bisect", "cmath", "collections", "copy", "datetime", "decimal", "fractions", "functools", "heapq"),
    *("itertools", "json", "math", "operator", "random", "re", "statistics", "string"),
)

_NOT_JSON = object()


class Raised(Exception):
    """The candidate raised, as it says."""


def called(candidate: Running, sources: Sequence[str], pairs: Sequence[Any], function: str) -> Iterator[Case]:
    """Ask for the output of each input; what is expected stays here."""
    load(candidate, sources)
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2):  # noqa: PLR2004  a pair
            yield {"passed": False, "why": "the pair is no list of an input and an output"}
            continue
        given, expected = pair
        candidate.send(request("answer", function, json.dumps(given)))
        case = {"input": shown(given), "expected": shown(expected)}
        yield case | compared(candidate.line(), expected)


def compared(line: bytes, expected: Any) -> Case:
    try:
        got = plain(value_in(line))
        equal = got is not _NOT_JSON and bool(got == expected)
    except (ValueError, LookupError, TypeError, RecursionError):
        return {"passed": False, "why": f"it answered no value: {shown(line[:100])}"}
    except Raised as raised:
        return {"passed": False, "why": f"it raised {raised}"}
    if got is _NOT_JSON:
        return {"passed": False, "why": f"the output is no JSON value: {shown(line[:100])}"}
    return {"passed": equal, "got": shown(got)}


def value_in(line: bytes) -> Any:
    """Read a reply, which may be forged in whatever way; what it raises is caught where it is called."""
    message = json.loads(line)
    if message[0] == "=":
        return message[1]
    raise Raised(tidy(f"{message[1]}: {message[2]}"))


def tidy(text: str) -> str:
    """Shorten a text of the candidate's and take out what is no Unicode."""
    return shortened(text.encode(errors="replace").decode())


def plain(said: Any) -> Any:
    """Build a JSON value of what the candidate's side wrote; no set, as it could choose the hashes."""
    if isinstance(said, list):
        items = [plain(item) for item in said]
        return _NOT_JSON if any(item is _NOT_JSON for item in items) else items
    if not isinstance(said, dict):
        return said
    match said:
        case {"int": str(digits)}:
            return int(digits, 16)
        case {"dict": list(items)} if all(isinstance(key, str) for key, _ in items):
            made = {key: plain(item) for key, item in items}
            return _NOT_JSON if any(item is _NOT_JSON for item in made.values()) else made
        case {"object": _, "plain": inner}:
            return plain(inner)
    return _NOT_JSON


def evaluated(
    candidate: Running, judging: Running, sources: Sequence[str], questions: Sequence[Answer]
) -> Iterator[Case]:
    """Pass lines between the side that has the expressions and the side that has the candidate."""
    judging.share(candidate.deadline)
    load(candidate, sources)
    judging.send(json.dumps(questions).encode())
    for _ in questions:
        while not (line := judging.line()).startswith(b'["verdict", '):
            candidate.send(line)
            judging.send(candidate.line())
        _, passed, text = json.loads(line)
        yield {"passed": passed} | ({"why": tidy(text)} if text and not passed else {})


def question(target: str) -> Answer:
    """Read a target: its parts that are evaluated, and the names that it takes from the candidate."""
    try:
        with warnings.catch_warnings(action="ignore"):
            (statement,) = ast.parse(target.strip()).body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise Fault(f"the target {shortened(target)} is not one Python expression: {error}") from error
    if not isinstance(statement, ast.Assert | ast.Expr):
        raise Fault(f"the target {shortened(target)} is a statement, not a Python expression")
    whole = statement.test if isinstance(statement, ast.Assert) else statement.value
    attributes = [node.value for node in ast.walk(whole) if isinstance(node, ast.Attribute)]
    owners = [node.id for node in attributes if isinstance(node, ast.Name) and node.id in MODULES]
    loaded = [node.id for node in ast.walk(whole) if isinstance(node, ast.Name)]
    modules = {name for name in owners if owners.count(name) == loaded.count(name)}
    names = {name for name in loaded if not hasattr(builtins, name)} - modules
    parts = [whole]
    if isinstance(whole, ast.Compare) and len(whole.ops) == 1 and isinstance(whole.ops[0], ast.Eq):
        parts = [whole.left, *whole.comparators]
    return {
        "parts": [ast.unparse(part) for part in parts],
        "names": sorted(names),
        "modules": sorted(modules),
    }


def printed(program: Running, sources: Sequence[str], targets: Sequence[str]) -> Iterator[Case]:
    program.send(json.dumps(sources).encode())
    said, status = program.rest()
    text = said.decode(errors="replace").rstrip()
    case = {"expected": shown(targets[0]), "got": shown(text)}
    if status:
        yield {**case, "passed": False, "why": f"it ended with status {status}"}
    else:
        yield {**case, "passed": any(text == target.rstrip() for target in targets)}


def load(candidate: Running, sources: Sequence[str]) -> None:
    candidate.send(request("load", *sources))
    line = candidate.line()
    try:
        value_in(line)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise Stopped(f"wrote noise instead of loading: {shown(line[:100])}") from error
    except Raised as raised:
        raise Stopped(f"does not load: {raised}") from raised


def request(operation: str, *values: str) -> bytes:
    return json.dumps(["?", operation, values, {}]).encode()
