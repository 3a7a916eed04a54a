"""Continues with another session, or from an earlier turn: switch, fork and rewind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import msgspec

from indwell.errors import UserError
from indwell.installation import installation
from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.opening import ending_of, mark_rewound, show_fork
from indwell.lsp.editor.client import Client
from indwell.lsp.host import Host
from indwell.lsp.messages import answers, documents, views
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire.envelope import INVALID_PARAMS, RequestError
from indwell.lsp.wire.language_server import Server
from indwell.lsp.workspace.buffer_edits import clean_ones, save_ours
from indwell.lsp.workspace.documents import Document
from indwell.review.ledger import ReviewLedger
from indwell.review.rewind_messages import conflict, question, report, unrecorded
from indwell.review.verdicts import VerdictOutcome, planned_rewind, rewind_files
from indwell.service.sessions.open_sessions import OFFERED, choose_session
from indwell.workspace.base import Workspace


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
    host.service.check_usable()
    wanted = arguments.session or await _chosen_session(host)
    if wanted is None:
        return None
    await host.sessions.check(wanted)
    if wanted != host.sessions.id:
        await host.turns.drain("another session was taken up")
    resumed = await host.sessions.resume(wanted, arguments.model)
    host.service.warn(resumed.notices)
    return answers.resume_result(resumed)


async def _chosen_session(host: Host) -> str | None:
    found, _ = await host.service.stored.sessions(host.root, limit=OFFERED, before=None)
    return await choose_session(host.door, [one for one in found if one.id != host.sessions.id])


NO = "No"
TAKE_BACK = "Take them back"
KEEP = "Keep mine"
RESTORE = "Restore"


class FilesBack:
    """The files of one rewind: what is planned is asked for first, and done afterwards.

    Args:
        ledger: Whose changes stand where.
        workspace: The user's files.
        client: Who is asked.
        timeout_s: How long a question waits; no answer is the first one.
        document: The open document of a file, if it is open.
    """

    def __init__(
        self,
        ledger: ReviewLedger,
        workspace: Workspace,
        client: Client,
        *,
        timeout_s: float,
        document: Callable[[Path], Document | None] = lambda _path: None,
    ) -> None:
        self._ledger = ledger
        self._workspace = workspace
        self._client = client
        self._timeout_s = timeout_s
        self._document = document

    async def is_wanted(self, session: str, turn: int, *, files: bool | None) -> bool:
        """Are files to be taken back? Asks where nobody said, unless the editor has its own ways.

        Args:
            session: Whose changes.
            turn: Up to whose end they stay.
            files: What was said with the command.
        """
        if files is not None or self._client.features.has("events"):
            return files is True
        plans = await planned_rewind(self._ledger, self._workspace, session, turn)
        if not plans:
            return False
        words = f"Indwell: {question(plans, self._workspace.roots)}"
        chosen = await self._client.allow(words, (NO, TAKE_BACK), self._timeout_s)
        return chosen == TAKE_BACK

    async def take(self, session: str, turn: int) -> tuple[str, ...]:
        """Do it; gives what became of it, a sentence each.

        What would lose the user's work is asked about once, with all files named.
        """
        clean = clean_ones(self._document, self._ledger.known())
        done = await rewind_files(self._ledger, self._workspace, session, turn)
        if done.kept:
            plans = await planned_rewind(self._ledger, self._workspace, session, turn)
            words = f"Indwell: {conflict(done, self._workspace.roots)}"
            chosen = await self._client.allow(words, (KEEP, RESTORE), self._timeout_s)
            if chosen == RESTORE:
                more = await rewind_files(
                    self._ledger,
                    self._workspace,
                    session,
                    turn,
                    force=True,
                    agreed={one.path: one.before for one in plans if one.kept},
                )
                done = _both(done, more)
        await save_ours(self._client, clean)
        return report(done, self._workspace.roots)

    def unrecorded(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """What to say of files that the session changed and the ledger does not know."""
        words = unrecorded(names, self._ledger.known(), self._workspace.roots)
        return (words,) if words else ()


def _both(first: VerdictOutcome, then: VerdictOutcome) -> VerdictOutcome:
    """What two steps did together; what the second one settled is not kept any more."""
    return msgspec.structs.replace(
        then,
        hunks=(*first.hunks, *then.hunks),
        failed=(*first.failed, *then.failed),
        copies=(*first.copies, *then.copies),
    )


ANY_TURN = documents.ForkArguments()


def register_branching(server: Server, host: Host, chats: Chats) -> None:
    """Both commands."""

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
) -> views.ResumeResult | None:
    """Take up a new session that begins as another one was at the end of a turn.

    Raises:
        UserError: There is no such session or turn, or it cannot be written.
    """
    origin = host.sessions.id_of(arguments.session)
    opened = host.sessions.find(origin)
    if opened is not None:
        await opened.parts.log.commit()  # what it said last is to be read
    fork = await host.service.stored.fork_session(host.root, origin, arguments.turn)
    taken = await take_up(host, protocol.ResumeArguments(fork.session, arguments.model))
    if taken is None:
        return None
    await show_fork(host, chats, origin, fork.session, arguments.turn)
    return attrs.evolve(taken, notices=(*fork.notices, *taken.notices))


async def rewound(
    host: Host, chats: Chats, arguments: documents.RewindArguments
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
    await host.turns.drain("the conversation was taken back", session)
    files = await _files_back(host, arguments, session)
    await host.turns.drain("the conversation was taken back", session)  # a question may stand long
    if is_current:
        await host.sessions.leave()
    await host.sessions.release(session)
    try:
        rewind = await host.service.stored.rewind_session(host.root, session, arguments.turn)
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
    host: Host, arguments: documents.RewindArguments, session: str
) -> FilesBack | None:
    """The way to take files back; None if they are to stay.

    Raises:
        UserError: There is no place for the ledger, and files are wanted.
    """
    workspace = host.sessions.workspace
    if workspace is None or arguments.files is False or arguments.turn < 0:
        return None
    try:
        ledger = await host.review.ready()
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
