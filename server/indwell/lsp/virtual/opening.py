"""Opens virtual documents, if needed as read-only files, and refreshes the shown ones."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from pathlib import Path

import msgspec

from indwell.agent.core import events
from indwell.errors import ToolError, UserError
from indwell.files.private import read_own, write_shown
from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.host import Host
from indwell.lsp.messages.documents import OpenArguments, OpenResult
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.virtual.texts import Shared, context_json, ledger_of, text_of
from indwell.lsp.virtual.uris import (
    Base,
    ChangeSpan,
    Diff,
    NextRequest,
    Transcript,
    Virtual,
    parsed,
    uri_of,
)
from indwell.lsp.wire.language_server import Server
from indwell.lsp.workspace.documents import path_of
from indwell.workspace.base import digest

N_KEPT = 40  # the limit of kept files in all folders together; the newest files are kept
_PLAIN = lazy_pattern(r"[^\w.+-]+")
_NAME_CHARACTERS = 80


async def keep(folder: Path, document: Virtual, text: str, *, is_reread: bool) -> Path:
    """Write a read-only document; return its path.

    Each text has its own file name, because editors do not reload an open file when asked to show
    it. With ``is_reread`` the editor reloads files, so a document keeps its file name.

    Raises:
        UserError: The text cannot be written to disk.
    """
    data = text.encode("utf-8", "surrogatepass")
    path = folder / name_of(document, b"" if is_reread else data)
    try:
        return await asyncio.to_thread(_write, path, data)
    except OSError as error:
        raise UserError(
            f"the document could not be written to {quoted(folder)} ({error.strerror}); make room "
            "there and try again"
        ) from error


def name_of(document: Virtual, data: bytes) -> str:
    """Return a file name: a digest of the content, the document's name, and the suffix."""
    uri = uri_of(document).encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(uri + b"\0" + data, digest_size=4).hexdigest()
    called = _PLAIN.sub("-", _called(document)).encode("ascii", "replace").decode()
    return f"{digest}-{called.replace('?', '-')[-_NAME_CHARACTERS:]}"


def _called(document: Virtual) -> str:
    match document:
        case Base(path=path):
            return f"base-{path.rpartition('/')[2]}"
        case Diff(path=path):
            return f"{path.rpartition('/')[2] or 'all'}.diff"
        case NextRequest():
            return "next-request.md"
        case Transcript(session=session):
            return f"{session}.md"


def _write(path: Path, data: bytes) -> Path:
    if not _holds(path, data):
        write_shown(path, data, n_kept=N_KEPT)
    return path


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_own(path, len(data) + 1) == data
    except (OSError, ToolError):
        return False


MOST = 20  # the limit of documents that are watched at the same time
# the pause in seconds after the last change, because a turn changes many hunks in a row
QUIET_S = 0.3


class Refreshing:
    """Watches documents that the editor has read, and reports a change once.

    An editor that still shows the document reads it again, and the document is watched again.

    Args:
        host: Reports changes and turns.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._followed: OrderedDict[str, tuple[Virtual, str]] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None
        self._hears_ledger = False
        kinds = (events.TurnFinished, events.TurnStarted, events.Compacted)
        host.door.listeners.append((kinds, self._heard))
        host.documents.on_change(self._typed)

    async def follow(self, uri: str, document: Virtual, text: str) -> None:
        """Watch a document whose text the editor has received."""
        self._followed[uri] = (document, await asyncio.to_thread(digest, text))
        self._followed.move_to_end(uri)
        while len(self._followed) > MOST:
            self._followed.popitem(last=False)
        if isinstance(document, Base | Diff) and not self._hears_ledger:
            self._hears_ledger = True
            (await ledger_of(self._host)).on_change(self._soon)

    def _heard(self, _session: str, _event: events.Event) -> None:
        self._soon()

    def _typed(self, _path: Path) -> None:
        if any(isinstance(one, Base | Diff) for one, _ in self._followed.values()):
            self._soon()

    def _soon(self) -> None:
        """Check the documents after nothing has changed for ``QUIET_S`` seconds."""
        if self._timer is not None:
            self._timer.cancel()
        if self._followed and not self._host.service.is_stopped:
            self._timer = asyncio.get_running_loop().call_later(QUIET_S, self._begin)

    def _begin(self) -> None:
        self._timer = None
        if not self._host.service.is_stopped:
            self._host.chores.begin(self._look())

    async def _look(self) -> None:
        for uri, (document, known) in tuple(self._followed.items()):
            try:
                text = await text_of(self._host, document)
            except UserError:
                text = ""  # the editor asks again, and gets the reason as an error
            if await asyncio.to_thread(digest, text) != known:
                self._followed.pop(uri, None)
                await self._host.client.refresh_text(uri)


def document_of(host: Host, arguments: OpenArguments) -> Virtual:
    """Return the document that the arguments name.

    Raises:
        UserError: The arguments name no document.
    """
    match arguments.what:
        case "request":
            return NextRequest()
        case "transcript":
            return _checked(Transcript(host.sessions.id_of(arguments.session)))
        case "diff":
            path = _path(arguments.uri) if arguments.uri else ""
            return _checked(Diff(path, _span(host, arguments)))
        case "base":
            if not arguments.uri:
                raise UserError("a base document shows one file; name it as `uri`")
            return _checked(Base(_path(arguments.uri), _span(host, arguments)))


async def opened(host: Host, document: Virtual) -> OpenResult:
    """Show a document without taking the focus; if that fails, tell the user the path.

    Raises:
        UserError: There is no such document, or it cannot be written.
    """
    text = await text_of(host, document)  # create the text now, so that errors are reported
    features = host.client.features
    if features.text_documents:
        uri = uri_of(document)
        if await host.client.show_document(uri):
            return OpenResult(uri=uri, shown=True)
    is_reread = features.has("reread")
    path = await keep(host.composition.shown_folder(), document, text, is_reread=is_reread)
    return await _shown(host, path)


async def _shown(host: Host, path: Path) -> OpenResult:
    """Show a file beside the user's work; if that fails, tell the user the path."""
    uri = path.as_uri()
    host.documents.beside.add(uri)  # the user does not work in the document
    shown = await host.client.show_document(uri)
    if not shown:
        host.client.show(types.MessageType.Info, f"Indwell: the document is in {path}")
    return OpenResult(uri=uri, shown=shown)


def _span(host: Host, arguments: OpenArguments) -> ChangeSpan:
    if arguments.turn is None:
        return ChangeSpan(arguments.session or "")
    return ChangeSpan(host.sessions.id_of(arguments.session), arguments.turn)


def _path(uri: str) -> str:
    path = path_of(uri)
    if path is None:
        raise UserError(f"{uri[:200]!r} is not a file")
    return path.as_posix()


def _checked(document: Virtual) -> Virtual:
    """Check that parsing the document's URI returns the same document.

    Raises:
        UserError: No URI can name the document.
    """
    return parsed(uri_of(document))


def register_virtual(server: Server, host: Host) -> None:
    """Register the request for texts, and both commands."""
    refreshing = Refreshing(host)

    async def made(uri: str) -> str:
        document = parsed(uri)
        text = await text_of(host, document)
        await refreshing.follow(uri, document, text)
        return text

    shared = Shared(made)

    @server.feature("workspace/textDocumentContent")
    async def text_document_content(
        params: types.TextDocumentContentParams,
    ) -> types.TextDocumentContentResult:
        return types.TextDocumentContentResult(text=await shared.of(params.uri))

    @server.command("indwell.open")
    async def open_(arguments: OpenArguments) -> OpenResult:
        return await opened(host, document_of(host, arguments))

    @server.command("indwell.showLog")
    async def show_log() -> OpenResult:
        path = host.composition.server_log()
        if not await asyncio.to_thread(path.exists):
            raise UserError("the log is empty: no server has reported a warning or an error yet")
        return await _shown(host, path)

    @server.command("indwell.explainRequest")
    async def explain_request() -> msgspec.Raw:
        if not host.client.features.has("events"):
            try:
                await opened(host, NextRequest())
            except UserError as error:
                host.client.fail(error)
        return await context_json(host)
