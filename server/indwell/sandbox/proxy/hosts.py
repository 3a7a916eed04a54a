"""Decides which hosts may be reached; each host has one spelling. Pure.

The one reading of a host happens in ``host_of``; what it does not like is refused, never mended
(SBX-19). So the resolver and the rule always see the same name.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

ANY_HOST = "*"  # every name; no address
PORTS = frozenset([80, 443])  # where nothing else was named
LOCALHOST = "localhost"

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_MOST_CHARS = 253  # of a name; RFC 1035
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # how a last label makes resolvers read an address
_AUTHORITY = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(?P<port>[0-9]{1,5}))?"
)
_MAX_PORT = 65_535
_INTERNET = ipaddress.IPv6Network("2000::/3")  # all of IPv6 that is given out to the internet
_TRANSLATED = tuple(map(ipaddress.IPv6Network, ("2002::/16", "2001::/32")))  # 6to4, Teredo


class HostPort(msgspec.Struct, frozen=True):
    """A host in its one spelling, and a port; 0 for a port that was not said."""

    host: str
    port: int = 0


def place_of(authority: str) -> HostPort | None:
    """Read ``host:port`` or ``host``; None for whatever has no single meaning.

    That is: control characters, NUL, blanks, ``user@``, ``%`` and other escapes, a dot at the end,
    empty labels, other scripts than ASCII, and addresses that are not in their usual spelling.
    """
    match = _AUTHORITY.fullmatch(authority)
    if match is None or (match["port"] is not None and match["port"].startswith("0")):
        return None
    port = int(match["port"] or 0)
    host = host_of(match["host"])
    return HostPort(host, port) if host and port <= _MAX_PORT else None


def host_of(text: str) -> str:
    """The one spelling of a name or address (IPv6 in brackets); empty if it has no single one."""
    text = text.lower()
    if text.startswith("["):
        return _address_in_brackets(text)
    labels = text.split(".")
    if len(text) > _MOST_CHARS or not all(map(_LABEL.fullmatch, labels)):
        return ""
    if not _NUMBER.fullmatch(labels[-1]):
        return text
    # 127.1, 0177.0.0.1, 0x7f000001, 2130706433: resolvers take them for addresses.
    return text if _is_plain_ipv4(text) else ""


def literal(host: str) -> Address | None:
    """The address that a host in its one spelling is; None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Does it lead out to the internet, by every reading, and not to this machine or network?"""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _INTERNET or any(address in network for network in _TRANSLATED):
            return False  # what ends at an IPv4 address is for others to say; nobody needs it
    return address.is_global and not address.is_multicast and not address.is_reserved


class Allowed(msgspec.Struct, frozen=True):
    """The hosts that were allowed; nothing else is, so an empty list is no network (SBX-20).

    Attributes:
        any_name: May every name be reached?
        places: Names, addresses and ``*.name`` for all below a name, each with a port or with 0.
    """

    any_name: bool = False
    places: frozenset[HostPort] = frozenset()

    def lets(self, place: HostPort) -> bool:
        """May a place be asked for? Where a name leads is another question: ``lets_address``."""
        is_usual = place.port in PORTS
        if self.any_name and literal(place.host) is None and place.host != LOCALHOST and is_usual:
            return True
        return any(
            HostPort(host, place.port) in self.places
            or (is_usual and HostPort(host) in self.places)
            for host in _patterns(place.host)
        )

    def lets_address(self, host: str, address: Address) -> bool:
        """May a place be reached at this address?

        A name leads only to the internet, so that no name's owner can point it into this machine or
        network (DNS rebinding). An address that was named is itself; ``localhost`` is this machine.
        Addresses of the link alone (where clouds give out keys, 169.254.169.254) are never reached.
        """
        if literal(host) is not None:
            return literal(host) == address and not _is_of_the_link(address)
        if host == LOCALHOST:
            return address.is_loopback
        return is_public(address)


def allowed(hosts: Iterable[str]) -> Allowed:
    """Read a list of hosts as people write it; what cannot be read allows nothing."""
    names = [one.strip() for one in hosts]
    places = (_pattern(name) for name in names)
    return Allowed(
        any_name=ANY_HOST in names, places=frozenset(one for one in places if one is not None)
    )


def _pattern(text: str) -> HostPort | None:
    star = "*." if text.startswith("*.") else ""
    place = place_of(text.removeprefix(star))
    if place is None or (star and (literal(place.host) or "." not in place.host)):
        return None  # `*.com` would be nearly everything, by mistake
    return HostPort(star + place.host, place.port)


def _patterns(host: str) -> Iterable[str]:
    """The host, and each pattern that it falls under."""
    yield host
    if literal(host) is None:
        labels = host.split(".")
        for n in range(1, len(labels)):
            yield "*." + ".".join(labels[n:])


def _address_in_brackets(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text[1:-1])
    except ValueError:
        return ""
    if address.ipv4_mapped is not None:
        return ""  # a second spelling of an IPv4 address
    return f"[{address.compressed}]"


def _is_plain_ipv4(text: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(text)) == text
    except ValueError:
        return False


def _is_of_the_link(address: Address) -> bool:
    return address.is_link_local or address.is_multicast or address.is_unspecified
