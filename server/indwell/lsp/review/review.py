"""Offers the review of changes in one editor: commands, ``indwell/changes``, hints, lenses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from indwell.agent.permission.recorded_workspace import RecordedWorkspace, is_accepted
from indwell.errors import NotText, TooLarge, ToolError, UserError
from indwell.files.listing import exists
from indwell.lsp.host import Host
from indwell.lsp.messages import documents
from indwell.lsp.messages.documents import (
    ApplyParams,
    ApplyResult,
    ChangesParams,
    UndoVerdictArguments,
    UndoVerdictResult,
    VerdictArguments,
    VerdictResult,
)
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.review.hunk_display import Reviewing
from indwell.lsp.review.shown_hunks import changes_of, hint_of, lenses_of, offer
from indwell.lsp.review.verdicts import ASK_S, OPEN_S, Verb, Verdicts
from indwell.lsp.wire import sync
from indwell.lsp.wire.base_protocol import REQUEST_FAILED, RequestError
from indwell.lsp.wire.language_server import Server
from indwell.lsp.wire.routing import refused
from indwell.lsp.workspace.documents import Document, path_of
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

# The time limit, in seconds, for reading the ledger at the start, because some editors ask for
# lenses only once.
LENSES_S = 2.0


class EditorReview:
    """Shows pending changes in one editor, and accepts or rejects changes.

    Args:
        host: Provides the documents, the session and the user's files.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._reviewing = Reviewing(
            host.documents,
            host.client,
            host.chores,
            self._read_closed,
            self._differs,
            hints=lambda: host.settings.review_hints,
            session=lambda: host.sessions.id,
        )
        self._renaming = asyncio.Lock()
        self._verdicts = Verdicts(
            self._reviewing,
            host.client,
            host.chores,
            host.answering,
            self._workspace,
            ask_s=lambda: min(ASK_S, host.settings.answer_timeout_s),
        )

    def start(self) -> None:
        """Read the pending changes in the background, when the editor is ready."""
        if self._host.sessions.workspace is not None:
            self._host.chores.begin(self._open())

    def look_again(self) -> None:
        """Show all hunks again, because settings have changed."""
        self._reviewing.look_again()

    def stop(self) -> None:
        """Remove all hints from the editor, because the server ends."""
        self._reviewing.stop()

    def actions(
        self, uri: str, range_: sync.Range, context: sync.ActionContext
    ) -> list[dict[str, Any]]:
        """Return the code actions of the review for a range, without waiting."""
        document = self._host.documents.get(uri)
        if document is None or self._reviewing.ledger is None:
            return []
        shown, everything = self._reviewing.shown(document), self._reviewing.everything
        return offer(shown, range_, context, everything, lambda hunk: hint_of(hunk, shown))

    async def lenses(self, uri: str) -> list[dict[str, Any]]:
        """Return the code lenses of a document."""
        await self._reviewing.opened(LENSES_S)
        document = self._host.documents.get(uri)
        return [] if document is None else lenses_of(self._reviewing.shown(document))

    async def changes(self, params: ChangesParams) -> msgspec.Raw:
        """Return a ``ChangesResult`` as JSON, which is created in a thread.

        Raises:
            RequestError: The ledger has not been read yet.
        """
        ledger = await self._reviewing.opened(OPEN_S)
        if ledger is None:
            raise RequestError(
                "the pending changes are still being read; try again", REQUEST_FAILED
            )
        await self._reviewing.caught_up()
        session, turn = params.session, params.turn
        if turn is not None and session is None:
            session = self._host.sessions.id or ""  # without a session, no turn matches
        path = path_of(params.uri) if params.uri is not None else None
        paths = ledger.paths() if params.uri is None else filter(None, [path])
        shown, pending = [self._reviewing.known(one) for one in paths], ledger.n_pending
        undo = self._verdicts.undoable

        def written() -> msgspec.Raw:
            rows = changes_of(
                shown, self._display, session=session, turn=turn, pending=pending, undo=undo
            )
            return msgspec.Raw(msgspec.json.encode(rows))

        return await asyncio.to_thread(written)

    async def apply(self, params: ApplyParams) -> ApplyResult:
        """Write code that the user applies into a document, as a pending change of a turn.

        Raises:
            UserError: The document has changed, or Indwell may not write it.
        """
        host = self._host
        session = host.sessions.find(params.session)
        if session is None:
            raise UserError("the session of this code is not open here; send a prompt in it first")
        document = host.prompting.document(params.uri)
        name, workspace = document.path, self._workspace()
        if name is None or document.version != params.version:
            raise UserError(f"{params.uri} has changed since; apply the code again")
        try:
            path = workspace.resolve(str(name))
            snapshot = await workspace.read(path)
            trusted = session.parts.rules().policy.roots
            if not any(path.is_relative_to(root) for root in trusted):
                raise UserError("nothing is changed in a folder that you have not trusted")
            ledger = await host.review.ready()
            recorded = RecordedWorkspace(
                workspace,
                ledger,
                Actor(session.id, params.turn),
                "apply",
                lambda: is_accepted(session),
                hide=session.parts.secrets.hide,
            )
            await recorded.write(path, snapshot, params.text, label="Apply the code")
        except ToolError as error:
            raise UserError(str(error)) from error
        return ApplyResult(ledger.n_pending)

    async def renamed(self, uris: Sequence[tuple[str, str]]) -> None:
        """Move pending changes along with files or folders that the user renamed."""
        ledger = await self._reviewing.opened(OPEN_S)
        async with self._renaming:  # only one rename runs at a time, in order
            for old, new in uris:
                source, target = path_of(old), path_of(new)
                if ledger is not None and source is not None and target is not None:
                    await ledger.moved(source, target)

    async def judge(self, verb: Verb, arguments: VerdictArguments) -> VerdictResult:
        """Accept or reject the changes that the arguments select.

        Raises:
            UserError: The arguments are unclear, or the ledger cannot be read.
        """
        await self._host.review.ready()
        return await self._verdicts.judge(verb, arguments)

    async def undo(self, arguments: UndoVerdictArguments) -> UndoVerdictResult:
        """Undo this editor's newest accept or reject.

        Raises:
            UserError: There is no ledger.
        """
        await self._host.review.ready()
        return await self._verdicts.undo(wait=arguments.wait)

    def cancel(self, token: str | int) -> bool:
        """Stop the accept or reject with this progress token; return False if there is none."""
        return self._verdicts.cancel(token)

    async def _open(self) -> None:
        try:
            ledger = await self._host.review.ready()
        except UserError:
            return  # the error is shown when the ledger is needed
        self._reviewing.attach(ledger)

    async def _read_closed(self, ledger: ReviewLedger, path: Path) -> None:
        """Pass the text of a file on disk to the ledger, if the file is text."""
        try:
            snapshot = await self._workspace().read(path)
        except (NotText, TooLarge):
            return
        except ToolError:
            if not await asyncio.to_thread(exists, path):
                ledger.sync(path, None)
            return
        ledger.sync(path, snapshot.text)

    async def _differs(self, document: Document) -> bool:
        """Return whether the disk and the buffer have different texts."""
        if document.path is None:
            return False
        try:
            return bool((await self._workspace().read(document.path)).notes)
        except ToolError:
            return False

    def _workspace(self) -> Workspace:
        workspace = self._host.sessions.workspace
        assert workspace is not None
        return workspace

    def _display(self, path: Path) -> str:
        return display(path, self._workspace().roots)


_VERBS: tuple[Verb, ...] = ("accept", "reject")


def register_review(server: Server, host: Host) -> EditorReview:
    """Register the verdicts and the list of changes."""
    review = EditorReview(host)

    @server.feature("indwell/changes")
    async def changes(params: documents.ChangesParams) -> msgspec.Raw:
        return await review.changes(params)

    @server.feature("indwell/apply")
    async def apply(params: ApplyParams) -> ApplyResult:
        try:
            return await review.apply(params)
        except UserError as error:
            raise refused(error, "") from error

    @server.feature("workspace/didRenameFiles")
    async def renamed(params: types.RenameFilesParams) -> None:
        await review.renamed(tuple((one.old_uri, one.new_uri) for one in params.files))

    for verb in _VERBS:
        server.command(f"indwell.{verb}")(partial(review.judge, verb))
    server.command("indwell.undoVerdict")(review.undo)
    return review
