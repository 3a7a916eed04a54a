"""A log for a session that cannot be saved: it takes everything, and keeps nothing."""

from __future__ import annotations

from indwell.sessions.records import Record


class MemoryLog:
    """Stands for a session's log where no place can be written; implements ``agent.session.Log``.

    Whoever puts it there tells the user that the session is not saved.
    """

    def append(self, record: Record) -> None:
        """Let it go: what the session needs of it is in the session."""

    async def commit(self) -> None:
        """Nothing waits."""

    def commit_soon(self) -> None:
        """Nothing waits."""

    async def close(self) -> None:
        """Nothing is open."""
