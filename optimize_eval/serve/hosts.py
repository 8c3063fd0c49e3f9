"""Whom a request says it is for, and whether it comes from a web page: pages may not run the evaluator; pure.

A page whose name is pointed at this machine (DNS rebinding) shares its origin with the server, so a browser
lets it read and post here. The Host header gives it away: it still holds the page's name. An address cannot
be pointed anywhere, so addresses are safe where the server listens at them.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from optimize_eval.base.errors import UsageError

_HOST = re.compile(r"(?:\[([^\[\]]+)\]|([^\s:/\[\]]+))(?::[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names and addresses that a server goes by."""

    bound: str  # the address that it listens at
    names: frozenset[str] = frozenset()

    def admit(self, header: str | None) -> bool:
        """Return True if a Host header names the server; browsers always send one, so none is safe."""
        if not header:
            return True
        name = _name_of(header)
        return name == "localhost" or name in self.names or self._is_at(name)

    def _is_at(self, name: str) -> bool:
        bound, address = _address_of(self.bound), _address_of(name)
        return address is not None and (
            address.is_loopback or address == bound or bool(bound and bound.is_unspecified)
        )


def hosts_of(bound: str, host: str, allowed: Iterable[str]) -> Hosts:
    """List what a server at an address goes by: the host as it was given, and what else is allowed."""
    names = {text: _name_of(text) for text in allowed}
    if wrong := next((text for text, name in names.items() if not name), None):
        raise UsageError(f"{wrong!r} is not a host", hint="--allow-host evaluator.internal")
    return Hosts(bound, frozenset({host.lower(), *names.values()}))


def is_of_another_site(headers: Mapping[str, str]) -> bool:
    """Return True if a browser says that a page of another site makes this request."""
    return headers.get("sec-fetch-site", "").lower() == "cross-site"


def _name_of(host: str) -> str:
    """Take the name out of a Host header, without its port; "" where there is none."""
    match = _HOST.fullmatch(host)
    return (match[1] or match[2]).lower().removesuffix(".") if match else ""


def _address_of(name: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
