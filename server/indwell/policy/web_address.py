"""Parses addresses of web pages, and matches the hosts that the settings allow. Pure.

A question to the user shows exactly the address that is fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from indwell.errors import ToolError
from indwell.sandbox.proxy.hosts import (
    LOCALHOST,
    Address,
    Allowed,
    HostPort,
    allowed,
    literal,
    place_of,
)

MOST_CHARACTERS = 2_000  # An address is limited, because a longer address could carry a file away.
_PORTS = {"https": 443, "http": 80}
_SAFE = "%/:=&?~#+!$,;'@()*[]"  # A path or a query may contain these characters unescaped.


class WebAddress(msgspec.Struct, frozen=True):
    """The address of a page, without its fragment.

    Attributes:
        scheme: ``https`` or ``http``.
        place: The host in its normal form, and the port.
        target: The path and the query, escaped.
    """

    scheme: str
    place: HostPort
    target: str

    @property
    def origin(self) -> str:
        """The address without its path."""
        usual = self.place.port == _PORTS[self.scheme]
        return f"{self.scheme}://{self.place.host}{'' if usual else f':{self.place.port}'}"

    @property
    def text(self) -> str:
        """The whole address as text."""
        return f"{self.origin}{self.target}"

    @property
    def is_near(self) -> bool:
        """Return whether the host is this machine, or an address that is not on the internet."""
        return self.place.host == LOCALHOST or literal(self.place.host) is not None


def web_address(text: str) -> WebAddress:
    """Parse an address; ``http`` becomes ``https``, unless the host is local or a number.

    Raises:
        ToolError: The text is not the address of a page, or is ambiguous.
    """
    text = text.strip()
    if len(text) > MOST_CHARACTERS:
        raise ToolError(f"the address has over {MOST_CHARACTERS:,} characters; use a shorter one")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise ToolError(f"{text!r} is not the address of a web page") from error
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.netloc or any(one.isspace() for one in text):
        raise ToolError(f"{text!r} is not an address such as 'https://docs.python.org/3/'")
    place = place_of(parts.netloc)
    if place is None:
        raise ToolError(
            f"the host {parts.netloc!r} cannot be used: write a plain ASCII name, without a user"
        )
    port = place.port or _PORTS[scheme]
    address = WebAddress(scheme, HostPort(place.host, port), _target(parts.path, parts.query))
    if scheme == "http" and not address.is_near:
        secure = HostPort(place.host, _PORTS["https"] if port == _PORTS["http"] else port)
        return msgspec.structs.replace(address, scheme="https", place=secure)
    return address


def redirected(address: WebAddress, location: str) -> WebAddress:
    """Return the target of a redirect."""
    return web_address(urljoin(address.text, location))


def may_lead_to(address: WebAddress, reached: Address, *, is_named: bool) -> bool:
    """Return whether a page may be fetched from this IP address of its host.

    A host name may lead only to the internet, so that no page can reach the user's machine or
    network. A host in the settings (``is_named``) may also lead to the user's network.
    """
    host = address.place.host
    if Allowed().lets_address(host, reached):
        return True
    if literal(host) is not None or host == LOCALHOST or not is_named:
        return False
    is_special = reached.is_loopback or reached.is_link_local or reached.is_multicast
    return reached.is_private and not is_special and not reached.is_unspecified


def is_named(address: WebAddress, named: Sequence[str]) -> bool:
    """Return whether the settings name the host, or a pattern that matches the host."""
    return allowed(one for one in named if one.strip() != "*").lets(address.place)


def is_named_exactly(address: WebAddress, named: Sequence[str]) -> bool:
    """Return whether the settings name the host itself."""
    return is_named(address, [one for one in named if "*" not in one])


def _target(path: str, query: str) -> str:
    whole = f"{path or '/'}?{query}" if query else path or "/"
    return quote(whole, safe=_SAFE)
