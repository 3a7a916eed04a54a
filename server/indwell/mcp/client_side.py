"""Answers an MCP server's requests: log messages, folders, questions to the user, model calls."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcp.client import ClientRequestContext

from indwell.context.untrusted_text import short_line
from indwell.mcp.definition import ServerDefinition
from indwell.mcp.from_sdk import sample_request, server_question
from indwell.mcp.offers import Caller, McpError
from indwell.mcp.server_log import ServerLog
from mcp import types

MOST_LOGGED = 500  # the limit of messages that are copied from a server's log to Indwell's log
_WORDS = 300  # the limit of characters for one copied message
_LEVELS: Mapping[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
}  # Messages of any other level are logged as errors.

_log = logging.getLogger(__name__)


class ClientSide:
    """Answers the requests of one server.

    Args:
        definition: The server's definition.
        roots: The workspace folders, which the server may ask for.
        log: Receives the server's log messages.

    Attributes:
        callers: The sessions with running calls; questions go to the newest session.
    """

    def __init__(self, definition: ServerDefinition, roots: Sequence[Path], log: ServerLog) -> None:
        self.callers: list[Caller] = []
        self._name = definition.name
        self._roots = roots
        self._log = log
        self._n_logged = 0

    async def log(self, params: types.LoggingMessageNotificationParams) -> None:
        """Add a message of the server to the server's log, and copy the first ones to Indwell's."""
        words = str(params.data)
        self._log.received(params.level, f"{params.logger}: {words}" if params.logger else words)
        self._n_logged += 1
        if self._n_logged > MOST_LOGGED:
            return
        level = _LEVELS.get(params.level, logging.ERROR)
        _log.log(level, "MCP server %s says: %s", self._name, short_line(words, _WORDS))

    async def roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """Return the workspace folders."""
        del context
        return types.ListRootsResult.model_validate(
            {"roots": [{"uri": one.as_uri(), "name": one.name} for one in self._roots]}
        )

    async def ask_user(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Ask the user of the newest call's session; refuse if no call is running."""
        del context
        if not self.callers:
            return types.ElicitResult(action="cancel")
        try:
            question = server_question(self._name, params)
            answer = await self.callers[-1].answer(question)
        except McpError as error:
            return types.ErrorData(code=types.INVALID_REQUEST, message=str(error))
        values = dict(answer.values) if answer.action == "accept" and not question.url else None
        return types.ElicitResult(action=answer.action, content=values)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Ask the model of the newest call's session to answer."""
        del context
        if not self.callers:
            return types.ErrorData(code=types.INVALID_REQUEST, message="no call is under way")
        try:
            sample = await self.callers[-1].sample(sample_request(self._name, params))
        except McpError as error:
            return types.ErrorData(code=types.INVALID_REQUEST, message=str(error))
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=sample.text),
            model=sample.model,
            stop_reason="endTurn",
        )
