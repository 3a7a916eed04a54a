"""The interface to a session's log."""

from __future__ import annotations

from typing import Protocol

from indwell.sessions.records import Record


class Log(Protocol):
    """Takes records: ``append`` queues them, ``commit`` writes them to disk."""

    def append(self, record: Record) -> None:
        """Queue a record, in order."""
        ...

    async def commit(self) -> None:
        """Write all queued records to disk.

        Raises:
            SessionError: The disk does not take them; they stay queued.
            RecordsLost: The disk failed for good.
        """
        ...

    def commit_soon(self) -> None:
        """Write all queued records to disk without waiting for it."""
        ...

    async def close(self) -> None:
        """Write queued records and close the file, even if writing fails.

        Raises:
            SessionError: The disk did not take the records, so they are lost.
        """
        ...
