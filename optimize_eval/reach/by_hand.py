"""Shell lines that ask an evaluator by hand, as preflight shows them: they work when pasted into bash."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from optimize_eval.protocol import TASK_MODEL_VARIABLE, Payload, encode
from optimize_eval.reach import EvaluatorSpec

_HERE = "@@candidate@@"
_ONLY_VARIABLES = re.compile(r"(\w+ )?\$\{\w+\}")


def ask_once(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send one payload, as a run does."""
    if spec.url:
        return _curl(spec, encode(payload))
    return _inside(spec, f"{_printf([payload])} | {_program(spec, payload)}")


def ask_with_long_candidate(spec: EvaluatorSpec, payload: Payload) -> str:
    """Write a payload whose candidate is too long to be shown: so many times the letter x."""
    line = encode(replace(payload, candidate=_HERE)).decode().strip()
    template = shlex.quote(line.replace("%", "%%").replace(_HERE, "%s") + "\\n")
    made = f"printf {template} \"$(head -c {len(payload.candidate)} /dev/zero | tr '\\0' x)\""
    if spec.url:
        return f"{made} | curl -sS {_curl_options(spec)} --data-binary @- {shlex.quote(spec.url)}"
    return _inside(spec, f"{made} | {_program(spec, payload)}")


def ask_at_once(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send several payloads at the same time; to be compared with the same ones sent one by one."""
    each = "; ".join(f"{_one(spec, payload)} &" for payload in payloads).replace("&;", "&")
    return _inside(spec, f"{each} wait")


def ask_one_process(spec: EvaluatorSpec, payloads: Sequence[Payload], *, seconds: float) -> str:
    """Send several payloads to one process, whose input then stays open for a while; it may not stay long."""
    fed = f"({_printf(payloads, identified=True)}; sleep {seconds:g})"
    program = _program(spec, payloads[0], before=f"timeout -k 1 {2 * seconds + 1:g}")
    return _inside(spec, f"{fed} | {program}")


def _one(spec: EvaluatorSpec, payload: Payload) -> str:
    return _curl(spec, encode(payload)) if spec.url else f"{_printf([payload])} | {_program(spec, payload)}"


def _printf(payloads: Sequence[Payload], *, identified: bool = False) -> str:
    lines = [encode(p, str(n) if identified else None).decode().strip() for n, p in enumerate(payloads, 1)]
    return f"printf '%s\\n' {shlex.join(lines)}"


def _program(spec: EvaluatorSpec, payload: Payload, before: str = "") -> str:
    model = [] if payload.task_model is None else [(TASK_MODEL_VARIABLE, payload.task_model)]
    variables = [f"{name}={shlex.quote(value)}" for name, value in [*spec.environment.items(), *model]]
    return " ".join([*variables, *([before] if before else []), shlex.join(spec.argv)])


def _inside(spec: EvaluatorSpec, line: str) -> str:
    return f"(cd {shlex.quote(spec.cwd)} && {{ {line}; }})" if spec.cwd and not spec.url else line


def _curl(spec: EvaluatorSpec, body: bytes) -> str:
    data = shlex.quote(body.decode().strip())
    return f"curl -sS {_curl_options(spec)} --data-binary {data} {shlex.quote(spec.url)}"


def _curl_options(spec: EvaluatorSpec) -> str:
    headers = ["-H 'Content-Type: application/json'", *(_header(name, value) for name, value in spec.headers)]
    return f"-m {spec.timeout:g} {' '.join(headers)}"


def _header(name: str, value: str) -> str:
    """Leave a variable to the shell; a value that was written out is not repeated."""
    return f'-H "{name}: {value}"' if _ONLY_VARIABLES.fullmatch(value) else f"-H '{name}: …'"
