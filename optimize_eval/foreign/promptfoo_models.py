"""Providers of promptfoo → tables [[model]]; keys and headers are never copied."""

import json
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from optimize_eval.base import shipped
from optimize_eval.foreign.project import NotTaken, Project, Table, as_list, file_name, table_in
from optimize_eval.foreign.promptfoo_checks import BRACES, IS_CODE

_FILE = "file://"


_ALIKE = (
    "openai anthropic mistral groq xai perplexity deepseek cerebras cohere openrouter nvidia moonshot "
    "deepinfra azure fireworks ollama huggingface vllm"
)
_PROVIDERS = {  # theirs → ours
    **{name: name for name in _ALIKE.split()},
    "google": "gemini",
    "togetherai": "together",
    "azureopenai": "azure",
    "litellm": "litellm_proxy",
}
_BY_LITELLM = {  # theirs → LiteLLM's
    **{
        name: name
        for name in ("bedrock", "replicate", "databricks", "watsonx", "hyperbolic", "github", "nscale")
    },
    "vertex": "vertex_ai",
}
_PROGRAMS = {"file", "python", "exec", "package", "golang", "ruby", "javascript"}
_FORMS = {"chat", "messages", "responses"}
_OTHER_FORMS = re.compile(
    r"(?:embeddings?|image|video|realtime|live|moderation|speech|transcription|agents?|codex\S*|assistant|"
    r"tts|voice|text-generation|completion|chatkit|background|interactions|kb|luma|nova-\w+)(?::|\Z)"
    r"|.*(?:imagen|veo-|dall-e|sora|tts|luma|stable-)"
)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value < 1 << 31


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_seed(value: object) -> bool:
    return type(value) is int and abs(value) < 1 << 53


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value) and not BRACES.search(value) and not value.startswith(_FILE)


def _is_address(value: Any) -> bool:
    """Return True of an address without a name and a password in it."""
    return _is_text(value) and bool(re.fullmatch(r"https?://[^\s@?#]+", value))


def _is_stop(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) and text for text in value)


def _is_extra(value: object) -> bool:
    """Return True of what can be sent as it is: TOML has no null, and secrets are not copied."""
    text = json.dumps(value)
    return not re.search(r"null|Infinity|NaN|file://|\{\{|(?i:authorization|api_?key|token\")", text)


_SETTINGS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {  # theirs → ours, and what fits
    "temperature": ("temperature", _is_number),
    "max_tokens": ("max_tokens", _is_count),
    "max_output_tokens": ("max_tokens", _is_count),
    "maxOutputTokens": ("max_tokens", _is_count),
    "top_p": ("top_p", _is_share),
    "topP": ("top_p", _is_share),
    "seed": ("seed", _is_seed),
    "stop": ("stop", _is_stop),
    "reasoning_effort": ("reasoning_effort", _is_text),
    "apiBaseUrl": ("base", _is_address),
    "apiKeyEnvar": ("key_variable", _is_text),
    "instructions": ("system", _is_text),
}
_EXTRA_KEYS = {
    *("response_format", "tools", "tool_choice", "presence_penalty", "frequency_penalty", "logit_bias"),
    *("max_completion_tokens", "verbosity", "parallel_tool_calls", "thinking"),
}


def read_models(said: object, project: Project, data_of: Callable[[str], Any]) -> None:
    """Make a table of each provider that is known here; `data_of` reads a file of providers."""
    for number, entry in enumerate(as_list(said), 1):
        try:
            named = entry if isinstance(entry, str) and entry.startswith(_FILE) else None
            for each in as_list(data_of(named)) if named else [entry]:
                made = model_table(each, project, runs_programs=True)
                names = [table["name"] for table in project.models]
                project.models.append({**made, "name": file_name(made["name"], names)})
                project.take("providers")
        except NotTaken as reason:
            project.leave(f"provider {_id_of(entry)}", reason, f"provider {number}")


def _id_of(entry: object) -> str:
    table = _as_table(entry)
    return str(table.get("id") or table.get("label") or "without an id")


def _as_table(entry: object) -> Table:
    """Give a provider in one of its three forms as {id, config, …}."""
    if isinstance(entry, dict) and "id" not in entry and len(entry) == 1:
        ((name, settings),) = entry.items()
        return {"id": name, **(settings if isinstance(settings, dict) else {})}
    return entry if isinstance(entry, dict) else {"id": entry}


def model_table(entry: object, project: Project, *, runs_programs: bool = False) -> Table:
    """Make the table [[model]] of a provider."""
    provider = _as_table(entry)
    said = provider.get("id")
    if not isinstance(said, str):
        raise NotTaken("it has no id")
    if provider.get("transform"):
        raise NotTaken("code transforms its replies")
    for key in ("prompts", "delay", "env"):
        if provider.get(key):
            project.leave(f"{key} of a provider", "all models are called alike", said)
    label = provider.get("label")
    label = label if isinstance(label, str) else ""
    kind, _, rest = said.partition(":")
    if runs_programs and (said == "echo" or (kind == "exec" and rest)):
        return {"name": _plain_name(label or kind), "model": _program(kind, rest, project)}
    name = _model_name(kind, rest, project)
    settings = _settings_of(table_in(provider, "config"), said, project)
    return {"name": _plain_name(label or name.partition("/")[2]), "model": name, **settings}


def _plain_name(name: str) -> str:
    plain = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "model"
    plain = plain[:60]
    return plain if plain[0].isalpha() else f"m-{plain}"


def _model_name(kind: str, rest: str, project: Project) -> str:
    """Name a provider's model as it is named here."""
    if kind in _PROGRAMS:
        raise NotTaken(f"{IS_CODE}: a program is a model here, too (docs/models.md)")
    if kind in _BY_LITELLM and rest and not _OTHER_FORMS.match(rest):
        project.change(f"provider {kind}", "LiteLLM's proxy calls it (docs/models.md)")
        return f"litellm_proxy/{_BY_LITELLM[kind]}/{rest.replace('converse:', 'converse/', 1)}"
    if kind not in _PROVIDERS:
        raise NotTaken("no such provider is known; LiteLLM's proxy may know it: litellm_proxy/NAME")
    form, _, name = rest.partition(":")
    if form not in _FORMS:
        name = rest
        if _OTHER_FORMS.match(rest) or not rest:
            raise NotTaken("it is not a model for chat")
    elif not name:
        raise NotTaken("it names no model")
    if form == "responses" or (kind == "ollama" and form != "chat"):
        project.change(f"{kind}:{form}", "the model is called by chat completions")
    return f"{_PROVIDERS[kind]}/{name}"


def _program(kind: str, rest: str, project: Project) -> str:
    """Make a model of a program that the folder gets."""
    if BRACES.search(rest):
        raise NotTaken("its template has code in it")
    starter = shipped.path(f"datasets/starters/{kind}_model.py")
    project.files[f"models/{kind}.py"] = starter.read_text(encoding="utf-8")
    if kind == "echo":
        return "cmd:python3 models/echo.py"
    project.change("provider exec", f"`run` starts this program of yours: {rest}")
    return f"cmd:python3 models/exec.py {shlex.quote(project.root)} {rest}"


def _settings_of(config: Table, said: str, project: Project) -> Table:
    """Take over how a model is called; keys and headers are secrets, and never copied."""
    made: Table = {}
    for key, value in _flat(config, said).items():
        ours, fits = _SETTINGS.get(key, ("", _is_extra))
        if ours and fits(value):
            made[ours] = value
        elif key in _EXTRA_KEYS and fits(value):
            made["extra"] = {**made.get("extra", {}), key: value}
        else:
            project.leave(f"{key} of a provider", _why_left(key), said)
    return made


def _flat(config: Table, said: str) -> Table:
    """Give settings that are nested, or named in another way, under usual names."""
    flat = {**config, **table_in(config, "generationConfig")}
    flat.pop("generationConfig", None)
    if isinstance(flat.get("apiHost"), str) and said.startswith("openai:"):
        flat["apiBaseUrl"] = f"https://{flat.pop('apiHost')}/v1"
    if table_in(flat, "reasoning").keys() == {"effort"}:
        flat["reasoning_effort"] = flat.pop("reasoning")["effort"]
    return flat


def _why_left(key: str) -> str:
    if key in {"apiKey", "headers"}:
        return "secrets are not copied: the key comes from the environment"
    if key in _SETTINGS or key in _EXTRA_KEYS:
        return "its value is not in the file, or is none that a model takes"
    return "there is nothing like it here"
