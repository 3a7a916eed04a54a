"""Sends requests and updates to an ACP client, in order.

An update is sent as a notification, so a turn never waits for the client. While the client is slow,
consecutive text updates are joined. If too many updates wait, all turns are stopped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from acp.exceptions import RequestError
from acp.meta import CLIENT_METHODS

from acp import schema
from indwell.acp.updates import LargeUpdate, Update, remark

if TYPE_CHECKING:
    from acp.connection import Connection
    from pydantic import BaseModel

_log = logging.getLogger(__name__)

# the time limit for one file, in seconds, so that a client that hangs does not block the turn
FILE_S = 10.0
# about 50 MB of memory, and more than an hour of an ordinary turn
WAITING_CHARACTERS = 16_000_000
_JOINED_CHARACTERS = 64_000  # A longer text is not joined with the next, because joining copies it.
_OTHER_CHARACTERS = 500  # An update without its texts has about this many characters.
LEFT_OUT = (
    "the client did not read what Indwell sent, so Indwell stopped the turn and dropped some "
    "updates; load the session again to see all updates"
)
_TEXTS = (schema.AgentMessageChunk, schema.AgentThoughtChunk)

Answered = TypeVar("Answered", bound="BaseModel")


class Silent(Exception):
    """The client did not answer in time, so the state of its file is unknown."""


class AcpClient:
    """The client at the other end of the connection.

    Args:
        most_waiting: The limit of characters in updates that wait for the client.

    Attributes:
        capabilities: What the client can do; known after ``initialize``.
        stop_turns: Stops all turns, because the client reads nothing.
    """

    def __init__(self, most_waiting: int = WAITING_CHARACTERS) -> None:
        self._most_waiting = most_waiting
        self.capabilities = schema.ClientCapabilities()
        self.stop_turns: Callable[[], None] = _nothing
        self._connection: Connection | None = None
        self._waiting: deque[tuple[str, Update | LargeUpdate]] = deque()
        self._n_characters = 0  # the number of characters in the waiting updates
        self._left_out: dict[str, int] = {}  # The number of dropped updates, by session.
        self._n_remarks = 0
        self._sending: asyncio.Task[None] | None = None

    def connect(self, connection: Connection) -> None:
        """Send messages over this connection from now on."""
        self._connection = connection

    @property
    def reads_files(self) -> bool:
        """Return whether the client returns the text of a file with unsaved changes."""
        files = self.capabilities.fs
        return bool(files and files.read_text_file)

    @property
    def writes_files(self) -> bool:
        """Return whether the client can write files, so that its buffers change too."""
        files = self.capabilities.fs
        return bool(files and files.write_text_file)

    @property
    def has_forms(self) -> bool:
        """Return whether the client can show forms, in which a person can type an answer."""
        forms = self.capabilities.elicitation
        return bool(forms and forms.form)

    def update(self, session: str, update: Update | LargeUpdate) -> None:
        """Queue an update for the client and return at once; a full queue drops the update."""
        if self._left_out:
            self._left_out[session] = self._left_out.get(session, 0) + 1
            return
        self._n_characters += _characters(update)
        last = self._waiting[-1] if self._waiting else None
        joined = _joined(last[1], update) if last is not None and last[0] == session else None
        if joined is not None:
            self._waiting[-1] = (session, joined)
        else:
            self._waiting.append((session, update))
        if self._n_characters > self._most_waiting:
            self._left_out[session] = 0
            _log.warning("the client reads nothing; all turns are stopped")
            asyncio.get_running_loop().call_soon(self.stop_turns)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    async def flush(self) -> None:
        """Wait until all updates are sent, so that the next message cannot overtake them."""
        while self._sending is not None and not self._sending.done():
            await asyncio.shield(self._sending)

    async def permission(
        self,
        session: str,
        call: schema.ToolCallUpdate,
        options: Sequence[schema.PermissionOption],
        timeout_s: float,
    ) -> str | None:
        """Ask the user to choose an option; return None if the user does not choose in time."""
        request = schema.RequestPermissionRequest(
            session_id=session, tool_call=call, options=list(options)
        )
        answer = await self._in_time(
            "session_request_permission", request, schema.RequestPermissionResponse, timeout_s
        )
        outcome = answer.outcome if answer is not None else None
        return outcome.option_id if isinstance(outcome, schema.AllowedOutcome) else None

    async def typed(self, session: str, message: str, timeout_s: float) -> str | None:
        """Ask the user to type an answer in a form; return None if the user does not answer."""
        asked = schema.ElicitationStringPropertySchema(type="string", title="Answer")
        form = schema.CreateFormSessionElicitationRequest(
            message=message,
            mode="form",
            session_id=session,
            requested_schema=schema.ElicitationSchema(
                properties={"answer": asked}, required=["answer"]
            ),
        )
        answer = await self._in_time(
            "elicitation_create", form, schema.AcceptElicitationResponse, timeout_s
        )
        given = (answer.content or {}).get("answer") if answer is not None else None
        return given if isinstance(given, str) else None

    async def read_file(self, session: str, path: str) -> str | None:
        """Return the client's text of a file, or None if the client has no text of the file.

        Raises:
            Silent: The client did not answer.
        """
        request = schema.ReadTextFileRequest(session_id=session, path=path)
        answer = await self._answer(
            "fs_read_text_file", request, schema.ReadTextFileResponse, FILE_S
        )
        return answer.content if answer is not None else None

    async def write_file(self, session: str, path: str, text: str) -> bool:
        """Ask the client to write a file; return whether the client wrote the file."""
        request = schema.WriteTextFileRequest(session_id=session, path=path, content=text)
        answer = await self._in_time(
            "fs_write_text_file", request, schema.WriteTextFileResponse, FILE_S
        )
        return answer is not None

    async def _in_time(
        self, method: str, request: BaseModel, answer: type[Answered], timeout_s: float
    ) -> Answered | None:
        """Send a request after all updates; return None after an error or a time-out."""
        try:
            return await self._answer(method, request, answer, timeout_s)
        except Silent:
            return None

    async def _answer(
        self, method: str, request: BaseModel, answer: type[Answered], timeout_s: float
    ) -> Answered | None:
        """Send a request after all updates; return None if the client answers with an error.

        Raises:
            Silent: No answer came in time.
        """
        assert self._connection is not None, "the client has connected"
        params = request.model_dump(mode="json", by_alias=True, exclude_none=True)
        try:
            async with asyncio.timeout(timeout_s):
                await self.flush()
                given = await self._connection.send_request(CLIENT_METHODS[method], params)
            return answer.model_validate(given or {})
        except TimeoutError:
            raise Silent from None
        except (RequestError, ValueError, ConnectionError) as error:
            _log.info("the client answered %s by an error: %s", method, error)
            return None

    async def _send(self) -> None:
        assert self._connection is not None, "the client has connected"
        while self._waiting or self._left_out:
            if not self._waiting:
                self._tell_left_out()
            session, update = self._waiting.popleft()
            self._n_characters = max(0, self._n_characters - _characters(update))
            if isinstance(update, LargeUpdate):
                params = await asyncio.to_thread(_params, session, update)
            else:
                params = _params(session, update)
            try:
                await self._connection.send_notification(CLIENT_METHODS["session_update"], params)
            except (ConnectionError, RuntimeError) as error:
                _log.info("the client has gone: %s", error)
                self._waiting.clear()
                self._left_out.clear()
                self._n_characters = 0

    def _tell_left_out(self) -> None:
        """Tell each session whose updates were dropped; later updates are queued again."""
        for session in self._left_out:
            self._n_remarks += 1
            self._waiting.append((session, remark(LEFT_OUT, f"indwell-client-{self._n_remarks}")))
        self._left_out.clear()
        self._n_characters = 0


def _nothing() -> None:
    """Stop nothing, because no turn has begun."""


def _params(session: str, update: Update | LargeUpdate) -> dict[str, Any]:
    """Return the parameters of a notification."""
    made = update.make() if isinstance(update, LargeUpdate) else update
    told = schema.SessionNotification(session_id=session, update=made)
    return told.model_dump(mode="json", by_alias=True, exclude_none=True)


def _characters(update: Update | LargeUpdate) -> int:
    """Return about how many characters an update has; the longest parts are counted."""
    if isinstance(update, LargeUpdate):
        return update.n_characters
    if isinstance(update, _TEXTS):
        block = update.content
        return len(block.text) if isinstance(block, schema.TextContentBlock) else _OTHER_CHARACTERS
    parts = (update.content or ()) if isinstance(update, schema.ToolCallProgress) else ()
    return _OTHER_CHARACTERS + sum(map(_part_characters, parts))


def _part_characters(part: object) -> int:
    match part:
        case schema.FileEditToolCallContent(old_text=old, new_text=new):
            return len(old or "") + len(new)
        case schema.ContentToolCallContent(content=schema.TextContentBlock(text=text)):
            return len(text)
        case _:
            return 0


def _joined(first: Update | LargeUpdate, second: Update | LargeUpdate) -> Update | None:
    """Join two updates that continue the same text; return None for other updates."""
    if not isinstance(second, _TEXTS) or type(first) is not type(second):
        return None
    one, other = first.content, second.content
    if not isinstance(one, schema.TextContentBlock) or not isinstance(
        other, schema.TextContentBlock
    ):
        return None
    if len(one.text) > _JOINED_CHARACTERS:
        return None
    block = schema.TextContentBlock(type="text", text=one.text + other.text)
    return second.model_copy(update={"content": block})
