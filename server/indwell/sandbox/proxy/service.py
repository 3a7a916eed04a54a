"""The proxy, which carries HTTP and CONNECT requests of a confined command to allowed hosts."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import h11

from indwell.sandbox.proxy.hosts import LOCALHOST, Address, Allowed, HostPort, literal
from indwell.sandbox.proxy.request_check import (
    RequestRefusal,
    WantedRequest,
    check_request,
    outgoing_request,
    returned_response,
)

_ANY_PORT = 9


def is_own(address: Address) -> bool:
    """Return whether a connection to this address would stay on this machine (S-L6).

    A server on this machine may have a public address and show local programs content that nobody
    else may see. For a connection to its own address, the system chooses the same address as
    source. A UDP socket reveals the source without sending anything.
    """
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 - of IP
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((str(address), _ANY_PORT))
        return ipaddress.ip_address(probe.getsockname()[0]) == address
    return False  # The machine has no route to the address.


REQUEST_S = 30.0  # A request with all its headers must arrive within 30 s.
REACH_S = 15.0  # An address must answer within 15 s; there may be a second address.
MOST_CONNECTIONS = 128  # At most 128 connections are open at once; package managers open some tens.
_PIECE_B = 65_536
_MOST_ADDRESSES = 4  # At most 4 addresses of a name are tried.
_MOST_REFUSED = 20  # At most 20 refusals are reported.

Stream: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve: TypeAlias = Callable[[HostPort], Awaitable[Sequence[Address]]]
Reach: TypeAlias = Callable[[Address, int], Awaitable[Stream]]
IsOwn: TypeAlias = Callable[[Address], bool]


async def resolve(place: HostPort) -> Sequence[Address]:
    """Resolve a name to addresses.

    Raises:
        OSError: The name has no addresses.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(place.host, place.port)
    return tuple(dict.fromkeys(ipaddress.ip_address(one[4][0]) for one in found))


async def reach(address: Address, port: int) -> Stream:
    """Connect to an address.

    Raises:
        OSError: The address does not answer.
    """
    return await asyncio.open_connection(str(address), port)


class Proxy:
    """Serves the connections of one command until it is closed.

    Args:
        hosts: The allowed hosts.
        credentials: The ``Proxy-Authorization`` that a client must send; empty where only the
            command can reach the proxy.
        resolve: Resolves names to addresses.
        reach: Connects to addresses.
        is_own: Returns whether an address is this machine's, which only ``localhost`` may use.

    Attributes:
        hosts: The allowed hosts.
        refused: The refused requests, as ``host:port``, in order.
    """

    def __init__(
        self,
        hosts: Allowed,
        *,
        credentials: str = "",
        resolve: Resolve = resolve,
        reach: Reach = reach,
        is_own: IsOwn = is_own,
    ) -> None:
        self.refused: dict[str, None] = {}
        self.hosts = hosts
        self._credentials = credentials.encode()
        self._resolve = resolve
        self._reach = reach
        self._is_own = is_own
        self._serving: set[asyncio.Task[None]] = set()

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection in its own task; for ``asyncio.start_server``."""
        if len(self._serving) >= MOST_CONNECTIONS:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def close(self) -> None:
        """End all connections."""
        tasks = tuple(self._serving)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Either side may hang up or break the protocol at any point; no client is left to
            # inform.
            with contextlib.suppress(OSError, h11.ProtocolError, TimeoutError):
                await self._exchange(reader, writer)
        finally:
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = h11.Connection(h11.SERVER)
        try:
            async with asyncio.timeout(REQUEST_S):
                request = await _event(client, reader)
        except h11.RemoteProtocolError:
            await _refuse(client, writer, RequestRefusal(400, "this request is not understood"))
            return
        if not isinstance(request, h11.Request):
            return
        wish = self._judged(request)
        if isinstance(wish, WantedRequest):
            upstream = await self._reached(wish)
            if not isinstance(upstream, RequestRefusal):
                try:
                    await self._carry(client, (reader, writer), request, wish, upstream)
                finally:
                    upstream[1].close()
                return
            wish = upstream
        if wish.host and len(self.refused) < _MOST_REFUSED:
            self.refused[wish.host] = None
        await _refuse(client, writer, wish)

    def _judged(self, request: h11.Request) -> WantedRequest | RequestRefusal:
        given = [value for name, value in request.headers if name == b"proxy-authorization"]
        if self._credentials and given != [self._credentials]:
            return RequestRefusal(407, "this proxy belongs to another command")
        return check_request(request, self.hosts)

    async def _reached(self, wish: WantedRequest) -> Stream | RequestRefusal:
        """Connect to the very address that was checked, because names are resolved only once."""
        place = wish.place
        shown = f"{place.host}:{place.port}"
        itself = literal(place.host)
        try:
            async with asyncio.timeout(REACH_S):
                found = (itself,) if itself is not None else await self._resolve(place)
        except (OSError, TimeoutError, UnicodeError):
            return RequestRefusal(502, f"no address was found for {place.host}")
        if not found or not all(self._may_lead(place, one) for one in found):
            words = f"{shown} is on this machine or its local network, which the sandbox forbids"
            return RequestRefusal(403, words, shown)
        for address in found[:_MOST_ADDRESSES]:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(REACH_S):
                    return await self._reach(address, place.port)
        return RequestRefusal(502, f"{shown} does not answer")

    def _may_lead(self, place: HostPort, address: Address) -> bool:
        is_named = place.host == LOCALHOST or literal(place.host) is not None
        return self.hosts.lets_address(place.host, address) and (
            is_named or not self._is_own(address)
        )

    async def _carry(
        self,
        client: h11.Connection,
        down: Stream,
        request: h11.Request,
        wish: WantedRequest,
        up: Stream,
    ) -> None:
        if wish.target:
            await _pass_on(client, down, outgoing_request(request, wish), up)
            return
        await _event(client, down[0])  # This event ends a request without a body.
        down[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        early, _ = client.trailing_data
        up[1].write(early)
        await _both_ways(down, up)


async def _event(connection: h11.Connection, reader: asyncio.StreamReader) -> h11.Event | type:
    """Read until the next event of a connection.

    Raises:
        RemoteProtocolError: The input is not HTTP.
    """
    while (event := connection.next_event()) is h11.NEED_DATA:
        connection.receive_data(await reader.read(_PIECE_B))
    return event


async def _pass_on(client: h11.Connection, down: Stream, request: h11.Request, up: Stream) -> None:
    """Send one request to the host, and the response to the command; both are rebuilt."""
    server = h11.Connection(h11.CLIENT)
    up[1].write(server.send(request) or b"")
    sending = asyncio.create_task(_send_body(client, down[0], server, up[1]))
    try:
        while not isinstance(event := await _event(server, up[0]), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                down[1].write(client.send(returned_response(event)) or b"")
            elif isinstance(event, h11.Data):
                down[1].write(client.send(event) or b"")
            elif isinstance(event, h11.InformationalResponse):
                go_on = h11.InformationalResponse(status_code=event.status_code, headers=[])
                down[1].write(client.send(go_on) or b"")
            else:
                return
            await down[1].drain()
        down[1].write(client.send(h11.EndOfMessage()) or b"")
        await down[1].drain()
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send_body(
    client: h11.Connection,
    reader: asyncio.StreamReader,
    server: h11.Connection,
    writer: asyncio.StreamWriter,
) -> None:
    while isinstance(event := await _event(client, reader), h11.Data):
        writer.write(server.send(event) or b"")
        await writer.drain()
    if isinstance(event, h11.EndOfMessage):
        writer.write(server.send(h11.EndOfMessage()) or b"")
        await writer.drain()


async def _both_ways(one: Stream, other: Stream) -> None:
    """Copy bytes in both directions until both sides are done, or one side breaks off."""
    tasks = {
        asyncio.create_task(_carry_on(one[0], other[1])),
        asyncio.create_task(_carry_on(other[0], one[1])),
    }
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _carry_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE_B):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _refuse(
    client: h11.Connection, writer: asyncio.StreamWriter, refusal: RequestRefusal
) -> None:
    body = f"{refusal.words}\n".encode()
    response = h11.Response(
        status_code=refusal.status,
        reason=b"Refused by the sandbox" if refusal.status == 403 else b"Refused",  # noqa: PLR2004
        headers=[
            (b"Content-Type", b"text/plain; charset=utf-8"),
            (b"Content-Length", str(len(body)).encode()),
            (b"Connection", b"close"),
        ],
    )
    for event in (response, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(client.send(event) or b"")
    await writer.drain()
