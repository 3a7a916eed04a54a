"""Writes a session's log without blocking the event loop; committed records are on disk.

Side effects wait until records are on disk, but model calls do not wait (H59): ``append`` only
queues, ``commit`` waits for the disk. One thread for each log writes all records in order.
Unwritten records stay queued, so that a full disk only delays them.

A record is one line of JSON: UTF-8 without escapes, for people to read (see ``log_lines``).
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import msgspec

from indwell.context.untrusted_text import scalar_text
from indwell.errors import RecordsLost, SessionError
from indwell.files.append_log import AppendLog
from indwell.sessions.records import Record, Repaired

_log = logging.getLogger(__name__)


def _nothing() -> None:
    """Do nothing; the first job starts the thread."""


class LogWriter:
    """The single writer of a session's log.

    If the log ends with an incomplete line, the writer ends that line first, so that no record
    merges with the line. The log is never truncated (invariant 6: a log only grows).

    Args:
        log: The file; the writer closes it in ``close``.
        thread: Runs one job at a time; a RuntimeError means that no thread can start.
    """

    def __init__(self, log: AppendLog, thread: Executor | None = None) -> None:
        self._log = log
        self._thread = thread or ThreadPoolExecutor(1, thread_name_prefix="indwell-log")
        # The event loop appends on the right, and the thread takes from the left. A cancelled
        # caller can therefore neither lose a line nor write a line twice.
        self._queue: deque[bytes] = deque()
        self._n_queued = 0
        self._flushes = True
        self._commits = False
        self._is_closed = False
        # Only the thread uses the following four fields; the event loop only reads ``_n_durable``.
        self._rest = bytearray()
        self._n_taken = 0
        self._n_durable = 0
        self._lost: OSError | None = None
        if not log.ends_whole:
            self._put(b"\n")
        # The thread starts now, because later the system may allow no thread.
        self._begin(_nothing)

    def append(self, record: Record) -> None:
        """Queue a record, to be written soon and flushed to disk by the next ``commit``."""
        self._put(encode(record))
        if self._flushes:
            self._flushes = False  # One flush writes all lines that were queued before.
            self._begin(self._flush)

    def commit_soon(self) -> None:
        """Flush everything appended so far while the caller continues (H59).

        The next ``commit`` reports any error, and tries again.
        """
        if not self._commits:
            self._commits = True
            self._begin(self._settle_quietly)

    async def commit(self) -> None:
        """Return once everything appended so far survives a kill and a power cut.

        Concurrent commits share one fsync. A cancelled commit loses nothing, because its lines stay
        queued.

        Raises:
            SessionError: The disk could not store the records. The lines stay queued; commit again
                when there is space.
            RecordsLost: An fsync failed, which is final (see ``AppendLog.sync``).
        """
        try:
            await self._in_thread(self._n_queued, close=False)
        except OSError as error:
            raise self._worded(
                error,
                "nothing is lost yet: make room on the disk of Indwell's state folder and try "
                "again",
            ) from error

    async def close(self) -> None:
        """Commit the queued records, then close and unlock the file, even after an error.

        The method may be called twice. A caller who can wait for disk space should commit first.

        Raises:
            SessionError: The disk could not store the remaining records, which are lost.
        """
        if self._is_closed:
            return
        try:
            await self._in_thread(self._n_queued, close=True)
        except OSError as error:
            words = "its last records are lost: make room on the disk of Indwell's state folder"
            raise self._worded(error, words) from error
        finally:
            self._is_closed = True
            self._thread.shutdown(wait=False)

    def _put(self, data: bytes) -> None:
        assert not self._is_closed, "the log is closed"
        self._queue.append(data)
        self._n_queued += 1

    async def _in_thread(self, target: int, *, close: bool) -> None:
        loop = asyncio.get_running_loop()
        try:
            settling = loop.run_in_executor(self._thread, self._settle, target, close)
        except RuntimeError:  # The system allows no thread, as in ``_begin``.
            self._settle(target, close)
            return
        await settling

    def _begin(self, work: Callable[[], None]) -> None:
        """Run work in the log's thread, or in the caller's thread if the system allows no other.

        Without the log's thread, the caller runs all jobs, so two jobs never run at once.
        """
        try:
            self._thread.submit(work)
        except RuntimeError:
            work()

    def _worded(self, error: OSError, otherwise: str) -> SessionError:
        """Phrase the error for the user; ``otherwise`` is for a disk that may be full but works."""
        if self._lost is not None:
            return RecordsLost(
                f"the disk failed while the session was saved ({error.strerror}); its last "
                "records may be lost, so check the disk and resume the session"
            )
        if error.errno in {errno.ESTALE, errno.EEXIST}:
            return SessionError(
                f"the session could not be saved: its file {error.filename!r} was replaced by "
                "another one while it was open; move that one away, or begin a new session"
            )
        return SessionError(f"the session could not be saved ({error.strerror}); {otherwise}")

    def _flush(self) -> None:
        """Write the queue to the file without flushing it to disk; runs in the log's thread."""
        self._flushes = True
        try:
            self._write()
        except OSError as error:
            # The records are not lost, because the next commit tries again and reports a failure.
            _log.info("session log: %s; the records stay queued", error)

    def _settle_quietly(self) -> None:
        """Commit in the background, in the log's thread; no caller waits."""
        self._commits = False
        try:
            self._settle(self._n_queued, close=False)
        except OSError as error:
            _log.warning("session log: %s; the next commit reports it", error)

    def _settle(self, target: int, close: bool) -> None:  # noqa: FBT001 -- positional in executors
        """Flush the first ``target`` lines and all other queued lines; runs in the thread."""
        try:
            if self._lost is not None:
                raise self._lost
            if self._n_durable < target:
                self._find_again()
                self._write()
                try:
                    self._log.sync()
                except OSError as error:
                    self._lost = error
                    raise
                self._n_durable = self._n_taken
        finally:
            if close:
                self._log.close()

    def _find_again(self) -> None:
        """Write the whole log again if the file was removed; runs in the log's thread.

        If the log were not written again, the records would disappear with the process.
        """
        if not self._log.is_in_place:
            self._log.write_again()
            _log.warning(
                "session log: the file was removed while it was open; it was written again"
            )

    def _write(self) -> None:
        while self._queue:
            self._rest += self._queue.popleft()
            self._n_taken += 1
        before = self._log.written
        try:
            self._log.append(bytes(self._rest))
        finally:
            del self._rest[: self._log.written - before]


class MemoryLog:
    """A log in memory, for use without a writable folder; implements ``Log``.

    The caller must inform the user that the session is not saved.
    """

    def append(self, record: Record) -> None:
        """Drop the record, because the session keeps its state in memory."""

    async def commit(self) -> None:
        """Do nothing, because the session is only in memory."""

    def commit_soon(self) -> None:
        """Do nothing, because the session is only in memory."""

    async def close(self) -> None:
        """Do nothing, because nothing is open."""


def encode(record: Record) -> bytes:
    """Encode a record as one line, with its line feed.

    Text from a model or an editor may have lone surrogates, which UTF-8 cannot encode. Lone
    surrogates become U+FFFD, and a second line (``Repaired``) names the changed values.
    """
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        whole, places = _without_surrogates(msgspec.to_builtins(record), "")
        repaired = Repaired(
            what=f"lone surrogates became U+FFFD in the line above, at {', '.join(places)}",
            at=scalar_text(record.at),
        )
        return msgspec.json.encode(whole) + b"\n" + msgspec.json.encode(repaired) + b"\n"


def _without_surrogates(value: Any, place: str) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401 -- any JSON
    """Make every text of a JSON value encodable; also return the paths of changed values."""
    match value:
        case str():
            whole = scalar_text(value)
            return whole, (place,) if whole != value else ()
        case dict():
            inside = {
                key: _without_surrogates(item, f"{place}.{key}".removeprefix("."))
                for key, item in value.items()
            }
            places = tuple(where for _, found in inside.values() for where in found)
            return {key: item for key, (item, _) in inside.items()}, places
        case list() | tuple():
            items = [
                _without_surrogates(item, f"{place}[{index}]") for index, item in enumerate(value)
            ]
            return [item for item, _ in items], tuple(
                where for _, found in items for where in found
            )
        case _:
            return value, ()
