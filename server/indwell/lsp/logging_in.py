"""A login that a client asks for: the key is kept where it says, and used from the next turn on."""

from __future__ import annotations

from indwell.lsp.host import Host
from indwell.lsp.protocol_views import LoginParams
from indwell.providers.endpoint import LoginOutcome


async def login(host: Host, params: LoginParams) -> LoginOutcome:
    """Test an endpoint and keep its key.

    Raises:
        UserError: It cannot be kept.
    """
    outcome = await host.backend.login(
        params.provider, params.key, params.url, params.model, by_client=params.keep == "client"
    )
    if outcome.ok:
        host.warn(await host.configuration.read_again())
    return outcome
