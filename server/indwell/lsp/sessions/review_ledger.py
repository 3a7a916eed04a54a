"""The workspace's review ledger, opened behind everything that somebody waits for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from indwell.agent.core.feature import Moment
from indwell.errors import UserError
from indwell.lsp.backend import Backend
from indwell.lsp.sessions.open_sessions import OpenSessions
from indwell.lsp.sessions.turns import Turns
from indwell.review.ledger import ReviewLedger

_log = logging.getLogger(__name__)


class HeldLedger:
    """Opens the ledger once, and tells the current session of what changes in it.

    Args:
        backend: Opens it.
        sessions: The current one, and the workspace.
        turns: Sends events.
        warn: Shows sentences to the user.

    Attributes:
        ledger: None as long as it is not open.
    """

    def __init__(
        self,
        backend: Backend,
        sessions: OpenSessions,
        turns: Turns,
        warn: Callable[[tuple[str, ...]], None],
    ) -> None:
        self.ledger: ReviewLedger | None = None
        self._backend = backend
        self._sessions = sessions
        self._turns = turns
        self._warn = warn

    async def ready(self) -> ReviewLedger:
        """The ledger, as soon as it is open.

        Raises:
            UserError: There is no place for it.
        """
        assert self._sessions.workspace is not None
        ledger = await self._backend.review(self._sessions.workspace.roots)
        if self.ledger is None:
            self.ledger = ledger
            ledger.on_change(self._changed)
            self._warn(ledger.take_notices())
        return ledger

    async def open(self) -> None:
        """Open it where nobody waits; what is wrong is said when somebody does."""
        try:
            await self.ready()
        except UserError as error:
            _log.warning("the review ledger could not be opened: %s", error)

    async def close(self) -> None:
        """Wait for what is being written; for the end of the server."""
        if self.ledger is not None:
            await self.ledger.close()

    def _changed(self) -> None:
        for session in self._sessions:
            moment = Moment(session, session.turns, partial(self._turns.tell, session))
            session.parts.features.files_changed(moment)
