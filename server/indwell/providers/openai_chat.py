"""An endpoint that speaks OpenAI's chat completions, through the official SDK (H38, H39, H41, H42).

The only module that imports ``openai``, which takes most of a second: import it when it is needed,
not at the top of another module. Building an ``OpenAIChat`` loads the certificates (20-100 ms), so
build it in a thread.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import httpx2
import msgspec
import openai
from openai.types.chat import ChatCompletionChunk

from indwell.errors import BadReply, NotAuthorised, ProviderError, Unreachable
from indwell.messages import Reply, Request
from indwell.providers.base import StreamEvent
from indwell.providers.chat_messages import Dialect, chat_body, dialect_for
from indwell.providers.endpoint import (
    OPENAI_URL,
    endpoint_address,
    host_of,
    is_openai,
    sendable_key,
    shown,
)
from indwell.providers.refusals import Refusal, error_of, quote, retry_after
from indwell.providers.stream import BROKEN, GrowingReply
from indwell.providers.stream_end import saw_end, watch_end

STALL_S = 60.0  # seconds without a data event; H42
CONNECT_S = 10.0  # seconds to reach the endpoint; longer is a dead address
MAX_ODD_BODY = 65_536  # bytes read of an answer that is no stream, to quote from

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NO_KEY = "none"  # the SDK wants one; local servers ignore it
_USAGE_OPTION = re.compile(r"stream_options|include_usage")
_NO_STREAMS = ("application/json", "text/html")  # what a wrong address answers with
_FAULTS = (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError)


class OpenAIChat:
    """A ``Provider``: one endpoint, one key.

    Args:
        base_url: Where the API starts, ``/v1`` included; None is OpenAI itself.
        api_key: Sent to that address only; a server that needs none works without.
        timeout_s: Seconds without a data event after which the endpoint counts as stalled.
        dialect: What the endpoint understands; by default what is known of its address.
        now: The time that a ``Retry-After`` date is compared with.

    Raises:
        SettingsError: ``base_url`` is no http address, or the key cannot be sent.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout_s: float = STALL_S,
        dialect: Dialect | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        url = base_url or OPENAI_URL
        self._address = endpoint_address(url)
        self._key = sendable_key(api_key)
        self._needs_key = is_openai(url)
        self._timeout_s = timeout_s
        self._dialect = dialect if dialect is not None else dialect_for(base_url)
        self._now = now
        http_client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=min(CONNECT_S, timeout_s)),
            follow_redirects=False,  # the prompt and the key stay with the address they are for
            trust_env=host_of(url) not in _LOOPBACK,  # a proxy has no way to this machine
            event_hooks={"response": [watch_end]},
        )
        self._client = openai.AsyncOpenAI(
            base_url=url, api_key=self._key or _NO_KEY, max_retries=0, http_client=http_client
        )
        if not self._needs_key:  # the SDK took them from the environment, for OpenAI
            self._client.organization = self._client.project = None
        self._completions = self._client.chat.completions  # imported here, not at the first call

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request``; one attempt, but for an endpoint that rejects the usage option.

        A stream that breaks after text had come or a call had begun is a ``Reply`` with
        ``finish="incomplete"`` and without calls.

        Raises:
            ProviderError: The endpoint did not do its part; never holds the key.
        """
        if self._needs_key and not self._key:
            raise NotAuthorised(
                f"no API key for {self._address}: set OPENAI_API_KEY,"
                " or OPENAI_BASE_URL for an endpoint that needs none"
            )
        reply = GrowingReply()
        try:
            async with aclosing(self._chunks(request)) as chunks:
                async for chunk in chunks:
                    for event in reply.add(chunk):
                        on_event(event)
            if reply.reason == BROKEN:
                raise Unreachable(f"the model behind {self._address} broke off; try again")
        except ProviderError as fault:
            if reply.reason not in {"", BROKEN}:
                return reply.whole(request)  # it had said all that it had to say
            if reply.can_be_kept:
                return reply.broken(request, str(fault))
            raise
        return reply.whole(request)

    async def aclose(self) -> None:
        """Close the connections; the provider cannot be used afterwards."""
        await self._client.close()

    async def _chunks(self, request: Request) -> AsyncGenerator[Mapping[str, Any]]:
        """The data events of one call, up to the end of the stream; errors as ours."""
        body = chat_body(request, self._dialect)
        n_chunks = 0
        try:
            async with await self._open(body) as stream:
                await self._check_kind(stream.response)
                events = aiter(stream)
                while (event := await self._next(events)) is not None:
                    if not isinstance(event, ChatCompletionChunk):
                        raise BadReply(f"{self._address} sent an event that is no object")
                    n_chunks += 1
                    yield event.to_dict(warnings=False)
                ended = saw_end(stream.response)
        except _FAULTS as error:
            raise self._fault(error, request, begun=n_chunks > 0) from error
        if not n_chunks:
            raise BadReply(f"{self._address} answered with nothing; try again")
        if not ended:
            raise Unreachable(f"the reply from {self._address} broke off; try again")

    async def _open(self, body: dict[str, Any]) -> openai.AsyncStream[ChatCompletionChunk]:
        try:
            return await self._create(body)
        except openai.BadRequestError as error:
            if not (self._dialect.usage_option and _USAGE_OPTION.search(str(error.body))):
                raise
        self._dialect = msgspec.structs.replace(self._dialect, usage_option=False)
        del body["stream_options"]
        return await self._create(body)

    async def _create(self, body: dict[str, Any]) -> openai.AsyncStream[ChatCompletionChunk]:
        """Send ``body`` as it is.

        It goes past the SDK's own walk through the arguments, which changes nothing here and holds
        up the event loop for 100 ms at 200 messages.
        """
        async with asyncio.timeout(self._timeout_s):
            return await self._completions.create(
                model=body["model"], messages=(), stream=True, extra_body=body
            )

    async def _next(self, chunks: AsyncIterator[ChatCompletionChunk]) -> ChatCompletionChunk | None:
        """The next data event; comments and pings do not reset the time (H42)."""
        async with asyncio.timeout(self._timeout_s):
            return await anext(chunks, None)

    async def _check_kind(self, response: httpx2.Response) -> None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in _NO_STREAMS:
            return
        body = bytearray()
        async with asyncio.timeout(self._timeout_s):
            async for part in response.aiter_bytes():
                body += part
                if len(body) > MAX_ODD_BODY:
                    break
        words = self._redacted(bytes(body[:MAX_ODD_BODY]).decode("utf-8", "replace"))
        raise BadReply(
            f"{self._address} answered with {kind} instead of a stream; check OPENAI_BASE_URL,"
            f" it often ends in /v1: {quote(words)}"
        )

    def _fault(self, error: Exception, request: Request, *, begun: bool) -> ProviderError:
        match error:
            case openai.APIStatusError():
                return self._refused(error, error.status_code, request, error.response.headers)
            case openai.APITimeoutError() | TimeoutError() if begun:
                return Unreachable(f"{self._address} sent nothing for {self._timeout_s:g} s")
            case openai.APITimeoutError() | TimeoutError():
                return Unreachable(f"{self._address} did not answer in time; try again")
            case openai.APIConnectionError() | httpx2.HTTPError():
                return self._unreachable(error, begun=begun)
            case openai.APIError():  # an error event inside the stream
                return self._refused(error, _status_of(error), request, {})
            case _:  # undecodable chunks: json and unicode errors are ValueErrors
                return BadReply(
                    f"{self._address} sent data that is no chat completion ({type(error).__name__})"
                )

    def _refused(
        self, error: openai.APIError, status: int, request: Request, headers: Mapping[str, str]
    ) -> ProviderError:
        refusal = Refusal(
            status=status,
            words=self._redacted(_words_of(error)),
            code=" ".join(filter(None, (error.code, error.type))),
            retry_after_s=retry_after(headers, self._now()),
            location=shown(headers.get("location", "")),
        )
        return error_of(
            refusal,
            endpoint=self._address,
            model=request.model,
            has_tools=bool(request.tools),
        )

    def _unreachable(self, error: Exception, *, begun: bool) -> ProviderError:
        causes = tuple(_causes(error))
        if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
            return ProviderError(
                f"the certificate of {self._address} is not trusted here; check the address,"
                " or add its authority to this machine's certificates"
            )
        if any(isinstance(cause, socket.gaierror) for cause in causes):
            host = host_of(self._address)
            return Unreachable(
                f"no address for the host {host!r}; check the network and OPENAI_BASE_URL"
            )
        if any(isinstance(cause, httpx2.ConnectError) for cause in causes):
            return Unreachable(
                f"nothing answers at {self._address}; start the endpoint or set OPENAI_BASE_URL"
            )
        if any(isinstance(cause, httpx2.ProxyError) for cause in causes):
            return Unreachable(f"the proxy does not lead to {self._address}; check HTTPS_PROXY")
        what = "reply" if begun else "connection"
        return Unreachable(f"the {what} from {self._address} broke off; try again")

    def _redacted(self, words: str) -> str:
        return words.replace(self._key, "[key]") if self._key else words


def _words_of(error: openai.APIError) -> str:
    """The endpoint's own message, in one of the places where servers put it."""
    body = error.body
    if isinstance(body, str):
        return body
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        if isinstance(inner, str):
            return inner
        if isinstance(inner, Mapping):
            words = inner.get("message") or inner.get("detail") or body.get("detail")
            if words:
                return str(words)
    return error.message


def _status_of(error: openai.APIError) -> int:
    """The status that an error event names in its code or type; a fault of the server if none."""
    names: dict[str, int] = {
        "rate_limit_exceeded": 429,
        "rate_limit_error": 429,
        "invalid_request_error": 400,
        "context_length_exceeded": 400,
    }
    for name in filter(None, (error.code, error.type)):
        if name.isdecimal() and 400 <= int(name) <= 599:  # noqa: PLR2004 -- HTTP's error statuses
            return int(name)
        if name in names:
            return names[name]
    return 500


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
