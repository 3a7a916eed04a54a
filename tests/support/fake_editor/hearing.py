"""Handles the server's messages to the fake editor, and answers questions for the user.

The class records all messages in their order. Tests wait for messages, never for time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from lsprotocol import types

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.methods import AskParams, AskResult
from support.fake_editor import applying
from support.fake_editor.answers import Answers
from support.fake_editor.desk import Desk
from support.fake_editor.marks import Marks
from support.fake_editor.profiles import Profile


class Hearing:
    """The part of an editor that receives messages.

    Args:
        profile: The kind of editor.
        notify: Sends a notification to the server.
        on_event: Called for each ``indwell/event``.

    Attributes:
        profile: The kind of editor.
        desk: The open buffers.
        answers: The answers of the user.
        moments: The callbacks around an edit.
        marks: The server's diagnostics, and its requests to refresh lenses.
        showing: If set, the editor says that it shows a document only after this event.
    """

    def __init__(
        self,
        profile: Profile,
        notify: Callable[[str, object], None],
        on_event: Callable[[Mapping[str, Any]], None] | None,
    ) -> None:
        self.profile = profile
        self.answers = Answers()
        self.moments = applying.Moments()
        self.desk = Desk(notify, profile.behaviour)
        self.marks = Marks(self._tell)
        self.events: list[Mapping[str, Any]] = []
        self.messages: list[str] = []
        self.logged: list[str] = []
        self.choices: list[list[str]] = []
        self.progress: list[Any] = []
        self.progress_tokens: list[str | int] = []
        self.shown: list[str] = []
        self.showing: asyncio.Event | None = None
        self.edits: list[types.WorkspaceEdit] = []
        self.labels: list[str] = []
        self._on_event = on_event or (lambda _event: None)
        self._happened = asyncio.Condition()

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float = 60.0) -> None:
        """Wait until ``condition`` is true; each message of the server triggers a check.

        Raises:
            TimeoutError: The condition never became true; the notes list the last messages and the
                open requests.
        """
        try:
            async with asyncio.timeout(timeout_s), self._happened:
                await self._happened.wait_for(condition)
        except TimeoutError as error:
            error.add_note(f"the newest messages: {self.messages[-5:]}")
            for buffer in self.desk.buffers.values():
                error.add_note(f"{buffer.uri}, version {buffer.version}: {buffer.text[-2_000:]!r}")
            raise

    async def wait_for_event(self, kind: str, timeout_s: float = 60.0) -> Mapping[str, Any]:
        """Wait for the first event of a type, such as ``turnFinished``."""
        await self.wait_until(
            lambda: any(event["type"] == kind for event in self.events), timeout_s
        )
        return next(event for event in self.events if event["type"] == kind)

    def handlers(self) -> Mapping[str, Callable[[Any], Awaitable[Any]]]:
        """Return the handler of each method that a server may call in this editor."""
        answers: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
            types.WORKSPACE_APPLY_EDIT: self._on_apply_edit,
            types.WINDOW_SHOW_MESSAGE_REQUEST: self._on_choice,
            types.WINDOW_SHOW_MESSAGE: self._on_message,
            types.WINDOW_LOG_MESSAGE: self._on_log,
            types.WINDOW_SHOW_DOCUMENT: self._on_show_document,
            types.WINDOW_WORK_DONE_PROGRESS_CREATE: self._on_progress_create,
            types.PROGRESS: self._on_progress,
            "indwell/event": self._on_indwell_event,
            "indwell/permission": self._on_permission,
            "indwell/ask": self._on_ask,
            "indwell/save": self._on_save,
        }
        declared = self.profile.capabilities.get("workspace") or {}
        if declared.get("configuration"):
            answers = {**answers, types.WORKSPACE_CONFIGURATION: self._on_configuration}
        return {**answers, **self.marks.answers(refreshes="codeLens" in declared)}

    async def _on_apply_edit(
        self, params: types.ApplyWorkspaceEditParams
    ) -> types.ApplyWorkspaceEditResult | None:
        self.edits.append(params.edit)
        self.labels.append(params.label or "")
        if self.answers.refuse_edits:
            return types.ApplyWorkspaceEditResult(
                applied=False, failure_reason=self.answers.refuse_edits
            )
        try:
            return await applying.answer(self.desk, params.edit, self.moments)
        finally:
            # The editor sends the answer first, and late changes after the answer.
            asyncio.get_running_loop().call_soon(self.desk.tell)
            await self._tell()

    async def _on_configuration(self, params: types.ConfigurationParams) -> Sequence[None]:
        return [None for _ in params.items]  # The user has no settings.

    async def _on_choice(
        self, params: types.ShowMessageRequestParams
    ) -> types.MessageActionItem | None:
        self.messages.append(params.message)
        titles = [action.title for action in params.actions or ()]
        self.choices.append(titles)
        await self._tell()
        if not self.desk.behaviour.chooses:
            await asyncio.Event().wait()
        chosen = self.answers.choose(params.message, titles)
        title = chosen if isinstance(chosen, str | None) else await chosen
        return None if title is None else types.MessageActionItem(title=title)

    async def _on_log(self, params: types.LogMessageParams) -> None:
        self.logged.append(params.message)

    async def _on_message(self, params: types.ShowMessageParams) -> None:
        self.messages.append(params.message)
        await self._tell()

    async def _on_show_document(self, params: types.ShowDocumentParams) -> types.ShowDocumentResult:
        self.shown.append(params.uri)
        await self._tell()
        if self.showing is not None:
            await self.showing.wait()
        return types.ShowDocumentResult(success=True)

    async def _on_progress_create(self, params: types.WorkDoneProgressCreateParams) -> None:
        self.progress_tokens.append(params.token)
        await self._tell()

    async def _on_progress(self, params: types.ProgressParams) -> None:
        self.progress.append(params.value)
        await self._tell()

    async def _on_indwell_event(self, params: protocol.EventParams) -> None:
        self.events.append(params.event)
        self._on_event(params.event)
        await self._tell()

    async def _on_permission(self, params: protocol.PermissionParams) -> Mapping[str, object]:
        said = await self.answers.permission(params)
        return {"answer": "once", "hunks": said} if isinstance(said, tuple) else {"answer": said}

    async def _on_ask(self, params: AskParams) -> AskResult:
        if params.by == "model" and self.answers.question is not None:
            return await self.answers.question(params)
        return AskResult(text=self.answers.ask(params.prompt))

    async def _on_save(self, params: protocol.SaveParams) -> protocol.SaveResult:
        for uri in params.uris:
            self.desk.save(self.desk.buffers[uri])
        return protocol.SaveResult(saved=params.uris)

    async def _tell(self) -> None:
        async with self._happened:
            self._happened.notify_all()
