"""A program behind HTTP as an evaluator: a URL that is POSTed payloads. Calling it is programs' business.

Headers of requests go to one server: the only one that is called, or the one that they name.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from optimize_eval.base import checks
from optimize_eval.base.documents import JsonMapping
from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import Evaluator, EvaluatorSpec, Opened
from optimize_eval.base.protocol import Payload
from optimize_eval.base.secrets import own
from optimize_eval.evaluators.kinds import Kind, ShellCall, TargetKey, as_name, served_retries
from optimize_eval.models.model_kinds import HTTP, ModelSpec, endpoint_of, parse_model
from optimize_eval.programs.exchange import Contract, Url, check_url, evaluating, url_of
from optimize_eval.programs.identity import identify_url
from optimize_eval.tasks.targets import task_of

if TYPE_CHECKING:
    from optimize_eval.programs.served import Endpoint

_ONLY_VARIABLE = re.compile(r"(\w+ )?\$\{\w+\}")


def endpoint_spec(url: str, defaults: EvaluatorSpec) -> EvaluatorSpec:
    """Describe an HTTP endpoint; its name is its host and path, never a user, a password or a query."""
    name = name_of_url(check_url(url))
    return defaults.at(Url(url=url), name=name, text=url, retries=served_retries(defaults))


def name_of_url(url: str) -> str:
    parts = urlsplit(url)
    return as_name(f"{parts.hostname}{parts.path}").strip("-") or "endpoint"


def _of_url(url: str, defaults: EvaluatorSpec, _settings: JsonMapping) -> EvaluatorSpec:
    return endpoint_spec(url, defaults)


def _speak(spec: EvaluatorSpec, contract: Contract[Any, Any]) -> "Endpoint[Any, Any]":
    from optimize_eval.programs.served import Endpoint

    return Endpoint(spec, contract)


def _targets() -> dict[str, TargetKey]:
    return {"url": TargetKey(checks.url, _of_url)}


def _connect(spec: EvaluatorSpec, _opened: Opened) -> Evaluator:
    return _speak(spec, evaluating(spec.score_range))


def _shell(spec: EvaluatorSpec, _payload: Payload) -> ShellCall:
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


def check_headers(specs: Iterable[EvaluatorSpec], models: Iterable[ModelSpec] = ()) -> None:
    """Refuse a header for nobody, or one that several servers would be sent: it may hold a key."""
    called = (*_urls_among(models), *(pair for spec in specs for pair in _urls_of(spec)))
    urls = {spec.name: (spec, url) for spec, url in called}
    names = [name.partition("=")[::2] for spec, _ in urls.values() for name, _ in spec.headers if "=" in name]
    for owner in dict.fromkeys(owner for owner, _ in names if owner and owner not in urls):
        close = get_close_matches(owner, urls, n=1)
        hint = f"did you mean {close[0]}?" if close else f"URLs are called {', '.join(urls)}"
        raise UsageError(f"--header {owner}=…: no URL that is called has this name", hint=hint)
    origins = {_origin(url): name for name, (_, url) in urls.items()}
    if len(origins) > 1 and any(not owner for owner, _ in names):
        listed = ", ".join(f"{name} ({origin})" for origin, name in origins.items())
        first = next(iter(origins.values()))
        raise UsageError(
            f"--header would go to {len(origins)} servers: {listed}",
            hint=f"say to whom it goes: --header {first}='Authorization: Bearer ${{TOKEN}}'",
        )


def _urls_of(spec: EvaluatorSpec) -> Iterator[tuple[EvaluatorSpec, str]]:
    """List the URLs that an evaluator calls, as itself or about replies, each with its specification."""
    if isinstance(spec.target, Url):
        yield spec, spec.target.url
    if task := task_of(spec):
        yield from _urls_among(task.replying)
        for other in task.evaluators:
            yield from _urls_of(other)


def _urls_among(models: Iterable[ModelSpec]) -> Iterator[tuple[EvaluatorSpec, str]]:
    for model in models:
        if (named := parse_model(model.text)).kind == HTTP:
            yield endpoint_of(model, named.rest), named.rest


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


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
