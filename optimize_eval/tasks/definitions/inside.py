"""The program that runs code of tasks: a line of JSON in, a line of JSON out. It imports nothing of ours.

{"code": "…", "digest": "…", "function": "…", "arguments": {…}, "_id": "…"}
    → {"value": …, "_id": "…"} or {"fault": "why, and in which line", "_id": "…"}

Code that ran is known by its digest from then on. A solver may want replies of a model: {"_ask": {…}} is
answered by {"_reply": {"text", "items", "raw_output"}}, or by {"_error": "why"}. What code prints goes to
stderr. Arguments become what `promised` makes of them, whose names `latticeflow.core.dtypes` has.
"""

import importlib.machinery
import inspect
import json
import linecache
import os
import resource
import runpy
import sys
import types
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Never

ROOM = 1 << 32  # bytes of memory
LONGEST = (8 << 20) - 1024  # bytes of a line
SHOWN = 4000  # letters of what is wrong


class _Stub:
    """Gives `latticeflow.core.dtypes` where it is not installed; all other finders come before."""

    names = ("latticeflow", "latticeflow.core", "latticeflow.core.dtypes")

    def find_spec(
        self, name: str, _path: Any = None, _target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self.names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=name != self.names[-1])  # type: ignore[arg-type]

    def create_module(self, _spec: Any) -> None:
        """None: the usual kind of module."""

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ == self.names[-1]:
            vars(module).update(_promised.NAMED)


_PROMISED = Path(__file__).with_name("promised.py")  # not imported: this folder is not on the path
_promised = types.SimpleNamespace(**runpy.run_path(str(_PROMISED)))


class _Refused(Exception):
    """What is wrong with a call; its text is for people."""


class _Pipes(NamedTuple):
    """Where lines come from and go to, which no code can reach by printing."""

    lines: BinaryIO
    replies: BinaryIO


_known: dict[str, types.ModuleType] = {}
_pipes: list[_Pipes] = []
_asking = [""]  # the _id of the newest line


def main() -> None:
    with suppress(OSError, ValueError):  # not every system keeps it
        resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM))
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
        raise _Refused(f"what it gives is no JSON: {error}") from None
    if len(line) > LONGEST:
        raise _Refused(f"what it gives is {len(line):,} bytes of JSON, more than 8 MiB")
    return line


def _plain(value: Any) -> Any:
    """Write traces, and the numbers and arrays of libraries."""
    if isinstance(value, _promised.Trace):
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
    return _awaited(value) if inspect.isawaitable(value) else value


def _loaded(digest: str, code: str) -> types.ModuleType:
    name = f"code_{digest[:12]}"
    module = sys.modules[name] = types.ModuleType(name)  # dataclasses look there
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    exec(compile(code, name, "exec"), vars(module))  # noqa: S102  what this program is for
    _known[digest] = module
    return module


def _taken(function: Callable[..., Any], given: Mapping[str, Any]) -> list[Any]:
    """Choose a function's arguments: by name where all names are known, else in order."""
    made = {name: _promised.MADE.get(name, _same)(value) for name, value in given.items()}
    if "model" in made:
        made["model"] = _promised.Model(_asked)
    names = _names(function)
    if names is None:
        return list(made.values())
    if made.keys() >= set(names):
        return [made[name] for name in names]
    return list(made.values())[: len(names)]


def _same(value: Any) -> Any:
    return value


@lru_cache(64)
def _names(function: Callable[..., Any]) -> list[str] | None:
    """List a function's parameters; None where it takes any number."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return None
    return [one.name for one in parameters if one.kind in {one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD}]


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
