"""Shell lines that call an evaluator by hand: they work when pasted into bash, whatever is in them.

Each is empty where no one line calls the evaluator. What reads the payload is said by the kind. A header's
value that was written out is not repeated, nor a URL's user, password and query; such a line says what to
put there.
"""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace

from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.protocol import Payload, encode, encode_batch
from optimize_eval.evaluators.kinds import ShellCall, kind_of

_NOT_PLAIN = re.compile("[^ -~]")
_FORMATTED = {**{unit: chr(unit) for unit in range(32, 127)}, ord("%"): "%%", ord("\\"): "\\\\"}


def printf(lines: Sequence[bytes]) -> str:
    """Write what prints lines of JSON."""
    return f"printf '%s\\n' {shlex.join(plain(line) for line in lines)}"


def as_format(text: str) -> str:
    """Write a text of any characters as ASCII, as a format of printf."""
    units = text.encode("utf-8", "replace")
    return shlex.quote("".join(_FORMATTED.get(unit) or f"\\{unit:03o}" for unit in units))


def plain(line: bytes) -> str:
    """Escape all but plain ASCII, which in JSON can only stand inside texts."""
    return _NOT_PLAIN.sub(_escape, line.decode().strip())


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))


_HERE = "@@candidate@@"


def call_once(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send one payload, as a run does."""
    return _line(spec, payload, lambda call: _pipe_payload(call, payload))


def call_twice(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send the same payload two times, one after the other."""
    return _line(spec, payload, lambda call: f"for i in 1 2; do {_pipe_payload(call, payload)}; done")


def call_in_one(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send payloads to one process that stays alive, a line each."""
    lines = [encode(payload) for payload in payloads]
    return _line(spec, payloads[0], lambda call: f"{printf(lines)} | {call.reader}")


def call_with_batch(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send payloads as one batch."""
    return _line(spec, payloads[0], lambda call: f"{printf([encode_batch(payloads)])} | {call.reader}")


def call_with_long_candidate(spec: EvaluatorSpec, payload: Payload) -> str:
    """Send a payload whose candidate is too long to be shown: so many times the letter x."""
    line = plain(encode(replace(payload, candidate=_HERE)))
    template = shlex.quote(line.replace("%", "%%").replace(_HERE, "%s") + "\\n")
    made = f"printf {template} \"$(head -c {len(payload.candidate)} /dev/zero | tr '\\0' x)\""
    return _line(spec, payload, lambda call: f"{made} | {call.reader}")


def call_at_once(spec: EvaluatorSpec, payloads: Sequence[Payload]) -> str:
    """Send several payloads at the same time; to be compared with the same ones sent one by one."""

    def each(call: ShellCall) -> str:
        return " ".join(f"{printf([encode(payload)])} | {call.reader} &" for payload in payloads)

    return _line(spec, payloads[0], lambda call: f"{each(call)} wait")


def call_one_process(spec: EvaluatorSpec, payloads: Sequence[Payload], *, seconds: float) -> str:
    """Send several payloads to one process, whose input stays open for a while and whose output is a pipe."""
    lines = printf([encode(payload, str(number)) for number, payload in enumerate(payloads, 1)])
    bound = f"timeout -k 1 {2 * seconds + 1:g}"
    return _line(
        spec, payloads[0], lambda call: f"({lines}; sleep {seconds:g}) | {bound} {call.reader} | cat"
    )


def _pipe_payload(call: ShellCall, payload: Payload) -> str:
    return f"{call.writer or printf([encode(payload)])} | {call.reader}"


def _line(spec: EvaluatorSpec, payload: Payload, write: Callable[[ShellCall], str]) -> str:
    call = kind_of(spec).shell(spec, payload)
    if call is None:
        return ""
    return f"(cd {shlex.quote(call.folder)} && {{ {write(call)}; }})" if call.folder else write(call)
