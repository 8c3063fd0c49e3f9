"""The one table of providers: where each answers, which variable holds its key, and families of models.

A base that the user names wins over a variable, and that over the table. A key goes nowhere but to the base
that is its own, over https or within this machine.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from optimize_eval.base.documents import JsonDict
from optimize_eval.base.errors import UsageError
from optimize_eval.base.frozen import frozen
from optimize_eval.models.chat import ChatSpec
from optimize_eval.programs.exchange import check_url, is_loopback, show_url

_PROVIDERS = {  # the start of a model's name → who serves it, or a server of one's own where many do
    "gpt": "openai",
    "chatgpt": "openai",
    r"o\d": "openai",
    "claude": "anthropic",
    "gemini": "gemini",
    "mistral": "mistral",
    "ministral": "mistral",
    "magistral": "mistral",
    "codestral": "mistral",
    "mixtral": "mistral",
    "deepseek": "deepseek",
    "grok": "xai",
    "sonar": "perplexity",
    "kimi": "moonshot",
    "command": "cohere",
    "llama": "ollama",
    "qwen": "ollama",
    "gemma": "ollama",
    "phi": "ollama",
}


def provider_of(word: str, providers: Collection[str]) -> str:
    """Guess whose model a name is, of the providers that are known; empty where no family is like it.

    >>> provider_of("o3-mini", ["openai"])
    'openai'
    """
    provider = next((who for start, who in _PROVIDERS.items() if re.match(start, word, re.IGNORECASE)), "")
    return provider if provider in providers else ""


PATH = "/chat/completions"
MESSAGES = "/messages"  # of Anthropic's own way


class Provider(NamedTuple):
    """A server that speaks OpenAI's chat completions."""

    base: str
    key_variable: str
    needs_key: bool = True


PROVIDERS = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY"),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "gemini": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY"),
    "fireworks": Provider("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    "cerebras": Provider("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    "perplexity": Provider("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    "nvidia": Provider("https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    "deepinfra": Provider("https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    "moonshot": Provider("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "huggingface": Provider("https://router.huggingface.co/v1", "HF_TOKEN"),
    "cohere": Provider("https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    "azure": Provider("", "AZURE_OPENAI_API_KEY"),  # each customer has a host of their own
    "ollama": Provider("http://127.0.0.1:11434/v1", "OLLAMA_API_KEY", needs_key=False),
    "vllm": Provider("http://127.0.0.1:8000/v1", "VLLM_API_KEY", needs_key=False),
    "llamacpp": Provider("http://127.0.0.1:8080/v1", "LLAMA_API_KEY", needs_key=False),
    "lmstudio": Provider("http://127.0.0.1:1234/v1", "LMSTUDIO_API_KEY", needs_key=False),
    "litellm_proxy": Provider("http://127.0.0.1:4000/v1", "LITELLM_PROXY_API_KEY", needs_key=False),
}
_OTHER_VARIABLES = {  # of the base, beside NAME_BASE_URL
    "openai": "OPENAI_API_BASE",
    "ollama": "OLLAMA_HOST",
    "azure": "AZURE_OPENAI_ENDPOINT",
}
_BEHIND = re.compile(r"(.*[^@])@(https?://\S+)", re.DOTALL)
_URL = re.compile(r"https?://[^/?#@]+")
_LISTED = f"write PROVIDER/MODEL with one of {', '.join(PROVIDERS)}"
_SENDABLE = re.compile(r"[!-~]*")


@frozen
class Address:
    """Where a model is called; the key is there for the request's header only."""

    provider: str
    model: str  # as the provider calls it
    url: str
    key_variable: str
    key: str = field(repr=False)
    is_native: bool = False  # it is called in Anthropic's own way
    note: str = ""  # what people should know of how it is called


def apart(text: str) -> tuple[str, str]:
    """Take the base off a model's text, where it ends in @http(s)://….

    >>> apart("openai/qwen@http://127.0.0.1:8001/v1")
    ('openai/qwen', 'http://127.0.0.1:8001/v1')
    """
    if text.strip().endswith("@"):  # else it would be called at the provider, with its key
        raise UsageError(f"the model {text.strip()} has no URL behind its @", hint="add http://HOST:PORT/v1")
    match = _BEHIND.fullmatch(text.strip())
    return (match[1], match[2]) if match else (text, "")


def check_one_provider(names: Iterable[str]) -> None:
    """Refuse one base for models of several providers: a key would go to a server of another."""
    providers = list(dict.fromkeys(split(name)[0] for name in names))
    if len(providers) > 1:
        raise UsageError(
            f"--api-base is one server, and the models are of {' and '.join(providers)}",
            hint="give each model its own: PROVIDER/MODEL@http://HOST:PORT/v1",
        )


def split(name: str) -> tuple[str, str]:
    """Split provider/model; further slashes belong to the model."""
    provider, slash, model = name.partition("/")
    if slash and provider and model:
        return provider, model
    raise UsageError(f"{name!r} is not PROVIDER/MODEL{_guess_meant(name.strip('/'))}", hint=_LISTED)


def find(spec: ChatSpec) -> Address | None:
    """Find where a model is called, with the key of the environment; None: not one that we know."""
    name, model = split(spec.name)
    provider = PROVIDERS.get(name) or _of_the_user(name, spec)
    if provider is None:
        return None
    base = spec.api_base or base_of_variable(name) or provider.base
    if not base:
        variable = _OTHER_VARIABLES[name]
        raise UsageError(f"no server is known for {spec.name}", hint=f"export {variable}=https://…")
    variable = spec.key_variable or provider.key_variable
    is_needed = bool(spec.key_variable) or (provider.needs_key and base == provider.base)
    key = key_in(variable, spec, is_needed=is_needed)
    is_native = name == "anthropic" and not urlsplit(base).path.endswith(PATH)
    is_safe = urlsplit(base).scheme == "https" or is_loopback(base)
    withheld = f"the key in {variable} is not sent to {show_url(base)}, which is not https"
    return Address(
        provider=name,
        model=model,
        url=check_url(messages_url(base) if is_native else _chat_url(base)),
        is_native=is_native,
        key_variable=variable,
        key=key if is_safe else "",
        note=withheld if key and not is_safe else "",
    )


def _of_the_user(name: str, spec: ChatSpec) -> Provider | None:
    """Make a provider of a name that is not in the table, where the user says where it is."""
    variable = f"{_as_variable(name)}_API_KEY"
    if os.environ.get(f"{_as_variable(name)}_BASE_URL") or (spec.api_base and not _litellm_knows(spec)):
        return Provider("", variable, needs_key=False)
    return None


def _litellm_knows(spec: ChatSpec) -> bool:
    if find_spec("litellm") is None:
        return False

    return knows(spec.name)


def base_of_variable(name: str) -> str:
    """Read the base that the environment names for a provider; empty where it names none."""
    variables = (f"{_as_variable(name)}_BASE_URL", _OTHER_VARIABLES.get(name, ""))
    for variable in filter(None, variables):
        if value := os.environ.get(variable, "").strip():
            base = _FORMS.get(variable, str)(value)
            if not _URL.match(base):
                hint = "write it as http://HOST:PORT/v1"
                raise UsageError(f"the value of {variable} is not a base URL", hint=hint)
            return base
    return ""


def base_around(spec: ChatSpec) -> list[dict[str, str]]:
    """Give the base that the environment alone names; without one a model is the one that it was before."""
    base = "" if spec.api_base else base_of_variable(split(spec.name)[0])
    return [{"base": base}] if base else []


def _of_ollama(host: str) -> str:
    """Make a base of a host as Ollama's own programs take it: with or without scheme and port."""
    parts = urlsplit(host if "://" in host else f"http://{host}")
    port = parts.port or (11434 if parts.scheme == "http" else None)
    name = "127.0.0.1" if parts.hostname in {None, "0.0.0.0"} else str(parts.hostname)  # noqa: S104  as its server has it
    shown_name = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown_name}{f':{port}' if port else ''}{parts.path.rstrip('/')}/v1"


def _of_azure(endpoint: str) -> str:
    path = urlsplit(endpoint).path.rstrip("/")
    return endpoint if path.endswith("/v1") else f"{endpoint.rstrip('/')}/openai/v1"


_FORMS: Mapping[str, Callable[[str], str]] = {"OLLAMA_HOST": _of_ollama, "AZURE_OPENAI_ENDPOINT": _of_azure}


def _as_variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def unknown(name: str, hint: str) -> UsageError:
    """Say that our table has no such provider, and what it has."""
    provider, model = split(name)
    close = get_close_matches(provider.lower(), PROVIDERS, n=1) or [provider_of(provider, PROVIDERS)]
    meant = f"; did you mean {close[0]}/{model}?" if close[0] else ""
    return UsageError(
        f"unknown provider {provider!r} in {name!r}{meant}",
        hint=f"{_LISTED}, or export {_as_variable(provider)}_BASE_URL=http://HOST:PORT/v1\n{hint}",
    )


def _guess_meant(word: str) -> str:
    """Guess what stands for a model without its provider."""
    if word not in PROVIDERS and (provider := provider_of(word, PROVIDERS)):
        return f"; did you mean {provider}/{word}?"
    close = get_close_matches(word.lower(), PROVIDERS, n=1)
    return f"; did you mean {close[0]}/MODEL?" if close else ""


def messages_url(base: str) -> str:
    """Put the path behind a base, which people write with and without /v1."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix(MESSAGES)
    return urlunsplit(parts._replace(path=(path if path.endswith("/v1") else f"{path}/v1") + MESSAGES))


def _chat_url(base: str) -> str:
    """Put the path behind a base URL; one that ends in it already is taken as it is."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix(PATH) + PATH
    return urlunsplit(parts._replace(path=path))


def key_in(variable: str, spec: ChatSpec, *, is_needed: bool) -> str:
    """Read a model's key from the environment; raises UsageError where it lacks or could not be sent."""
    key = os.environ.get(variable, "").strip()
    if not _SENDABLE.fullmatch(key):
        raise UsageError(
            f"the key in {variable} holds a character that no key has",
            hint=f"set {variable} to the key alone, without quotes, spaces and line ends",
        )
    if not key and is_needed:
        raise UsageError(
            f"no key for {spec.name}: the environment variable {variable} is not set",
            hint=f"export {variable}=…",
        )
    return key


def table_of_prices() -> dict[str, JsonDict]:
    """Give litellm's table of models, each with what a token costs."""
    table: dict[str, JsonDict] = imported().model_cost
    return table


def knows(name: str) -> bool:
    """Return True if litellm knows the provider of a model by its name alone."""
    try:
        imported().get_llm_provider(model=name)
    except Exception:  # noqa: BLE001  its exceptions have no root of their own
        return False
    return True


def imported() -> Any:
    """Import it, so that it neither writes to stdout nor loads a list of prices from the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm: Any = import_module("litellm")
    litellm.suppress_debug_info = True
    return litellm
