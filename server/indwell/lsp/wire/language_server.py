"""Registers handlers, converts params, and sends the server's own requests.

Params of most messages are lsprotocol's types. lsprotocol and pygls' converter are imported with
the first message that needs them; a starting editor sends no such message.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, TypeVar

import msgspec

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.values import Value
from indwell.lsp.wire import sync
from indwell.lsp.wire.base_protocol import (
    INTERNAL_ERROR,
    Id,
    Incoming,
    Notification,
    RequestError,
    Response,
    RpcRequest,
    encoded,
)
from indwell.lsp.wire.conversion import (
    WrongParams,
    converted,
    decoded,
    strict_converter,
    structure,
    unstructure,
)
from indwell.translation import ENGLISH, Translation

_log = logging.getLogger(__name__)

EXECUTE = "workspace/executeCommand"
# an editor may send any JSON as these methods' params
_WITHOUT_PARAMS = {"initialized", "shutdown"}

Send = Callable[..., None]
Handler = TypeVar("Handler", bound=Callable[..., Any])


class Server:
    """Holds the handlers of the editor's messages, and the requests that await an answer.

    Attributes:
        send: Sends the body of a message; set when the connection is opened.
        tell_failure: Shows the user why a command failed.
        translation: The translation of everything that the editor shows.
    """

    def __init__(self, translation: Translation = ENGLISH) -> None:
        self._features: dict[str, Callable[..., Any]] = {}
        self._commands: dict[str, Callable[..., Any]] = {}
        self._numbers = itertools.count(1)
        self._asked: dict[Id, tuple[asyncio.Future[Any], str]] = {}
        self._has_types = False
        self.send: Send = _nowhere
        self.tell_failure: Callable[[Exception], None] = lambda _error: None
        self.translation = translation

    def feature(self, method: str) -> Callable[[Handler], Handler]:
        """Register the handler of a request or notification; the handler gets the params."""
        return partial(_registered, self._features, method)

    def command(self, name: str) -> Callable[[Handler], Handler]:
        """Register the handler of a command; the handler gets the argument named in `COMMANDS`."""
        return partial(_registered, self._commands, name)

    def call_of(self, method: str, raw: msgspec.Raw) -> Callable[[], Any] | None:
        """Return the handler of ``method``, bound to its params, or None if there is no handler.

        Raises:
            WrongParams: The params are of the wrong type.
        """
        if method == EXECUTE:
            return self._command_call(raw)
        handler = self._features.get(method)
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
        # A missing object counts as an empty object, because all fields may be optional.
        if params is None and method in protocol.METHODS:
            params = {}
        return partial(handler, structure(params, type_))

    def lacks_types(self, message: Incoming) -> bool:
        """Return whether this message needs lsprotocol while it is not loaded yet."""
        if self._has_types or not isinstance(message, RpcRequest | Notification):
            return False
        if message.method in sync.PARAMS or message.method in _WITHOUT_PARAMS:
            return False
        return message.method == EXECUTE or message.method in self._features

    def load_types(self) -> None:
        """Import lsprotocol and create its converter.

        The import takes 250 ms, so the method runs in a thread, and only once.
        """
        self._has_types = True
        strict_converter()

    def warm_up(self) -> None:
        """Import the modules that the first prompt's messages need; call in a thread (15 ms)."""
        structure({"text": ""}, protocol.PromptParams)
        structure({"command": "", "arguments": []}, types.ExecuteCommandParams)
        here = {"line": 0, "character": 0}
        problem = {"range": {"start": here, "end": here}, "message": ""}
        arguments = {"range": problem["range"], "diagnostics": [problem]}
        unstructure(structure(arguments, protocol.TaskArguments))
        unstructure(protocol.StartedResult(session=None, turn=None, queued=None))

    def plain(self, value: object) -> Any:  # noqa: ANN401 - JSON goes out here
        """Convert a value to data that can be encoded; the structs of ``sync`` stay unchanged."""
        if isinstance(value, msgspec.Struct) and not isinstance(value, Value):
            return value
        return None if value is None else unstructure(value)

    def answered(self, response: Response) -> None:
        """Process the editor's response; ignore an unexpected response."""
        if response.id is None:
            return
        future, method = self._asked.pop(response.id, (None, ""))
        if future is None or future.done():
            return
        try:
            if response.error is not None:
                error = structure(decoded(response.error), types.ResponseError)
                future.set_exception(RequestError(error.message, error.code, error.data))
            else:
                future.set_result(self._result(method, decoded(response.result)))
        except WrongParams as wrong:
            words = f"the editor's answer cannot be read: {wrong}"
            future.set_exception(RequestError(words, INTERNAL_ERROR))

    def send_request_async(
        self, method: str, params: object = None, msg_id: Id | None = None
    ) -> asyncio.Future[Any]:
        """Send a request to the editor; the response has the method's type."""
        id_ = msg_id if msg_id is not None else f"indwell-{next(self._numbers)}"
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked[id_] = (future, method)
        future.add_done_callback(lambda _future: self._asked.pop(id_, None))
        message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": self.plain(params)}
        self.send(encoded(message))
        return future

    def notify(self, method: str, params: object = None, *, droppable: bool = False) -> None:
        """Send a notification to the editor."""
        message = {"jsonrpc": "2.0", "method": method, "params": self.plain(params)}
        self.send(encoded(message), droppable=droppable)

    def _result(self, method: str, value: object) -> Any:  # noqa: ANN401 - any class of ours
        if method in sync.PLAIN_RESULTS:
            return value
        ours = protocol.METHODS.get(method)
        if ours is not None:
            return structure(value, ours.result)
        response = _response_type(method)
        if response is None:
            return value
        return structure({"jsonrpc": "2.0", "id": 0, "result": value}, response).result

    def _command_call(self, raw: msgspec.Raw) -> Callable[[], Any]:
        params = structure(decoded(raw), types.ExecuteCommandParams)
        handler = self._commands.get(params.command)
        if handler is None:
            raise WrongParams(f"there is no command {params.command!r}")
        wanted = protocol.COMMANDS.get(params.command)
        given = params.arguments or []  # menus send an empty list if there is no argument
        if wanted is None:
            return handler
        if not given and (needed := protocol.NEEDED.get(params.command)):
            raise WrongParams(f"{params.command} needs one argument: an object {needed}")
        if not given:
            return partial(handler, wanted())
        if not isinstance(given[0], Mapping):
            raise WrongParams(f"the argument of {params.command} must be an object")
        return partial(handler, structure(given[0], wanted))


@lru_cache
def _params_type(method: str) -> Any:  # noqa: ANN401 - a class, or a union of them
    ours = protocol.METHODS.get(method)
    if ours is not None:
        return ours.params
    return types.METHOD_TO_TYPES.get(method, (None, None, None))[2]


@lru_cache
def _response_type(method: str) -> Any:  # noqa: ANN401 - a class
    """Return the class of a complete response, because lsprotocol converts no smaller part."""
    return types.METHOD_TO_TYPES.get(method, (None, None))[1]


def _nowhere(_body: bytes, *, droppable: bool = False) -> None:
    """Log a message that cannot be sent because the connection is not open yet."""
    _log.debug("not sent (droppable: %s): the connection is not open", droppable)


def _registered(handlers: dict[str, Callable[..., Any]], name: str, handler: Handler) -> Handler:
    handlers[name] = handler
    return handler
