"""Command lines fit to be shown and kept: what looks like a secret is struck out."""

import re

_NAME = r"[\w-]*(?:auth|credential|key|passw|secret|token)[\w-]*"
_SCHEME = r"(?:(?:Basic|Bearer|Token|ApiKey)\s++)?+"  # it tells nothing, and a line to paste needs it
_VARIABLE = rf"[\"']?{_SCHEME}\$\{{\w+\}}[\"']?(?=\s|$)"
_RULES = (
    (re.compile(r"(https?://)[^/@\s'\"]+@"), r"\1***@"),  # user and password of a URL
    (re.compile(r"(https?://[^\s'\"?]+\?)[^\s'\"]+"), r"\1***"),  # its query
    (re.compile(rf"({_NAME}:\s*+{_SCHEME})(?!\$\{{)[^'\"$]+", re.IGNORECASE), r"\1***"),  # a header
    (re.compile(rf"({_NAME}=)(?!{_VARIABLE})('[^']*'|\"[^\"]*\"|[^\s'\"]+)", re.IGNORECASE), r"\1***"),
    (
        re.compile(rf"(--?{_NAME}\s+)(?!-|\d{{1,6}}\b)('[^']*'|\"[^\"]*\"|[^\s'\"]+)", re.IGNORECASE),
        r"\1***",
    ),
    (re.compile(rf"((?:-H|--header)[\s=]+'?[\w-]+:\s*+{_SCHEME})(?!\$\{{)[^'\"$]+", re.IGNORECASE), r"\1***"),
)


def masked(command: str) -> str:
    """Strike out what looks like a secret in a command line.

    >>> masked("./judge --api-key sk-1 --max-tokens 500 http://me:pw@host/x?token=t")
    './judge --api-key *** --max-tokens 500 http://***@host/x?***'
    >>> masked("./judge --header 'Authorization: Bearer ${TOKEN}'")
    "./judge --header 'Authorization: Bearer ${TOKEN}'"
    """
    for pattern, struck in _RULES:
        command = pattern.sub(struck, command)
    return command
