"""Fetches web pages: resolves each host, checks the address, and connects to the checked address.

No redirect to another host is followed, and no cookie or key is sent. No proxy of the environment
is used, because a proxy would resolve the name again. Bytes are counted after unpacking.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import TypeAlias

import httpx2
import msgspec

from indwell import __version__, edges
from indwell.errors import ToolError
from indwell.policy.web_address import WebAddress, may_lead_to, redirected
from indwell.providers.http.http_client import certificates
from indwell.sandbox.proxy.hosts import LOCALHOST, Address, HostPort, literal
from indwell.sandbox.proxy.service import is_own, resolve

PAGE_B = 4 << 20  # The unit is unpacked bytes of a page.
PAGE_S = 30.0  # The unit is seconds for the whole page.
REACH_S = 10.0  # The unit is seconds until an address answers.
MOST_REDIRECTS = 5  # The fetcher follows at most 5 redirects within one host.
_MOST_ADDRESSES = 3  # At most 3 addresses of a name are tried.
_HEADERS = {
    "User-Agent": f"Indwell/{__version__}",
    "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1",
    "Accept-Encoding": "identity",
}
_MOVED = frozenset({301, 302, 303, 307, 308})

Resolve: TypeAlias = Callable[[HostPort], Awaitable[Sequence[Address]]]


class FetchedPage(msgspec.Struct, frozen=True):
    """A fetched page, or a redirect to another host.

    Attributes:
        address: The address of the page.
        kind: The media type, such as ``text/html``, or empty if unknown.
        charset: The encoding that the server names, or empty if there is no encoding.
        body: The unpacked bytes.
        is_cut: Whether the page is longer than ``PAGE_B``.
        leads_to: The other host's address if the page was not fetched.
    """

    address: WebAddress
    kind: str = ""
    charset: str = ""
    body: bytes = b""
    is_cut: bool = False
    leads_to: WebAddress | None = None


class WebPages:
    """Fetches pages for one session.

    Args:
        resolve_host: Resolves names to addresses.
        verify: The trusted certificates; by default those of the system.
    """

    def __init__(
        self, resolve_host: Resolve = resolve, verify: ssl.SSLContext | None = None
    ) -> None:
        self._resolve = resolve_host
        self._verify = verify

    async def fetch(self, address: WebAddress, *, is_named: bool) -> FetchedPage:
        """Fetch a page; ``is_named`` says whether the user's settings name the host.

        Raises:
            ToolError: The page cannot be reached or may not be fetched, or the answer is an error.
        """
        edges.current().before_unrecordable("a page of the web")  # before the name is looked up
        try:
            async with asyncio.timeout(PAGE_S):
                return await self._fetched(address, is_named=is_named)
        except TimeoutError as error:
            raise ToolError(f"{address.text} did not come within {PAGE_S:.0f} s") from error

    async def _fetched(self, address: WebAddress, *, is_named: bool) -> FetchedPage:
        for _ in range(MOST_REDIRECTS + 1):
            found = await self._asked(address, is_named=is_named)
            if isinstance(found, FetchedPage):
                return found
            if found.place.host != address.place.host or found.place.port != address.place.port:
                return FetchedPage(address, leads_to=found)
            address = found
        raise ToolError(f"{address.text} redirects again and again")

    async def _asked(self, address: WebAddress, *, is_named: bool) -> FetchedPage | WebAddress:
        """Make one request, at the first checked address that answers."""
        why = ""
        for place in (await self._checked(address, is_named=is_named))[:_MOST_ADDRESSES]:
            try:
                return await self._request(address, place)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                why = str(error) or type(error).__name__
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                raise ToolError(f"{address.text} gave no page: {error}") from error
        raise ToolError(f"{address.origin} does not answer: {why}")

    async def _checked(self, address: WebAddress, *, is_named: bool) -> tuple[Address, ...]:
        """Return the addresses at which the host may be reached.

        Raises:
            ToolError: The host has no allowed address.
        """
        host = address.place.host
        number = literal(host)
        try:
            found = (number,) if number is not None else await self._resolve(address.place)
        except OSError as error:
            raise ToolError(f"the host {host!r} is not known") from error
        is_near = number is not None or host == LOCALHOST or is_named
        good = [one for one in found if may_lead_to(address, one, is_named=is_named)]
        good = [one for one in good if is_near or not is_own(one)]
        if not good:
            raise ToolError(
                f"{host!r} leads to this machine or to a network that is not the internet, so it "
                "was not fetched"
            )
        return tuple(good)

    async def _request(self, address: WebAddress, place: Address) -> FetchedPage | WebAddress:
        number = f"[{place}]" if place.version == 6 else str(place)  # noqa: PLR2004 - of IP
        verify = self._verify
        if verify is None:  # Certificates are loaded once, which takes up to a tenth of a second.
            verify = await asyncio.to_thread(certificates)
        async with httpx2.AsyncClient(
            verify=verify,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(PAGE_S, connect=REACH_S),
            headers={**_HEADERS, "Host": address.origin.partition("://")[2]},
        ) as client:
            request = client.build_request(
                "GET",
                f"{address.scheme}://{number}:{address.place.port}{address.target}",
                extensions={"sni_hostname": address.place.host.strip("[]")},
            )
            response = await client.send(request, stream=True)
            try:
                return await _read(address, response)
            finally:
                await response.aclose()


async def _read(address: WebAddress, response: httpx2.Response) -> FetchedPage | WebAddress:
    """Read the answer within the limits.

    Raises:
        ToolError: The answer is an error, or a redirect without a valid target.
    """
    status = response.status_code
    if status in _MOVED and (location := response.headers.get("location")):
        return redirected(address, location)
    if not response.is_success:
        named = HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
        raise ToolError(f"{address.text} answers {status} {named}".rstrip())
    body = bytearray()
    async with aclosing(response.aiter_bytes()) as parts:
        async for part in parts:
            body += part
            if len(body) > PAGE_B:
                break
    kind, _, rest = response.headers.get("content-type", "").partition(";")
    charset = rest.partition("charset=")[2].strip().strip("\"'").lower()
    return FetchedPage(
        address, kind.strip().lower(), charset, bytes(body[:PAGE_B]), len(body) > PAGE_B
    )
