"""Defines the server's interface to the editor: edits, messages, questions, events."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from indwell.agent.core.events import Event, TextAdded, ThinkingAdded, ToolOutput
from indwell.agent.features.questions import UserQuestion
from indwell.context.untrusted_text import one_line, visible
from indwell.lsp.messages import context, status
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.methods import AskParams, AskResult
from indwell.lsp.wire import sync
from indwell.lsp.wire.base_protocol import RequestError
from indwell.lsp.wire.language_server import Server
from indwell.service.front_door import translated_event
from indwell.translation import Translation


class ChatPlace(Protocol):
    """The chat document of a session, in which the user can answer a question."""

    def is_open(self, session: str) -> bool:
        """Return whether the running turn of a session is shown in the session's chat."""
        ...

    async def lead_to(self, question: UserQuestion) -> None:
        """Open the chat of the session that asks, and show the question in the chat.

        Raises:
            UserError: The chat cannot be created.
        """
        ...


T = TypeVar("T")

# the time limit, in seconds, for the editor to open a document or accept a progress token
SHOW_TIMEOUT_S = 10.0
# The time limit, in seconds, for the editor's settings, which the first turn waits for.
CONFIGURATION_TIMEOUT_S = 5.0
# The time limit, in seconds, for the editor to start watching a folder, which delays nothing.
REGISTER_TIMEOUT_S = 5.0
# the time limit, in seconds, for the editor to save; formatters may run on save
SAVE_TIMEOUT_S = 10.0

WAKE = "$/indwellWake"  # clients may ignore methods whose names start with $/
WAKE_S = (1.0, 2.0, 6.0)  # the waits, in seconds, before each wake-up message

MESSAGE_LIMIT = 4_000  # the limit of characters for a message

_SHOW_AGAIN = "Show the question again"
SURE = "Yes, I chose that answer"
# The list is as long as a question has answers, because users choose answers by number.
_UNSURE = (
    "No",
    *(f"No, the number {number} was meant for my file" for number in range(2, 6)),
    _SHOW_AGAIN,
    SURE,
)

# Clients that know the methods of Indwell also honour their cancellation.
_OURS = "indwell/"
_REPEATABLE = (
    TextAdded,
    ThinkingAdded,
    ToolOutput,
)  # A slow editor asks later for the events that the editor missed.


class _EventParams(msgspec.Struct, frozen=True):
    """The fields of ``protocol.EventParams`` for sending, with the event encoded only once."""

    session: str
    seq: int
    event: Event


class Client:
    """Sends requests, messages and events to the editor.

    Args:
        server: Sends messages, and reports failed commands to the user through this object.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        server.tell_failure = self.fail
        self._numbers = itertools.count(1)
        # The request ids of edits that the editor has not answered yet.
        self._edits: dict[int, str] = {}
        self.features = ClientFeatures()
        self.chat: ChatPlace | None = None
        # The lock shows permission questions of several turns one after another.
        self.asking = asyncio.Lock()
        self.before_asking: Callable[[], Awaitable[None]] = _at_once
        self.still: Callable[[], Awaitable[None]] = _at_once

    @property
    def translation(self) -> Translation:
        """The translation of everything that this object shows."""
        return self._server.translation

    def apply_edit(
        self, edit: types.WorkspaceEdit, label: str
    ) -> Awaitable[types.ApplyWorkspaceEditResult | None]:
        """Ask the editor to apply an edit; the caller sets the time-out and checks the text.

        The request is sent before the method returns. The answer may be a RequestError.
        """
        params = types.ApplyWorkspaceEditParams(edit=edit, label=self.translation.of(label) or None)
        request, key = f"indwell-edit-{next(self._numbers)}", id(edit)
        answer = self._request("workspace/applyEdit", params, request)
        self._edits[key] = request
        answer.add_done_callback(lambda _answer: self._edits.pop(key, None))
        return answer

    def withdraw(self, edit: types.WorkspaceEdit) -> None:
        """Cancel an edit, although most editors apply edits before they read the cancellation."""
        request = self._edits.get(id(edit))
        if request is not None:
            params = types.CancelParams(id=request)
            self._server.notify("$/cancelRequest", params)

    def show(self, level: types.MessageType, message: str, data: str = "") -> None:
        """Show a message; control characters are made visible, and a long message is cut.

        ``data`` follows the message and is never translated, such as a text by the model.
        """
        message = self.translation.of(message) + data
        shown = visible(message[:MESSAGE_LIMIT])
        message = shown if len(message) <= MESSAGE_LIMIT else f"{shown}…"
        params = types.ShowMessageParams(type=level, message=message)
        self._server.notify("window/showMessage", params)

    def fail(self, error: Exception | str) -> None:
        """Show the user why an action failed."""
        self.show(types.MessageType.Error, f"Indwell: {error}")

    def log(self, message: str) -> None:
        """Log a warning in the editor, unless the client receives the warning as an event."""
        if self.features.has("events"):
            return
        params = types.LogMessageParams(
            type=types.MessageType.Warning, message=visible(message[:MESSAGE_LIMIT])
        )
        self._server.notify("window/logMessage", params)

    async def ready(self) -> None:
        """Wait until a question may be shown: commands are answered, and the user has paused.

        A client that delays questions itself declares ``ownPause``.
        """
        await self.before_asking()
        if not self.features.has("ownPause"):
            await self.still()
            await self.before_asking()  # a command may have arrived during the pause

    async def choose(
        self, message: str, titles: tuple[str, ...], timeout_s: float, *, is_told: bool = False
    ) -> str | None:
        """Ask the user to choose; return None if there is no choice in time, or after an error.

        The message is never shortened, because the user may allow exactly the shown text.

        Args:
            message: The question.
            titles: The answers.
            timeout_s: The time limit, in seconds.
            is_told: Whether the message is in the user's language already.
        """
        await self.ready()
        by_shown = {one_line(shown): title for shown, title in self._buttons(titles)}
        params = types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=visible(message if is_told else self.translation.of(message)),
            actions=[types.MessageActionItem(title=title) for title in by_shown],
        )
        asked = self._server.send_request_async("window/showMessageRequest", params)
        answer = await _bounded(self._with_wake_up(asked), timeout_s)
        return by_shown.get(answer.title, answer.title) if answer is not None else None

    def _buttons(self, titles: tuple[str, ...]) -> Iterable[tuple[str, str]]:
        """Yield each title as the editor shows it, with the title itself.

        The titles stay English for a client that turns them into words which the user types.
        """
        shown = titles if self.features.has("words") else tuple(map(self.translation.of, titles))
        return zip(shown if len(set(shown)) == len(shown) else titles, titles, strict=True)

    def _with_wake_up(self, request: Awaitable[T]) -> asyncio.Future[T]:
        """Return the answer to a request; send a few empty messages until the answer arrives.

        If a message arrives together with the answer to a command, eglot processes it only after
        another message. An editor that shows progress receives enough messages anyway.
        """
        answer = asyncio.ensure_future(request)
        if not self.features.progress:
            waking = asyncio.create_task(self._wake())
            answer.add_done_callback(lambda _: waking.cancel())
        return answer

    async def _wake(self) -> None:
        for pause_s in WAKE_S:
            await asyncio.sleep(pause_s)
            self._server.notify(WAKE, {})

    async def allow(
        self, message: str, titles: tuple[str, ...], timeout_s: float, *, is_told: bool = False
    ) -> str | None:
        """Ask the user for a choice that can do harm; the first title must be harmless.

        In some editors a digit and Enter choose an answer, and the user may have typed them for a
        file. The user must then confirm any answer but the first, by a number that the first
        question lacks.
        """
        while True:
            chosen = await self.choose(message, titles, timeout_s, is_told=is_told)
            if chosen is None or chosen == titles[0] or not self.features.numbers:
                return chosen
            shown = next(shown for shown, title in self._buttons(titles) if title == chosen)
            words = f"Indwell: did you choose {shown!r}, or was the number meant for a file?"
            confirmed = await self.choose(words, _UNSURE, timeout_s)
            if confirmed != _SHOW_AGAIN:
                return chosen if confirmed == SURE else None

    async def configuration(self, section: str) -> object:
        """Ask for a section of the editor's settings; return None if no answer comes in time."""
        item = sync.ConfigurationItem(section)
        params = sync.ConfigurationParams([item])
        asked = self._server.send_request_async("workspace/configuration", params)
        answer = await _bounded(self._with_wake_up(asked), CONFIGURATION_TIMEOUT_S)
        return answer[0] if isinstance(answer, list) and answer else None

    async def watch_folder(self, folder: Path) -> bool:
        """Ask the editor to watch the files of a folder; return False if the editor refuses."""
        if not self.features.watches_files:
            return False
        pattern = {"baseUri": folder.as_uri(), "pattern": "*"}
        registration = sync.Registration(
            id=f"indwell-files-{next(self._numbers)}",
            method="workspace/didChangeWatchedFiles",
            register_options={"watchers": [{"globPattern": pattern}]},
        )
        params = sync.RegistrationParams([registration])
        try:
            async with asyncio.timeout(REGISTER_TIMEOUT_S):
                await self._server.send_request_async("client/registerCapability", params)
        except (TimeoutError, RequestError):
            return False
        return True

    async def register(self, wanted: list[sync.Registration]) -> None:
        """Register capabilities; nothing depends on the editor's answer."""
        params = sync.RegistrationParams(wanted)
        answer = self._server.send_request_async("client/registerCapability", params)
        await _bounded(answer, REGISTER_TIMEOUT_S)

    async def show_document(self, uri: str, *, in_browser: bool = False) -> bool:
        """Open a document or an address; return False if the editor did not open it."""
        if not self.features.show_document:
            return False
        params = types.ShowDocumentParams(
            uri=uri, external=True if in_browser else None, take_focus=False
        )
        shown = self._server.send_request_async("window/showDocument", params)
        answer = await _bounded(shown, SHOW_TIMEOUT_S)
        return answer is not None and answer.success

    async def refresh_text(self, uri: str) -> None:
        """Ask the editor to read a virtual document again."""
        params = types.TextDocumentContentRefreshParams(uri=uri)
        method = "workspace/textDocumentContent/refresh"
        await _bounded(self._request(method, params), SHOW_TIMEOUT_S)

    def publish(self, diagnostics: msgspec.Struct) -> None:
        """Publish Indwell's diagnostics by ``textDocument/publishDiagnostics``."""
        self._server.notify("textDocument/publishDiagnostics", diagnostics)

    def refresh_lenses(self) -> None:
        """Ask the editor to read its code lenses again; nothing waits for the answer."""
        if self.features.refreshes_lenses:
            answer = self._request("workspace/codeLens/refresh", None)
            answer.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def create_progress(self, token: str) -> bool:
        """Create a work-done progress; return False if the editor refuses."""
        if not self.features.progress:
            return False
        params = types.WorkDoneProgressCreateParams(token=token)
        try:
            async with asyncio.timeout(SHOW_TIMEOUT_S):
                await self._server.send_request_async("window/workDoneProgress/create", params)
        except (TimeoutError, RequestError):
            return False
        return True

    def progress(
        self,
        token: str,
        value: types.WorkDoneProgressBegin
        | types.WorkDoneProgressReport
        | types.WorkDoneProgressEnd,
    ) -> None:
        """Send the beginning, a report or the end of a created progress."""
        droppable = isinstance(value, types.WorkDoneProgressReport)
        if value.message:
            value.message = self.translation.of(value.message)
        if isinstance(value, types.WorkDoneProgressBegin):
            value.title = self.translation.of(value.title)
        params = types.ProgressParams(token=token, value=value)
        self._server.notify("$/progress", params, droppable=droppable)

    def event(self, session: str, seq: int, event: Event) -> None:
        """Send an event, if the client supports events.

        A client with ``stream`` shows answers, but no text that a chat document already shows.
        """
        if self.features.has("events") or (
            self.features.has("stream") and not self._is_in_chat(session, event)
        ):
            params = _EventParams(session, seq, translated_event(event, self.translation))
            droppable = isinstance(event, _REPEATABLE)
            self._server.notify("indwell/event", params, droppable=droppable)

    def _is_in_chat(self, session: str, event: Event) -> bool:
        is_text = isinstance(event, (TextAdded, ThinkingAdded))
        return is_text and self.chat is not None and self.chat.is_open(session)

    async def ask(self, params: AskParams, timeout_s: float) -> str | None:
        """Ask the user for a line of text; return None if the user closes the box or is too late.

        The box opens at once, because the user has just requested it.
        """
        answer = await self._answer(params, timeout_s)
        return None if answer is None else answer.text

    async def answer(self, params: AskParams, timeout_s: float) -> AskResult | None:
        """Ask a question that may have options; return None if there is no answer in time."""
        await self.ready()
        return await self._answer(params, timeout_s)

    async def _answer(self, params: AskParams, timeout_s: float) -> AskResult | None:
        if params.by == "indwell":
            params = msgspec.structs.replace(
                params,
                prompt=self.translation.of(params.prompt),
                placeholder=self.translation.of(params.placeholder),
            )
        answer = await _bounded(self._request("indwell/ask", params), timeout_s)
        return answer if isinstance(answer, AskResult) else None

    async def first_run(self, reason: str, timeout_s: float) -> bool:
        """Ask the client to help the user connect a model; return whether a model is connected."""
        params = status.FirstRunParams(self.translation.of(reason))
        answer = await _bounded(self._request("indwell/firstRun", params), timeout_s)
        return isinstance(answer, status.FirstRunResult) and answer.ok

    async def permission(
        self, params: protocol.PermissionParams, timeout_s: float
    ) -> protocol.PermissionResult | None:
        """Ask for a permission by ``indwell/permission``."""
        await self.ready()
        say = self.translation.of
        params = msgspec.structs.replace(
            params,
            title=say(params.title),
            reason=say(params.reason),
            sandbox=say(params.sandbox),
            more=say(params.more),
            risky=tuple(map(self.translation.of_part, params.risky)),
        )
        answer = await _bounded(self._request("indwell/permission", params), timeout_s)
        return answer if isinstance(answer, protocol.PermissionResult) else None

    async def diagnostics(
        self, params: context.DiagnosticsParams, timeout_s: float
    ) -> context.DiagnosticsResult | None:
        """Ask for the problems of documents; return None if there is no usable answer in time."""
        answer = await _bounded(self._request("indwell/diagnostics", params), timeout_s)
        return answer if isinstance(answer, context.DiagnosticsResult) else None

    async def navigate(
        self, params: context.NavigateParams, timeout_s: float
    ) -> context.NavigateResult | None:
        """Ask the editor's language servers about code; return None if no usable answer comes."""
        answer = await _bounded(self._request("indwell/navigate", params), timeout_s)
        return answer if isinstance(answer, context.NavigateResult) else None

    async def save(self, uris: tuple[str, ...]) -> tuple[str, ...]:
        """Ask the editor to save documents; return the saved documents."""
        params = protocol.SaveParams(uris=uris)
        answer = await _bounded(self._request("indwell/save", params), SAVE_TIMEOUT_S)
        return answer.saved if isinstance(answer, protocol.SaveResult) else ()

    def request(self, method: str, params: object) -> asyncio.Future[Any]:
        """Send a request of Indwell; cancelling the future cancels the request."""
        return self._request(method, params)

    def _request(
        self, method: str, params: object, identifier: str | None = None
    ) -> asyncio.Future[Any]:
        line = self._server
        request = identifier or f"indwell-asked-{next(self._numbers)}"
        answer = self._with_wake_up(line.send_request_async(method, params, request))
        if method.startswith(_OURS):
            answer.add_done_callback(partial(self._given_up, request))
        return answer

    def _given_up(self, request: str, answer: asyncio.Future[Any]) -> None:
        """Cancel a request that no caller awaits, so that the editor removes its card."""
        if answer.cancelled():
            self._server.notify("$/cancelRequest", types.CancelParams(id=request))


async def _at_once() -> None:
    """Return immediately."""


async def _bounded(answer: Awaitable[T], timeout_s: float) -> T | None:
    """Wait for an answer; return None after the time-out or on an error."""
    try:
        async with asyncio.timeout(timeout_s):
            return await answer
    except (TimeoutError, RequestError):
        return None
