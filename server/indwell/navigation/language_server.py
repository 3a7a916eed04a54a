"""Runs a language server as a child process: sends requests, and keeps its documents up to date.

The server gets the present texts of documents, including unsaved text. Every failure raises
``SourceFailed``, so that the next source can answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec

from indwell.context.attachments import Problem
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.navigation.lsp_answers import problems_of
from indwell.navigation.navigator import SourceFailed
from indwell.sandbox import Finished
from indwell.sandbox.capture import Feed, OnChunk

START_S = 30.0  # the time limit, in seconds, for a server's answer to `initialize`
# The time limit for a request, in seconds. The first request may wait until the server has read the
# project.
ANSWER_S = 20.0
PROBLEMS_S = 8.0  # the time limit, in seconds, for a server's problems of a text
WARM_S = 20.0  # For 20 s after the start, answers about the workspace may be incomplete.
PAUSE_S = 0.7  # the pause, in seconds, between two equal requests
BUSY_S = 60.0  # the longest wait, in seconds, for a server that still reads the project
END_S = 2.0  # the time limit, in seconds, for the end of a server after `exit`
MOST_B = 64 << 20  # the limit of bytes for one message
MOST_HEADER_B = 4_096
# the limit of unread messages; a server that sends more at once counts as broken
MOST_WAITING = 10_000
# the limit of open documents, above which the least recently used document is closed
MOST_OPEN = 50
# 64 KB decode within a millisecond; larger messages are decoded in a thread
SMALL_B = 64 << 10
_METHOD_NOT_FOUND = -32601
_LENGTH = lazy_pattern(rb"(?i)content-length: *(\d{1,9})\r\n")
_log = logging.getLogger(__name__)

CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16", "utf-8", "utf-32"]},
    "window": {"workDoneProgress": True},
    "textDocument": {
        "synchronization": {},
        "definition": {"linkSupport": True},
        "references": {},
        "hover": {"contentFormat": ["plaintext", "markdown"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "rename": {},
        "publishDiagnostics": {"versionSupport": True},
    },
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "symbol": {},
        "workspaceEdit": {"documentChanges": True},
    },
}


class RequestRefused(Exception):
    """The server answered a request with an error, such as for an impossible new name."""


class RunServer(Protocol):
    """Runs the program of a server until it ends; see ``sandbox.spawn.spawn_server``."""

    async def __call__(
        self, *, feed: Feed, on_output: OnChunk, on_errors: OnChunk, stop: asyncio.Event
    ) -> Finished:
        """Run the program until it ends."""
        ...


class Messages:
    """Splits a byte stream into messages of the LSP base protocol."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def take(self, data: bytes) -> list[bytes]:
        """Add bytes; return the bodies of the messages that are complete now.

        Raises:
            ValueError: The stream does not follow the protocol.
        """
        self._rest += data
        bodies: list[bytes] = []
        while (at := self._rest.find(b"\r\n\r\n", 0, MOST_HEADER_B)) >= 0:
            found = _LENGTH.search(bytes(self._rest[: at + 2]))
            if found is None or int(found[1]) > MOST_B:
                raise ValueError("it sent a message without a proper length")
            stop = at + 4 + int(found[1])
            if len(self._rest) < stop:
                return bodies
            bodies.append(bytes(self._rest[at + 4 : stop]))
            del self._rest[:stop]
        if len(self._rest) > MOST_HEADER_B:
            raise ValueError("it does not speak the language server protocol")
        return bodies


class _OpenDocument(msgspec.Struct):
    """A document that is open in the server."""

    version: int
    text: str
    reported: asyncio.Event
    problems: tuple[Problem, ...] = ()


class LanguageServer:
    """One running language server.

    Args:
        name: The server's name in the settings.
        run: Runs the server's program.
        roots: The folders of the workspace.
        configuration: The user's settings for the server, which asks for settings by section.
        answer_s: The time limit for an answer of the server, in seconds.
    """

    def __init__(
        self,
        name: str,
        run: RunServer,
        roots: Sequence[Path],
        configuration: Mapping[str, Any],
        *,
        answer_s: float = ANSWER_S,
    ) -> None:
        self.name = name
        self.encoding = "utf-16"
        self._run = run
        self._roots = tuple(roots)
        self._configuration = configuration
        self._answer_s = answer_s
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._open: dict[Path, _OpenDocument] = {}
        self._feed = Feed()
        self._stop = asyncio.Event()
        self._messages = Messages()
        self._bodies: asyncio.Queue[bytes] = asyncio.Queue(MOST_WAITING)
        self._errors: deque[str] = deque(maxlen=5)
        self._tasks: tuple[asyncio.Task[None], ...] = ()
        self._starting: asyncio.Task[None] | None = None
        self._busy: set[str] = set()  # the progress tokens of the server's unfinished work
        self._idle = asyncio.Event()
        self._idle.set()
        self._started_at = 0.0
        self._cancelling: set[asyncio.Task[None]] = set()
        self._fault = ""

    @property
    def is_broken(self) -> bool:
        """Return whether the server can no longer answer."""
        starting = self._starting
        if starting is None or not starting.done():
            return bool(self._fault)
        return bool(self._fault) or starting.cancelled() or starting.exception() is not None

    async def ready(self) -> None:
        """Wait until the server can answer requests; the first call starts the server.

        Raises:
            SourceFailed: The server could not be started.
        """
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)

    async def _start(self) -> None:
        self._tasks = (
            asyncio.create_task(self._program()),
            asyncio.create_task(self._read()),
        )
        folders = [{"uri": root.as_uri(), "name": root.name} for root in self._roots]
        params = {
            "processId": None,  # A server in a sandbox cannot see Indwell's process.
            "clientInfo": {"name": "Indwell"},
            "rootUri": folders[0]["uri"],
            "workspaceFolders": folders,
            "capabilities": CAPABILITIES,
        }
        asked = asyncio.create_task(self._send("initialize", params, START_S))
        try:  # A program that could not be started opens no pipe.
            await asyncio.wait({asked, self._tasks[0]}, return_when=asyncio.FIRST_COMPLETED)
            if self._fault:
                raise SourceFailed(self._fault)
            result = await asked
        finally:
            asked.cancel()
        said = result.get("capabilities") if isinstance(result, Mapping) else None
        encoding = said.get("positionEncoding") if isinstance(said, Mapping) else None
        if encoding in {"utf-8", "utf-16", "utf-32"}:
            self.encoding = encoding
        await self._notify("initialized", {})
        self._started_at = time.monotonic()
        if self._configuration:
            await self._notify("workspace/didChangeConfiguration", {"settings": None})

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Send a request, and return its result.

        Raises:
            RequestRefused: The server answered with an error.
            SourceFailed: The server did not answer.
        """
        await self.ready()
        return await self._send(method, params, self._answer_s)

    async def settled(self, method: str, params: Mapping[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Send a request that concerns more than one file, and return its result.

        A server that has just started answers from the files that it has read so far, and few
        servers report when they have read all files. The request is therefore repeated until two
        answers are equal.

        Raises:
            RequestRefused: The server answered with an error.
            SourceFailed: The server did not answer.
        """
        await self.ready()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BUSY_S):
                await self._idle.wait()
        found = await self.request(method, params)
        while time.monotonic() - self._started_at < WARM_S:
            await asyncio.sleep(PAUSE_S)
            before, found = found, await self.request(method, params)
            if found == before and not self._busy:
                break
        return found

    async def sync(self, texts: Mapping[Path, tuple[str, str]]) -> None:
        """Send the server the language and the present text of these documents.

        Raises:
            SourceFailed: The server has ended.
        """
        await self.ready()
        for path, (language, text) in texts.items():
            document, uri = self._open.pop(path, None), path.as_uri()
            if document is None:
                document = _OpenDocument(1, text, asyncio.Event())
                item = {"uri": uri, "languageId": language, "version": 1, "text": text}
                await self._notify("textDocument/didOpen", {"textDocument": item})
            elif document.text != text:
                document.version += 1
                document.text = text
                document.reported.clear()
                changed = {"uri": uri, "version": document.version}
                params = {"textDocument": changed, "contentChanges": [{"text": text}]}
                await self._notify("textDocument/didChange", params)
            # Move the document to the end, because it is now the most recently used.
            self._open[path] = document
        while len(self._open) > MOST_OPEN:
            await self.forget(next(iter(self._open)))

    async def forget(self, path: Path) -> None:
        """Close a document, so that the server reads its text on disk."""
        if self._open.pop(path, None) is not None:
            item = {"uri": path.as_uri()}
            await self._notify("textDocument/didClose", {"textDocument": item})

    async def changed(self, paths: Sequence[Path]) -> None:
        """Tell the server that these files have changed on disk."""
        events = [{"uri": path.as_uri(), "type": 2} for path in paths]
        await self._notify("workspace/didChangeWatchedFiles", {"changes": events})

    @property
    def open_paths(self) -> tuple[Path, ...]:
        """The open documents."""
        return tuple(self._open)

    async def problems(self, path: Path) -> tuple[Problem, ...] | None:
        """Return an open document's problems, or None if the server does not report in time."""
        document = self._open[path]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PROBLEMS_S):
                await document.reported.wait()
            return document.problems
        return None

    async def close(self) -> None:
        """Stop the server and all processes that it started."""
        if self._starting is None:
            return
        if not self._fault and self._starting.done() and not self._starting.cancelled():
            with contextlib.suppress(SourceFailed, RequestRefused):
                await self._send("shutdown", None, END_S)
                await self._notify("exit", None)
                self._feed.end()
        self._starting.cancel()
        for task in tuple(self._cancelling):
            task.cancel()
        program, reader = self._tasks
        await asyncio.wait({program}, timeout=END_S)
        self._stop.set()
        reader.cancel()
        await asyncio.wait({program, reader, self._starting})
        if not self._starting.cancelled():
            self._starting.exception()  # the callers that await ``_starting`` handle the error

    async def _program(self) -> None:
        """Run the program; when it ends, fail the pending requests with the reason."""
        try:
            ended = await self._run(
                feed=self._feed, on_output=self._take, on_errors=self._hear, stop=self._stop
            )
        except ToolError as error:
            self._fail(str(error))
        else:
            last = f": {self._errors[-1]}" if self._errors else ""
            self._fail(f"it ended with exit code {ended.exit_code}{last}")

    def _take(self, data: bytes) -> None:
        try:
            for body in self._messages.take(data):
                self._bodies.put_nowait(body)
        except asyncio.QueueFull:
            self._fail(f"it sent {MOST_WAITING:,} messages faster than they can be read")
            self._stop.set()
        except ValueError as error:
            self._fail(str(error))
            self._stop.set()

    def _hear(self, data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            if line.strip():
                self._errors.append(short_line(line, 200))

    def _fail(self, reason: str) -> None:
        self._fault = self._fault or f"the language server {self.name} does not answer: {reason}"
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(SourceFailed(self._fault))
                # Mark the error as read, because there may be no caller that waits.
                waiting.exception()

    async def _read(self) -> None:
        """Handle the messages of the server in order."""
        while True:
            body = await self._bodies.get()
            try:
                decode = msgspec.json.decode
                big = len(body) > SMALL_B
                message = await asyncio.to_thread(decode, body) if big else decode(body)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(message, dict):
                with contextlib.suppress(SourceFailed):
                    await self._handle(message)

    async def _handle(self, message: Mapping[str, Any]) -> None:
        method, identifier = message.get("method"), message.get("id")
        if method is None:
            waiting = self._waiting.get(identifier) if isinstance(identifier, int) else None
            if waiting is None or waiting.done():
                return
            error = message.get("error")
            if isinstance(error, Mapping):
                waiting.set_exception(RequestRefused(short_line(str(error.get("message")), 300)))
                # Mark the error as read, because there may be no caller that waits.
                waiting.exception()
            else:
                waiting.set_result(message.get("result"))
        elif identifier is not None:
            await self._answer(str(method), identifier, message.get("params"))
        elif method == "textDocument/publishDiagnostics":
            self._report(message.get("params"))
        elif method == "$/progress":
            self._progress(message.get("params"))

    def _progress(self, params: object) -> None:
        """Record whether the server is still reading the project."""
        value = params.get("value") if isinstance(params, Mapping) else None
        kind = value.get("kind") if isinstance(value, Mapping) else None
        token = str(params.get("token")) if isinstance(params, Mapping) else ""
        if kind == "begin":
            self._busy.add(token)
        elif kind == "end":
            self._busy.discard(token)
        if self._busy:
            self._idle.clear()
        else:
            self._idle.set()

    def _report(self, params: object) -> None:
        """Store the reported problems of an open document, if they are about its present text."""
        if not isinstance(params, Mapping):
            return
        uri, version = params.get("uri"), params.get("version")
        for path, document in self._open.items():
            if _same_uri(uri, path) and version in {None, document.version}:
                document.problems = problems_of(params.get("diagnostics"))
                document.reported.set()

    async def _answer(self, method: str, identifier: object, params: object) -> None:
        """Answer a request of the server; requests to change files are refused."""
        given = params if isinstance(params, Mapping) else {}
        result: Any = None
        match method:
            case "workspace/configuration":
                items = given.get("items")
                asked = items if isinstance(items, list) else []
                result = [self._section(one) for one in asked]
            case "workspace/workspaceFolders":
                result = [{"uri": root.as_uri(), "name": root.name} for root in self._roots]
            case "workspace/applyEdit":
                result = {"applied": False, "failureReason": "nothing may be changed"}
            case (
                "client/registerCapability"
                | "client/unregisterCapability"
                | "window/workDoneProgress/create"
                | "window/showMessageRequest"
            ):
                pass
            case _:
                error = {"code": _METHOD_NOT_FOUND, "message": f"{method} is not supported"}
                await self._write({"id": identifier, "error": error})
                return
        await self._write({"id": identifier, "result": result})

    def _section(self, item: object) -> Any:  # noqa: ANN401 - the user's JSON
        """Return a section of the user's settings for the server, such as ``python.analysis``."""
        value: Any = self._configuration
        section = item.get("section") if isinstance(item, Mapping) else None
        for name in str(section or "").split("."):
            if name:
                value = value.get(name) if isinstance(value, Mapping) else None
        return value

    async def _send(self, method: str, params: object, timeout_s: float) -> Any:  # noqa: ANN401
        if self._fault:
            raise SourceFailed(self._fault)
        number = next(self._numbers)
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = waiting
        try:
            async with asyncio.timeout(timeout_s):
                await self._write({"id": number, "method": method, "params": params})
                return await waiting
        except TimeoutError:
            self._take_back(number)
            raise SourceFailed(
                f"the language server {self.name} did not answer within {timeout_s:g} s"
            ) from None
        except asyncio.CancelledError:
            self._take_back(number)
            raise
        finally:
            del self._waiting[number]

    def _take_back(self, number: int) -> None:
        """Notify the server that a request is cancelled, without waiting."""
        task = asyncio.create_task(self._notify("$/cancelRequest", {"id": number}))
        self._cancelling.add(task)
        task.add_done_callback(self._taken_back)

    def _taken_back(self, task: asyncio.Task[None]) -> None:
        self._cancelling.discard(task)
        if not task.cancelled():
            task.exception()  # Ignore the error, because the server has ended.

    async def _notify(self, method: str, params: object) -> None:
        await self._write({"method": method, "params": params})

    async def _write(self, message: Mapping[str, Any]) -> None:
        if self._fault:
            raise SourceFailed(self._fault)
        given = {name: value for name, value in message.items() if name != "params" or value}
        body = msgspec.json.encode({"jsonrpc": "2.0", **given})
        try:
            await self._feed.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        except BrokenPipeError:
            self._fail("it reads no more")
            raise SourceFailed(self._fault) from None


def _same_uri(uri: object, path: Path) -> bool:
    """Return whether a server's URI names this file; Windows servers may write ``c%3A``."""
    from urllib.parse import unquote  # noqa: PLC0415 - with a server only

    return isinstance(uri, str) and unquote(uri).casefold() == unquote(path.as_uri()).casefold()
