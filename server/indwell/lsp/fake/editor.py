"""An editor without a screen: buffers, undo, dirty state, and a real LSP client over stdio.

Ships with the package: ``indwell demo`` shows the main job with it, and the tests use it as the
user. It refuses edits of another version than its own, as VS Code does, and applies each workspace
edit as one undo step. Tests wait for its events, never for time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.lsp.client import LanguageClient
from pygls.protocol import default_converter

from indwell.lsp import protocol
from indwell.lsp.fake.buffer import Buffer, edited
from indwell.lsp.fake.client_protocol import ClientProtocol
from indwell.lsp.positions import to_position
from indwell.workspace.lines import document_lines

START_TIMEOUT_S = 30.0  # a cold import from a slow disk


async def _say_no(_params: protocol.PermissionParams) -> str:
    return "no"


@dataclass(slots=True)
class Answers:
    """How the user of the fake editor answers; each may be replaced.

    Attributes:
        choose: A message and the titles of its buttons → the title chosen, or None.
        permission: A rich permission question → the answer.
        ask: A question → the text typed, or None.
        refuse_edits: Answer every edit with this failure reason, if it is not empty.
    """

    choose: Callable[[str, Sequence[str]], str | None] = lambda _message, titles: titles[0]
    permission: Callable[[protocol.PermissionParams], Awaitable[str]] = _say_no
    ask: Callable[[str], str | None] = lambda _prompt: None
    refuse_edits: str = ""


class FakeEditor:
    """Drives a server as an editor would.

    Args:
        root: The workspace folder.
        extensions: Names for ``capabilities.experimental.indwell``.
        options: ``initializationOptions``.
        encoding: The position encoding it offers.
        on_event: Hears each ``indwell/event``.
    """

    def __init__(
        self,
        root: Path,
        *,
        extensions: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        encoding: types.PositionEncodingKind = types.PositionEncodingKind.Utf16,
        on_event: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> None:
        self.root = root
        self.answers = Answers()
        self.buffers: dict[str, Buffer] = {}
        self.events: list[Mapping[str, Any]] = []
        self.messages: list[str] = []
        self.choices: list[list[str]] = []
        self.progress: list[Any] = []
        self.progress_tokens: list[str | int] = []
        self.shown: list[str] = []
        self.edits: list[types.WorkspaceEdit] = []
        self._extensions = extensions
        self._options = options
        self._encoding = encoding
        self._on_event = on_event or (lambda _event: None)
        self._happened = asyncio.Condition()
        self.client = LanguageClient(
            "indwell-fake-editor", "1", protocol_cls=ClientProtocol, converter_factory=_converter
        )
        self._listen()

    async def start(
        self, command: Sequence[str], *, environment: Mapping[str, str] | None = None
    ) -> types.InitializeResult:
        """Start the server process and say hello."""
        extra: dict[str, Any] = {} if environment is None else {"env": dict(environment)}
        await self.client.start_io(command[0], *command[1:], **extra)
        async with asyncio.timeout(START_TIMEOUT_S):
            result = await self.client.initialize_async(self._hello())
        self.client.initialized(types.InitializedParams())
        return result

    async def stop(self) -> None:
        """Say goodbye in order, and wait until the process has ended."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]

    def open(self, path: Path, language: str = "python") -> Buffer:
        """Open a file in a buffer."""
        text = path.read_bytes().decode()
        buffer = Buffer(uri=path.as_uri(), path=path, text=text)
        self.buffers[buffer.uri] = buffer
        item = types.TextDocumentItem(
            uri=buffer.uri, language_id=language, version=buffer.version, text=text
        )
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(text_document=item))
        return buffer

    def type_text(self, buffer: Buffer, start: int, end: int, text: str) -> None:
        """The user replaces the characters from ``start`` to ``end`` (code points)."""
        lines = document_lines(buffer.text)
        range_ = types.Range(
            start=to_position(lines, start, self._encoding),
            end=to_position(lines, end, self._encoding),
        )
        self._take(buffer, buffer.text[:start] + text + buffer.text[end:])
        change = types.TextDocumentContentChangePartial(range=range_, text=text)
        self._tell_change(buffer, [change])

    def undo(self, buffer: Buffer) -> None:
        """Undo one step."""
        buffer.text = buffer.undo.pop()
        buffer.version += 1
        self._tell_change(buffer, [types.TextDocumentContentChangeWholeDocument(text=buffer.text)])

    def save(self, buffer: Buffer) -> None:
        """Write a buffer to disk."""
        buffer.path.write_bytes(buffer.text.encode())
        buffer.dirty = False
        identifier = types.TextDocumentIdentifier(uri=buffer.uri)
        self.client.text_document_did_save(
            types.DidSaveTextDocumentParams(text_document=identifier)
        )

    def select(self, buffer: Buffer, range_: types.Range) -> None:
        """Mark a range, and tell the server as a rich client does."""
        self.client.protocol.notify(
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

    async def execute(self, command: str, *arguments: object) -> Any:  # noqa: ANN401 - JSON
        """Run a command of the server."""
        params = types.ExecuteCommandParams(command=command, arguments=list(arguments) or None)
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
            capabilities=types.ClientCapabilities(
                general=types.GeneralClientCapabilities(position_encodings=[self._encoding]),
                workspace=types.WorkspaceClientCapabilities(
                    apply_edit=True,
                    workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
                ),
                window=types.WindowClientCapabilities(
                    work_done_progress=True,
                    show_document=types.ShowDocumentClientCapabilities(support=True),
                ),
                experimental={"indwell": dict.fromkeys(self._extensions, True)},
            ),
        )

    def _listen(self) -> None:
        """Answer what a server asks of an editor."""
        answers: Mapping[str, Callable[[Any], Awaitable[Any]]] = {
            types.WORKSPACE_APPLY_EDIT: self._on_apply_edit,
            types.WINDOW_SHOW_MESSAGE_REQUEST: self._on_choice,
            types.WINDOW_SHOW_MESSAGE: self._on_message,
            types.WINDOW_SHOW_DOCUMENT: self._on_show_document,
            types.WINDOW_WORK_DONE_PROGRESS_CREATE: self._on_progress_create,
            types.PROGRESS: self._on_progress,
            "indwell/event": self._on_indwell_event,
            "indwell/permission": self._on_permission,
            "indwell/ask": self._on_ask,
            "indwell/save": self._on_save,
        }
        for method, answer in answers.items():
            self.client.feature(method)(partial(answer))  # pygls sets attributes on it

    async def _on_apply_edit(
        self, params: types.ApplyWorkspaceEditParams
    ) -> types.ApplyWorkspaceEditResult:
        return await self._apply(params.edit)

    async def _on_choice(
        self, params: types.ShowMessageRequestParams
    ) -> types.MessageActionItem | None:
        self.messages.append(params.message)
        titles = [action.title for action in params.actions or ()]
        self.choices.append(titles)
        await self._tell()
        title = self.answers.choose(params.message, titles)
        return None if title is None else types.MessageActionItem(title=title)

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

    async def _on_permission(self, params: protocol.PermissionParams) -> Mapping[str, str]:
        return {"answer": await self.answers.permission(params)}

    async def _on_ask(self, params: protocol.AskParams) -> protocol.AskResult:
        return protocol.AskResult(text=self.answers.ask(params.prompt))

    async def _on_save(self, params: protocol.SaveParams) -> protocol.SaveResult:
        for uri in params.uris:
            self.save(self.buffers[uri])
        return protocol.SaveResult(saved=params.uris)

    async def _apply(self, edit: types.WorkspaceEdit) -> types.ApplyWorkspaceEditResult:
        self.edits.append(edit)
        if self.answers.refuse_edits:
            return types.ApplyWorkspaceEditResult(
                applied=False, failure_reason=self.answers.refuse_edits
            )
        for change in edit.document_changes or ():
            assert isinstance(change, types.TextDocumentEdit), change
            buffer = self.buffers[change.text_document.uri]
            if change.text_document.version != buffer.version:
                return types.ApplyWorkspaceEditResult(
                    applied=False, failure_reason="the document has changed"
                )
            self._take(buffer, edited(buffer.text, change, self._encoding))
            whole = types.TextDocumentContentChangeWholeDocument(text=buffer.text)
            self._tell_change(buffer, [whole])
        await self._tell()
        return types.ApplyWorkspaceEditResult(applied=True)

    def _take(self, buffer: Buffer, text: str) -> None:
        buffer.undo.append(buffer.text)
        buffer.text, buffer.dirty = text, True
        buffer.version += 1

    def _tell_change(
        self, buffer: Buffer, changes: Sequence[types.TextDocumentContentChangeEvent]
    ) -> None:
        identifier = types.VersionedTextDocumentIdentifier(uri=buffer.uri, version=buffer.version)
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=identifier, content_changes=list(changes)
            )
        )

    async def _tell(self) -> None:
        async with self._happened:
            self._happened.notify_all()


def _converter() -> Any:  # noqa: ANN401 - cattrs' converter, made by pygls
    """Pygls' converter; a code action that carries a command must not be read as a command."""
    converter = default_converter()  # type: ignore[no-untyped-call]
    plain = get_converter()

    def action_or_command(value: Any, _type: Any) -> Any:  # noqa: ANN401 - JSON comes in here
        is_command = isinstance(value.get("command"), str)
        return plain.structure(value, types.Command if is_command else types.CodeAction)

    converter.register_structure_hook(types.Command | types.CodeAction, action_or_command)
    return converter
