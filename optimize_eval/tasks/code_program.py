"""The program that runs code of tasks: a line of JSON in, a line of JSON out. It imports nothing of ours.

It runs with the user's rights, and so does the code, unless it was started enclosed (see code). Then what
it writes is hostile data: code can reach these pipes, and say whatever it likes as its own answer.

{"code": "…", "digest": "…", "function": "…", "arguments": {…}, "_id": "…"}
    → {"value": …, "_id": "…"} or {"fault": "why, and in which line", "_id": "…"}

Code that ran is known by its digest from then on. A solver may want replies of a model: {"_ask": {…}} is
answered by {"_reply": {"text", "items", "raw_output"}}, or by {"_error": "why"}. What code prints goes to
stderr. Arguments become what `code_arguments` makes of them, whose names `latticeflow.core.dtypes` has. It is
started for few samples, too, so that it loads little: no typing, and inspect for odd functions only.
"""

from __future__ import annotations

import json
import linecache
import os
import resource
import sys
import types
from functools import lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, BinaryIO, Never

ROOM = 1 << 32  # bytes of memory
LONGEST = (8 << 20) - 1024  # bytes of a line
DEEPEST = 200  # levels that are read of a line
SHOWN = 4000  # letters of what is wrong

_VARARGS, _ITERABLE_COROUTINE = 0x4, 0x100  # as inspect calls them


class _Stub:
    """Gives `latticeflow.core.dtypes` where it is not installed; all other finders come before."""

    names = ("latticeflow", "latticeflow.core", "latticeflow.core.dtypes")

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name not in self.names:
            return None
        return ModuleSpec(name, self, is_package=name != self.names[-1])  # type: ignore[arg-type]

    def create_module(self, _spec: object) -> None:
        """None: the usual kind of module."""

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == self.names[-1]:
            vars(module).update(_arguments.NAMED)


def _beside(name: str) -> types.ModuleType:
    """Load a module beside this program, though that folder is not on the path."""
    module = types.ModuleType(name)
    loader = SourceFileLoader(name, os.path.join(os.path.dirname(__file__), f"{name}.py"))  # noqa: PTH118, PTH120
    exec(loader.get_code(name) or "", vars(module))  # noqa: S102  compiled once, as an import is
    return module


_arguments = _beside("code_arguments")


class _Refused(Exception):
    """What is wrong with a call; its text is for people."""


class _Pipes:
    """Where lines come from and go to, which no code can reach by printing."""

    def __init__(self, lines: BinaryIO, replies: BinaryIO) -> None:
        self.lines = lines
        self.replies = replies


_known: dict[str, types.ModuleType] = {}
_pipes: list[_Pipes] = []
_asking = [""]  # the _id of the newest line


def main() -> None:
    try:  # noqa: SIM105  contextlib takes its time to load
        resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
    except (OSError, ValueError):
        pass  # not every system keeps it
    _pipes.append(_Pipes(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")))
    os.dup2(2, 1)  # whatever prints, libraries in C included
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.meta_path.append(_Stub())
    while (question := _next()) is not None:
        _say(_reply(question))


def _next() -> Any:
    line = _pipes[0].lines.readline()
    if not line:
        return None
    question = json.loads(line)
    _asking[0] = question.get("_id")
    return question


def _say(reply: bytes) -> None:
    _pipes[0].replies.write(reply[:-1] + b',"_id":' + json.dumps(_asking[0]).encode() + b"}\n")
    _pipes[0].replies.flush()


def _asked(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """Have the model called."""
    _say(_encoded({"_ask": wanted}))
    answer = _next()
    if answer is None:
        raise _Refused("nobody answers any more")
    if "_reply" not in answer:
        raise RuntimeError(answer.get("_error"))
    return answer["_reply"]  # type: ignore[no-any-return]


def _reply(question: Mapping[str, Any]) -> bytes:
    try:
        return _encoded({"value": _called(question)})
    except _Refused as refused:
        return json.dumps({"fault": str(refused)[:SHOWN]}).encode()
    except BaseException as error:  # noqa: BLE001  SystemExit, too
        return json.dumps({"fault": _words_of(error)[:SHOWN]}).encode()


def _encoded(reply: Mapping[str, Any]) -> bytes:
    try:
        line = json.dumps(reply, default=_plain, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise _Refused(f"what it gives is not JSON: {error}") from None
    if len(line) > LONGEST:
        raise _Refused(f"what it gives is {len(line):,} bytes of JSON, more than 8 MiB")
    if line.count(b"[") + line.count(b"{") > DEEPEST and _levels(json.loads(line)) > DEEPEST:
        raise _Refused(f"what it gives is nested deeper than {DEEPEST} levels")
    return line


def _levels(value: object) -> int:
    level, count = [value], 0
    while level := [one for one in level if isinstance(one, (dict, list))]:
        level = [child for one in level for child in (one.values() if isinstance(one, dict) else one)]
        count += 1
    return count


def _plain(value: object) -> Any:
    """Write traces, and the numbers and arrays of libraries."""
    if isinstance(value, _arguments.Trace):
        return {"items": value.items, "completion": value.completion}
    for method in ("tolist", "model_dump"):
        if callable(made := getattr(value, method, None)):
            return made()
    return _no_json(value)


def _no_json(value: object) -> Never:
    raise TypeError(f"a {type(value).__name__}")


def _called(question: Mapping[str, Any]) -> Any:
    if "function" not in question:
        raise _Refused("no code waits for a reply")
    module = _known.get(question["digest"]) or _loaded(question["digest"], question["code"])
    function = getattr(module, question["function"], None)
    if not callable(function):
        raise _Refused(f"the code defines no function {question['function']}")
    value = function(*_taken(function, question["arguments"]))
    return _awaited(value) if _is_awaitable(value) else value


def _loaded(digest: str, code: str) -> types.ModuleType:
    name = f"code_{digest[:12]}"
    module = sys.modules[name] = types.ModuleType(name)  # dataclasses look there
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    vars(module).update(_names_of_annotations(code))
    program = compile(code, name, "exec", dont_inherit=True)  # there, annotations are evaluated
    exec(program, vars(module))  # noqa: S102  what this program is for
    _known[digest] = module
    return module


def _names_of_annotations(code: str) -> Mapping[str, Any]:
    """Give what the documented signatures name, which are written without an import."""
    if "Any" not in code:
        return _arguments.NAMED  # type: ignore[no-any-return]
    from typing import Any  # noqa: PLC0415  see the top

    return {**_arguments.NAMED, "Any": Any}


def _taken(function: Callable[..., Any], given: Mapping[str, Any]) -> list[Any]:
    """Choose a function's arguments: by name where all names are known, else in order."""
    made = {name: _arguments.MADE.get(name, _same)(value) for name, value in given.items()}
    if "model" in made:
        made["model"] = _arguments.Model(_asked)
    names = _names(function)
    if names is None:
        return list(made.values())
    if made.keys() >= set(names):
        return [made[name] for name in names]
    return list(made.values())[: len(names)]


def _same(value: object) -> Any:
    return value


@lru_cache(64)
def _names(function: Callable[..., Any]) -> list[str] | None:
    """List a function's parameters; None where it takes any number."""
    if type(function) is types.FunctionType and not vars(function):  # not wrapped, nor signed otherwise
        code = function.__code__
        takes_any_number = code.co_flags & _VARARGS
        return None if takes_any_number else list(code.co_varnames[: code.co_argcount])
    import inspect  # noqa: PLC0415  see the top

    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return None
    return [one.name for one in parameters if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]


def _is_awaitable(value: object) -> bool:
    if isinstance(value, types.GeneratorType):
        return bool(value.gi_code.co_flags & _ITERABLE_COROUTINE)
    return getattr(type(value), "__await__", None) is not None


def _awaited(value: Awaitable[Any]) -> Any:
    return _loop().run_until_complete(value)


@lru_cache(1)
def _loop() -> Any:
    import asyncio  # noqa: PLC0415  takes its time, and most code awaits nothing

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop


def _words_of(error: BaseException) -> str:
    """Say what went wrong, in which of the code's own lines."""
    name, line = "", error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace:
        if (file := trace.tb_frame.f_code.co_filename).startswith("code_"):
            name, line = file, trace.tb_lineno
        trace = trace.tb_next
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    text = linecache.getline(name, line or 0).strip()
    place = f" (line {line}{': ' * bool(text)}{text})" if line else ""
    return f"{type(error).__name__}{': ' * bool(said)}{said}{place}"


if __name__ == "__main__":
    main()
