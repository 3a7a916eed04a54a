"""Which session the next prompt goes to: a new one, or an older one that is taken up."""

from __future__ import annotations

from indwell.lsp import answers, protocol
from indwell.lsp import protocol_views as views
from indwell.lsp.current_session import OFFERED, choose_session
from indwell.lsp.host import Host


async def begin_anew(host: Host, inherit: str = "") -> None:
    """Let the next prompt begin a new session; a running turn is stopped first.

    What waits stays with the session that it was typed in, held. The task of the session
    ``inherit`` goes along.

    Raises:
        UserError: There is no such session; nothing is stopped.
    """
    if inherit:
        await host.sessions.check(inherit)
    await host.turns.drain("a new session was begun")
    await host.sessions.leave(inherit=inherit)


async def take_up(host: Host, arguments: protocol.ResumeArguments) -> views.ResumeResult | None:
    """Take an older session up, which the next prompt goes to; a running turn is stopped first.

    Where none is named the user is asked; None if the user chose none.

    Raises:
        UserError: It cannot be gone on with.
    """
    host.check_usable()
    wanted = arguments.session or await _chosen_session(host)
    if wanted is None:
        return None
    await host.sessions.check(wanted)
    if wanted != host.sessions.id:
        await host.turns.drain("another session was taken up")
    resumed = await host.sessions.resume(wanted, arguments.model)
    host.warn(resumed.notices)
    return answers.resume_result(resumed)


async def _chosen_session(host: Host) -> str | None:
    found, _ = await host.backend.sessions(host.root, limit=OFFERED, before=None)
    return await choose_session(host.client, [one for one in found if one.id != host.sessions.id])
