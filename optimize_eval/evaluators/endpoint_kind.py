"""A program behind HTTP as an evaluator: a URL that is POSTed payloads. Calling it is programs' business."""

import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec
from optimize_eval.base.opened import Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.evaluators.kinds import Kind, ShellCall, TargetKey, as_name, served_retries
from optimize_eval.programs.codec import AnswerT, Contract, QuestionT, Url, evaluating, url_of
from optimize_eval.programs.identity import identify_url

if TYPE_CHECKING:
    from optimize_eval.programs.served import Endpoint

_ONLY_VARIABLE = re.compile(r"(\w+ )?\$\{\w+\}")


def endpoint_spec(url: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe an HTTP endpoint; its name is its host and path, never a user, a password or a query."""
    from optimize_eval.programs.http_client import check_url

    name = name_of_url(check_url(url))
    return defaults.at(Url(url=url), name=name, text=url, retries=served_retries(defaults))


def name_of_url(url: str) -> str:
    parts = urlsplit(url)
    return as_name(f"{parts.hostname}{parts.path}").strip("-") or "endpoint"


def _of_url(url: str, defaults: EvaluatorSpec, _settings: Mapping[str, Any]) -> EvaluatorSpec:
    return endpoint_spec(url, defaults)


def _speak(spec: EvaluatorSpec, contract: Contract[QuestionT, AnswerT]) -> "Endpoint[QuestionT, AnswerT]":
    from optimize_eval.programs.served import Endpoint

    return Endpoint(spec, contract)


def _targets() -> dict[str, TargetKey]:
    from optimize_eval.base import checks

    return {"url": TargetKey(checks.url, _of_url)}


def _connect(spec: EvaluatorSpec, _opened: Opened) -> Evaluator:
    return _speak(spec, evaluating(spec.score_range))


def _shell(spec: EvaluatorSpec, _payload: Payload) -> ShellCall:
    from optimize_eval.base.secrets import own

    headers = [
        "-H 'Content-Type: application/json'",
        *(_header(*header) for header in own(spec.headers, spec.name)),
    ]
    url = shlex.quote(_public(url_of(spec)))
    return ShellCall(f"curl -sSgi -m {spec.timeout:g} {' '.join(headers)} --data-binary @- {url}")


def _header(name: str, value: str) -> str:
    shown = value if _ONLY_VARIABLE.fullmatch(value) else f"${{HEADER:?put the value of {name} here}}"
    return f'-H "{name}: {shown}"'


def _public(url: str) -> str:
    before, at, after = url.partition("@")
    bare = f"{before.partition('//')[0]}//{after}" if at and "/" not in before.partition("//")[2] else url
    path, query, _ = bare.partition("?")
    return f"{path}?…" if query else path


def _is_served(_spec: EvaluatorSpec) -> bool:
    return True


KIND = Kind(
    noun="a URL",
    parse=endpoint_spec,
    targets=_targets,
    uses=frozenset({"headers"}),
    connect=_connect,
    speak=_speak,
    identify=identify_url,
    shell=_shell,
    is_started=False,
    is_served=_is_served,
)
