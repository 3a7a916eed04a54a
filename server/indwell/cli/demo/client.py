"""The editor of ``indwell demo``: an LSP client over stdio, without a screen.

The client declares only the capabilities that the demo needs. The client counts positions in code
points (``utf-32``) and sends the whole text of a changed document. The client refuses an edit for
another version of a document.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from asyncio.subprocess import Process
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import msgspec

from indwell.errors import UserError
from indwell.files.contents.atomic import write_atomic
from indwell.sandbox.starting import start_conversation
from indwell.workspace.text import document_lines

START_TIMEOUT_S = 30.0  # the time limit, in seconds, for a start from a slow disk
# the time limit, in seconds, for the server's end; the server promises 2 seconds
END_TIMEOUT_S = 10.0
ENDED = "the server has ended"
_METHOD_NOT_FOUND = -32601  # the error code of JSON-RPC 2.0, section 5.1
_CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-32"]},
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "experimental": {"indwell": {"events": True, "permission": True, "save": True}},
}

Permit = Callable[[Mapping[str, Any]], Awaitable[str]]
"""Takes the params of ``indwell/permission``; returns the answer."""


@dataclass(slots=True)
class DemoDocument:
    """An open document with its text, its last saved text, and its version."""

    path: Path
    text: str
    saved: str
    version: int = 1

    @property
    def uri(self) -> str:
        """The URI of the document."""
        return self.path.as_uri()


class DemoClient:
    """Starts a language server and acts as the server's editor.

    Args:
        root: The workspace folder.
        on_event: Receives each ``indwell/event``.
        permit: Answers each permission question.

    Attributes:
        messages: The messages that the server showed to the user.
    """

    def __init__(
        self, root: Path, *, on_event: Callable[[Mapping[str, Any]], None], permit: Permit
    ) -> None:
        self.messages: list[str] = []
        self._root = root
        self._on_event = on_event
        self._permit = permit
        self._documents: dict[str, DemoDocument] = {}
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._turn_ended = asyncio.Event()
        self._n_requests = 0
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None

    async def start(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start the server and initialize it.

        Raises:
            UserError: The server does not start or does not answer.
        """
        self._process = await start_conversation(
            command,
            cwd=Path.cwd(),
            env=environment,
            stderr=sys.__stderr__.fileno() if sys.__stderr__ else asyncio.subprocess.DEVNULL,
        )
        self._reading = asyncio.create_task(self._read())
        folder = {"uri": self._root.as_uri(), "name": self._root.name}
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await self.request(
                    "initialize",
                    processId=None,
                    rootUri=folder["uri"],
                    workspaceFolders=[folder],
                    capabilities=_CAPABILITIES,
                )
        except TimeoutError as error:
            raise UserError(f"the server did not start within {START_TIMEOUT_S:.0f} s") from error
        self.notify("initialized")

    async def stop(self) -> None:
        """Shut the server down and wait until its process has ended."""
        if self._process is None:
            return
        try:
            async with asyncio.timeout(END_TIMEOUT_S):
                with contextlib.suppress(UserError):  # the server has already ended
                    await self.request("shutdown")
                self.notify("exit")
                await self._process.wait()
        finally:
            if self._process.returncode is None:
                self._process.kill()
                await self._process.wait()
            for task in (*self._answering, self._reading):
                if task is not None:
                    task.cancel()

    def open(self, path: Path, text: str) -> DemoDocument:
        """Open a Python file whose content is ``text``."""
        document = DemoDocument(path, text, saved=text)
        self._documents[document.uri] = document
        self.notify(
            "textDocument/didOpen",
            textDocument={
                "uri": document.uri,
                "languageId": "python",
                "version": document.version,
                "text": text,
            },
        )
        return document

    def save(self, document: DemoDocument) -> None:
        """Write a changed document to disk and notify the server."""
        if document.text == document.saved:
            return
        write_atomic(document.path, document.text.encode(), (self._root,))
        document.saved = document.text
        self.notify("textDocument/didSave", textDocument={"uri": document.uri})

    async def choose_action(self, document: DemoDocument, first: int, last: int, title: str) -> Any:  # noqa: ANN401 - JSON
        """Select the lines from ``first`` to ``last`` (1-based) and run the code action ``title``.

        Returns:
            The result of the action's command.
        """
        range_ = {
            "start": {"line": first - 1, "character": 0},
            "end": {"line": last, "character": 0},
        }
        self.notify(
            "indwell/didChangeSelection",
            uri=document.uri,
            version=document.version,
            ranges=[range_],
        )
        actions = await self.request(
            "textDocument/codeAction",
            textDocument={"uri": document.uri},
            range=range_,
            context={"diagnostics": [], "triggerKind": 1},
        )
        command = next(one["command"] for one in actions if one["title"] == title)
        return await self.request(
            "workspace/executeCommand",
            command=command["command"],
            arguments=command.get("arguments", []),
        )

    async def wait_for_turn(self, timeout_s: float) -> None:
        """Wait until a turn has ended.

        Raises:
            UserError: The turn takes too long, or the server has ended.
        """
        assert self._reading is not None
        ended = asyncio.create_task(self._turn_ended.wait())
        done, _ = await asyncio.wait(
            {ended, self._reading}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED
        )
        ended.cancel()
        if not self._turn_ended.is_set():
            raise UserError(
                "the server ended before the turn did"
                if done
                else f"the turn did not end within {timeout_s:.0f} s"
            )

    async def request(self, method: str, **params: object) -> Any:  # noqa: ANN401 - JSON
        """Send a request and wait for its result.

        Raises:
            UserError: The server answers with an error, or has ended.
        """
        if self._reading is None or self._reading.done():
            raise UserError(ENDED)
        self._n_requests += 1
        answer = self._pending[self._n_requests] = asyncio.get_running_loop().create_future()
        self._send({"id": self._n_requests, "method": method, "params": params})
        return await answer

    def notify(self, method: str, **params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        body = msgspec.json.encode({"jsonrpc": "2.0", **message})
        if not self._process.stdin.is_closing():
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        stream = self._process.stdout
        try:
            while header := await stream.readuntil(b"\r\n\r\n"):
                length = int(header.lower().partition(b"content-length:")[2].split()[0])
                self._take(msgspec.json.decode(await stream.readexactly(length)))
        except asyncio.IncompleteReadError:
            pass  # the server closed its output
        finally:
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_exception(UserError(ENDED))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message:
            answer = self._pending.pop(message["id"])
            if answer.cancelled():
                return
            if "error" in message:
                answer.set_exception(UserError(message["error"]["message"]))
            else:
                answer.set_result(message["result"])
        elif "id" in message:
            task = asyncio.create_task(self._answer(message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
        elif message["method"] == "indwell/event":
            event = message["params"]["event"]
            self._on_event(event)
            if event["type"] == "turnFinished":
                self._turn_ended.set()
        elif message["method"] == "window/showMessage":
            self.messages.append(message["params"]["message"])

    async def _answer(self, message: Mapping[str, Any]) -> None:
        """Answer a request of the server."""
        params, answer = message.get("params") or {}, dict[str, Any](id=message["id"])
        match message["method"]:
            case "workspace/applyEdit":
                reason = self._apply(params["edit"])
                refused = {"failureReason": reason} if reason else {}
                answer["result"] = {"applied": not reason, **refused}
            case "indwell/permission":
                answer["result"] = {"answer": await self._permit(params)}
            case "indwell/save":
                for uri in params["uris"]:
                    self.save(self._documents[uri])
                answer["result"] = {"saved": params["uris"]}
            case "window/showMessageRequest":
                self.messages.append(params["message"])
                answer["result"] = next(iter(params.get("actions") or ()), None)
            case "window/showDocument":
                answer["result"] = {"success": True}
            case "window/workDoneProgress/create":
                answer["result"] = None
            case method:
                answer["error"] = {"code": _METHOD_NOT_FOUND, "message": f"unknown: {method}"}
        self._send(answer)

    def _apply(self, edit: Mapping[str, Any]) -> str:
        """Apply a workspace edit; return the problem, or an empty text.

        The server creates and deletes files itself, because this client declares no file
        operations.
        """
        changes = edit.get("documentChanges", ())
        for change in changes:
            identifier = change.get("textDocument", {})
            document = self._documents.get(identifier.get("uri"))
            if document is None:
                return "the file is not open"
            if identifier.get("version") != document.version:
                return "the document has changed"
        for change in changes:
            document = self._documents[change["textDocument"]["uri"]]
            document.text = edited(document.text, change["edits"])
            document.version += 1
            self.notify(
                "textDocument/didChange",
                textDocument={"uri": document.uri, "version": document.version},
                contentChanges=[{"text": document.text}],
            )
        return ""


def edited(text: str, edits: Sequence[Mapping[str, Any]]) -> str:
    """Apply text edits that do not overlap, with positions in code points."""
    starts = list(accumulate(map(len, document_lines(text)), initial=0))

    def offset(position: Mapping[str, int]) -> int:
        if position["line"] >= len(starts) - 1:
            return len(text)
        return min(starts[position["line"]] + position["character"], len(text))

    places = [(offset(one["range"]["start"]), offset(one["range"]["end"]), one) for one in edits]
    pieces, at = [], 0
    for start, stop, one in sorted(places, key=lambda place: place[:2]):
        pieces += [text[at:start], one["newText"]]
        at = stop
    return "".join([*pieces, text[at:]])
