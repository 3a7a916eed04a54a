"""Logs to stderr: rate-limited, without secrets, and without blocking the server."""

from __future__ import annotations

import logging
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping

from indwell.cli.serve.server_log import open_log
from indwell.context.untrusted_text import visible
from indwell.secrets import Hider, secrets_of
from indwell.settings.credentials import redacted

LINES_A_SECOND = 20  # the limit of lines in a second, on average
BURST = 200  # the limit of lines at once, for a whole traceback and the lines before it
LINE_LIMIT = 4_000  # the limit of characters for one record
WAITING_LIMIT = 1_000  # the limit of records that are queued while no process reads stderr


class Throttle:
    """Limits lines to ``rate`` in a second and ``burst`` at once; counts the dropped lines.

    Args:
        monotonic: Returns the time of a monotonic clock in seconds.
    """

    def __init__(self, rate: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = burst
        self._monotonic = monotonic
        self._left = float(burst)
        self._at = monotonic()
        self._dropped = 0

    def admit(self) -> int | None:
        """Return None if the line is dropped; otherwise the number of lines dropped before it."""
        now = self._monotonic()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            self._dropped += 1
            return None
        self._left -= 1
        dropped, self._dropped = self._dropped, 0
        return dropped


def _start_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True, name="indwell-stderr").start()


def _takes_more() -> bool:
    """Return whether stderr can take a line without blocking, or False if unknown."""
    try:
        return bool(select.select([], [sys.stderr], [], 0)[1])
    except (OSError, ValueError):
        return False


class StderrHandler(logging.Handler):
    """Writes log records in a thread, so that an editor that ignores stderr blocks nothing.

    Args:
        secrets: The secrets to redact from every line.
        write: Writes a line, and may block.
        start: Starts the thread; raises RuntimeError if the system cannot start another thread.
        is_ready: Returns whether ``write`` would not block; called while there is no thread.
    """

    def __init__(
        self,
        secrets: tuple[str, ...],
        write: Callable[[str], object],
        *,
        start: Callable[[Callable[[], None]], None] = _start_thread,
        is_ready: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__()
        self._secrets = secrets
        self._hider = Hider()
        self._write = write
        self._throttle = Throttle(LINES_A_SECOND, BURST, time.monotonic)
        self._lines: queue.Queue[str] = queue.Queue(WAITING_LIMIT)
        self._start = start
        self._is_ready = is_ready
        self._has_thread = False
        self._begin()  # the thread is started now, because the system may lack threads later

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record, shortened and without secrets."""
        dropped = self._throttle.admit()
        if dropped is None:
            return
        text = self._hider.hide(redacted(self.format(record), self._secrets))
        # Further lines are indented, so that the text of a record cannot look like another record.
        text = "\n  ".join(filter(str.strip, visible(text).split("\n")))
        if len(text) > LINE_LIMIT:
            text = f"{text[:LINE_LIMIT]} … ({len(text):,} characters)"
        if dropped:
            text = f"({dropped} more lines left out)\n{text}"
        try:
            self._lines.put_nowait(text + "\n")
        except queue.Full:
            return
        if not self._has_thread:
            self._begin()
        if not self._has_thread:
            self._write_directly()

    def flush(self) -> None:
        """Wait a moment for the thread at the end of the process, because stderr may be unread."""
        until = time.monotonic() + 0.2
        while self._lines.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.005)

    def _begin(self) -> None:
        """Start the thread; after a failure, the next record tries again."""
        try:
            self._start(self._work)
        except RuntimeError:
            return
        self._has_thread = True

    def _write_directly(self) -> None:
        """Write the queued records as long as stderr does not block."""
        while self._is_ready() and not self._lines.empty():
            line = self._lines.get_nowait()
            try:
                self._write(line)
            except (OSError, ValueError):
                return  # stderr is closed
            finally:
                self._lines.task_done()

    def _work(self) -> None:
        while True:
            line = self._lines.get()
            try:
                self._write(line)
            except (OSError, ValueError):
                return  # stderr is closed
            finally:
                self._lines.task_done()


def log_to_stderr(environment: Mapping[str, str]) -> None:
    """Log warnings and errors of the whole process to stderr, and to the server's log."""
    log_file = open_log(environment)

    def write(line: str) -> None:
        if log_file is not None:
            log_file.write(line)
        sys.stderr.write(line)
        sys.stderr.flush()

    handler = StderrHandler(secrets_of(environment), write, is_ready=_takes_more)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    # Ignore the log levels of libraries, as openai sets one for OPENAI_LOG.
    handler.setLevel(logging.WARNING)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
