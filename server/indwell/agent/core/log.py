"""The log of a session, as the agent writes it."""

from __future__ import annotations

from typing import Protocol

from indwell.sessions.records import Record


class Log(Protocol):
    """Where records go: queued at once, on disk when ``commit`` returns."""

    def append(self, record: Record) -> None:
        """Queue a record, in order."""
        ...

    async def commit(self) -> None:
        """Make everything queued durable.

        Raises:
            SessionError: The disk does not take it; the queue is kept.
            RecordsLost: It never will again.
        """
        ...

    def commit_soon(self) -> None:
        """Let everything queued become durable without waiting for it."""
        ...

    async def close(self) -> None:
        """Write what is queued and let go of the file, in any case.

        Raises:
            SessionError: The disk did not take it, and it is lost.
        """
        ...
