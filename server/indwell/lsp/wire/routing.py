"""Passes each message to its handler, and sends exactly one answer to each request.

Messages are processed in order. A handler that is a coroutine takes its first step before the next
message is processed, so a command sees the text as it was when the command was sent.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from indwell import edges
from indwell.errors import SessionOpen, UserError
from indwell.installation import installation
from indwell.lsp.messages.values import Value, translated
from indwell.lsp.wire import base_protocol
from indwell.lsp.wire.base_protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    REQUEST_FAILED,
    Drop,
    Id,
    Leave,
    Notification,
    Phase,
    Refuse,
    RequestError,
    Response,
    RpcRequest,
    Take,
    verdict,
)
from indwell.lsp.wire.conversion import WrongParams
from indwell.lsp.wire.language_server import EXECUTE, Server
from indwell.prepared_types import prepared
from indwell.translation import Translation

_log = logging.getLogger(__name__)

# The limit of characters for a draft in an error: at most 20 of the 32 MB that may wait.
GIVEN_BACK = 5_000_000
OPEN_ELSEWHERE = "openElsewhere"  # `data.reason` if another process has the session open
SLICE_S = 0.005  # the time, in seconds, after which other tasks on the event loop get a turn


class Routing:
    """One open connection: its phase, the requests in flight, and the handlers.

    Args:
        server: Holds the handlers and the types, and receives the editor's answers.
        send: Sends the body of an answer.

    Attributes:
        left: A future that gets the exit code when the connection ends.
    """

    def __init__(self, server: Server, send: Callable[[bytes], None]) -> None:
        self._server = server
        self._send = send
        self._phase: Phase = "open"
        self._waiting: deque[bytes] = deque()
        self._is_pumping = False
        self._inflight: dict[Id, asyncio.Task[Any] | None] = {}
        self._background: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.get_running_loop()
        self.left: asyncio.Future[int] = self._loop.create_future()

    def receive(self, bodies: list[bytes]) -> None:
        """Process message bodies in order, now or in the next iterations of the event loop."""
        self._waiting.extend(bodies)
        if not self._is_pumping:
            self._pump()

    def give_up(self, reason: str, code: int = 1) -> None:
        """End the connection, and log ``reason``."""
        if not self.left.done():
            _log.warning("%s", reason)
        self._leave(code)

    def hang_up(self) -> None:
        """Handle the end of the input; return 0 after ``shutdown``, otherwise 1.

        The caller has passed on all earlier messages.
        """
        if self._is_pumping:
            self._loop.call_soon(self.hang_up)
        else:
            self._leave(0 if self._phase == "shut" else 1)

    async def drained(self) -> None:
        """Cancel the requests in flight, and wait until they have ended."""
        tasks = [task for task in self._inflight.values() if task is not None]
        tasks += self._background
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _pump(self) -> None:
        until = self._loop.time() + SLICE_S
        self._is_pumping = False
        while self._waiting and not self.left.done():
            if self._server.lacks_types(base_protocol.opened(self._waiting[0])):
                try:
                    loading = self._loop.run_in_executor(None, self._server.load_types)
                except RuntimeError:  # The system cannot start a thread, so the work is done here.
                    self._load_here()
                else:
                    self._is_pumping = True  # later messages must wait for the import, too
                    loading.add_done_callback(self._go_on)
                    return
            if self._handle(self._waiting.popleft()) or self._loop.time() > until:
                # The callback of call_soon runs after the first step of a task that was just
                # created.
                self._is_pumping = True
                self._loop.call_soon(self._pump)
                return

    def _load_here(self) -> None:
        try:
            self._server.load_types()
        except ImportError:  # each request that needs the types gets an error
            _log.exception("lsprotocol could not be loaded")

    def _go_on(self, loading: asyncio.Future[None]) -> None:
        if not loading.cancelled() and loading.exception() is not None:
            _log.error("lsprotocol could not be loaded", exc_info=loading.exception())
        self._pump()

    def _handle(self, body: bytes) -> bool:
        """Handle one message; return whether it started a task."""
        edges.current().on_message_received(body)
        message = base_protocol.opened(body)
        match verdict(self._phase, message):
            case Leave(code=code):
                self._leave(code)
            case Refuse(error=error):
                self._send(base_protocol.refusal(error.id, error.code, error.message))
            case Take(phase=phase):
                self._phase = phase
                match message:
                    case RpcRequest():
                        return self._request(message)
                    case Notification():
                        return self._notification(message)
                    case Response():
                        self._server.answered(message)
            case Drop():
                pass
        return False

    def _request(self, request: RpcRequest) -> bool:
        if request.id in self._inflight:
            words = f"a request with the id {request.id!r} is in flight already"
            self._send(base_protocol.refusal(request.id, INVALID_REQUEST, words))
            return False
        try:
            call = self._server.call_of(request.method, request.params)
        except WrongParams as error:
            self._send(base_protocol.refusal(request.id, INVALID_PARAMS, str(error)))
            return False
        if call is None:
            words = f"there is no method {request.method!r}"
            self._send(base_protocol.refusal(request.id, METHOD_NOT_FOUND, words))
            return False
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - the boundary of a request: it gets an answer
            self._send(self._failed(request, error))
            return False
        if not inspect.iscoroutine(result):
            self._send(self._answer(request, result))
            return False
        self._inflight[request.id] = None
        self._inflight[request.id] = self._loop.create_task(self._finish(request, result))
        return True

    async def _finish(self, request: RpcRequest, work: Coroutine[Any, Any, Any]) -> None:
        try:
            body = self._answer(request, await work)
        except asyncio.CancelledError:
            body = base_protocol.refusal(request.id, REQUEST_CANCELLED, "cancelled")
        except Exception as error:  # noqa: BLE001 - the boundary of a request: it gets an answer
            body = self._failed(request, error)
        finally:
            self._inflight.pop(request.id, None)
        self._send(body)

    def _failed(self, request: RpcRequest, error: Exception) -> bytes:
        """Return the answer after an error; a failed command answers null and shows a message."""
        if isinstance(error, UserError) and request.method == EXECUTE:
            self._server.tell_failure(error)
            return self._answer(request, None)
        return _error(request, error, self._server.translation)

    def _answer(self, request: RpcRequest, result: object) -> bytes:
        try:
            if isinstance(result, Value):
                result = translated(result, self._server.translation)
            return base_protocol.answer(request.id, self._server.plain(result))
        except Exception as error:  # noqa: BLE001 - a result that is no JSON is a bug of ours
            return _error(request, error, self._server.translation)

    def _notification(self, notification: Notification) -> bool:
        if notification.method == "$/cancelRequest":
            self._cancel(notification.params)
            return False
        try:
            call = self._server.call_of(notification.method, notification.params)
            result = call() if call is not None else None
        except WrongParams as error:
            _log.warning("%s is ignored: %s", notification.method, error)
            return False
        except Exception as error:  # noqa: BLE001 - the boundary of a notification: the line goes on
            self._unheard(notification.method, error)
            return False
        if not inspect.iscoroutine(result):
            return False
        task = self._loop.create_task(result)
        self._background.add(task)
        task.add_done_callback(partial(self._ended, notification.method))
        return True

    def _cancel(self, params: msgspec.Raw) -> None:
        try:
            id_ = msgspec.json.decode(params, type=prepared(_Cancel)).id
        except (msgspec.DecodeError, UnicodeDecodeError):
            return  # a request cannot have such an id
        task = self._inflight.get(id_)
        # A second cancellation would stop the clean-up, which returns the user's text.
        if task is not None and not task.cancelling():
            task.cancel()

    def _ended(self, method: str, task: asyncio.Task[Any]) -> None:
        self._background.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._unheard(method, error)

    def _unheard(self, method: str, error: BaseException) -> None:
        """Log the error of a notification, or of a request without an id."""
        if isinstance(error, UserError) and method == EXECUTE:
            self._server.tell_failure(error)
        elif isinstance(error, RequestError | UserError):
            _log.warning("a notification was refused: %s", error)
        else:
            _log.error("a notification was handled badly: %s", method, exc_info=error)

    def _leave(self, code: int) -> None:
        if not self.left.done():
            self.left.set_result(code)


class _Cancel(msgspec.Struct):
    id: Id


def refused(error: UserError, draft: str = "") -> RequestError:
    """Return an error answer with one sentence and the user's text.

    A text longer than ``GIVEN_BACK`` is not returned, because nobody typed it and the sender has
    it.
    """
    data = {"draft": draft} if 0 < len(draft) <= GIVEN_BACK else {}
    if isinstance(error, SessionOpen):
        data["reason"] = OPEN_ELSEWHERE
    return RequestError(str(error), REQUEST_FAILED, data or None)


def _error(request: RpcRequest, error: Exception, translation: Translation) -> bytes:
    """Return the answer to a handler's error: an editor's error, a user's error, or a bug."""
    if isinstance(error, UserError):
        error = refused(error)
    if isinstance(error, RequestError):
        return base_protocol.refusal(
            request.id, error.code or INTERNAL_ERROR, translation.of(error.message), error.data
        )
    _log.error("%s", request.method, exc_info=error)
    told = translation.of(installation.fault_words(error))
    return base_protocol.refusal(request.id, INTERNAL_ERROR, told)
