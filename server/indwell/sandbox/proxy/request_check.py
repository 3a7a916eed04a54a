"""Parses and checks a command's request to the proxy. Pure."""

from __future__ import annotations

import re

import h11
import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.sandbox.proxy.hosts import Allowed, HostPort, place_of

_HTTP = lazy_pattern(r"http://(?P<authority>[^/?#]*)(?P<rest>[/?][^#]*)?", re.IGNORECASE)
_HTTP_PORT = 80
# These headers are only for one connection, or another parser could read them differently.
_OURS = frozenset(
    [
        *(b"connection", b"proxy-connection", b"keep-alive", b"proxy-authorization"),
        *(b"proxy-authenticate", b"te", b"trailer", b"upgrade", b"host"),
    ]
)


class WantedRequest(msgspec.Struct, frozen=True):
    """An allowed request.

    Attributes:
        place: The requested host and port.
        target: The path to request, for plain HTTP, or empty for a tunnel.
    """

    place: HostPort
    target: str = ""


class RequestRefusal(msgspec.Struct, frozen=True):
    """A refused request.

    Attributes:
        status: The HTTP status code.
        words: The reason, which appears in the command's output.
        host: The requested host, or empty if unreadable.
    """

    status: int
    words: str
    host: str = ""


def check_request(request: h11.Request, hosts: Allowed) -> WantedRequest | RequestRefusal:
    """Parse a request and check whether its host is allowed."""
    target = request.target.decode("ascii")
    if request.method == b"CONNECT":
        place = place_of(target)
        if place is None or not place.port:
            return RequestRefusal(400, f"the address {target[:100]!r} is ambiguous")
        return _allowed(WantedRequest(place), hosts)
    match = _HTTP.fullmatch(target)
    if match is None:
        return RequestRefusal(
            400, f"a proxy is asked for http:// addresses, not for {target[:100]!r}"
        )
    place = place_of(match["authority"])
    if place is None:
        return RequestRefusal(400, f"the address {target[:100]!r} is ambiguous")
    rest = match["rest"] or "/"
    path = rest if rest.startswith("/") else f"/{rest}"
    return _allowed(WantedRequest(HostPort(place.host, place.port or _HTTP_PORT), path), hosts)


def outgoing_request(request: h11.Request, wish: WantedRequest) -> h11.Request:
    """Build the outgoing request, only for the checked host and without hop-by-hop headers."""
    is_chunked = any(name == b"transfer-encoding" for name, _ in request.headers)
    dropped = _OURS | ({b"content-length"} if is_chunked else set())
    port = "" if wish.place.port == _HTTP_PORT else f":{wish.place.port}"
    kept = [(name, value) for name, value in request.headers if name not in dropped]
    host = (b"Host", f"{wish.place.host}{port}".encode())
    return h11.Request(
        method=request.method,
        target=wish.target,
        headers=[host, *kept, (b"Connection", b"close")],
    )


def returned_response(response: h11.Response) -> h11.Response:
    """Build the response to the client, after which the connection ends."""
    kept = [
        (name, value)
        for name, value in response.headers
        if name not in {b"connection", b"keep-alive", b"proxy-connection", b"upgrade"}
    ]
    return h11.Response(
        status_code=response.status_code,
        reason=response.reason,
        headers=[*kept, (b"Connection", b"close")],
    )


def _allowed(wish: WantedRequest, hosts: Allowed) -> WantedRequest | RequestRefusal:
    if hosts.lets(wish.place):
        return wish
    host, port = wish.place.host, wish.place.port
    return RequestRefusal(
        403, f"the sandbox allows no connection to {host}:{port}", f"{host}:{port}"
    )
