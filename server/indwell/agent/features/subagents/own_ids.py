"""Gives the calls of a sub-agent ids that are unique in the session."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from indwell.messages import Reply, Request
from indwell.providers.base import Provider, StreamEvent


class OwnIds:
    """A model whose calls are named ``a3-…``; implements ``Provider``.

    The review ledger, the events and the log of the session tell calls apart by their ids, and an
    endpoint may number those of each conversation from 1.
    """

    def __init__(self, provider: Provider, prefix: str) -> None:
        self._provider = provider
        self._prefix = prefix

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer; as ``Provider.complete``.

        Raises:
            ProviderError: The endpoint did not do its part.
        """
        reply = await self._provider.complete(request, on_event)
        calls = tuple(
            msgspec.structs.replace(call, id=f"{self._prefix}-{call.id or 'call'}")
            for call in reply.calls
        )
        return msgspec.structs.replace(reply, calls=calls)
