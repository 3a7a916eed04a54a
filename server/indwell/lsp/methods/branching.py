"""Translates the commands that switch to a session, fork it or rewind it."""

from __future__ import annotations

import attrs

from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.opening import ending_of, mark_rewound, show_fork
from indwell.lsp.host import Host
from indwell.lsp.messages import answers, documents, views
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire.envelope import INVALID_PARAMS, RequestError
from indwell.lsp.wire.language_server import Server


async def take_up(host: Host, arguments: protocol.ResumeArguments) -> views.ResumeResult | None:
    """Switch to the named session; without a name the user chooses.

    Raises:
        UserError: The session cannot be resumed.
    """
    host.service.check_usable()
    resumed = await host.service.commands.switch(arguments.session, arguments.model)
    if resumed is None:
        return None
    host.service.warn(resumed.notices)
    return answers.resume_result(resumed)


ANY_TURN = documents.ForkArguments()


def register_branching(server: Server, host: Host, chats: Chats) -> None:
    """Register ``indwell.fork`` and ``indwell.rewind``."""

    @server.command("indwell.fork")
    async def fork(arguments: documents.ForkArguments = ANY_TURN) -> views.ResumeResult | None:
        return await host.answering.answer(forked(host, chats, arguments), wait=arguments.wait)

    @server.command("indwell.rewind")
    async def rewind(
        arguments: documents.RewindArguments | None = None,
    ) -> views.ResumeResult | None:
        if arguments is None:
            words = "indwell.rewind needs one argument: an object with `turn`"
            raise RequestError(words, INVALID_PARAMS)
        return await host.answering.answer(rewound(host, chats, arguments), wait=arguments.wait)


async def forked(
    host: Host, chats: Chats, arguments: documents.ForkArguments
) -> views.ResumeResult:
    """Switch to a copy of a session as it was at the end of a turn.

    Raises:
        UserError: There is no such session or turn, or it cannot be written.
    """
    host.service.check_usable()
    taken, notices, origin = await host.service.commands.fork_from(
        arguments.session, arguments.turn, arguments.model
    )
    host.service.warn(taken.notices)
    await show_fork(host, chats, origin, taken.session.id, arguments.turn)
    return attrs.evolve(answers.resume_result(taken), notices=(*notices, *taken.notices))


async def rewound(
    host: Host, chats: Chats, arguments: documents.RewindArguments
) -> views.ResumeResult:
    """Take a conversation back to the end of a turn, and its files if the user wants that.

    Raises:
        UserError: There is no such session or turn, or it cannot be written; nothing changes.
    """
    host.service.check_usable()
    done = await host.service.commands.rewind(
        arguments.session, arguments.turn, files=arguments.files, model=arguments.model
    )
    host.service.warn(done.session.notices)
    await mark_rewound(chats, done.session.session.id, arguments.turn)
    if not host.client.features.has("events"):
        words = "; ".join((f"rewound to {ending_of(arguments.turn)}", *done.files))
        host.client.show(types.MessageType.Info, f"Indwell: {words}")
    result = answers.resume_result(done.session)
    return attrs.evolve(result, draft=done.draft, notices=(*done.notices, *done.files))
