"""A provider for the editor's own models, over the editor's connection.

The editor's reply is read like an endpoint's reply, within the limits of a stream.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from indwell.errors import (
    BadReply,
    NotAuthorised,
    OutOfCredit,
    ProviderError,
    RateLimited,
    RequestRejected,
    ServerFault,
    TooSlow,
    Unreachable,
)
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Reply, Request
from indwell.providers.base import EditorRefusal, ModelConnection, Sending, StreamEvent
from indwell.providers.http.faults import without_advice
from indwell.providers.http.refusals import EndpointRefusal, error_of, quote
from indwell.providers.wires.dialect import MAX_WORDS, Dialect
from indwell.providers.wires.editor import EditorReply
from indwell.providers.wires.encoder import RequestEncoder
from indwell.service.endpoint.editor_models import WHOSE
from indwell.settings.endpoints import split_name

IN_A_THREAD = 500_000  # Requests with more new characters take over 5 ms to encode.
AT_ONCE = 200  # Other tasks run after this many parts of a reply.


class EditorClient:
    """A ``Provider``: the models of the editor, over the editor's own connection.

    Args:
        connection: The connection to the editor.
        timeout_s: Seconds without a new part after which the reply counts as stalled.
        first_s: Seconds until a reply must begin; the user may have to give consent first.
        dialect: Returns the dialect of a model.
    """

    def __init__(
        self,
        connection: ModelConnection,
        *,
        timeout_s: float,
        first_s: float,
        dialect: Callable[[str], Dialect],
    ) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._first_s = first_s
        self._dialect_of = dialect
        self._encoder = RequestEncoder()

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request`` in one attempt; see ``Provider``.

        Raises:
            ProviderError: The editor refused the request, or did not answer.
        """
        dialect = self._dialect_of(request.model)
        reply = EditorReply(dialect, request.tools if request.tool_choice == "auto" else ())
        try:
            try:
                await self._attempt(request, dialect, reply, on_event)
            except EditorRefusal as refusal:
                raise fault_of(refusal, request) from refusal
        except ProviderError as fault:
            may_pass = isinstance(fault, RateLimited | ServerFault | Unreachable)
            problem = without_advice(str(fault)) if may_pass else str(fault)
            # Another attempt would count against the user's subscription again.
            kept = reply.rescued(request, problem, on_event, is_endless=not may_pass)
            if kept is None:
                raise
            return kept
        reply.finish()
        for event in reply.end():
            on_event(event)
        return reply.whole(request)

    async def _attempt(
        self,
        request: Request,
        dialect: Dialect,
        reply: EditorReply,
        on_event: Callable[[StreamEvent], None],
    ) -> None:
        """Send the request, and read parts into ``reply`` until the reply is complete."""
        if self._encoder.n_new(request, dialect) > IN_A_THREAD:
            body = await asyncio.to_thread(self._encoder.body, request, dialect)
        else:
            body = self._encoder.body(request, dialect)
        on_event(Sending(msgspec.json.encode(dialect).decode(), body.digest))
        now = asyncio.get_running_loop().time
        until = now() + self._first_s
        async with aclosing(self._connection.answer(body.joined())) as batches:
            while True:
                batch = await self._next(batches, until, begun=reply.n_characters > 0)
                if batch is None:
                    break
                before = reply.n_characters
                for number, piece in enumerate(batch, 1):
                    for event in reply.add(piece):
                        on_event(event)
                    if reply.excess:
                        raise BadReply(f"the reply from {WHOSE} {reply.excess} and was cut off")
                    if number % AT_ONCE == 0:
                        await asyncio.sleep(0)
                if reply.n_characters > before:
                    until = now() + self._timeout_s
        if not reply.n_chunks:
            raise BadReply(f"{WHOSE} answered with nothing; try again")

    async def _next(
        self,
        batches: AsyncIterator[Sequence[Mapping[str, Any]]],
        until: float,
        *,
        begun: bool,
    ) -> Sequence[Mapping[str, Any]] | None:
        """Return the next parts of the reply, or None at the end.

        Raises:
        Unreachable: The parts do not come in time.
        """
        try:
            async with asyncio.timeout_at(until):
                return await anext(batches, None)
        except TimeoutError:
            if begun:
                raise Unreachable(f"{WHOSE} sent nothing for {self._timeout_s:g} s") from None
            raise TooSlow(
                f"{WHOSE} began no reply within {self._first_s:g} s; answer its question about"
                " access, if it asks one, and try again"
            ) from None


_LIMIT = lazy_pattern(r"rate.?limit|too many requests|\b429\b", re.IGNORECASE)
_QUOTA = lazy_pattern(r"quota|premium request|billing|subscription", re.IGNORECASE)
_PASSING = lazy_pattern(
    r"\b50[0234]\b|\b529\b|network|fetch failed|socket|ECONN|ENOTFOUND|ETIMEDOUT|timed? ?out"
    r"|overloaded|temporarily",
    re.IGNORECASE,
)


def fault_of(refusal: EditorRefusal, request: Request) -> ProviderError:
    """Return the error for the editor's refusal, with the user's next step."""
    words = str(refusal)[:MAX_WORDS]
    model = split_name(request.model, {})[0]
    quoted = f": {quote(words)}" if words.strip() else ""
    match refusal.code:
        case "NoPermissions":
            return NotAuthorised(
                f"{WHOSE} was not allowed to give Indwell its model {model!r}; send the prompt"
                " again and allow the access, or choose another model"
            )
        case "NotFound":
            return RequestRejected(
                f"{WHOSE} has no model {model!r} any more; choose another model{quoted}"
            )
        case "Blocked":
            return OutOfCredit(
                f"{WHOSE} blocked the request to {model!r}: the quota of your subscription may be"
                f" used up; wait for the next one, or choose another model{quoted}"
            )
        case _:
            return _by_words(refusal.code, words, request, quoted)


def _by_words(code: str, words: str, request: Request, quoted: str) -> ProviderError:
    """Return the error for an error code that an extension, not the editor's API, defines."""
    said = f"{code} {words}"
    if _LIMIT.search(said):
        return RateLimited(
            f"{WHOSE} takes no more requests now; wait a minute, and try again{quoted}"
        )
    if _QUOTA.search(said):
        return OutOfCredit(
            f"the quota of your subscription may be used up; wait for the next one, or choose"
            f" another model{quoted}"
        )
    if _PASSING.search(said):
        return ServerFault(f"the model of {WHOSE} failed; try again later{quoted}")
    known = error_of(
        EndpointRefusal(400, words, code),
        endpoint=WHOSE,
        model=split_name(request.model, {})[0],
        has_tools=bool(request.tools),
    )
    if type(known) is not RequestRejected:
        return known
    return RequestRejected(f"{WHOSE} refused the request{quoted or '; choose another model'}")
