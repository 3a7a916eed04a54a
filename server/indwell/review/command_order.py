"""The order in which sessions run commands in a workspace: one session at a time.

What a command changes is found by comparing the folder before and after it. The comparison cannot
tell the changes of two commands apart, so commands of different sessions never run at once.
Commands of one session may: all their changes are credited to that session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

WAITS = (
    "waiting for a command of another conversation in this folder to end; stop this turn, or that "
    "command, if you do not want to wait"
)


class CommandHold:
    """A session's right to run a command; ``release`` ends it.

    Args:
        order: The order of the workspace.
        session: The session that holds it.
        lasts: Whether it is for background commands.
    """

    def __init__(self, order: CommandOrder, session: str, *, lasts: bool) -> None:
        self.session = session
        self.lasts = lasts
        self._order: CommandOrder | None = order

    def release(self) -> None:
        """Give the right back; a second call does nothing."""
        order, self._order = self._order, None
        if order is not None:
            order.released(self)


class CommandOrder:
    """The sessions that run commands in one workspace, and those that wait, in order.

    Use it on the event loop only.
    """

    def __init__(self) -> None:
        self._holds: set[CommandHold] = set()
        self._waiting: deque[tuple[CommandHold, asyncio.Future[None]]] = deque()

    async def acquire(
        self, session: str, waits: Callable[[], None], *, lasts: bool = False
    ) -> CommandHold:
        """Wait until no other session runs a command.

        The order is first come, first served: a session that runs one command may begin another one
            only while no other session waits. A session with a background command always may,
            because the others cannot begin before that command has ended. A command that the
            session has just begun may become a background command at once, because the session
            already has the right.

        Args:
            session: The session's id.
            waits: Called if the caller has to wait.
            lasts: Whether the hold is for background commands.
        """
        hold = CommandHold(self, session, lasts=lasts)
        if self._may_join(session, lasts=lasts):
            self._holds.add(hold)
            return hold
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((hold, ready))
        try:
            waits()
            await ready
        except BaseException:
            if hold in self._holds:  # it was granted at the moment of the cancellation
                hold.release()
            else:
                self._waiting.remove((hold, ready))
                self._grant()
            raise
        return hold

    def released(self, hold: CommandHold) -> None:
        """Let the next session begin after a release."""
        self._holds.discard(hold)
        self._grant()

    def _may_join(self, session: str, *, lasts: bool) -> bool:
        if any(one.session != session for one in self._holds):
            return False
        has_right = bool(self._holds) and (lasts or any(one.lasts for one in self._holds))
        return has_right or not self._waiting

    def _grant(self) -> None:
        """Grant the right to the first in line, and to the same session's entries behind it."""
        while self._waiting:
            hold, ready = self._waiting[0]
            if any(one.session != hold.session for one in self._holds):
                return
            self._waiting.popleft()
            self._holds.add(hold)
            if not ready.done():
                ready.set_result(None)
