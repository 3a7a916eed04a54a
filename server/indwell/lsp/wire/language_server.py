"""pygls behind our own loop: it knows handlers, types and requests of ours; bytes go elsewhere."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from indwell.lsp.messages import methods as protocol
from indwell.lsp.wire import sync
from indwell.lsp.wire.conversion import Conversion, WrongParams, converted, decoded
from indwell.lsp.wire.envelope import Id, Response, encoded

_log = logging.getLogger(__name__)

_EXECUTE = types.WORKSPACE_EXECUTE_COMMAND
_WITHOUT_PARAMS = {types.INITIALIZED, types.SHUTDOWN}  # whatever an editor puts there

Send = Callable[..., None]


class Protocol(LanguageServerProtocol):
    """Finds the handler of a message and makes its params; sends what we ask of the editor.

    pygls' own handlers of messages are not used: they keep documents and answer in ways of their
    own.
    """

    def __init__(self, server: LanguageServer, conversion: Conversion) -> None:
        super().__init__(server, conversion)  # type: ignore[arg-type] # it has what pygls calls
        self._conversion = conversion
        self._numbers = itertools.count(1)
        self._asked: dict[Id, tuple[asyncio.Future[Any], str]] = {}
        self.send: Send = _nowhere

    def call_of(self, method: str, raw: msgspec.Raw) -> Callable[[], Any] | None:
        """The handler of ``method`` with its params; None if there is none.

        Raises:
            WrongParams: The params are of the wrong type.
        """
        if method == _EXECUTE:
            return self._command_call(raw)
        handler = self.fm.features.get(method)
        if handler is None:
            return None
        if method in _WITHOUT_PARAMS:
            return partial(handler, None)
        own = sync.PARAMS.get(method)
        if own is not None:
            return partial(handler, converted(raw, own))
        type_ = _params_type(method)
        if type_ is None:
            return partial(handler, None)
        params = decoded(raw)
        if params is None and method in protocol.METHODS:  # all of its fields may be optional
            params = {}
        return partial(handler, self._conversion.structure(params, type_))

    def warm_up(self) -> None:
        """Compile the ways of the messages that a first prompt needs; 15 ms, so in a thread."""
        structure, unstructure = self._conversion.structure, self._conversion.unstructure
        structure({"text": ""}, protocol.PromptParams)
        structure({"command": "", "arguments": []}, types.ExecuteCommandParams)
        here = {"line": 0, "character": 0}
        problem = {"range": {"start": here, "end": here}, "message": ""}
        arguments = {"range": problem["range"], "diagnostics": [problem]}
        unstructure(structure(arguments, protocol.TaskArguments))
        unstructure(protocol.StartedResult(session=None, turn=None, queued=None))

    def plain(self, value: object) -> Any:  # noqa: ANN401 - JSON goes out here
        """A result as plain JSON data."""
        return self._conversion.unstructure(value)

    def answered(self, response: Response) -> None:
        """Take the editor's answer, unless nobody waits for it (any more)."""
        if response.id is None:
            return
        future, method = self._asked.pop(response.id, (None, ""))
        if future is None or future.done():
            return
        try:
            if response.error is not None:
                error = self._conversion.structure(decoded(response.error), types.ResponseError)
                future.set_exception(JsonRpcException.from_error(error))
            else:
                future.set_result(self._result(method, decoded(response.result)))
        except WrongParams as wrong:
            words = f"the editor's answer cannot be read: {wrong}"
            future.set_exception(JsonRpcException(words, JsonRpcException.CODE))

    def send_request_async(
        self, method: str, params: object = None, msg_id: Id | None = None
    ) -> asyncio.Future[Any]:
        """Ask the editor; the answer's type is that of the method."""
        id_ = msg_id if msg_id is not None else f"indwell-{next(self._numbers)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[id_] = (future, method)
        future.add_done_callback(lambda _future: self._asked.pop(id_, None))
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": self.plain(params)}
        self.send(encoded(message))
        return future

    def notify(self, method: str, params: object = None, *, droppable: bool = False) -> None:
        """Tell the editor; msgspec values go out as they are."""
        plain = params if isinstance(params, msgspec.Struct) else self.plain(params)
        message = {"jsonrpc": "2.0", "method": method, "params": plain}
        self.send(encoded(message), droppable=droppable)

    def _result(self, method: str, value: object) -> Any:  # noqa: ANN401 - any class of ours
        ours = protocol.METHODS.get(method)
        if ours is not None:
            return self._conversion.structure(value, ours.result)
        response = _response_type(method)
        if response is None:
            return value
        return self._conversion.structure(
            {"jsonrpc": "2.0", "id": 0, "result": value}, response
        ).result

    def _command_call(self, raw: msgspec.Raw) -> Callable[[], Any]:
        params = self._conversion.structure(decoded(raw), types.ExecuteCommandParams)
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise WrongParams(f"there is no command {params.command!r}")
        wanted = protocol.COMMANDS.get(params.command)
        given = params.arguments or []  # menus send an empty list where there is none
        if wanted is None or not given:
            return partial(handler)
        if not isinstance(given[0], Mapping):
            raise WrongParams(f"the argument of {params.command} must be an object")
        return partial(handler, self._conversion.structure(given[0], wanted))


class Server(LanguageServer):
    """pygls' registry of handlers, quiet about what goes wrong between messages."""

    protocol: Protocol

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
        converter_factory=Conversion,
        max_workers=1,
    )


@lru_cache
def _params_type(method: str) -> Any:  # noqa: ANN401 - a class, or a union of them
    ours = protocol.METHODS.get(method)
    if ours is not None:
        return ours.params
    return types.METHOD_TO_TYPES.get(method, (None, None, None))[2]


@lru_cache
def _response_type(method: str) -> Any:  # noqa: ANN401 - a class
    """The class of a whole response: lsprotocol has converters for those, not for each result."""
    return types.METHOD_TO_TYPES.get(method, (None, None))[1]


def _nowhere(_body: bytes, *, droppable: bool = False) -> None:
    """Before the line is open nothing goes out."""
    _log.debug("not sent (droppable: %s): the line is not open", droppable)
