"""An editor without a screen: buffers, undo, dirty state, and a real LSP client over stdio.

A test acts as the editor's user. A profile describes the kind of editor. Without a profile, the
editor refuses edits for another version of a document, as VS Code does. Each edit is one step of
undo. Tests wait for events, never for time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from indwell.lsp.messages import methods as protocol
from support.fake_editor.buffer import Buffer, Span
from support.fake_editor.client_protocol import ClientProtocol, client_converter, plain_converter
from support.fake_editor.hearing import Hearing
from support.fake_editor.patience import patient
from support.fake_editor.profiles import PLAIN, Profile

START_TIMEOUT_S = 30.0  # The limit is in seconds; importing from a slow disk takes long.


class FakeEditor(Hearing):
    """Drives a server as an editor would.

    Args:
        root: The workspace folder.
        profile: The kind of editor.
        extensions: Names for ``capabilities.experimental.indwell``.
        options: ``initializationOptions``.
        encoding: The position encoding that the editor offers; with None, the profile's encodings.
        on_event: Called for each ``indwell/event``.
        locale: The locale of the editor's user interface.
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
        locale: str | None = None,
    ) -> None:
        super().__init__(
            profile if encoding is None else profile.offering(encoding), self._notify, on_event
        )
        self.root = root
        self._extensions = extensions
        self._options = options
        self._locale = locale
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
        """Start the server process and initialise the connection."""
        extra: dict[str, Any] = {} if environment is None else {"env": dict(environment)}
        await self.client.start_io(command[0], *command[1:], **extra)
        return await self.greet()

    async def greet(self) -> types.InitializeResult:
        """Send ``initialize`` and ``initialized`` to the connected server."""
        async with asyncio.timeout(START_TIMEOUT_S):
            result = await self.client.initialize_async(self._hello())
        self.desk.encoding = result.capabilities.position_encoding or "utf-16"
        self.client.initialized(types.InitializedParams())
        return result

    async def stop(self) -> None:
        """Send ``shutdown`` and ``exit``, and wait until the process has ended."""
        self._protocol.hang_up()
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """Return the open buffers by URI."""
        return self.desk.buffers

    def behave(self, **changed: Any) -> None:
        """Change parts of the editor's behaviour (see ``Behaviour``)."""
        self.desk.behaviour = msgspec.structs.replace(self.desk.behaviour, **changed)
        self._protocol.heeds_cancel = self.desk.behaviour.heeds_cancel

    def open(self, path: Path, language: str = "python") -> Buffer:
        """Open a file in a buffer."""
        return self.desk.open(path, language)

    def close(self, buffer: Buffer) -> None:
        """Close a buffer and discard unsaved text."""
        self.desk.close(buffer)

    def type_text(self, buffer: Buffer, start: int, end: int, text: str) -> None:
        """Replace the characters from ``start`` to ``end`` (code points), as the user does."""
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
        """Select a range, and report the selection to the server as a rich client does."""
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
        """Request the code actions of a range."""
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
        """Request the code lenses of a document, if this editor shows lenses."""
        self.desk.tell()
        if not self.profile.asks_for_lenses:
            return []
        identifier = types.TextDocumentIdentifier(uri=buffer.uri)
        params = types.CodeLensParams(text_document=identifier)
        return list(await self.client.text_document_code_lens_async(params) or [])

    async def execute(self, command: str, *arguments: object, at_once: bool = False) -> Any:
        """Run a server command and wait for its result; ``at_once`` skips the wait before it."""
        self.desk.tell()
        given = list(arguments) if at_once else patient(command, arguments)
        params = types.ExecuteCommandParams(command=command, arguments=given or None)
        return await self.client.workspace_execute_command_async(params)

    def _hello(self) -> types.InitializeParams:
        return types.InitializeParams(
            process_id=None,
            root_uri=self.root.as_uri(),
            workspace_folders=[types.WorkspaceFolder(uri=self.root.as_uri(), name=self.root.name)],
            initialization_options=self._options,
            capabilities=self._capabilities(),
            client_info=self._client_info(),
            locale=self._locale,
        )

    def _capabilities(self) -> types.ClientCapabilities:
        declared = {
            **self.profile.capabilities,
            "experimental": {"indwell": dict.fromkeys(self._extensions, True)},
        }
        capabilities: types.ClientCapabilities = plain_converter().structure(
            declared, types.ClientCapabilities
        )
        return capabilities

    def _client_info(self) -> types.ClientInfo | None:
        if self.profile.client is None:
            return None
        name, version = self.profile.client
        return types.ClientInfo(name=name, version=version)

    def _listen(self) -> None:
        """Register the handlers for the server's requests."""
        for method, answer in self.handlers().items():
            self.client.feature(method)(partial(answer))  # pygls sets attributes on the handler.

    @property
    def _protocol(self) -> ClientProtocol:
        assert isinstance(self.client.protocol, ClientProtocol)
        return self.client.protocol

    def _notify(self, method: str, params: object) -> None:
        self.client.protocol.notify(method, params)
