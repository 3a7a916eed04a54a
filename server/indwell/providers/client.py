"""The client of one endpoint, over any wire, through OpenAI's official SDK (H38, H39, H41, H42).

Only this module imports ``openai``, which takes most of a second. Import this module therefore only
when needed, not at the top of another module. Building an ``EndpointClient`` loads the certificates
(20-100 ms) and belongs in a thread. ``docs/decisions/0007-bytes-through-the-sdk.md`` says why bytes
are sent and read without the SDK's own models, and why Anthropic's messages go the same way.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx2
import msgspec
import openai

from indwell.errors import NotAuthorised, ProviderError, Unreachable
from indwell.messages import Reply, Request
from indwell.providers.base import Sending, StreamEvent
from indwell.providers.endpoint import (
    NO_EXTRAS,
    OPENAI_URL,
    Extras,
    endpoint_address,
    host_of,
    is_anthropic,
    is_openai,
    sendable_key,
)
from indwell.providers.http.faults import FAULTS, Where, fault_of, without_advice
from indwell.providers.http.guard import StreamGuard, TooLong
from indwell.providers.http.http_client import ListenerFailed, RefusedAnswer, http_client
from indwell.providers.http.refusals import said_in
from indwell.providers.quirks import dialect_for
from indwell.providers.wires.chat import ChatReply
from indwell.providers.wires.dialect import Dialect, WireName, adapted
from indwell.providers.wires.encoder import LAYOUTS, RequestEncoder, path_of
from indwell.providers.wires.messages import VERSION, MessagesReply
from indwell.providers.wires.reply import GrowingReply
from indwell.providers.wires.responses import ResponsesReply

try:  # The SDK's private function that makes a request may be missing in other releases.
    from openai._models import FinalRequestOptions
except ImportError:  # pragma: no cover -- the public call does the same, slower
    FinalRequestOptions = None  # type: ignore[assignment,misc]

STALL_S = 60.0  # The unit is seconds without a data event (H42).
CONNECT_S = 10.0  # The unit is seconds to reach the endpoint.
ADAPTIONS = 5  # Refusals may remove at most 5 parameters of one request (LLM-08).
# Requests with more new characters are encoded in a thread, because encoding takes over 5 ms.
IN_A_THREAD = 500_000
# Digests of larger bodies are computed in a thread, because a digest takes over 4 ms.
LONG_BODY = 4_000_000

_PLATFORMS: Mapping[str, Any] = {"linux": "Linux", "darwin": "MacOS", "win32": "Windows"}
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
REPLIES: Mapping[WireName, type[GrowingReply]] = {
    "chat": ChatReply,
    "responses": ResponsesReply,
    "messages": MessagesReply,
}
_NO_KEY = "none"  # The SDK requires a key; local servers ignore the key.
# The first request imports these modules.
_LAZY = ("anyio._backends._asyncio", "encodings.idna", "stringprep")


_WRONG_WIRE = frozenset({httpx2.codes.BAD_REQUEST, httpx2.codes.NOT_FOUND})


class _OtherWire(Exception):
    """The endpoint wants another wire (API) for this model; the dialect now names that wire."""


class _Client(openai.AsyncOpenAI):
    """The SDK's client, without its detection of the platform.

    To describe the platform, the SDK would start ``uname`` by its bare name.
    """

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - the SDK's own
        super().__init__(**options)
        self._platform = _PLATFORMS.get(sys.platform, "Unknown")

    @property
    def user_agent(self) -> str:
        """The SDK's own user agent, without the name of this class."""
        return f"AsyncOpenAI/Python {self._version}"

    def platform_headers(self) -> dict[str, str]:
        """Return the SDK's headers about the platform, with values from this interpreter."""
        return {
            "X-Stainless-Lang": "python",
            "X-Stainless-Package-Version": self._version,
            "X-Stainless-OS": _PLATFORMS.get(sys.platform, "Unknown"),
            "X-Stainless-Arch": "unknown",
            "X-Stainless-Runtime": sys.implementation.name,
            "X-Stainless-Runtime-Version": sys.version.partition(" ")[0],
        }


class EndpointClient:
    """A ``Provider``: one endpoint with one key.

    Args:
        base_url: The address of the API, with ``/v1``; None means OpenAI itself.
        api_key: The key, which is only sent to this address; may be empty.
        timeout_s: Seconds without a data event after which the endpoint counts as stalled.
        first_s: Seconds until a reply must begin, or None for no limit, 0 for the value of
            ``timeout_s``.
        dialect: The endpoint's dialect, or a function that returns the dialect for a model; by
            default the dialect known for the address and the model.
        extras: The user's own headers, parameters and proxy.
        keeps_wire: Whether to keep the wire, even if the endpoint asks for another wire.
        on_wire: Called in a thread with a model and the wire that the endpoint asked for, once a
            reply came over that wire; the wire is None if the endpoint lacks the wire.
        now: Returns the time to compare a ``Retry-After`` date with.
        by_public_call: Whether to send the same bytes through the SDK's public ``post``, as if the
            SDK's private function did not exist; slower.

    Raises:
        SettingsError: ``base_url`` is not an http address, or the key cannot be sent.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = STALL_S,
        first_s: float | None = 0.0,
        dialect: Dialect | Callable[[str], Dialect] | None = None,
        extras: Extras = NO_EXTRAS,
        keeps_wire: bool = False,
        on_wire: Callable[[str, WireName | None], None] = lambda _model, _wire: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        by_public_call: bool = False,
    ) -> None:
        url = base_url or OPENAI_URL
        key = sendable_key(api_key)
        self._url = url
        self._extras = extras
        first_s = timeout_s if first_s == 0 else first_s
        self._where = Where(endpoint_address(url), key, timeout_s, first_s, now, extras.hidden)
        self._needs_key = is_openai(url)
        self._dialect_of: Callable[[str], Dialect] = partial(dialect_for, base_url)
        if isinstance(dialect, Dialect):
            self._dialect_of = lambda _model: dialect
        elif dialect is not None:
            self._dialect_of = dialect
        self._keeps_wire = keeps_wire
        self._on_wire = on_wire
        # The wire that the endpoint asked for, by model, until a reply comes over that wire.
        self._asked_for: dict[str, WireName] = {}
        # The dialect with changes learned from refusals, by model.
        self._dialects: dict[str, Dialect] = {}
        self._encoder = RequestEncoder()
        self._http = http_client(
            connect_s=min(CONNECT_S, timeout_s),
            trust_env=host_of(url) not in _LOOPBACK,  # A proxy cannot reach this machine.
            is_openai=self._needs_key,
            headers=extras.all_headers(url, key or _NO_KEY),
            proxy=extras.proxy,
        )
        self._client = _Client(
            base_url=url,
            api_key=key or _NO_KEY,
            max_retries=0,
            http_client=self._http,
            default_query=extras.query or None,
        )
        if not self._needs_key:  # Remove OpenAI's values that the SDK took from the environment.
            self._client.organization = self._client.project = None
        self._by_public_call = by_public_call
        self._patterns: dict[str, httpx2.Request | None] = {}
        for wire in REPLIES:  # The first digest takes milliseconds, so the code is imported here.
            self._pattern(wire, LAYOUTS[wire].PATH)
        warm_up()

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request`` in one attempt; an attempt with a rejected parameter is repeated.

        A stream that breaks after text or the start of a call is a ``Reply`` with
        ``finish="incomplete"`` and without calls. A reply that exceeds a limit has
        ``finish="endless"``. In both cases ``problem`` describes the fault.

        Raises:
            ProviderError: The endpoint failed; the message never contains the key.
        """
        where = self._where
        if self._needs_key and not where.key:
            raise NotAuthorised(
                f"no API key for {where.address}: `indwell login` stores one; or set"
                " OPENAI_API_KEY, or OPENAI_BASE_URL for an endpoint that needs none"
            )
        while True:
            dialect = self._dialect(request.model).for_request(request)
            reply = REPLIES[dialect.wire](
                dialect, request.tools if request.tool_choice == "auto" else ()
            )
            try:
                await self._attempt(request, reply, on_event)
                if reply.broke_off:
                    raise Unreachable(
                        f"the model behind {where.address} failed in the middle; try again"
                    )
            except _OtherWire:
                continue
            except ProviderError as fault:
                return _broken(reply, request, fault, on_event)
            if wire := self._asked_for.pop(request.model, None):
                await asyncio.to_thread(self._on_wire, request.model, wire)
            return reply.whole(request)

    async def aclose(self) -> None:
        """Close the connections, which otherwise stay open until the endpoint closes them."""
        await self._client.close()

    async def _attempt(
        self, request: Request, reply: GrowingReply, on_event: Callable[[StreamEvent], None]
    ) -> None:
        """Send the request, read the stream into ``reply``, and translate errors."""
        try:
            async with asyncio.timeout(self._where.first_s) as timer:
                response = await self._open(request, on_event)
                try:
                    guard = StreamGuard(response, self._where, request, timer)
                    await guard.read(reply, on_event)
                finally:
                    await response.aclose()
        except ListenerFailed as failed:
            raise failed.error from None
        except FAULTS as error:
            raise fault_of(error, self._where, request, begun=reply.n_characters > 0) from error

    async def _open(
        self, request: Request, on_event: Callable[[StreamEvent], None]
    ) -> httpx2.Response:
        """Return the response's head; after a 400 that names a parameter, drop the parameter."""
        tried = [self._dialect(request.model)]
        while True:
            try:
                return await self._send(request, tried[-1], on_event)
            except RefusedAnswer as refusal:
                said = said_in(refusal.body)
                changed = adapted(
                    tried[-1],
                    f"{said.words} {said.param}",
                    forbids_calls=request.tool_choice == "none",
                )
                if changed is None or changed in tried or len(tried) > ADAPTIONS:
                    if refusal.status == httpx2.codes.NOT_FOUND:
                        await self._forget(request.model)
                    raise
                if changed.wire != tried[0].wire:
                    if self._keeps_wire or refusal.status not in _WRONG_WIRE:
                        raise
                    self._dialects[request.model] = changed
                    self._asked_for[request.model] = changed.wire
                    raise _OtherWire from None
                if refusal.status != httpx2.codes.BAD_REQUEST:
                    raise
            tried.append(changed)
            self._dialects[request.model] = changed

    async def _forget(self, model: str) -> None:
        """Forget the learned wire of a model, because the endpoint does not have this wire."""
        self._asked_for.pop(model, None)
        if not self._keeps_wire:
            self._dialects.pop(model, None)
            await asyncio.to_thread(self._on_wire, model, None)

    def _dialect(self, model: str) -> Dialect:
        if model not in self._dialects:
            self._dialects[model] = self._dialect_of(model)
        return self._dialects[model]

    async def _send(
        self, request: Request, dialect: Dialect, on_event: Callable[[StreamEvent], None]
    ) -> httpx2.Response:
        dialect = dialect.for_request(request)
        is_long = self._encoder.n_bytes > LONG_BODY
        if is_long or self._encoder.n_new(request, dialect) > IN_A_THREAD:
            body = await asyncio.to_thread(self._encoder.body, request, dialect)
        else:
            body = self._encoder.body(request, dialect)
        _tell_of(dialect, body.digest, on_event)
        path = path_of(request, dialect)
        pattern = self._pattern(dialect.wire, path)
        if pattern is None:
            return await self._post(dialect.wire, path, body.joined())
        headers = pattern.headers.copy()
        headers["Content-Length"] = str(body.n_bytes)
        return await self._http.send(
            httpx2.Request(
                pattern.method,
                pattern.url,
                headers=headers,
                content=body,
                extensions=pattern.extensions,
            ),
            stream=True,
        )

    def _pattern(self, wire: WireName, path: str) -> httpx2.Request | None:
        """Return one of the SDK's requests without the body, or None if the SDK makes none."""
        if self._by_public_call:
            return None
        if path not in self._patterns:
            pattern = _pattern(self._client, path)
            if pattern is not None:
                for name, value in self._headers(wire, path).items():
                    if isinstance(value, str):
                        pattern.headers[name] = value
                    else:
                        pattern.headers.pop(name, None)
            self._patterns[path] = pattern
        return self._patterns[path]

    def _headers(self, wire: WireName, path: str) -> Mapping[str, str | openai.Omit]:
        """Return headers that a wire or the user adds to the SDK's, or removes from them.

        Anthropic wants the key in a separate header, and refuses a request with both headers.
        Gateways with Anthropic's API want one of the two headers. Google's token goes into the
        usual header.
        """
        key, name = self._where.key, self._extras.key_name(self._url)
        headers: dict[str, str | openai.Omit] = {}
        if wire == "messages":
            headers["anthropic-version"] = VERSION
            if key and not name and path == LAYOUTS[wire].PATH:
                headers["x-api-key"] = key
        if name or (wire == "messages" and (is_anthropic(self._url) or not key)):
            headers["Authorization"] = openai.Omit()
        return {**headers, **self._extras.all_headers(self._url, key)}

    async def _post(self, wire: WireName, path: str, content: bytes) -> httpx2.Response:
        """Send through the public API: the SDK makes the request with Indwell's bytes."""
        try:
            stream = await self._client.post(
                path,
                cast_to=object,
                content=content,
                options={
                    "headers": {"Content-Type": "application/json", **self._headers(wire, path)}
                },
                stream=True,
                stream_cls=openai.AsyncStream[Any],
            )
        except openai.APIConnectionError as error:
            hidden = error.__cause__  # The cause is the original error.
        else:
            return stream.response
        raise hidden if isinstance(hidden, Exception) else Unreachable("the connection failed")


def _broken(
    reply: GrowingReply,
    request: Request,
    fault: ProviderError,
    on_event: Callable[[StreamEvent], None],
) -> Reply:
    """Return the usable part of a reply that broke off.

    Raises:
        ProviderError: The fault, if no part of the reply is usable.
    """
    is_endless = isinstance(fault, TooLong)
    problem = str(fault) if is_endless else without_advice(str(fault))
    kept = reply.rescued(request, problem, on_event, is_endless=is_endless)
    if kept is not None:
        return kept
    raise fault


def _tell_of(dialect: Dialect, digest: str, on_event: Callable[[StreamEvent], None]) -> None:
    try:
        on_event(Sending(msgspec.json.encode(dialect).decode(), digest))
    except BaseException as error:
        raise ListenerFailed(error) from error


def warm_up() -> None:
    """Import modules that the first request would load; 30 ms, so call this in a thread."""
    for name in _LAZY:
        with suppress(ImportError):
            importlib.import_module(name)


def _pattern(client: openai.AsyncOpenAI, path: str) -> httpx2.Request | None:
    """Return a request of the SDK without a body (address, key, headers), or None.

    The request is made once, because the SDK takes longer to make a request than to send it.
    """
    if FinalRequestOptions is None or not hasattr(client, "_build_request"):
        return None
    options = FinalRequestOptions.construct(method="post", url=path, content=b"")
    pattern = client._build_request(options)  # noqa: SLF001 -- the one look inside the SDK
    for name in ("content-length", "x-stainless-retry-count"):
        pattern.headers.pop(name, None)
    return pattern
