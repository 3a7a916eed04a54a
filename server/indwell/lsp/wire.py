"""Teaches pygls our own methods, and leaves the documents to our own store."""

from __future__ import annotations

import logging
from collections.abc import Generator
from functools import lru_cache
from typing import Any

import attrs
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.protocol.language_server import lsp_method

from indwell.lsp import protocol

_log = logging.getLogger(__name__)

EXPERIMENTAL = {
    "indwell": {"methods": sorted(protocol.METHODS), "commands": sorted(protocol.COMMANDS)}
}
"""What the server tells of itself in ``capabilities.experimental``."""


class Protocol(LanguageServerProtocol):
    """pygls' protocol with typed ``indwell/*`` messages; documents are kept in our own store."""

    @lru_cache  # noqa: B019 - one protocol a process, and pygls does the same
    def get_message_type(self, method: str) -> type[Any] | None:
        """The class of a whole message, standard or ours."""
        ours = protocol.METHODS.get(method)
        if ours is None:
            return super().get_message_type(method)
        return _message_class(method, ours.params, with_id=ours.result is not None)

    @lru_cache  # noqa: B019 - as above
    def get_result_type(self, method: str) -> type[Any] | None:
        """The class of a response, standard or ours."""
        ours = protocol.METHODS.get(method)
        if ours is None:
            return super().get_result_type(method)
        return _response_class(method, ours.result) if ours.result else None

    def _handle_response(
        self, msg_id: int | str, result: object = None, error: types.ResponseError | None = None
    ) -> None:
        """Take the editor's answer, unless nobody waits for it any more (EDT-04)."""
        waiting = self._request_futures.get(msg_id)
        if waiting is not None and waiting.done():
            self._request_futures.pop(msg_id)
            return
        super()._handle_response(msg_id, result, error)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        """Answer ``initialize`` and say which methods of ours there are."""
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = EXPERIMENTAL
        return result

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(
        self, params: types.ExecuteCommandParams
    ) -> Generator[Any, Any, Any]:
        """Run a command; an empty list of arguments, as menus send it, is none."""
        if not params.arguments:
            params.arguments = None
        result = yield from super().lsp_workspace__execute_command(params)
        return result

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(
        self, params: types.DidOpenTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Straight to our own store: pygls' copy would cost time and split lines otherwise."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_OPEN], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(
        self, params: types.DidChangeTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Straight to our own store."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CHANGE], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(
        self, params: types.DidCloseTextDocumentParams
    ) -> Generator[Any, Any, None]:
        """Straight to our own store."""
        yield self.fm.features[types.TEXT_DOCUMENT_DID_CLOSE], (params,), None

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(
        self, params: types.WorkDoneProgressCancelParams
    ) -> Generator[Any, Any, None]:
        """Straight to our own turns: pygls did not make their tokens, and would warn of each."""
        yield self.fm.features[types.WINDOW_WORK_DONE_PROGRESS_CANCEL], (params,), None


class Server(LanguageServer):
    """pygls' server, quiet about what goes wrong between messages, and with an exit code."""

    @property
    def was_shut_down(self) -> bool:
        """Did the editor say goodbye in order? If not, the process ends with 1 (LSP, `exit`)."""
        return self.protocol._shutdown  # noqa: SLF001 - pygls tells it nowhere else

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log it: showing it, as pygls does, fails again without end once the line is closed."""
        _log.error("%s: %s", source.__name__, error)


def make_language_server(version: str) -> Server:
    """A pygls server that speaks our protocol and knows nothing of agents yet."""
    return Server(
        "indwell",
        version,
        text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        protocol_cls=Protocol,
        converter_factory=default_converter,
        max_workers=2,
    )


_Id: Any = int | str


@lru_cache
def _message_class(method: str, params: type, *, with_id: bool) -> type[Any]:
    # No defaults but for params: the converter leaves out what has its default value.
    fields: dict[str, Any] = {
        "method": attrs.field(type=str),
        "jsonrpc": attrs.field(type=str),
        "params": attrs.field(type=params, default=None),
    }
    if with_id:
        fields["id"] = attrs.field(type=_Id)
    return attrs.make_class(f"{_class_name(method)}Message", fields, kw_only=True)


@lru_cache
def _response_class(method: str, result: type) -> type[Any]:
    fields: dict[str, Any] = {
        "id": attrs.field(type=_Id),
        "jsonrpc": attrs.field(type=str),
        "result": attrs.field(type=result),
    }
    return attrs.make_class(f"{_class_name(method)}Response", fields, kw_only=True)


def _class_name(method: str) -> str:
    name = method.rsplit("/", 1)[-1]
    return name[0].upper() + name[1:]
