"""The kinds of models under test: what `--model` takes, as one table, and making a live model of it.

cmd:COMMAND     a program (see program)          toy       knows the answers of what ships
replay:FILE     recorded outputs (see replay)    silent    always says nothing
http(s)://…     a program behind HTTP            PROVIDER/MODEL  a provider's model (see models)
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.programs.codec import CommandLine, Url, split_command
from optimize_eval.tasks.target import Tasks, tasks_of
from optimize_eval.tasks.under_test.model import ModelUnderTest

if TYPE_CHECKING:
    from optimize_eval.models.spec import ModelSpec

CMD, REPLAY, HTTP, TOY, SILENT = "cmd:", "replay:", "http", "toy", "silent"
WHAT_THERE_IS = (
    "a model is cmd:'./my_model', http://HOST/PATH, replay:outputs.jsonl, toy, silent or PROVIDER/MODEL"
)

_HTTP_RETRIES = 2
_URLS = ("http://", "https://")


class ModelText(NamedTuple):
    """A model's text, taken apart: the kind that it is of, and what stands behind it."""

    kind: str
    rest: str


def parse_model(text: str) -> ModelText:
    """Take a model's text apart; raises UsageError where it names no model.

    >>> parse_model("cmd:./my_model --fast")
    ModelText(kind='cmd:', rest='./my_model --fast')
    """
    text = text.strip()
    if text in {TOY, SILENT}:
        return ModelText(text, "")
    for kind in (CMD, REPLAY):
        if text.startswith(kind):
            if rest := text[len(kind) :].strip():
                return ModelText(kind, rest)
            raise UsageError(f"the model {text!r} names nothing behind {kind}", hint=WHAT_THERE_IS)
    if text.startswith(_URLS):
        return ModelText(HTTP, text)
    provider, slash, model = text.partition("/")
    if slash and provider and model and ":" not in provider and not provider.startswith("."):
        return ModelText("", text)
    raise UsageError(f"unknown model {text!r}" if text else "the model is empty", hint=_hint(text))


def retries_of(text: str) -> int:
    """Say how often a model is called again by default where that may help."""
    return _HTTP_RETRIES if text and parse_model(text).kind in {"", HTTP} else 0


def connect_model(text: str, spec: EvaluatorSpec) -> ModelUnderTest:
    """Make a live model; `spec` is that of the evaluator that calls it."""
    named = parse_model(text)
    return _KINDS[named.kind](named.rest, spec)


def program_spec(command: str, spec: EvaluatorSpec) -> EvaluatorSpec:
    """Describe the program of a `cmd:` model."""
    argv = split_command(command)
    if not argv or not argv[0]:
        raise UsageError("the model's command is empty", hint=WHAT_THERE_IS)
    return replace(spec, text=command, target=CommandLine(argv=argv))


def program_of(model: EvaluatorSpec) -> EvaluatorSpec | None:
    """Give the program that a model is; None for any other model."""
    named = parse_model(tasks_of(model).model)
    return program_spec(named.rest, model) if named.kind == CMD else None


def endpoint_spec(url: str, spec: EvaluatorSpec) -> EvaluatorSpec:
    """Describe the endpoint of a model that is a URL."""
    return replace(spec, text=url, target=Url(url=url))


def model_spec(name: str, task: Tasks) -> "ModelSpec":
    """Describe a provider's model."""
    from optimize_eval.models.from_spec import with_options
    from optimize_eval.models.providers import apart

    called, base = apart(name)
    return with_options(
        task.table,
        called,
        api_base=base or task.api_base,
        temperature=task.temperature,
        max_tokens=task.max_tokens,
        seed=task.seed,
        keep_thoughts=task.keep_thoughts or None,
    )


def without_base(name: str) -> str:
    """Give a provider's model without its server."""
    from optimize_eval.models.providers import apart

    return apart(name)[0]


def replayed(rest: str, spec: EvaluatorSpec) -> tuple[Path, str]:
    """Find the file of a `replay:` model, and which model's outputs were chosen in it."""
    whole = Path(spec.cwd or ".", rest)
    marks = [] if whole.exists() else [place for place, letter in enumerate(rest) if letter == "#"]
    for place in marks:  # a model's command may have one, too
        if (path := Path(spec.cwd or ".", rest[:place])).is_file():
            return path, rest[place + 1 :]
    return whole, ""


def _program(command: str, spec: EvaluatorSpec) -> ModelUnderTest:
    from optimize_eval.programs.command import Command
    from optimize_eval.tasks.under_test.program import CONTRACT, ProgramModel

    return ProgramModel(Command(program_spec(command, spec), CONTRACT), spec)


def _endpoint(url: str, spec: EvaluatorSpec) -> ModelUnderTest:
    from optimize_eval.programs.http_client import check_url
    from optimize_eval.programs.served import Endpoint
    from optimize_eval.tasks.under_test.program import CONTRACT, ProgramModel

    return ProgramModel(Endpoint(endpoint_spec(check_url(url), spec), CONTRACT), spec)


def _replay(rest: str, spec: EvaluatorSpec) -> ModelUnderTest:
    from optimize_eval.tasks.under_test.replay import ReplayModel

    return ReplayModel(*replayed(rest, spec), version=tasks_of(spec).replayed)


def _toy(_rest: str, _spec: EvaluatorSpec) -> ModelUnderTest:
    from optimize_eval.tasks.under_test.toy import ToyModel, toy

    return ToyModel(toy)


def _silent(_rest: str, _spec: EvaluatorSpec) -> ModelUnderTest:
    from optimize_eval.tasks.under_test.toy import ToyModel, silent

    return ToyModel(silent)


def _provider(name: str, spec: EvaluatorSpec) -> ModelUnderTest:
    from optimize_eval.models.from_spec import live_model
    from optimize_eval.tasks.under_test.provider import ProviderModel

    live = live_model(model_spec(name, tasks_of(spec)), spec.manners, spec.name)
    return ProviderModel(live, takes_refusals=not tasks_of(spec).fails_refusals)


_KINDS: Mapping[str, Callable[[str, EvaluatorSpec], ModelUnderTest]] = {
    CMD: _program,
    HTTP: _endpoint,
    REPLAY: _replay,
    TOY: _toy,
    SILENT: _silent,
    "": _provider,
}


def _hint(text: str) -> str:
    from optimize_eval.models.families import provider_of
    from optimize_eval.models.providers import PROVIDERS

    if text.startswith((".", "/")) or text.endswith((".py", ".sh")):
        return f"a program is written cmd:{text}"
    if text.endswith(".jsonl"):
        return f"recorded outputs are written replay:{text}"
    if text not in PROVIDERS and (provider := provider_of(text, PROVIDERS)):
        return f"did you mean {provider}/{text}? {WHAT_THERE_IS}"
    known = [CMD.rstrip(":"), REPLAY.rstrip(":"), TOY, SILENT, *PROVIDERS]
    close = get_close_matches(text.partition(":")[0].partition("/")[0].lower(), known, n=1)
    meant = {"cmd": "cmd:COMMAND", "replay": "replay:FILE"}.get(close[0], close[0]) if close else ""
    meant = f"{meant}/MODEL" if meant in PROVIDERS else meant
    return f"did you mean {meant}? {WHAT_THERE_IS}" if meant else WHAT_THERE_IS
