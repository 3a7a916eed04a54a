"""Connects the fake editor's buffers and the server's handling of edits in one process.

``NearEditor.workspace`` is the real ``EditorWorkspace`` over the real ``Client``; direct calls
replace the messages.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from indwell.lsp.editor.client import Client
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.features import features_of
from indwell.lsp.wire import handshake, sync
from indwell.lsp.wire.base_protocol import METHOD_NOT_FOUND, REQUEST_FAILED, RequestError
from indwell.lsp.workspace.documents import Documents
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.translation import ENGLISH
from indwell.workspace.base import Workspace
from indwell.workspace.disk import DiskWorkspace
from support.fake_editor import applying
from support.fake_editor.buffer import Buffer, Span
from support.fake_editor.desk import Desk
from support.fake_editor.profiles import PLAIN, Profile

APPLY_TIMEOUT_S = 10.0


class NearEditor:
    """An editor with one folder, and the server's view of it.

    Args:
        root: The workspace folder.
        profile: The kind of editor.
        extensions: Indwell's protocol extensions that the editor supports.
        apply_timeout_s: The time that the server waits for the answer to an edit.

    Attributes:
        desk: The editor's buffers.
        documents: The server's copies of the buffers.
        workspace: The workspace that the tools use.
        moments: The callbacks around an edit.
        sent: The edits that the server sent.
        withdrawn: The cancelled requests.
    """

    def __init__(
        self,
        root: Path,
        profile: Profile = PLAIN,
        *,
        extensions: tuple[str, ...] = (),
        apply_timeout_s: float = APPLY_TIMEOUT_S,
        disk: Workspace | None = None,
    ) -> None:
        capabilities = {
            **profile.capabilities,
            "experimental": {"indwell": dict.fromkeys(extensions, True)},
        }
        self.documents = Documents()
        self.documents.encoding = handshake._encoding(capabilities)
        self.desk = Desk(self._hear, profile.behaviour, encoding=self.documents.encoding)
        self.moments = applying.Moments()
        self.sent: list[types.ApplyWorkspaceEditParams] = []
        self.withdrawn: list[str] = []
        self._at_work: dict[str, asyncio.Future[types.ApplyWorkspaceEditResult | None]] = {}
        self.client = Client(_Line(self))
        self.client.features = features_of(capabilities)
        self.workspace = EditorWorkspace(
            self.documents,
            self.client,
            disk or DiskWorkspace([root]),
            apply_timeout_s=apply_timeout_s,
        )

    def open(self, path: Path, *, text: str | None = None) -> Buffer:
        """Open a file."""
        return self.desk.open(path, text=text)

    def type_text(self, buffer: Buffer, start: int, end: int, text: str) -> None:
        """Replace characters, as the user does."""
        self.desk.replace(buffer, [Span(start, end, text)])

    def apply(
        self, params: types.ApplyWorkspaceEditParams, request: str
    ) -> asyncio.Future[types.ApplyWorkspaceEditResult | None]:
        """Send ``workspace/applyEdit``; the editor continues even without a waiting caller."""
        self.sent.append(params)
        work = asyncio.ensure_future(self._answer(params.edit))
        self._at_work[request] = work
        work.add_done_callback(partial(self._worked, request))
        return asyncio.shield(work)

    async def _answer(self, edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult | None:
        """Return the answer; an error of the editor becomes an error of the protocol."""
        try:
            return await applying.answer(self.desk, edit, self.moments)
        except JsonRpcException as error:
            raise RequestError(error.message, error.code or REQUEST_FAILED) from error

    async def leave(self) -> None:
        """Release unanswered requests."""
        for work in tuple(self._at_work.values()):
            work.cancel()
        await asyncio.sleep(0)

    def cancel(self, request: str) -> None:
        """Send ``$/cancelRequest``."""
        self.withdrawn.append(request)
        if self.desk.behaviour.heeds_cancel and request in self._at_work:
            self._at_work[request].cancel()

    def _worked(
        self, request: str, work: asyncio.Future[types.ApplyWorkspaceEditResult | None]
    ) -> None:
        del self._at_work[request]
        if not work.cancelled():
            work.exception()  # The exception is marked as retrieved, even without a waiting caller.
        asyncio.get_running_loop().call_soon(self.desk.tell)

    def _hear(self, method: str, params: Any) -> None:
        """Handles these notifications as ``lsp.server`` does."""
        document = params.text_document
        match method:
            case types.TEXT_DOCUMENT_DID_OPEN:
                self.documents.open(
                    sync.OpenedDocument(
                        document.uri, document.language_id, document.version, document.text
                    )
                )
            case types.TEXT_DOCUMENT_DID_CHANGE:
                changes = [
                    sync.TextChange(one.text, getattr(one, "range", None))
                    for one in params.content_changes
                ]
                self.documents.change(document.uri, document.version, changes)
            case types.TEXT_DOCUMENT_DID_SAVE:
                self.documents.saved(document.uri)
            case types.TEXT_DOCUMENT_DID_CLOSE:
                self.documents.close(document.uri)
            case _:
                raise AssertionError(method)


class _Line:
    """Replaces the server's side of the connection."""

    translation = ENGLISH

    def __init__(self, editor: NearEditor) -> None:
        self._editor = editor

    def send_request_async(
        self, method: str, params: Any, identifier: str | None = None
    ) -> asyncio.Future[Any]:
        if method == types.WORKSPACE_APPLY_EDIT:
            assert identifier is not None
            return self._editor.apply(params, identifier)
        future = asyncio.get_running_loop().create_future()
        if method == "client/registerCapability":  # The editor accepts; the tests send the changes.
            future.set_result(None)
        elif method == "indwell/save":
            for uri in params.uris:
                self._editor.desk.save(self._editor.desk.buffers[uri])
            future.set_result(protocol.SaveResult(saved=params.uris))
        else:
            future.set_exception(RequestError(f"there is no method {method!r}", METHOD_NOT_FOUND))
        return future

    def notify(self, method: str, params: Any) -> None:
        assert method == types.CANCEL_REQUEST, method
        self._editor.cancel(params.id)
