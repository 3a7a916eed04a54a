"""Wires ``indwell.fork`` and ``indwell.rewind``: the conversation goes on from an earlier turn."""

from __future__ import annotations

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from indwell.errors import UserError
from indwell.lsp import protocol
from indwell.lsp import protocol_views as views
from indwell.lsp.host import Host
from indwell.lsp.wire.envelope import INVALID_PARAMS

ANY_TURN = protocol.ForkArguments()


def register_branching(server: LanguageServer, host: Host) -> None:
    """Both commands."""

    @server.command("indwell.fork")
    async def fork(arguments: protocol.ForkArguments = ANY_TURN) -> views.ResumeResult | None:
        try:
            return await forked(host, arguments)
        except UserError as error:
            host.client.show(types.MessageType.Error, f"Indwell: {error}")
            return None

    @server.command("indwell.rewind")
    async def rewind(
        arguments: protocol.RewindArguments | None = None,
    ) -> views.ResumeResult | None:
        if arguments is None:
            words = "indwell.rewind needs one argument: an object with `turn`"
            raise JsonRpcException(words, INVALID_PARAMS)
        try:
            return await rewound(host, arguments)
        except UserError as error:
            host.client.show(types.MessageType.Error, f"Indwell: {error}")
            return None


async def forked(host: Host, arguments: protocol.ForkArguments) -> views.ResumeResult | None:
    """Take up a new session that begins as another one was at the end of a turn.

    Raises:
        UserError: There is no such session or turn, or it cannot be written.
    """
    origin = host.sessions.id_of(arguments.session)
    current = host.sessions.current
    if current is not None and current.id == origin:
        await current.parts.log.commit()  # what it said last is to be read
    fork = await host.backend.fork_session(host.root, origin, arguments.turn)
    taken = await host.resume(protocol.ResumeArguments(fork.session, arguments.model))
    return taken and attrs.evolve(taken, notices=(*fork.notices, *taken.notices))


async def rewound(host: Host, arguments: protocol.RewindArguments) -> views.ResumeResult | None:
    """Take a conversation back to the end of a turn; a running turn is stopped first.

    Raises:
        UserError: There is no such session or turn, or it cannot be written; then it goes on as
            it was.
    """
    session = host.sessions.id_of(arguments.session)
    again = protocol.ResumeArguments(session, arguments.model)
    is_current = session == host.sessions.id
    if is_current:
        await host.turns.drain("the conversation was taken back")
        await host.sessions.leave()
    try:
        rewind = await host.backend.rewind_session(host.root, session, arguments.turn)
    except UserError:
        if is_current:
            await host.resume(again)
        raise
    taken = await host.resume(again)
    if taken is None:
        return None
    notices = (*rewind.notices, *taken.notices)
    return attrs.evolve(taken, draft=taken.draft or rewind.draft, notices=notices)
