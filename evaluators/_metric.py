"""What the metrics beside this file share: reading payloads, finding fields of an example, answering.

A metric is a function from what is Asked to an answer; `run` does the rest: a payload a line until stdin
ends, batches, ids, options. What stands in the way of a score is raised as a Fault and answered as an error,
never as a 0. It is for programs in this folder and knows nothing of optimize-eval; copy both files. Programs
that are started for each payload have to start fast: argparse is loaded for odd arguments only, typing never.
"""

from __future__ import annotations

import sys

make_encoder: Any
make_scanner: Any
try:  # the package json loads ten modules, which is half of a start
    from _json import encode_basestring_ascii, make_encoder, make_scanner
except ImportError:
    make_encoder = make_scanner = None

TYPE_CHECKING = False  # type checkers take it for true
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias

Answer: TypeAlias = "dict[str, Any]"

TARGETS = ("targets", "target")  # the fields that are looked for; the first that is there counts

ABSENT = object()  # what look_up gives where there is nothing
_SHOWN_FIELDS, _SHOWN_LETTERS, _AROUND = 12, 60, 12
_WORDS = {bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}


class Fault(Exception):
    """Why there is no score; not a fault of the candidate, which would be a low score."""


class Asked:
    """A candidate, the example that it is scored on (if any), and the options of the command line."""

    def __init__(self, payload: Answer, options: Mapping[str, Any], fields: tuple[str, ...]) -> None:
        candidate = payload.get("candidate")
        if not isinstance(candidate, str):
            raise Fault(f"the payload's candidate is no text but {kind(candidate)}")
        self.candidate = candidate
        self.example = payload.get("example")
        self.options = options
        self._fields = (options["target_field"],) if options["target_field"] else fields

    def find(self, *fields: str, option: str = "--target-field", instead: str = "") -> Any:
        """Give the value of the first of the fields that is there; a Fault lists what fields there are.

        It says with which option another field is read, or which one is given `instead` of a field.
        """
        return self._found(fields or self._fields, option, instead)[1]

    def texts(self, *, least: int = 1) -> list[str]:
        """Give the targets: a text, or a list of them; `targets` that are an empty text are none.

        A whole number, as tables have them, counts as its digits.
        """
        field, value = self._found(self._fields)
        listed = value if isinstance(value, list) else [value] * ((field, value) != (TARGETS[0], ""))
        listed = [str(one) if type(one) is int else one for one in listed]
        wrong = [one for one in listed if not isinstance(one, str)]
        if wrong or len(listed) < least:
            holds = f"is or has {kind(wrong[0])}" if wrong else "is empty"
            raise Fault(f'"{field}" must be a text or a list of texts; it {holds}')
        return listed

    def _found(
        self, fields: tuple[str, ...], option: str = "--target-field", instead: str = ""
    ) -> tuple[str, Any]:
        found = [(field, value) for field in fields if (value := look_up(self.example, field)) is not ABSENT]
        if not found:
            names = " or ".join(f'"{field}"' for field in fields)
            another = f"-e '@{_name()} {option} NAME' reads another"
            sets = f"-e '@{_name()} {instead}' sets one; " if instead else ""
            raise Fault(
                f"the example has no field {names}; {self._fields_there()}{self._meant()} ({sets}{another})"
            )
        gives_way = len(found) > 1 and found[0][0] == TARGETS[0] and not found[0][1]  # to `target`
        return found[gives_way]

    def _fields_there(self) -> str:
        if not isinstance(self.example, dict):
            return "there is no example"
        names = [f'"{shortened(name)}"' for name in _names_in(self.example)]
        more = f" and {len(names) - _SHOWN_FIELDS} more" if len(names) > _SHOWN_FIELDS else ""
        return f"it has {', '.join(names[:_SHOWN_FIELDS])}{more}" if names else "it has none"

    def _meant(self) -> str:
        """Ask for the field that was meant by the one of the command line; empty where none is like it."""
        if not self.options["target_field"] or not isinstance(self.example, dict):
            return ""
        from difflib import get_close_matches  # noqa: PLC0415  it is dear

        close = get_close_matches(self.options["target_field"], [*_names_in(self.example)], n=1)
        return f'; did you mean "{shortened(close[0])}"?' if close else ""


def _name() -> str:
    """Give the name that this metric has as an evaluator."""
    return sys.argv[0].rpartition("/")[2].removesuffix(".py")


def run(
    answer: Callable[[Asked], Answer],
    *,
    fields: tuple[str, ...] = TARGETS,
    variants: tuple[str, ...] = (),
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Answer each line of stdin.

    The first of the variants is the usual one; further options are written as argparse takes them.
    """
    offered: dict[str, Mapping[str, Any]] = {
        "--target-field": {
            "metavar": "NAME",
            "help": f"the example's field to compare with, dots lead inwards ({', then '.join(fields)})",
        },
        **({"--variant": {"choices": variants, "default": variants[0]}} if variants else {}),
        **(options or {}),
    }
    chosen = {name[2:].replace("-", "_"): option.get("default") for name, option in offered.items()}
    if sys.argv[1:]:
        chosen = {**chosen, **given} if (given := _plainly_given(offered)) else _parsed(offered)
    for line in sys.stdin.buffer:  # bytes: JSON is UTF-8 whatever the locale is
        if line.strip():
            print(_encoded(_reply(line, lambda one: answer(Asked(one, chosen, fields)))), flush=True)


def best(score: Callable[[str, str], Answer], asked: Asked) -> Answer:
    """Score against each target and give the best answer, which says what target that was."""
    answers = [score(asked.candidate, target) | {"target": shortened(target)} for target in asked.texts()]
    return max(answers, key=lambda one: float(one["score"]))


def equal_to_any(asked: Asked, normalise: Callable[[str], str]) -> Answer:
    """Score 1 when the candidate equals a target, else 0 and where the first target differs."""
    said, targets = normalise(asked.candidate), asked.texts()
    for target in targets:
        if normalise(target) == said:
            return {"score": 1.0, "matched": shortened(target)}
    return {"score": 0.0, "matched": None, "first_difference": _difference(said, normalise(targets[0]))}


def inside(asked: Asked, normalise: Callable[[str], str]) -> Answer:
    """Score 1 when a target stands somewhere in the candidate, else 0."""
    said = normalise(asked.candidate)
    for target in asked.texts():
        if (at := said.find(normalise(target))) >= 0:
            return {"score": 1.0, "matched": shortened(target), "at": at}
    return {"score": 0.0, "matched": None}


def library(name: str) -> Any:
    """Import what a metric needs; a Fault is the line that installs it."""
    from importlib import import_module  # noqa: PLC0415  most metrics need none

    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        from shlex import quote  # noqa: PLC0415  it is dear

        line = f"{quote(sys.executable)} -m pip install {package}"
        raise Fault(f"this metric needs {package}: {line} ({error})") from error


def shortened(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[: _SHOWN_LETTERS - 1]}…"


def kind(value: object) -> str:
    """Say what kind of JSON value something is."""
    return "null" if value is None else _WORDS.get(type(value), "an object")


def look_up(value: Any, path: str) -> Any:
    """Follow a path such as `extras.answers.0`; a key that has dots itself goes before."""
    if isinstance(value, dict) and path in value:
        return value[path]
    for key in path.split("."):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return ABSENT
    return value


def _names_in(value: Mapping[str, Any], before: str = "", depth: int = 3) -> Iterator[str]:
    for key, item in value.items():
        if isinstance(item, dict) and item and depth > 1:
            yield from _names_in(item, f"{before}{key}.", depth - 1)
        else:
            yield before + key


def _difference(said: str, wanted: str) -> Answer:
    both = min(len(said), len(wanted))
    at = next((place for place in range(both) if said[place] != wanted[place]), both)
    return {"at": at, "candidate": said[at : at + _AROUND], "target": wanted[at : at + _AROUND]}


def _reply(line: bytes, answer: Callable[[Answer], Answer]) -> Answer:
    try:
        payload = _decoded(line)
    except (ValueError, RecursionError) as error:
        return {"error": f"the payload is not JSON: {error}"}
    if not isinstance(payload, dict):
        return {"error": f"the payload is no object but {kind(payload)}"}
    if "examples" in payload:  # a batch: one candidate, several examples
        said = {"results": [_answered({**payload, "example": one}, answer) for one in payload["examples"]]}
    else:
        said = _answered(payload, answer) | {"_capabilities": {"persistent": True, "batch": 64}}
    return said | ({"_id": payload["_id"]} if "_id" in payload else {})


class _Reading:
    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, float


def _decoded(line: bytes) -> Any:
    """Read what json.loads reads; what is no plain JSON is left to it, for its words."""
    if make_scanner:
        try:
            text = line.decode().strip(" \t\r\n")
            value, end = make_scanner(_Reading)(text, 0)
            if end == len(text):
                return value
        except (ValueError, StopIteration):
            pass
    import json  # noqa: PLC0415  see above

    return json.loads(line)


def _encoded(answer: Answer) -> str:
    if make_encoder:
        write = make_encoder({}, _refuse, encode_basestring_ascii, None, ": ", ", ", False, False, True)  # noqa: FBT003
        return "".join(write(answer, 0))
    import json  # noqa: PLC0415  see above

    return json.dumps(answer)


def _refuse(value: object) -> Any:
    raise TypeError(f"{kind(value)} cannot be written as JSON")


def _answered(payload: Answer, answer: Callable[[Answer], Answer]) -> Answer:
    try:
        return answer(payload)
    except Fault as fault:
        return {"error": str(fault)}
    except RecursionError:
        return {"error": "what is to be compared is nested too deeply"}


def _plainly_given(offered: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """Read `--name value`, and nothing but; what is anything else is left to argparse, for its words."""
    given = {}
    for name, value in zip(sys.argv[1::2], [*sys.argv[2::2], "-"], strict=False):
        option = offered.get(name, {"action": ""})
        if "action" in option or value[:1] == "-":
            return None
        try:
            given[name[2:].replace("-", "_")] = made = option.get("type", str)(value)
        except Exception:  # noqa: BLE001  argparse says what is wrong with it
            return None
        if made not in option.get("choices", (made,)):
            return None
    return given


def _parsed(offered: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    import argparse  # noqa: PLC0415  see the module's docstring

    parser = argparse.ArgumentParser(
        description=sys.modules["__main__"].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for name, option in offered.items():
        parser.add_argument(name, **option)
    return vars(parser.parse_args())
