"""How a Python function is called as an evaluator, and the program that calls one of a file, kept alive.

    python function_program.py judge.py score

The program imports the file in a process of its own and answers a payload a line; what the function prints
goes to stderr, and it finds nothing on stdin. A line {"describe": true} is answered before any payload: with
what is wrong with the file or the function, if anything is. It needs nothing of this package.
"""

import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any, NamedTuple

from optimize_eval.base.documents import JsonDict, JsonMapping

Call = Callable[[str, Any, str | None], Any]  # candidate, example, task model → what the function returned

TAKES = "an evaluator takes (candidate) or (candidate, example), and task_model by name if it likes"
_MOST = 2  # positional arguments
_OTHER = "example", "candidate"  # what is called so in this place is meant to be in the other one
_OWN_FOLDER = str(Path(__file__).parent)  # which Python puts first where it is given a script


class Unusable(Exception):
    """Why a function cannot be called as an evaluator, and what to do about it."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def refuse_uncallable(function: Callable[..., Any], name: str) -> None:
    """Refuse what would be called and give no result."""
    if inspect.isclass(function):
        raise Unusable(f"{name} is a class", "name a function, or make an object of it that can be called")
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise Unusable(f"{name} is async", "it is called as it is: asyncio.run(…) in a plain function")


def call_of(function: Callable[..., Any], name: str) -> Call:
    """Find how a function is called; raises Unusable where it cannot be."""
    refuse_uncallable(function, name)
    try:
        parameters = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # of C
        return lambda candidate, _example, _task_model: function(candidate)
    named = [
        part for part in parameters if part.name == "task_model" and part.kind is not part.POSITIONAL_ONLY
    ]
    others = [part for part in parameters if part not in named]
    positional = [part for part in others if part.kind in {part.POSITIONAL_ONLY, part.POSITIONAL_OR_KEYWORD}]
    has_more = any(part.kind is part.VAR_POSITIONAL for part in others)
    needed = [part for part in positional if part.default is part.empty]
    lacking = [part for part in others if part.kind is part.KEYWORD_ONLY and part.default is part.empty]
    if len(needed) > _MOST or lacking or not (positional or has_more):
        raise Unusable(f"{name} takes {inspect.signature(function)}", TAKES)
    if any(part.name == _OTHER[number] for number, part in enumerate(positional[:_MOST])):
        raise Unusable(f"{name} takes {inspect.signature(function)}: the candidate comes first", TAKES)
    needs_example = len(needed) == _MOST
    takes_example = len(positional) >= _MOST or has_more

    def call(candidate: str, example: object, task_model: str | None) -> Any:
        is_given = needs_example or (takes_example and example is not None)
        given = (candidate, example) if is_given else (candidate,)
        return function(*given, task_model=task_model) if named else function(*given)

    return call


def answer_of(returned: object) -> JsonDict:
    """Make an answer of what a function returned: a score, a score and side info, or an answer."""
    match returned:
        case Mapping():
            answer = dict(returned)
        case (score, Mapping() as side_info):
            answer = {**side_info, "score": score}
        case None:
            return {"error": "the function returned None: let it return a score, (score, {…}) or {…}"}
        case _:
            answer = {"score": returned}
    if "score" in answer:
        answer["score"] = _number(answer["score"])
    return answer


def _number(score: Any) -> Any:
    """Take what counts as a number in Python for one: True, a numpy scalar; whatever else stays wrong."""
    is_plain = type(score) in {int, float}
    return float(score) if not is_plain and hasattr(type(score), "__float__") else score


class Loaded(NamedTuple):
    """A function of a file, or why there is none."""

    call: Call | None = None
    error: str = ""
    hint: str = ""


def load(file: str, name: str) -> Loaded:
    """Import a file as a module, as if it had been run from its folder, and find a function in it."""
    path = Path(file).absolute()
    sys.path[:] = [str(path.parent), *(folder for folder in sys.path if folder != _OWN_FOLDER)]
    try:
        module = import_file(path)
    except BaseException as error:  # noqa: BLE001  whatever a module does when it is imported
        _print(error)
        reason = f"{file} cannot be imported: {_words(error, path)}"
        return Loaded(error=reason, hint=_hint(error))
    function = getattr(module, name, None)
    if not callable(function):
        kind = type(function).__name__
        what = f": {name} is not a function but a value of type {kind}" if hasattr(module, name) else ""
        return Loaded(error=f"{file}{what or f' has no function {name}'}", hint=_hint_for(module, name))
    try:
        return Loaded(call=call_of(function, name))
    except Unusable as unusable:
        return Loaded(error=f"{file}: {unusable}", hint=unusable.hint)


def import_file(path: Path) -> Any:
    loader = SourceFileLoader(path.stem, str(path))
    module = module_from_spec(spec_from_loader(path.stem, loader))  # type: ignore[arg-type]  # a file has one
    sys.modules[path.stem] = module
    loader.exec_module(module)
    return module


def _hint(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        other = "or let another Python run a program of yours: -e '/path/to/python judge.py'"
        return f"{sys.executable} -m pip install {package}; {other}"
    return "it is imported before anything is called: python -c 'import …' in its folder shows the same"


def _hint_for(module: object, name: str) -> str:
    there = [key for key, value in vars(module).items() if inspect.isfunction(value) and key[0] != "_"]
    close = get_close_matches(name, there, n=1)
    listed = f"name one of {', '.join(there)}" if there else f"define {name}(candidate) in it"
    return f"did you mean {close[0]}?" if close else listed


def _words(error: BaseException, path: Path) -> str:
    """Say what was raised, and at which line of the file."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    is_here = isinstance(error, SyntaxError) and error.filename == str(path)
    line = error.lineno if isinstance(error, SyntaxError) and is_here else lines[-1] if lines else None
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}{f' ({path.name}, line {line})' if line else ''}"


def _print(error: BaseException) -> None:
    """Print the traceback from where the file's own code begins, if it does."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_code.co_filename == __file__:
        frames = frames.tb_next
    traceback.print_exception(error.with_traceback(frames or error.__traceback__))


def _answer(loaded: Loaded, payload: JsonMapping, path: Path) -> JsonDict:
    if loaded.call is None or "describe" in payload:
        return {"error": loaded.error, "hint": loaded.hint} if loaded.error else {"takes": TAKES}
    task_model = payload.get("task_model")
    if task_model is not None:
        os.environ["OPTIMIZE_ANYTHING_TASK_MODEL"] = task_model
    try:
        return answer_of(loaded.call(payload["candidate"], payload.get("example"), task_model))
    except Exception as error:  # noqa: BLE001  whatever it raises is a failure, or a skip
        if (side_info := _side_info_of_skip(error)) is not None:
            return {**side_info, "skip": str(error)}
        _print(error)
        return {"error": _words(error, path)}


def _side_info_of_skip(error: Exception) -> JsonDict | None:
    """Give the side info of a Skipped, which only a file that imports this package can raise."""
    errors = sys.modules.get("optimize_eval.base.errors")
    return dict(error.side_info) if errors and isinstance(error, errors.Skipped) else None


def _encode(answer: JsonDict) -> str:
    try:
        return json.dumps(answer)
    except (TypeError, ValueError, RecursionError) as error:
        why = {"error": f"what the function returned cannot be written as JSON: {error}"}
        return json.dumps({**why, "_id": answer["_id"]} if "_id" in answer else why)


def main(file: str, name: str) -> None:
    """Answer payloads until there are no more; the function has streams of its own."""
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull) as nothing:  # noqa: PTH123  before any import of the file's
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # it is a file's
    loaded, path = load(file, name), Path(file).absolute()
    for line in lines:
        payload = json.loads(line)
        answer = _answer(loaded, payload, path)
        answer["_capabilities"] = {"persistent": True}
        if "_id" in payload:
            answer["_id"] = payload["_id"]
        answers.write(f"{_encode(answer)}\n")
        answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
