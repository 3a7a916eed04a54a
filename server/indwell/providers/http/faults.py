"""Turns failures of an endpoint or the network into errors of Indwell, with one plain sentence."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from urllib.parse import quote, urljoin

import httpx2
import msgspec

from indwell.errors import BadReply, ProviderError, RequestRejected, TooSlow, Unreachable
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Request
from indwell.providers.endpoint import host_of, origin_shown
from indwell.providers.http.http_client import RefusedAnswer
from indwell.providers.http.refusals import (
    EndpointError,
    EndpointRefusal,
    error_of,
    retry_after,
    said_in,
    wait_in,
)
from indwell.providers.http.sse import EventTooLong, TooManyValues
from indwell.providers.wires.dialect import MAX_WORDS

FAULTS = (
    httpx2.HTTPError,
    httpx2.InvalidURL,
    httpx2.StreamError,
    RefusedAnswer,
    OSError,  # OSError includes TimeoutError.
    ValueError,
    RecursionError,
)

_TRY_AGAIN = lazy_pattern(r"; try again(?: later| then)?(?=:|$)")


class Where(msgspec.Struct, frozen=True):
    """The description of an endpoint for error messages.

    Attributes:
        address: The address without secrets.
        key: The key, which is never shown, or empty if missing.
        timeout_s: The stall time in seconds.
        first_s: Seconds until a reply must begin, or None for no limit.
        now: Returns the time to compare a ``Retry-After`` date with.
        hidden: Other values that are never shown, such as those of headers.
    """

    address: str
    key: str
    timeout_s: float
    first_s: float | None
    now: Callable[[], datetime]
    hidden: tuple[str, ...] = ()

    def redacted(self, words: str) -> str:
        """Remove the key and other secrets, also URL-encoded, because some servers repeat them."""
        for secret in (self.key, *self.hidden):
            for spelling in (secret, quote(secret, safe="")):
                words = words.replace(spelling, "[key]") if spelling else words
        return words


def fault_of(error: Exception, where: Where, request: Request, *, begun: bool) -> ProviderError:
    """Return Indwell's error for an exception; ``begun`` is true if data had arrived."""
    match error:
        case RefusedAnswer():
            said = said_in(error.body)
            return refused(error.status, said, where, request, headers=error.headers)
        case TimeoutError() | httpx2.TimeoutException():
            return _too_slow(error, where, begun=begun)
        case EventTooLong() | TooManyValues():
            return BadReply(f"{where.address} sent {error}, which no reply has")
        case httpx2.HTTPError() | OSError():
            return _unreachable(error, where, begun=begun)
        case _:  # A chunk cannot be decoded, because errors of json and unicode are ValueErrors.
            kind = type(error).__name__
            return BadReply(f"{where.address} sent data that is not a reply ({kind})")


def refused(
    status: int,
    said: EndpointError,
    where: Where,
    request: Request,
    *,
    headers: Mapping[str, str] | None = None,
) -> ProviderError:
    """Return the error for an answer that refuses the request."""
    headers = headers or {}
    asked_s = retry_after(headers, where.now())
    if asked_s is None and status == httpx2.codes.TOO_MANY_REQUESTS:
        asked_s = wait_in(said.words[:MAX_WORDS])
    refusal = EndpointRefusal(
        status=status,
        words=where.redacted(said.words)[:MAX_WORDS],
        code=said.code,
        retry_after_s=asked_s,
        location=_target(headers.get("location", ""), where),
    )
    return error_of(
        refusal, endpoint=where.address, model=request.model, has_tools=bool(request.tools)
    )


def without_advice(sentence: str) -> str:
    """Remove "try again": Indwell retries by itself, or says how to continue."""
    return _TRY_AGAIN.sub("", sentence, count=1)


def _target(location: str, where: Where) -> str:
    """Return only the origin of a redirect's target, because its path may be unsafe."""
    try:
        return origin_shown(where.redacted(urljoin(where.address, location)))
    except ValueError:
        return ""


def _too_slow(error: Exception, where: Where, *, begun: bool) -> ProviderError:
    if begun:
        return Unreachable(f"{where.address} sent nothing for {where.timeout_s:g} s")
    if any(isinstance(cause, httpx2.ConnectTimeout) for cause in _causes(error)):
        return Unreachable(
            f"{where.address} cannot be reached; check the network, a VPN or proxy, and the address"
        )
    return TooSlow(
        f"{where.address} began no reply within {where.first_s or 0:g} s; try again, take a faster "
        "model, or raise `first_token_timeout_s` in your settings"
    )


def _unreachable(error: Exception, where: Where, *, begun: bool) -> ProviderError:
    causes = tuple(_causes(error))
    words = " ".join(map(str, causes))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return ProviderError(
            f"the certificate of {where.address} is not trusted here; check the address,"
            " or add its authority to this machine's certificates"
        )
    if any(isinstance(cause, ssl.SSLError) for cause in causes) or "[SSL" in words:
        return ProviderError(
            f"{where.address} does not speak a supported version of TLS; check whether the address"
            " should begin with http://, and any proxy on the way"
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        host = host_of(where.address)
        return Unreachable(
            f"no address for the host {host!r}; check the network and OPENAI_BASE_URL"
        )
    if any(isinstance(cause, httpx2.ProxyError) for cause in causes):
        if "407" in words:
            return RequestRejected(
                f"the proxy on the way to {where.address} needs a name and password; set them in"
                " HTTPS_PROXY as http://name:password@host:port"
            )
        return Unreachable(f"the proxy does not lead to {where.address}; check HTTPS_PROXY")
    if any(isinstance(cause, httpx2.ConnectError) for cause in causes):
        return Unreachable(
            f"nothing answers at {where.address}; start the endpoint or set OPENAI_BASE_URL"
        )
    what = "was lost in the middle of the reply" if begun else "broke off"
    return Unreachable(f"the connection to {where.address} {what}; try again")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()  # The causes of an exception may form a cycle.
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
