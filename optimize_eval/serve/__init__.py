"""A command evaluator behind HTTP: what `optimize-eval serve` runs.

http reads requests off a connection, writes replies to it and says whom a request may be for; service holds
a bounded number of connections, reads bodies as payloads, calls the evaluator, so many calls at a time, and
says which status and body an outcome is; viewer serves runs to a browser. Evaluators that are reached over
HTTP are programs/served's business.

The principle is that the client judges: an answer that is wrong goes back as it came, so that the client
finds the same failure in it. What never became an answer is a 500, which is a failure to every client.
"""

import resource
from dataclasses import field

from optimize_eval.base.frozen import frozen

_MOST_CONNECTIONS = 512


def _most_connections() -> int:
    """Leave half of this process's descriptors to the programs that are called."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST_CONNECTIONS if soft < 0 else max(1, min(_MOST_CONNECTIONS, soft // 2))


@frozen
class Limits:
    """What one connection may cost, in bytes and seconds."""

    connections: int = field(default_factory=_most_connections)
    head: int = 32 * 1024
    body: int = 16 * 1024 * 1024
    idle: float = 60.0  # until the next request begins
    half_open: float = 5.0  # until the first one begins, for a head, and without a byte of a body
    patience: float = 1.0  # idle or half-open for so long, it gives way where all places are taken
    request: float = 30.0  # for all of a request, however slowly it comes
    reply: float = 30.0  # for all of a reply to be taken
    linger: float = 1.0  # for what a refused client still sends, so that it reads why
