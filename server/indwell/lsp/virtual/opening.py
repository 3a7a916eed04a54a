"""What ``indwell.open`` opens: which document its argument means, and how it is shown."""

from __future__ import annotations

from lsprotocol import types

from indwell.errors import UserError
from indwell.lsp.documents import path_of
from indwell.lsp.host import Host
from indwell.lsp.protocol_virtual import OpenArguments, OpenResult
from indwell.lsp.virtual.shown_files import keep
from indwell.lsp.virtual.texts import text_of
from indwell.lsp.virtual.uris import (
    Base,
    Diff,
    NextRequest,
    Span,
    Transcript,
    Virtual,
    parsed,
    uri_of,
)


def document_of(host: Host, arguments: OpenArguments) -> Virtual:
    """The document that is meant.

    Raises:
        UserError: The arguments name none.
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
                raise UserError("a base is of one file; name it as `uri`")
            return _checked(Base(_path(arguments.uri), _span(host, arguments)))


async def opened(host: Host, document: Virtual) -> OpenResult:
    """Show a document beside what the user does; where that cannot be, say where it stands.

    Raises:
        UserError: There is no such document, or it cannot be kept.
    """
    text = await text_of(host, document)  # also where the editor asks for it: an error is said now
    features = host.client.features
    if features.text_documents:
        uri = uri_of(document)
        if await host.client.show_document(uri):
            return OpenResult(uri=uri, shown=True)
    is_reread = features.has("reread")
    path = await keep(host.backend.shown_folder(), document, text, is_reread=is_reread)
    uri = path.as_uri()
    host.documents.beside.add(uri)  # it is not what the user works in
    shown = await host.client.show_document(uri)
    if not shown:
        host.client.show(types.MessageType.Info, f"Indwell: it stands in {path}")
    return OpenResult(uri=uri, shown=shown)


def _span(host: Host, arguments: OpenArguments) -> Span:
    if arguments.turn is None:
        return Span(arguments.session or "")
    return Span(host.sessions.id_of(arguments.session), arguments.turn)


def _path(uri: str) -> str:
    path = path_of(uri)
    if path is None:
        raise UserError(f"{uri[:200]!r} is no file")
    return path.as_posix()


def _checked(document: Virtual) -> Virtual:
    """The document as its URI names it, so that nothing else can be asked for.

    Raises:
        UserError: It could not be named.
    """
    return parsed(uri_of(document))
