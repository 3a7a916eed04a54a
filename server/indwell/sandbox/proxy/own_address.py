"""Is an address this very machine's, however public it looks? Nothing is sent to find out."""

from __future__ import annotations

import contextlib
import ipaddress
import socket

from indwell.sandbox.proxy.hosts import Address

_ANY_PORT = 9


def is_own(address: Address) -> bool:
    """Would a connection to it end here (S-L6)?

    A server whose interface has a public address answers there with what it otherwise shows only
    to itself. The system gives such a connection that same address as its source; it is asked
    for one by a socket without connections, which sends nothing.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 - of IP
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), _ANY_PORT))
        return ipaddress.ip_address(probe.getsockname()[0]) == address
    return False  # there is no way to it at all
