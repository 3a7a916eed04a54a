"""Sends requests of a real provider, over a real socket, to a scripted endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from indwell.errors import ProviderError
from indwell.messages import Reply, Request
from indwell.providers.base import Provider, Sending, StreamEvent
from indwell.providers.client import EndpointClient
from support.fault_endpoint import FaultEndpoint, Script
from support.requests import READ, request, user

ASKED = request(user("hello"), tools=(READ,))
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
KEY = "sk-very-secret"


@asynccontextmanager
async def connected(
    *script: Script, **settings: Any
) -> AsyncIterator[tuple[EndpointClient, FaultEndpoint]]:
    """Yield a provider with these settings; its endpoint plays ``script``."""
    async with FaultEndpoint(script) as endpoint:
        settings = {"base_url": endpoint.base_url, "api_key": KEY, "now": lambda: NOON} | settings
        provider = EndpointClient(**settings)
        try:
            yield provider, endpoint
        finally:
            await provider.aclose()


async def ask(
    *script: Script, asked: Request = ASKED, **settings: Any
) -> tuple[Reply, list[StreamEvent]]:
    """Ask the endpoint; return the reply and the events before the reply."""
    told: list[StreamEvent] = []
    async with connected(*script, **settings) as (provider, _):
        return await provider.complete(asked, of_the_answer(told.append)), told


def of_the_answer(listener: Callable[[StreamEvent], None]) -> Callable[[StreamEvent], None]:
    """Return a listener for all events except the event that the request was sent."""
    return lambda event: None if isinstance(event, Sending) else listener(event)


async def fail(*script: Script, asked: Request = ASKED, **settings: Any) -> ProviderError:
    """Return the error of a request; ADDRESS replaces the endpoint's address in the message."""
    async with connected(*script, **settings) as (provider, endpoint):
        error = await failure(provider, asked)
        sentence = str(error).replace(endpoint.base_url, "ADDRESS")
        error.args = (sentence,)
        return error


async def failure(provider: Provider, asked: Request = ASKED) -> ProviderError:
    """Return the error that the provider raises for the request."""
    with pytest.raises(ProviderError) as caught:
        await provider.complete(asked, lambda _: None)
    return caught.value
