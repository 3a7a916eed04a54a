"""``indwell serve``: the language server on stdin and stdout, or on a port with a token.

The log goes to stderr: a few lines a second, no secrets, and it never blocks anybody (LSP-27).
"""

from __future__ import annotations

import gc
import logging
import os
import queue
import select
import sys
import threading
import time
from collections.abc import Callable, Mapping

from indwell.lsp.wire.stdio import NoLine, OpenLine, claim_stdio, open_line
from indwell.secrets.hiding import Hider
from indwell.secrets.names import secrets_of
from indwell.settings.credentials import redacted

LOADING_THRESHOLD = 10_000  # objects made between two searches for garbage; Python has 700
SWITCH_S = 0.001  # a thread that imports gives way to the editor's messages after this long

LINES_A_SECOND = 20  # on average
BURST = 200  # lines at once: the whole of a traceback, and what led to it
LINE_LIMIT = 4_000  # characters of one record
WAITING_LIMIT = 1_000  # records that a stderr nobody reads may hold up


def serve(*, scripted: bool, pace_s: float) -> int:
    """Serve one editor until it says goodbye (0) or hangs up without (1).

    ``initialize`` is answered before the rest of the server is loaded.
    """
    try:
        if sys.stdin is not None and sys.stdin.isatty():
            sys.stderr.write(
                "indwell: this serves an editor, and waits for one on stdin; `indwell --help` "
                "lists what a person can do, Ctrl-C ends it\n"
            )
        opened = open_line(claim_stdio())
    except NoLine as error:
        sys.stderr.write(f"indwell: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    if isinstance(opened, int):
        return opened
    return serve_opened(opened, scripted=scripted, pace_s=pace_s)


def serve_tcp(address: str, *, scripted: bool, pace_s: float) -> int:
    """Serve the one editor that comes to a port of this machine with the token.

    Raises:
        WrongAddress: The address or the token cannot be used.
    """
    import secrets

    from indwell.lsp.wire.tcp import accept_editor, address_of, check_token, listening

    host, port = address_of(address)
    given = os.environ.pop("INDWELL_TOKEN", "")  # commands of the agent do not inherit it
    token = check_token(given) if given else secrets.token_urlsafe(32)
    with listening(host, port) as listener:
        shown_host = f"[{host}]" if ":" in host else host
        at = f"{shown_host}:{listener.getsockname()[1]}"
        shown = "of INDWELL_TOKEN" if given else token
        sys.stderr.write(f"indwell: listening on {at}, token {shown}\n")
        sys.stderr.flush()
        try:
            opened = accept_editor(listener, token)
        except KeyboardInterrupt:
            return 130
    return serve_opened(opened, scripted=scripted, pace_s=pace_s)


def serve_opened(opened: OpenLine, *, scripted: bool, pace_s: float) -> int:
    """Serve a line after ``initialize``."""
    # While modules load, looking for garbage all the time takes 30 ms. In lsprotocol, whose classes
    # attrs makes twice, not looking at all would cost 9 MB; in what comes after there is none.
    usual = gc.get_threshold()
    gc.set_threshold(LOADING_THRESHOLD, *usual[1:])
    from indwell.lsp.messages import methods as protocol

    del protocol
    gc.disable()
    from indwell.cli.serve.backend import EditorBackend
    from indwell.cli.serve.command import log_to_stderr
    from indwell.lsp.server import make_server
    from indwell.lsp.wire.serving import serve_line
    from indwell.service.environment import own_environment

    sys.setswitchinterval(SWITCH_S)
    environment = own_environment()
    log_to_stderr(environment)
    backend = EditorBackend(environment, scripted=scripted, pace_s=pace_s)
    server, host = make_server(backend, opened.opened)
    gc.freeze()
    gc.enable()
    gc.set_threshold(*usual)
    return serve_line(opened, server, host.stop)


class Throttle:
    """Lets ``rate`` lines a second through, and ``burst`` at once; counts the rest.

    Args:
        monotonic: Seconds of a clock that never goes back.
    """

    def __init__(self, rate: float, burst: int, monotonic: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = burst
        self._monotonic = monotonic
        self._left = float(burst)
        self._at = monotonic()
        self._dropped = 0

    def admit(self) -> int | None:
        """None if this one is too many; else how many were left out before it."""
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
    """Can stderr take a line at once? Where nobody can say, no."""
    try:
        return bool(select.select([], [sys.stderr], [], 0)[1])
    except (OSError, ValueError):
        return False


class StderrHandler(logging.Handler):
    """Writes records from a thread of its own: an editor that reads no stderr blocks nobody.

    Args:
        secrets: Never written.
        write: Takes a line, and may block.
        start: Starts the thread; a RuntimeError says that the system has no room for another.
        is_ready: Can ``write`` take a line without blocking? Asked while there is no thread.
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
        self._begin()  # now: later there may be no room for a thread

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a record, cut and redacted."""
        dropped = self._throttle.admit()
        if dropped is None:
            return
        text = self._hider.hide(redacted(self.format(record), self._secrets))
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
        """Give the thread a moment at the end of the process; not more, nobody may be reading."""
        until = time.monotonic() + 0.2
        while self._lines.unfinished_tasks and time.monotonic() < until:
            time.sleep(0.005)

    def _begin(self) -> None:
        """Start the thread; without room for one the next record tries again."""
        try:
            self._start(self._work)
        except RuntimeError:
            return
        self._has_thread = True

    def _write_directly(self) -> None:
        """Write what waits, as far as nobody is held up by it."""
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
    """Send warnings and errors of the whole process there."""

    def write(line: str) -> None:
        sys.stderr.write(line)
        sys.stderr.flush()

    handler = StderrHandler(secrets_of(environment), write, is_ready=_takes_more)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    # A library may set a level of its own, as openai does for OPENAI_LOG: it counts for nothing.
    handler.setLevel(logging.WARNING)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
