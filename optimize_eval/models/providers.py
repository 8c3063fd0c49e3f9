"""The one table of providers: where each answers, and which environment variable holds its key."""

import os
import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from optimize_eval.errors import UsageError
from optimize_eval.http import check_url, is_loopback
from optimize_eval.models.families import provider_of
from optimize_eval.models.spec import ModelSpec

PATH = "/chat/completions"


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
    "ollama": Provider("http://127.0.0.1:11434/v1", "OLLAMA_API_KEY", needs_key=False),
    "vllm": Provider("http://127.0.0.1:8000/v1", "VLLM_API_KEY", needs_key=False),
    "llamacpp": Provider("http://127.0.0.1:8080/v1", "LLAMA_API_KEY", needs_key=False),
}
_LISTED = f"write PROVIDER/MODEL with one of {', '.join(PROVIDERS)}"
_SENDABLE = re.compile(r"[!-~]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a model is asked; the key is there for the request's header only."""

    provider: str
    model: str  # as the provider calls it
    url: str
    key_variable: str
    key: str = field(repr=False)


def split(name: str) -> tuple[str, str]:
    """Split provider/model; further slashes belong to the model."""
    provider, slash, model = name.partition("/")
    if slash and provider and model:
        return provider, model
    raise UsageError(f"{name!r} names no provider and model{_meant(name.strip('/'))}", hint=_LISTED)


def find(spec: ModelSpec) -> Place | None:
    """Find where a model is asked, with the key of the environment; None: not one of the table."""
    name, model = split(spec.name)
    if name not in PROVIDERS:
        return None
    provider = PROVIDERS[name]
    return Place(
        provider=name,
        model=model,
        url=check_url(_chat_url(spec.api_base or provider.base)),
        key_variable=provider.key_variable,
        key=_key(spec, provider),
    )


def unknown(name: str, hint: str) -> UsageError:
    """Say that our table has no such provider, and what it has."""
    provider, model = split(name)
    close = get_close_matches(provider.lower(), PROVIDERS, n=1) or [provider_of(provider, PROVIDERS)]
    meant = f"; did you mean {close[0]}/{model}?" if close[0] else ""
    return UsageError(f"unknown provider {provider!r} in {name!r}{meant}", hint=f"{_LISTED}\n{hint}")


def _meant(word: str) -> str:
    """Guess what stands for a model without its provider."""
    if word not in PROVIDERS and (provider := provider_of(word, PROVIDERS)):
        return f"; did you mean {provider}/{word}?"
    close = get_close_matches(word.lower(), PROVIDERS, n=1)
    return f"; did you mean {close[0]}/MODEL?" if close else ""


def _chat_url(base: str) -> str:
    """Put the path behind a base URL; one that ends in it already is taken as it is."""
    parts = urlsplit(base)
    path = parts.path.rstrip("/").removesuffix(PATH) + PATH
    return urlunsplit(parts._replace(path=path))


def _key(spec: ModelSpec, provider: Provider) -> str:
    key = os.environ.get(provider.key_variable, "").strip()
    if not _SENDABLE.fullmatch(key):
        raise UsageError(
            f"the key in {provider.key_variable} holds a character that no key has",
            hint=f"set {provider.key_variable} to the key alone, without quotes, spaces and line ends",
        )
    if not key and provider.needs_key and not (spec.api_base and is_loopback(spec.api_base)):
        raise UsageError(
            f"no key for {spec.name}: the environment variable {provider.key_variable} is not set",
            hint=f"export {provider.key_variable}=…",
        )
    return key
