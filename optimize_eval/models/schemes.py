"""A base URL whose http and https are mixed up, recognised by what came of it; pure."""

import re

_NO_TLS = re.compile(r"InvalidContentType|wrong version number|record layer failure", re.IGNORECASE)
_WANTS_TLS = re.compile(r"https? request.{0,30}https (port|server)|requires? (tls|https)", re.IGNORECASE)


def wrong_scheme(message: str, base: str) -> str:
    """Say which scheme the base should have, by the words of a failure; empty where these tell nothing."""
    if base.startswith("https:") and _NO_TLS.search(message):
        return f"that server speaks no TLS: write {base.replace('https:', 'http:', 1)}"
    if base.startswith("http:") and _WANTS_TLS.search(message):
        return f"that server speaks TLS: write {base.replace('http:', 'https:', 1)}"
    return ""
