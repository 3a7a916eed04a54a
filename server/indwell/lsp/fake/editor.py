"""An editor without a screen: buffers, undo, dirty state, and a real LSP client over stdio.

Ships with the package: ``indwell demo`` shows the main job with it, and the tests use it as the
user. A profile says what kind of editor it is; without one it refuses edits of another version than
its own, as VS Code does. Each edit is one step of undo. Tests wait for its events, never for time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.lsp.client import LanguageClient

from indwell.lsp import protocol, protocol_permission
from indwell.lsp.fake import applying
from indwell.lsp.fake.answers import Answers
from indwell.lsp.fake.buffer import Buffer, Span
from indwell.lsp.fake.client_protocol import ClientProtocol, client_converter
from indwell.lsp.fake.desk import Desk
from indwell.lsp.fake.marks import Marks
from indwell.lsp.fake.patience import patient
from indwell.lsp.fake.profiles import PLAIN, Profile
from indwell.lsp.protocol_asking import AskParams, AskResult

START_TIMEOUT_S = 30.0  # a cold import from a slow disk


class FakeEditor:
    """Drives a server as an editor would.

    Args:
        root: The workspace folder.
        profile: What kind of editor it is.
        extensions: Names for ``capabilities.experimental.indwell``.
        options: ``initializationOptions``.
        encoding: The position encoding it offers; None for those of the profile.
        on_event: Hears each ``indwell/event``.

    Attributes:
        desk: The open buffers.
        answers: What the user answers.
        moments: What happens around an edit.
        marks: The server's diagnostics, and its wishes for new lenses.
    """

    def __init__(
        self,
        root: Path,
        *,
        profile: Profile = PLAIN,
        extensions: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        encoding: types.PositionEncodingKind | None = None,
        on_event: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.root = root
        self.profile = profile if encoding is None else profile.offering(encoding)
        self.answers = Answers()
        self.moments = applying.Moments()
        self.desk = Desk(self._notify, profile.behaviour)
        self.marks = Marks(self._tell)
        self.events: list[Mapping[str, Any]] = []
        self.messages: list[str] = []
        self.logged: list[str] = []
        self.choices: list[list[str]] = []
        self.progress: list[Any] = []
        self.progress_tokens: list[str | int] = []
        self.shown: list[str] = []
        self.edits: list[types.WorkspaceEdit] = []
        self.labels: list[str] = []
        self._extensions = extensions
        self._options = options
        self._on_event = on_event or (lambda _event: None)
        self._happened = asyncio.Condition()
        self.client = LanguageClient(
            "indwell-fake-editor",
            "1",
            protocol_cls=ClientProtocol,
            converter_factory=client_converter,
        )
        self.behave()
        self._listen()

    async def start(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None
    ) -> types.InitializeResult:
        """Start the server process and say hello."""
        extra: dict[str, Any] = {} if environment is None else {"env": dict(environment)}
        await self.client.start_io(command[0], *command[1:], **extra)
        async with asyncio.timeout(START_TIMEOUT_S):
            result = await self.client.initialize_async(self._hello())
        self.desk.encoding = result.capabilities.position_encoding or "utf-16"
        self.client.initialized(types.InitializedParams())
        return result

    async def stop(self) -> None:
        """Say goodbye in order, and wait until the process has ended."""
        self._protocol.hang_up()
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """The open buffers by URI."""
        return self.desk.buffers

    def behave(self, **changed: Any) -> None:  # noqa: ANN401 - attributes of Behaviour
        """From now on, behave otherwise in some things (see ``Behaviour``)."""
        self.desk.behaviour = msgspec.structs.replace(self.desk.behaviour, **changed)
        self._protocol.heeds_cancel = self.desk.behaviour.heeds_cancel

    def open(self, path: Path, language: str = "python") -> Buffer:
        """Open a file in a buffer."""
        return self.desk.open(path, language)

    def close(self, buffer: Buffer) -> None:
        """Close a buffer; what was not saved is thrown away."""
        self.desk.close(buffer)

    def type_text(self, buffer: Buffer, start: int, end: int, text: str) -> None:
        """The user replaces the characters from ``start`` to ``end`` (code points)."""
        self.desk.replace(buffer, [Span(start, end, text)])

    def undo(self, buffer: Buffer) -> None:
        """Undo one step."""
        self.desk.undo(buffer)

    def redo(self, buffer: Buffer) -> None:
        """Redo one step."""
        self.desk.redo(buffer)

    def save(self, buffer: Buffer) -> None:
        """Write a buffer to disk."""
        self.desk.save(buffer)

    def select(self, buffer: Buffer, range_: types.Range) -> None:
        """Mark a range, and tell the server as a rich client does."""
        self.desk.tell()
        self._notify(
            "indwell/didChangeSelection",
            protocol.DidChangeSelectionParams(buffer.uri, buffer.version, (range_,)),
        )

    async def code_actions(
        self,
        buffer: Buffer,
        range_: types.Range,
        *,
        diagnostics: Sequence[types.Diagnostic] = (),
        only: Sequence[str] | None = None,
        trigger: types.CodeActionTriggerKind = types.CodeActionTriggerKind.Invoked,
    ) -> list[types.CodeAction]:
        """Ask for the code actions of a range."""
        self.desk.tell()
        context = types.CodeActionContext(
            diagnostics=list(diagnostics), only=only, trigger_kind=trigger
        )
        params = types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=buffer.uri),
            range=range_,
            context=context,
        )
        found = await self.client.text_document_code_action_async(params)
        return [one for one in found or [] if isinstance(one, types.CodeAction)]

    async def code_lenses(self, buffer: Buffer) -> list[types.CodeLens]:
        """Ask for the lenses of a document, if this editor does; as if scrolled or refreshed."""
        self.desk.tell()
        if not self.profile.asks_for_lenses:
            return []
        identifier = types.TextDocumentIdentifier(uri=buffer.uri)
        params = types.CodeLensParams(text_document=identifier)
        return list(await self.client.text_document_code_lens_async(params) or [])

    async def execute(self, command: str, *arguments: object, at_once: bool = False) -> Any:  # noqa: ANN401 - JSON
        """Run a command of the server, and wait for its result; ``at_once``: as an editor does."""
        self.desk.tell()
        given = list(arguments) if at_once else patient(command, arguments)
        params = types.ExecuteCommandParams(command=command, arguments=given or None)
        return await self.client.workspace_execute_command_async(params)

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        """Wait until ``condition`` holds; it is looked at whenever the server says something."""
        async with asyncio.timeout(timeout_s), self._happened:
            await self._happened.wait_for(condition)

    async def wait_for_event(self, kind: str, timeout_s: float = 60.0) -> Mapping[str, Any]:
        """Wait for the first event of a type, such as ``turnFinished``."""
        await self.wait_until(
            lambda: any(event["type"] == kind for event in self.events), timeout_s
        )
        return next(event for event in self.events if event["type"] == kind)

    def _hello(self) -> types.InitializeParams:
        return types.InitializeParams(
            process_id=None,
            root_uri=self.root.as_uri(),
            workspace_folders=[types.WorkspaceFolder(uri=self.root.as_uri(), name=self.root.name)],
            initialization_options=self._options,
            capabilities=self._capabilities(),
            client_info=self._client_info(),
        )

    def _capabilities(self) -> types.ClientCapabilities:
        declared = {
            **self.profile.capabilities,
            "experimental": {"indwell": dict.fromkeys(self._extensions, True)},
        }
        return get_converter().structure(declared, types.ClientCapabilities)

    def _client_info(self) -> types.ClientInfo | None:
        if self.profile.client is None:
            return None
        name, version = self.profile.client
        return types.ClientInfo(name=name, version=version)

    def _listen(self) -> None:
        """Answer what a server asks of an editor."""
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
        answers = {**answers, **self.marks.answers(refreshes="codeLens" in declared)}
        for method, answer in answers.items():
            self.client.feature(method)(partial(answer))  # pygls sets attributes on it

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
            # The answer goes out first: an editor that tells late tells after it.
            asyncio.get_running_loop().call_soon(self.desk.tell)
            await self._tell()

    async def _on_configuration(self, params: types.ConfigurationParams) -> Sequence[None]:
        return [None for _ in params.items]  # the user has set nothing

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

    async def _on_permission(
        self, params: protocol_permission.PermissionParams
    ) -> Mapping[str, object]:
        said = await self.answers.permission(params)
        return {"answer": "once", "hunks": said} if isinstance(said, tuple) else {"answer": said}

    async def _on_ask(self, params: AskParams) -> AskResult:
        if params.by == "model" and self.answers.question is not None:
            return await self.answers.question(params)
        return AskResult(text=self.answers.ask(params.prompt))

    async def _on_save(self, params: protocol.SaveParams) -> protocol.SaveResult:
        for uri in params.uris:
            self.save(self.buffers[uri])
        return protocol.SaveResult(saved=params.uris)

    @property
    def _protocol(self) -> ClientProtocol:
        assert isinstance(self.client.protocol, ClientProtocol)
        return self.client.protocol

    def _notify(self, method: str, params: object) -> None:
        self.client.protocol.notify(method, params)

    async def _tell(self) -> None:
        async with self._happened:
            self._happened.notify_all()
