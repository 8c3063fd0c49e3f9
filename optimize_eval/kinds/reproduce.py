"""Shell lines that ask an evaluator by hand, as preflight shows them: they work when pasted into bash.

Payloads stand in them as ASCII, whatever is in them. A header's value that was written out is not
repeated, nor a URL's user, password and query; such a line says what to put there.
"""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from optimize_eval.evaluator import EvaluatorSpec
from optimize_eval.protocol import TASK_MODEL_VARIABLE, Payload, encode, encode_batch
from optimize_eval.secrets import masked
from optimize_eval.variables import for_shell

if TYPE_CHECKING:
    from optimize_eval.kinds.judge.rubric import JudgeSpec

_HERE = "@@candidate@@"
_ONLY_VARIABLE = re.compile(r"(\w+ )?\$\{\w+\}")
_NOT_PLAIN = re.compile("[^ -~]")
_FORMATTED = {**{unit: chr(unit) for unit in range(32, 127)}, ord("%"): "%%", ord("\\"): "\\\\"}


def ask_once(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send one payload, as a run does."""
    return _inside(spec, _call(spec, payload))


def ask_twice(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send the same payload two times, one after the other."""
    return _inside(spec, f"for i in 1 2; do {_call(spec, payload)}; done")


def ask_batch(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send payloads as one batch."""
    return _inside(spec, f"{_printf([encode_batch(payloads)])} | {_program(spec, payloads[0])}")


def ask_with_long_candidate(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send a payload whose candidate is too long to be shown: so many times the letter x."""
    line = _plain(encode(replace(payload, candidate=_HERE)))
    template = shlex.quote(line.replace("%", "%%").replace(_HERE, "%s") + "\\n")
    made = f"printf {template} \"$(head -c {len(payload.candidate)} /dev/zero | tr '\\0' x)\""
    return _inside(spec, f"{made} | {_program(spec, payload)}")


def ask_at_once(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send several payloads at the same time; to be compared with the same ones sent one by one."""
    each = " ".join(f"{_printf([encode(payload)])} | {_program(spec, payload)} &" for payload in payloads)
    return _inside(spec, f"{each} wait")


def ask_one_process(spec: EvaluatorSpec, payloads: Sequence[Payload], *, seconds: float) -> str:
    """Send several payloads to one process, whose input stays open for a while and whose output is a pipe."""
    lines = [encode(payload, str(number)) for number, payload in enumerate(payloads, 1)]
    bounded = f"timeout -k 1 {2 * seconds + 1:g} {_program(spec, payloads[0])}"
    return _inside(spec, f"({_printf(lines)}; sleep {seconds:g}) | {bounded} | cat")


def _call(spec: EvaluatorSpec, payload: Payload) -> str:
    if spec.judge:
        return f"printf -- {_as_format(payload.candidate)} | {_scored_by(spec, spec.judge, payload)}"
    return f"{_printf([encode(payload)])} | {_program(spec, payload)}"


def _scored_by(spec: EvaluatorSpec, judge: "JudgeSpec", payload: Payload) -> str:
    """Write what scores a candidate on stdin with a judge; its key stays in the environment."""
    from optimize_eval.kinds.judge.prompt import shown_example  # noqa: PLC0415  commands need no judge

    example = shown_example(judge, payload)
    options = {
        "--objective": judge.objective,
        "--rubric": judge.rubric_file,
        "--api-base": judge.api_base,
        "--task-model": payload.task_model,
        "--example": None if example is None else _plain(example),
        "--timeout": f"{spec.timeout:g}",
    }
    given = [word for option, value in options.items() if value for word in (option, value)]
    return shlex.join(["optimize-eval", "score", "-", "-e", f"judge:{judge.model}", *given])


def _as_format(text: str) -> str:
    """Write a text of any characters as ASCII, as a format of printf."""
    units = text.encode("utf-8", "replace")
    return shlex.quote("".join(_FORMATTED.get(unit) or f"\\{unit:03o}" for unit in units))


def _printf(lines: Sequence[bytes]) -> str:
    return f"printf '%s\\n' {shlex.join(_plain(line) for line in lines)}"


def _plain(line: bytes) -> str:
    """Escape all but plain ASCII, which in JSON can only stand inside texts."""
    return _NOT_PLAIN.sub(_escaped, line.decode().strip())


def _escaped(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[place]:02x}{units[place + 1]:02x}" for place in range(0, len(units), 2))


def _program(spec: EvaluatorSpec, payload: Payload) -> str:
    """Write what reads the payload: the program with its environment, or curl."""
    if spec.url:
        headers = ["-H 'Content-Type: application/json'", *(_header(*header) for header in spec.headers)]
        url = shlex.quote(_public(spec.url))
        return f"curl -sSgi -m {spec.timeout:g} {' '.join(headers)} --data-binary @- {url}"
    model = [] if payload.task_model is None else [(TASK_MODEL_VARIABLE, payload.task_model)]
    variables = [masked(f"{name}={for_shell(value)}") for name, value in spec.environment.items()]
    variables += [f"{name}={shlex.quote(value)}" for name, value in model]
    return " ".join([*(["env", *variables] if variables else []), masked(shlex.join(spec.argv))])


def _inside(spec: EvaluatorSpec, line: str) -> str:
    if spec.task:  # it takes a model and a metric, and no one line asks both
        return ""
    is_elsewhere = spec.cwd and not (spec.url or spec.judge)
    return f"(cd {shlex.quote(spec.cwd or '')} && {{ {line}; }})" if is_elsewhere else line


def _header(name: str, value: str) -> str:
    shown = value if _ONLY_VARIABLE.fullmatch(value) else f"${{HEADER:?put the value of {name} here}}"
    return f'-H "{name}: {shown}"'


def _public(url: str) -> str:
    before, at, after = url.partition("@")
    bare = f"{before.partition('//')[0]}//{after}" if at and "/" not in before.partition("//")[2] else url
    path, query, _ = bare.partition("?")
    return f"{path}?…" if query else path
