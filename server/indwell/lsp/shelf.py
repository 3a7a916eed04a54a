"""Renames and deletes sessions, the current one too."""

from __future__ import annotations

from indwell.errors import UserError
from indwell.lsp.host import Host
from indwell.lsp.protocol_status import RenameResult
from indwell.policy.approvals import short_line
from indwell.sessions.overview import overview

TITLE_CHARACTERS = 200  # a title is a line of a list


async def retitle(host: Host, session: str, title: str) -> RenameResult:
    """Give a session a title; an empty one gives it back its own.

    Raises:
        UserError: There is no such session, another editor has it open, or it cannot be written.
    """
    title = short_line(title, TITLE_CHARACTERS)
    current = host.sessions.current
    if current is not None and current.id == session:
        current.retitle(title)
        await current.parts.log.commit()
        return RenameResult(session, current.title)
    await host.backend.rename_session(host.root, session, title)
    reading = await host.backend.session(host.root, session)
    return RenameResult(session, overview(session, reading).title)


async def delete(host: Host, session: str) -> None:
    """Delete a session; where it is the current one, the next prompt begins a new one.

    Raises:
        UserError: A turn runs in it, there is none, another editor has it open, or the system
            refuses.
    """
    if session == host.sessions.id:
        running = host.turns.running
        if running is not None and running.session is host.sessions.current:
            raise UserError("a turn runs in this session; stop it, and delete the session then")
        await host.sessions.leave(for_good=True)
    await host.backend.delete_session(host.root, session)
    host.turns.events.forget(session)
