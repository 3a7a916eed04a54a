"""Wires ``indwell.fork`` and ``indwell.rewind``: the conversation goes on from an earlier turn."""

from __future__ import annotations

import attrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from indwell.errors import UserError
from indwell.installation import installation
from indwell.lsp import protocol
from indwell.lsp import protocol_branching as branching
from indwell.lsp import protocol_views as views
from indwell.lsp.chat.branched import ending_of, mark_rewound, show_fork
from indwell.lsp.chat.chats import Chats
from indwell.lsp.host import Host
from indwell.lsp.rewinding import FilesBack
from indwell.lsp.switching import take_up
from indwell.lsp.wire.envelope import INVALID_PARAMS

ANY_TURN = branching.ForkArguments()


def register_branching(server: LanguageServer, host: Host, chats: Chats) -> None:
    """Both commands."""

    @server.command("indwell.fork")
    async def fork(arguments: branching.ForkArguments = ANY_TURN) -> views.ResumeResult | None:
        return await host.answering.answer(forked(host, chats, arguments), wait=arguments.wait)

    @server.command("indwell.rewind")
    async def rewind(
        arguments: branching.RewindArguments | None = None,
    ) -> views.ResumeResult | None:
        if arguments is None:
            words = "indwell.rewind needs one argument: an object with `turn`"
            raise JsonRpcException(words, INVALID_PARAMS)
        return await host.answering.answer(rewound(host, chats, arguments), wait=arguments.wait)


async def forked(
    host: Host, chats: Chats, arguments: branching.ForkArguments
) -> views.ResumeResult | None:
    """Take up a new session that begins as another one was at the end of a turn.

    Raises:
        UserError: There is no such session or turn, or it cannot be written.
    """
    origin = host.sessions.id_of(arguments.session)
    current = host.sessions.current
    if current is not None and current.id == origin:
        await current.parts.log.commit()  # what it said last is to be read
    fork = await host.backend.fork_session(host.root, origin, arguments.turn)
    taken = await take_up(host, protocol.ResumeArguments(fork.session, arguments.model))
    if taken is None:
        return None
    await show_fork(host, chats, origin, fork.session, arguments.turn)
    return attrs.evolve(taken, notices=(*fork.notices, *taken.notices))


async def rewound(
    host: Host, chats: Chats, arguments: branching.RewindArguments
) -> views.ResumeResult | None:
    """Take a conversation back to the end of a turn, and the files if that is wanted.

    A running turn is stopped first. The conversation goes first: if the server is killed behind it,
    the same command takes the files back. What is wrong with one file is told, the rest is done.

    Raises:
        UserError: There is no such session or turn, or it cannot be written; then it goes on as
            it was.
    """
    session = host.sessions.id_of(arguments.session)
    again = protocol.ResumeArguments(session, arguments.model)
    is_current = session == host.sessions.id
    if is_current:
        await host.turns.drain("the conversation was taken back")
    files = await _files_back(host, arguments, session)
    if is_current:
        await host.turns.drain("the conversation was taken back")  # a question may stand for long
        await host.sessions.leave()
    try:
        rewind = await host.backend.rewind_session(host.root, session, arguments.turn)
    except UserError:
        if is_current:
            await take_up(host, again)
        raise
    said: tuple[str, ...] = ()
    if files is not None:
        said = *await files.take(session, arguments.turn), *files.unrecorded(rewind.changed)
    said = (*said, *filter(None, [installation.news()]))
    taken = await take_up(host, again)
    await mark_rewound(chats, session, arguments.turn)
    if not host.client.features.has("events"):
        words = "; ".join((f"taken back to {ending_of(arguments.turn)}", *said))
        host.client.show(types.MessageType.Info, f"Indwell: {words}")
    if taken is None:
        return None
    notices = (*rewind.notices, *taken.notices, *said)
    return attrs.evolve(taken, draft=taken.draft or rewind.draft, notices=notices)


async def _files_back(
    host: Host, arguments: branching.RewindArguments, session: str
) -> FilesBack | None:
    """The way to take files back; None if they are to stay.

    Raises:
        UserError: There is no place for the ledger, and files are wanted.
    """
    workspace = host.sessions.workspace
    if workspace is None or arguments.files is False or arguments.turn < 0:
        return None
    try:
        ledger = await host.backend.review(workspace.roots)
    except UserError:
        if arguments.files:
            raise
        return None
    timeout_s = host.settings.answer_timeout_s
    files = FilesBack(
        ledger, workspace, host.client, timeout_s=timeout_s, document=host.documents.at
    )
    is_wanted = await files.is_wanted(session, arguments.turn, files=arguments.files)
    return files if is_wanted else None
