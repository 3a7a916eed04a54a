"""A model that asks for permission before each call, for budgets that several processes share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from indwell.agent.core.session_parts import OtherModel
from indwell.errors import ProviderError
from indwell.messages import Reply, Request, Usage
from indwell.providers.base import Provider, StreamEvent
from indwell.wiring.model import Model


class CallMeter(Protocol):
    """Grants model calls, and hears what each call used."""

    async def ask(self, tokens: int, cost: float | None) -> int:
        """Wait for the grant of a call of at most so many tokens and US dollars; return its number.

        Raises:
            ProviderError: The call is refused; the message is for the user.
        """
        ...

    def settle(self, grant: int, tokens: int, cost: float | None) -> None:
        """Report what the call used; a cost of None means that the cost is unknown."""
        ...


def metered(model: Model, meter: CallMeter) -> Model:
    """Return the model, whose calls and whose other models' calls ask ``meter`` first."""

    def other(found: OtherModel | None) -> OtherModel | None:
        if found is None:
            return None
        return found._replace(provider=MeteredProvider(found.provider, found.cost, meter))

    fallback = model.fallback
    return model._replace(
        provider=MeteredProvider(model.provider, model.cost, meter),
        small=other(model.small),
        other=lambda name: other(model.other(name)),
        fallback=(lambda: metered(fallback(), meter)) if fallback is not None else None,
    )


class MeteredProvider:
    """Asks before each call, and reports what the call used; implements ``Provider``.

    Args:
        inner: The model.
        cost: Returns the cost of a usage, or None if the price is unknown.
        meter: Grants the calls.
    """

    def __init__(
        self, inner: Provider, cost: Callable[[Usage], float | None], meter: CallMeter
    ) -> None:
        self._inner, self._cost, self._meter = inner, cost, meter

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Answer ``request`` as soon as the meter grants the call.

        Raises:
            ProviderError: The meter refuses the call, or the endpoint failed.
        """
        most = Usage(input=request.tokens, output=request.max_output)
        grant = await self._meter.ask(most.input + most.output, self._cost(most))
        try:
            reply = await self._inner.complete(request, on_event)
        except ProviderError:
            # The endpoint gave no usable reply, for which endpoints charge nothing.
            self._meter.settle(grant, 0, 0.0)
            raise
        except (asyncio.CancelledError, Exception):
            self._meter.settle(grant, most.input + most.output, self._cost(most))
            raise
        used = reply.usage
        self._meter.settle(grant, used.input + used.output, self._cost(used))
        return reply
