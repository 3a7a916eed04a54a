"""Small requests to an endpoint that are not chat requests: model lists, facts, connection tests.

The same rules apply as for chat requests: no redirect is followed, the key is sent only to the
endpoint's own origin, answers are limited in bytes and time, and no proxy is used for this machine.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeAlias
from urllib.parse import quote

import httpx2
import msgspec

from indwell import edges
from indwell.errors import BadReply, NotAuthorised, ProviderError, RequestRejected, Unreachable
from indwell.prepared_types import prepared
from indwell.providers.catalogue import LOOPBACK
from indwell.providers.endpoint import (
    NO_EXTRAS,
    Extras,
    endpoint_address,
    host_of,
    sendable_key,
    shown,
)
from indwell.providers.http.http_client import certificates
from indwell.providers.http.refusals import EndpointRefusal, error_of
from indwell.settings.credentials import origin_of

LIMIT_B = 8 << 20  # The unit is bytes; OpenRouter's list of all models has less than 1 MB.
MOST_VALUES = 400_000  # The unit is commas in one answer; OpenRouter's list has 30,000.
# Decoding this many bytes takes a millisecond; longer data is decoded in a thread.
SMALL_B = 64 << 10
_Other: TypeAlias = str | int | float | bool | None
_ANTHROPIC = "api.anthropic.com"  # Anthropic's list of models needs two additional headers.


class Fetcher:
    """Sends requests to one endpoint; created by ``fetching``.

    Args:
        client: The HTTP client, which follows no redirects.
        base_url: The address of the API.
        key: The key for the address's origin, or empty if missing.
        timeout_s: Seconds for one request, up to the last byte.
        extras: The user's own headers and parameters.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        base_url: str,
        key: str,
        timeout_s: float,
        extras: Extras = NO_EXTRAS,
    ) -> None:
        self._client = client
        self._base = base_url.rstrip("/")
        self._root = origin_of(base_url)
        self._key = key
        self._timeout_s = timeout_s
        self._extras = extras
        self.address = endpoint_address(base_url)

    async def get(self, path: str, *, at_root: bool = False) -> object:
        """Return the JSON at ``path`` below the base, or below the origin itself.

        Raises:
            ProviderError: The endpoint failed, refused, or returned something else.
        """
        return await self._ask("GET", self._url(path, at_root=at_root), None)

    async def post(self, path: str, body: Mapping[str, str], *, at_root: bool = False) -> object:
        """Send a POST request with a body; apart from that, the same as ``get``.

        Raises:
        ProviderError: See ``get``.
        """
        return await self._ask("POST", self._url(path, at_root=at_root), body)

    def _url(self, path: str, *, at_root: bool) -> str:
        return (self._root if at_root else self._base) + path

    async def _ask(self, method: str, url: str, body: Mapping[str, str] | None) -> object:
        try:
            edges.current().before_contact("an endpoint outside of a turn")
        except OSError as error:
            raise unreachable(error, self.address) from error
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key and not self._extras.key_name(url):
            headers["Authorization"] = f"Bearer {self._key}"
            if host_of(url) == _ANTHROPIC:
                headers |= {"x-api-key": self._key, "anthropic-version": "2023-06-01"}
        try:
            async with (
                asyncio.timeout(self._timeout_s),
                self._client.stream(
                    method,
                    url,
                    headers={**headers, **self._extras.all_headers(url, self._key)},
                    params=self._extras.query or None,
                    json=body,
                ) as response,
            ):
                data = await _bounded_body(response, self.address)
        except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            raise unreachable(error, self.address) from error
        if response.status_code != HTTPStatus.OK:
            raise self._refused(response, data)
        try:
            if len(data) < SMALL_B:
                return decoded(data)
            return await asyncio.to_thread(decoded, data)
        except (ValueError, RecursionError) as error:  # Errors of msgspec are ValueErrors.
            raise BadReply(
                f"{self.address} answered with something that is not JSON; check the address, it "
                "often ends in /v1"
            ) from error

    def _refused(self, response: httpx2.Response, data: bytes) -> ProviderError:
        match response.status_code:
            case HTTPStatus.UNAUTHORIZED if self._key:
                return NotAuthorised(f"the key is not accepted at {self.address}")
            case HTTPStatus.UNAUTHORIZED:
                return NotAuthorised(f"{self.address} needs a key")
            case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED:
                return RequestRejected(f"{self.address} has no such page; does it end in /v1?")
            case status:
                refusal = EndpointRefusal(
                    status=status,
                    words=self._redacted(data[:2_000].decode("utf-8", "replace")),
                    location=shown(self._redacted(response.headers.get("location", ""))),
                )
                return error_of(refusal, endpoint=self.address, model="", has_tools=False)

    def _redacted(self, words: str) -> str:
        """Return text without secrets, also without URL-encoded secrets (``%2B`` for ``+``)."""
        for secret in (self._key, *self._extras.hidden):
            for spelling in (secret, quote(secret, safe="")):
                words = words.replace(spelling, "[key]") if spelling else words
        return words


def decoded(data: bytes) -> object:
    """Decode JSON in short steps: the items of a list one by one.

    7 MB take 50 ms, in steps of at most 10 ms, so that other threads can run.

    Raises:
        ValueError: The data is not JSON, or has more values than any list of models.
    """
    if data.count(b",") > MOST_VALUES:
        raise ValueError("too many values")
    match msgspec.json.decode(
        data, type=prepared(dict[str, msgspec.Raw] | list[msgspec.Raw] | _Other)
    ):
        case dict(entries):
            return {name: _items(raw) for name, raw in entries.items()}
        case list(items):
            return [msgspec.json.decode(item) for item in items]
        case other:
            return other


def _items(raw: msgspec.Raw) -> object:
    if bytes(raw)[:1] != b"[":
        return msgspec.json.decode(raw)
    return [msgspec.json.decode(item) for item in msgspec.json.decode(raw, type=list[msgspec.Raw])]


@asynccontextmanager
async def fetching(
    base_url: str, key: str | None, *, timeout_s: float, extras: Extras = NO_EXTRAS
) -> AsyncIterator[Fetcher]:
    """Open a ``Fetcher`` for an endpoint, and close it at the end.

    Raises:
        SettingsError: The address is invalid, or the key cannot be sent.
    """
    endpoint_address(base_url)
    sendable = sendable_key(key)
    # Loading certificates takes 20-100 ms and runs in a thread; plain http needs no certificates.
    is_plain = base_url.lower().startswith("http:")
    client = await asyncio.to_thread(
        httpx2.AsyncClient,
        verify=False if is_plain else await asyncio.to_thread(certificates),
        follow_redirects=False,
        timeout=httpx2.Timeout(timeout_s),
        trust_env=host_of(base_url) not in LOOPBACK,
        proxy=extras.proxy or None,
    )
    async with client:
        yield Fetcher(client, base_url, sendable, timeout_s, extras)


def unreachable(error: BaseException, address: str) -> ProviderError:
    """Return the error for a connection that failed or broke off."""
    causes = tuple(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return ProviderError(
            f"the certificate of {address} is not trusted here; check the address, or add its "
            "authority to this machine's certificates"
        )
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return Unreachable(
            f"{address} does not speak a supported version of TLS; check whether the address "
            "should begin with http://"
        )
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return Unreachable(f"no address for the host {host_of(address)!r}; check the network")
    if any(isinstance(cause, httpx2.ProxyError) for cause in causes):
        return Unreachable(f"the proxy does not lead to {address}; check HTTPS_PROXY")
    if any(isinstance(cause, TimeoutError | httpx2.TimeoutException) for cause in causes):
        return Unreachable(f"{address} did not answer in time")
    if any(isinstance(cause, httpx2.ConnectError) for cause in causes):
        return Unreachable(f"nothing answers at {address}")
    return Unreachable(f"the connection to {address} broke off")


async def _bounded_body(response: httpx2.Response, address: str) -> bytes:
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > LIMIT_B:
            raise BadReply(
                f"{address} sent more than {LIMIT_B >> 20} MB; that is not a list of models"
            )
    return bytes(data)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
