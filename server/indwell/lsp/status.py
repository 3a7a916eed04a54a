"""Where everything stands, for a status bar and an empty panel; and who could answer."""

from __future__ import annotations

import asyncio

from indwell import __version__
from indwell.agent.session import Session
from indwell.lsp import protocol_status as status
from indwell.lsp.host import Host
from indwell.providers.catalogue import CATALOGUE
from indwell.providers.endpoint import LocalServer
from indwell.settings.model import FREEDOM, Settings


async def status_of(host: Host) -> status.StatusResult:
    """What is in force now; asks no network and opens no keyring."""
    settings, workspace = host.configuration.settings, host.sessions.workspace
    roots = workspace.roots if workspace is not None else ()
    lacking, standings, pictures = await asyncio.gather(
        host.backend.seems_lacking(),
        host.backend.standings(roots),
        host.backend.pictures(settings),
    )
    # Read last: a turn may have ended meanwhile, and its end was told already.
    settings, session = host.configuration.settings, host.sessions.current
    return status.StatusResult(
        session=session.id if session is not None else None,
        title=session.title if session is not None else "",
        mode=settings.mode,
        modes=FREEDOM,
        model=_model(settings, session),
        lacking=host.configuration.problem or lacking,
        trusted=bool(roots) and all(one.state == "trusted" for one in standings),
        running=host.turns.running_number,
        version=__version__,
        pictures=pictures,
        cost=session.cost if session is not None else None,
    )


def _model(settings: Settings, session: Session | None) -> str:
    """The one that answers next, as far as anybody has chosen one."""
    held = session.conversation.config.model if session is not None else ""
    return settings.model or held or ("scripted" if settings.provider == "scripted" else "")


async def providers_of(host: Host) -> status.ProvidersResult:
    """Model servers on this machine, looked for now, and providers by name."""
    lacking, servers = await asyncio.gather(
        host.backend.seems_lacking(), host.backend.local_servers()
    )
    return status.ProvidersResult(
        lacking=lacking,
        local=tuple(map(_local, servers)),
        known=tuple(
            status.KnownRow(one.name, one.title, one.base_url, one.key_page)
            for one in CATALOGUE
            if one.port is None
        ),
    )


def _local(server: LocalServer) -> status.LocalRow:
    why = server.warning
    if server.needs_key:
        why = why or "it wants a key"
    elif not server.models:
        why = why or "it has no model loaded"
    return status.LocalRow(
        name=server.name,
        title=server.title,
        url=server.base_url,
        models=tuple(one.name for one in server.models),
        ready=server.is_ready,
        note=why,
    )
