"""Headers of requests go to one server: the only one that is called, or the one that they name."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from urllib.parse import urlsplit

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.models.model_kinds import HTTP, ModelSpec, endpoint_of, parse_model, prompted_of, tasks_of
from optimize_eval.programs.codec import Url
from optimize_eval.tasks.defined import defined_of


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
    task, prompted, defined = tasks_of(spec), prompted_of(spec), defined_of(spec)
    models, within = [*task.models], [*task.scorers]
    if prompted:
        models, within = [*prompted.models], [prompted.scorer]
    if defined:
        models, within = [*defined.models, *defined.keyed.values()], [*filter(None, [defined.program])]
    yield from _urls_among(models)
    for other in within:
        yield from _urls_of(other)


def _urls_among(models: Iterable[ModelSpec]) -> Iterator[tuple[EvaluatorSpec, str]]:
    for model in models:
        if (named := parse_model(model.text)).kind == HTTP:
            yield endpoint_of(model, named.rest), named.rest


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"
