"""What runs inside the sandbox for code_exec: the candidate's side and the expressions' side.

`answers` runs a candidate and does what it is asked with it: name, call, attribute, item. It never learns
what is expected. `expressions`, in a process of its own, evaluates the task's expressions, in which the
names of the candidate are Objects: what is done with one is asked over there. `script` runs a candidate as a
program. How the sides speak is said in _code_line, which is sent together with this file: both have to stand
alone and to start fast.
"""

from __future__ import annotations

import builtins
import operator
import os
import sys

from _code_line import BINARY, CALLING, UNARY, NotPlain, Peer, loads, plain_value, text_of

TYPE_CHECKING = False  # typing costs a candidate's start
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, ModuleType
    from typing import Any, NoReturn

_SHOWN = 100


def main(enclosed: bytes, side: str) -> None:
    {"answers": answers, "expressions": expressions, "script": script}[side](enclosed)


def answers(enclosed: bytes) -> NoReturn:
    """Do with the candidate what is asked, until the line is cut."""
    names: dict[str, Any] = {}

    def load(*sources: str) -> None:
        names.update({"": _module("candidate")})
        exec(_compiled(*sources), names[""].__dict__)  # noqa: S102  what the sandbox is for

    def name(wanted: str) -> Any:
        if wanted not in names[""].__dict__:
            raise NameError(f"it does not define {wanted}")
        return names[""].__dict__[wanted]

    operations: dict[str, Callable[..., Any]] = {
        one: getattr(operator, f"__{one}__") for one in (*BINARY, "getitem")
    }
    operations |= {one: getattr(builtins, one, None) or getattr(operator, f"__{one}__") for one in UNARY}
    own: dict[str, Callable[..., Any]] = {
        "load": load,
        "name": name,
        "answer": lambda wanted, text: name(wanted)(loads(text)),
    }
    peer = Peer({**operations, **CALLING, **own, "getattr": getattr, "format": format})
    os.dup2(2, 1)  # what the candidate prints is not the line
    _no_input()
    os.write(peer.line, enclosed)
    while True:
        peer.serve(peer.receive())


def expressions(enclosed: bytes) -> None:
    """Evaluate each expression and say what became of it."""
    peer = Peer(CALLING)
    os.write(1, enclosed)
    for case in peer.receive():
        try:
            passed, text = _evaluated(peer, case)
        except BaseException as error:  # noqa: BLE001  exit() too is no answer
            passed, text = False, f"{type(error).__name__}: {text_of(error)}".removeprefix("NotPlain: ")
        peer.send(["verdict", passed, text])


def script(enclosed: bytes) -> None:
    """Run a candidate as a program."""
    os.write(1, enclosed)
    sources = loads(os.fdopen(os.dup(0), "rb").readline().decode())
    _no_input()
    exec(_compiled(*sources), _module("__main__").__dict__)  # noqa: S102  as above


def _evaluated(peer: Peer, case: Mapping[str, Any]) -> tuple[bool, str]:
    """Evaluate an expression; of one that compares for equality both sides, so that the left can be told."""
    names: dict[str, Any] = {module: __import__(module) for module in case["modules"]}
    for name in case["names"]:
        try:
            names[name] = peer.ask("name", name)
        except NameError:  # it is told where it is used
            continue
    values = [plain_value(eval(part, names)) for part in case["parts"]]  # noqa: S307  the task's, in the sandbox
    if len(values) == 1:
        return bool(values[0]), ""
    return bool(values[0] == values[1]), f"got {shown(values[0])}"


def _compiled(whole: str, block: str | None = None) -> CodeType:
    """Compile the whole where it is Python, else the block, if there is one."""
    try:
        return compile(
            whole, "candidate.py", "exec", dont_inherit=True
        )  # annotations are not postponed there
    except (SyntaxError, ValueError):
        if block is None:
            raise
    return compile(block, "candidate.py", "exec", dont_inherit=True)


def shown(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        text = "a number of too many digits"
    except (NotPlain, RecursionError, RuntimeError):
        text = "an object"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _module(name: str) -> ModuleType:
    module = sys.modules[name] = type(sys)(name)
    for word in ("exit", "quit"):  # they come with site, which is not loaded
        setattr(builtins, word, sys.exit)
    return module


def _no_input() -> None:
    nothing, end = os.pipe()
    os.close(end)
    os.dup2(nothing, 0)
    os.close(nothing)
