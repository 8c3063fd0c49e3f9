"""Families of models, which people write without their provider, and whose they are."""

import re
from collections.abc import Collection

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
