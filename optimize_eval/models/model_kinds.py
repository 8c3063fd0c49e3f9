"""What `--model` takes, as one table: specifications of models, their identity, and live ones.

cmd:COMMAND     a program (program_model)           toy       knows the answers of what ships
replay:FILE     recorded outputs (see replay)       silent    always says nothing
http(s)://…     a program behind HTTP               PROVIDER/MODEL  a provider's model (live)
function:NAME   a function that a program hands over (program_model)

A model is its program's files, its recorded outputs, or its name and settings; never a timeout or a key.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import orjson

from optimize_eval.base.errors import UsageError
from optimize_eval.base.evaluator import EvaluatorSpec
from optimize_eval.base.frozen import frozen
from optimize_eval.programs.exchange import CommandLine, Url, split_command
from optimize_eval.programs.identity import (
    Identity,
    PythonFunction,
    digest_of,
    has_other_programs,
    identify_command,
    identify_url,
)

if TYPE_CHECKING:
    from optimize_eval.models.chat import ChatSpec
    from optimize_eval.models.under_test import ModelUnderTest


@frozen
class ModelSpec:
    """A model, by the name that it has in results.

    A program or a server is called as `how` says: folder, environment, headers, timeout, workers.
    """

    name: str = ""
    text: str = ""  # as it was written, without a name
    how: EvaluatorSpec = field(default_factory=EvaluatorSpec)
    retries: int = 0
    outputs: str = ""  # where what it says is written down; empty: nowhere
    known_as: "Identity | None" = None  # where it was digested already
    api_base: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    table: "ChatSpec | None" = None  # what a table [[model]] says of it
    function: PythonFunction | None = None  # that was handed over
    keep_thoughts: bool = False  # score its text as it came, thoughts included
    fails_refusals: bool = False  # a refusal is a failure, not a reply

    @property
    def as_caller(self) -> EvaluatorSpec:
        """Give how it is called, by its name."""
        return replace(self.how, name=self.name, text=self.text, retries=self.retries)

    def with_how(self, **values: object) -> Self:
        """Let it be called otherwise."""
        how = self.how.change(**values)
        return self if how is self.how else replace(self, how=how)


CMD, REPLAY, HTTP, TOY, SILENT, FUNCTION = "cmd:", "replay:", "http", "toy", "silent", "function:"
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
    for kind in (CMD, REPLAY, FUNCTION):
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


def _hint(text: str) -> str:
    providers = _module("providers")  # with an HTTP client
    if text.startswith((".", "/")) or text.endswith((".py", ".sh")):
        return f"a program is written cmd:{text}"
    if text.endswith(".jsonl"):
        return f"recorded outputs are written replay:{text}"
    if text not in providers.PROVIDERS and (provider := providers.provider_of(text, providers.PROVIDERS)):
        return f"did you mean {provider}/{text}? {WHAT_THERE_IS}"
    known = [CMD.rstrip(":"), REPLAY.rstrip(":"), TOY, SILENT, *providers.PROVIDERS]
    close = get_close_matches(text.partition(":")[0].partition("/")[0].lower(), known, n=1)
    meant = {"cmd": "cmd:COMMAND", "replay": "replay:FILE"}.get(close[0], close[0]) if close else ""
    meant = f"{meant}/MODEL" if meant in providers.PROVIDERS else meant
    return f"did you mean {meant}? {WHAT_THERE_IS}" if meant else WHAT_THERE_IS


def retries_of(text: str) -> int:
    """Say how often a model is called again by default where that may help."""
    return _HTTP_RETRIES if text and parse_model(text).kind in {"", HTTP} else 0


def program_of(model: ModelSpec) -> EvaluatorSpec | None:
    """Describe the program that a model is; None for any other model."""
    named = parse_model(model.text)
    if named.kind != CMD:
        return None
    argv = split_command(named.rest)
    if not argv or not argv[0]:
        raise UsageError("the model's command is empty", hint=WHAT_THERE_IS)
    return replace(model.how, name=model.name, text=named.rest, target=CommandLine(argv=argv))


def endpoint_of(model: ModelSpec, url: str) -> EvaluatorSpec:
    """Describe the endpoint of a model that is a URL."""
    return replace(model.how, name=model.name, text=url, target=Url(url=url))


def without_base(name: str) -> str:
    """Give a provider's model without its server."""
    bare: str = _module("providers").apart(name)[0]
    return bare


def replayed(rest: str, model: ModelSpec) -> tuple[Path, str]:
    """Find the file of a `replay:` model, and which model's outputs were chosen in it."""
    folder = model.how.cwd or "."
    whole = Path(folder, rest)
    marks = [] if whole.exists() else [index for index, letter in enumerate(rest) if letter == "#"]
    for mark in marks:  # a model's command may have one, too
        if (path := Path(folder, rest[:mark])).is_file():
            return path, rest[mark + 1 :]
    return whole, ""


class ModelKind(NamedTuple):
    """The module of a kind, which is loaded when a model of it is called, and what makes one live there."""

    module: str
    connect: str


_KINDS: Mapping[str, ModelKind] = {
    CMD: ModelKind("program_model", "connect_program"),
    HTTP: ModelKind("program_model", "connect_endpoint"),
    REPLAY: ModelKind("replay", "connect_recorded"),
    TOY: ModelKind("toy", "connect_toy"),
    SILENT: ModelKind("toy", "connect_silent"),
    FUNCTION: ModelKind("program_model", "connect_function"),
    "": ModelKind("live", "connect_provider"),
}


def connect_model(model: ModelSpec) -> "ModelUnderTest":
    """Make a live model."""
    named = parse_model(model.text)
    kind = _KINDS[named.kind]
    connect: Callable[[str, ModelSpec], ModelUnderTest] = getattr(_module(kind.module), kind.connect)
    return connect(named.rest, model)


def _module(name: str) -> Any:
    return import_module(f"optimize_eval.models.{name}")


_SHOWN = 8  # of a digest

_Files = tuple[tuple[str, str], ...]


def identify_model(model: ModelSpec) -> Identity:
    """Digest what a model is."""
    if program := program_of(model):
        known = identify_command(program)
        return _identity(f"{CMD}{known.text}", [CMD, known.sha256], known.files)
    named = parse_model(model.text)
    if named.kind == HTTP:
        endpoint = identify_url(endpoint_of(model, named.rest))
        query = f"?{endpoint.sha256[:_SHOWN]}" if "?" in named.rest else ""  # it may be all that differs
        return _identity(f"{endpoint.text}{query}", [HTTP, endpoint.sha256], ())
    if named.kind == FUNCTION:
        return _identity(model.text, [FUNCTION, _function_of(model).sha256], ())
    if named.kind == REPLAY:
        path, chosen = replayed(named.rest, model)
        file = path.name, digest_of(path)
        shown = f"{REPLAY}{path.name}{f'#{chosen}' if chosen else ''}"
        return _identity(shown, [REPLAY, file[1], chosen], (file,))
    if named.kind:
        return _identity(named.kind, [named.kind], ())
    return _identity(named.rest, _module("live").essence_of(named.rest, model), ())


def _function_of(model: ModelSpec) -> PythonFunction:
    if model.function is None:
        raise UsageError(f"the model {model.text} is a function", hint="hand it over from Python: models=[…]")
    return model.function


def _identity(text: str, essence: list[Any], files: _Files) -> Identity:
    return Identity(name=text, text=text, files=files, sha256=sha256_of(essence))


def sha256_of(value: object) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()


def model_has_changed(model: ModelSpec) -> bool:
    """Return True if the program of a model, which was identified when it was planned, is another one now."""
    program = program_of(model)
    if program is None or model.known_as is None:
        return False
    try:
        now = identify_model(model).files
    except UsageError:  # it cannot be read any more
        return True
    return has_other_programs(model.known_as, now, program)
