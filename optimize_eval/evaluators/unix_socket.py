"""A server on a Unix socket as an evaluator: `unix:PATH`. How it is called is programs' business."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.protocol import Payload
from optimize_eval.evaluators.kind import Kind, ShellCall, TargetKey, as_name, served_retries
from optimize_eval.programs.codec import evaluating
from optimize_eval.programs.identity import Identity, digest_words, portable
from optimize_eval.programs.line_socket import SocketProgram, UnixSocket, socket_of

_BEGINS = "unix:"
_BY_HAND = (
    "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
    "s.sendall(sys.stdin.buffer.read()); s.shutdown(1); print(s.makefile().read(), end='')"
)


def _parse(target: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    path = target.removeprefix(_BEGINS).strip()
    if not path:
        raise UsageError("unix: names no socket", hint="name the server's: unix:./judge.sock")
    name = as_name(Path(path).stem).strip("-.") or "socket"
    return defaults.at(UnixSocket(path), name=name, text=target, retries=served_retries(defaults))


def _of_path(path: str, defaults: EvaluatorSpec, _settings: Mapping[str, Any]) -> EvaluatorSpec:
    return _parse(f"{_BEGINS}{path}", defaults)


def _targets() -> dict[str, TargetKey]:
    from optimize_eval.base import checks

    return {"unix": TargetKey(checks.text, _of_path)}


def _connect(spec: EvaluatorSpec) -> Evaluator:
    return SocketProgram(spec, evaluating(spec.score_range))


def _identify(spec: EvaluatorSpec) -> Identity:
    text = f"{_BEGINS}{portable(socket_of(spec))}"
    return Identity(name=spec.name, text=text, files=(), sha256=digest_words([text]))


def _shell(spec: EvaluatorSpec, _payload: Payload) -> ShellCall:
    command = shlex.join(["python3", "-c", _BY_HAND, socket_of(spec)])
    return ShellCall(command, has_identity=True, folder=spec.cwd)


def _is_served(_spec: EvaluatorSpec) -> bool:
    return True


KIND = Kind(
    noun="a socket",
    parse=_parse,
    targets=_targets,
    uses=frozenset({"cwd"}),
    connect=_connect,
    speak=SocketProgram,
    identify=_identify,
    shell=_shell,
    is_started=False,
    is_served=_is_served,
)
