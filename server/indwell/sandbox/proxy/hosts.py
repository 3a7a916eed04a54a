"""Decides which hosts a command may reach; every host has one normal form. Pure.

Only ``host_of`` parses hosts. The module refuses doubtful spellings and never corrects them
(SBX-19). The resolver and the rule therefore always see the same name.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern

ANY_HOST = "*"  # The entry allows every name, but no address.
PORTS = frozenset([80, 443])  # Only these ports are allowed if no port was named.
LOCALHOST = "localhost"

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_MOST_CHARS = 253  # A name has at most 253 characters (RFC 1035).
_LABEL = lazy_pattern(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
# Resolvers read a name with such a last label as an address.
_NUMBER = lazy_pattern(r"[0-9]+|0x[0-9a-f]*")
_AUTHORITY = lazy_pattern(
    r"(?P<host>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(?P<port>[0-9]{1,5}))?"
)
_MAX_PORT = 65_535
_INTERNET = ipaddress.IPv6Network("2000::/3")  # This part of IPv6 is assigned to the internet.
# The networks are 6to4 and Teredo.
_TRANSLATED = tuple(map(ipaddress.IPv6Network, ("2002::/16", "2001::/32")))


class HostPort(msgspec.Struct, frozen=True):
    """A host in its normal form, and a port; port 0 means that no port was given."""

    host: str
    port: int = 0


def place_of(authority: str) -> HostPort | None:
    """Parse ``host:port`` or ``host``; return None for anything ambiguous.

    Ambiguous parts are control characters, NUL, blanks, ``user@``, ``%`` and other escapes, a
    trailing dot, empty labels, non-ASCII scripts, and addresses in unusual spellings.
    """
    match = _AUTHORITY.fullmatch(authority)
    if match is None or (match["port"] is not None and match["port"].startswith("0")):
        return None
    port = int(match["port"] or 0)
    host = host_of(match["host"])
    return HostPort(host, port) if host and port <= _MAX_PORT else None


def host_of(text: str) -> str:
    """Return the normal form of a name or address (IPv6 in brackets), or empty if ambiguous."""
    text = text.lower()
    if text.startswith("["):
        return _address_in_brackets(text)
    labels = text.split(".")
    if len(text) > _MOST_CHARS or not all(map(_LABEL.fullmatch, labels)):
        return ""
    if not _NUMBER.fullmatch(labels[-1]):
        return text
    # Resolvers read 127.1, 0177.0.0.1, 0x7f000001 and 2130706433 as addresses.
    return text if _is_plain_ipv4(text) else ""


def literal(host: str) -> Address | None:
    """Parse a host as an address; return None for a name."""
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


def is_public(address: Address) -> bool:
    """Return whether every reading of an address is on the internet, not near this machine."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address not in _INTERNET or any(address in network for network in _TRANSLATED):
            return False  # The embedded IPv4 address would need another check.
    return address.is_global and not address.is_multicast and not address.is_reserved


class Allowed(msgspec.Struct, frozen=True):
    """The allowed hosts; all other hosts are refused, so an empty list means no network (SBX-20).

    Attributes:
        any_name: Whether every name is allowed.
        places: Names, addresses, and ``*.name`` for all subdomains, each with a port or 0 for none.
    """

    any_name: bool = False
    places: frozenset[HostPort] = frozenset()

    def lets(self, place: HostPort) -> bool:
        """Return whether a host may be requested; for a name's addresses see ``lets_address``."""
        is_usual = place.port in PORTS
        if self.any_name and literal(place.host) is None and place.host != LOCALHOST and is_usual:
            return True
        return any(
            HostPort(host, place.port) in self.places
            or (is_usual and HostPort(host) in self.places)
            for host in _patterns(place.host)
        )

    def lets_address(self, host: str, address: Address) -> bool:
        """Return whether a host may be reached at this address.

        A name may lead only to the internet, so that the name's owner cannot direct it to this
        machine or network (DNS rebinding). An address in the list is allowed; ``localhost`` is this
        machine. Link-local addresses are never allowed, because clouds serve keys there
        (169.254.169.254).
        """
        if literal(host) is not None:
            return literal(host) == address and not _is_of_the_link(address)
        if host == LOCALHOST:
            return address.is_loopback
        return is_public(address)


def allowed(hosts: Iterable[str]) -> Allowed:
    """Parse a list of hosts from the user; an unreadable entry allows nothing."""
    names = [one.strip() for one in hosts]
    places = (_pattern(name) for name in names)
    return Allowed(
        any_name=ANY_HOST in names, places=frozenset(one for one in places if one is not None)
    )


def _pattern(text: str) -> HostPort | None:
    star = "*." if text.startswith("*.") else ""
    place = place_of(text.removeprefix(star))
    if place is None or (star and (literal(place.host) or "." not in place.host)):
        return None  # `*.com` would allow nearly everything by mistake.
    return HostPort(star + place.host, place.port)


def _patterns(host: str) -> Iterable[str]:
    """Yield the host, and each pattern that matches it."""
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
        return ""  # The text is a second spelling of an IPv4 address.
    return f"[{address.compressed}]"


def _is_plain_ipv4(text: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(text)) == text
    except ValueError:
        return False


def _is_of_the_link(address: Address) -> bool:
    return address.is_link_local or address.is_multicast or address.is_unspecified
