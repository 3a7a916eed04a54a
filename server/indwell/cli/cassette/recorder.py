"""Keeps a session at its edges: what came in, what went out, and in which order.

While a session is recorded, the clock of sessions shows whole minutes since the start, by the last
input. A replay has exactly these times, so times in messages are the same.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import stat
import threading
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from indwell.cli.cassette.file_format import (
    INPUTS,
    CassetteEvent,
    Places,
    bytes_of,
    drawn,
    each_text,
    packed,
    plain,
)
from indwell.cli.cassette.replay_loop import CountingExecutor
from indwell.cli.cassette.split_secrets import hide_split, is_piece
from indwell.edges import Edges
from indwell.errors import ToolError
from indwell.files.append_log import read_bytes_private
from indwell.providers.http.cassette_transport import CassetteTransport, HttpAnswer
from indwell.secrets import MARK, Hider

T = TypeVar("T")
MOST_FILES = 5_000  # the limit of files of a workspace whose names are kept
FILE_B = 512_000  # the limit of bytes of one file that is kept
ALL_B = 32 << 20  # the limit of bytes of all files that are held in memory
_PASSED = frozenset({".git", ".hg", "node_modules", ".venv", "__pycache__"})
LINGER_S = 1.0  # events are held back for these seconds after the last piece of a text
_QUIET = ("textDocument/didChange", "$/", "indwell/didChangeSelection", "indwell/didFocus")
"""Messages that say nothing about the disk, so the files are not looked at."""


class Recorder(Edges):
    """The real world, of which everything is kept.

    Args:
        keep: Writes an event to the cassette.
        places: The user's folders and their names.
        hider: Finds and hides secrets in a text.
        files: The files of the workspace.
        started: The time of the first message.

    Attributes:
        n_hidden: The number of texts from which a secret was removed.
        unrecordable: What was used and cannot be replayed.
    """

    uses_cassette = True

    def __init__(
        self,
        keep: Callable[[CassetteEvent], None],
        places: Places,
        hider: Hider,
        files: RecordedFiles,
        started: datetime,
    ) -> None:
        self.n_hidden = 0
        self.unrecordable: dict[str, None] = {}
        self.seed = secrets.token_hex(16)
        self._keep = keep
        self._places = places
        self._hider = hider
        # Events since the first chunk of a stream, which may have a part of a secret.
        self._held: list[CassetteEvent] = []
        self._open: set[int] = set()  # the numbers of unfinished streams
        self._piece_s = 0.0  # the time of the last piece of a text
        self._timer: threading.Timer | None = None
        self._started = started
        self._began = time.monotonic()
        self._at = 0.0
        self._lock = threading.RLock()
        self._n_drawn: dict[str, int] = {}
        self._fixed: set[str] = set()
        self._learned: frozenset[str] = frozenset()
        self._number = 0
        self._threads: CountingExecutor | None = None
        self._files = files

    def now(self) -> datetime:
        """Return the time of the last input, in whole minutes since the start.

        Finer times would depend on inputs that the caller has not waited for.
        """
        return self._started + timedelta(minutes=self._at // 60)

    def random_bytes(self, purpose: str, n_bytes: int) -> bytes:
        """Return the next bytes for this purpose; the seed decides them."""
        with self._lock:
            number = self._n_drawn[purpose] = self._n_drawn.get(purpose, 0) + 1
        return drawn(self.seed, purpose, number, n_bytes)

    def value(self, kind: str, compute: Callable[[], str], *, is_fixed: bool = False) -> str:
        """Keep a text about this machine, a fixed text only once."""
        text = compute()
        with self._lock:
            if not (is_fixed and kind in self._fixed):
                self._event("value", name=kind, body=text)
            self._fixed.add(kind)
        return text

    async def program(
        self,
        words: object,
        on_chunk: Callable[[bytes], Any] | None,
        run: Callable[[Callable[[bytes], Any] | None], Awaitable[T]],
    ) -> T:
        """Run a program, and keep its output, its end, and the files that it changed."""
        self._look()
        number = self._event("run", name=shown_words(words))

        def hear(chunk: bytes) -> Any:  # noqa: ANN401 - what the listener returns
            self._event("chunk", n=number, body=packed(chunk))
            return on_chunk(chunk) if on_chunk else None

        try:
            ended = await run(hear if on_chunk else None)
        except ToolError as error:
            self._look()
            self._event("ran", n=number, name="failed", body=str(error))
            raise
        except BaseException:
            self._abandon(number)
            raise
        self._look()
        # Bytes as text, so that secrets and folders are found in the output.
        body = msgspec.to_builtins(ended, builtin_types=(bytes,))
        body |= {name: packed(one) for name, one in body.items() if isinstance(one, bytes)}
        self._event("ran", n=number, body=body)
        return ended

    def transport(self, make: Callable[[], Any]) -> CassetteTransport:
        """Return a transport that keeps each exchange."""
        return CassetteTransport(self, make)

    async def exchange(
        self, method: str, url: str, body: bytes, send: Callable[[], Awaitable[HttpAnswer]]
    ) -> HttpAnswer:
        """Send a request, and keep its answer."""
        self._look()
        number = self._event("ask", name=f"{method} {url}", body=plain(body))
        try:
            answer = await send()
        except Exception as error:
            self._event("closed", n=number, name=type(error).__name__, body=str(error))
            raise
        self._event("head", n=number, body=[answer.status, dict(answer.headers)])
        return answer._replace(parts=self._parts(number, answer.parts))

    async def _parts(self, number: int, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        try:
            async for part in parts:
                self._event("part", n=number, body=packed(part))
                yield part
        except Exception as error:
            self._event("closed", n=number, name=type(error).__name__, body=str(error))
            raise
        except BaseException:
            self._abandon(number)
            raise
        self._event("closed", n=number)

    def on_file_read(self, path: Path, data: bytes) -> None:
        """Keep the first content of a file of the workspace."""
        with self._lock:
            found = self._files.used(path, data)
            if found is not None:
                self._event("file", name=str(found[0]), body=packed(found[1]))

    def before_file_write(self, path: Path, data: bytes) -> None:
        """Do not take Indwell's own write for a change by others."""
        with self._lock:
            self._files.own(path, data)

    def on_message_received(self, body: bytes) -> None:
        """Keep a message of the editor."""
        if self._threads is None:
            self._threads = CountingExecutor()
            with suppress(RuntimeError):  # a test has no event loop
                asyncio.get_running_loop().set_default_executor(self._threads)
        message = plain(body)
        self.learn(_keys_in(message))
        method = message.get("method", "") if isinstance(message, dict) else ""
        if not method.startswith(_QUIET):
            self._look()
        self._event("in", body=message)

    def on_message_sent(self, body: bytes) -> None:
        """Keep a message to the editor."""
        self._event("out", body=plain(body))

    def before_unrecordable(self, what: str) -> None:
        """Keep what cannot be replayed."""
        if what not in self.unrecordable:
            self.unrecordable[what] = None
            self._event("unrecorded", name=what)

    def learn(self, keys: Iterable[str]) -> None:
        """Hide these keys, too, also in events that are not written yet."""
        if keys := frozenset(keys) - self._learned:
            with self._lock:
                self._learned |= keys
                self._hider = self._hider.with_own(keys)

    def begin(self) -> None:
        """Keep the sizes of all files of the workspace."""
        self._event("files", body=self._files.sizes())

    def finish(self) -> None:
        """Write the events that are held back, at the end of the session."""
        with self._lock:
            self._open.clear()
            self._write()

    def _look(self) -> None:
        """Keep changes of files by the editor, a command or the user."""
        with self._lock:
            for path, data in self._files.changed():
                body = None if data is None else packed(data)
                self._event("disk", name=str(path), body=body)

    def _event(self, kind: Any, *, n: int = 0, name: str = "", body: Any = None) -> int:  # noqa: ANN401
        with self._lock:
            at, is_busy = 0.0, False
            if kind in INPUTS:
                is_busy = bool(self._threads and self._threads.n_working)
                at = self._at = max(self._at, round(time.monotonic() - self._began, 3))
            if kind in {"ask", "run"}:
                self._number += 1
                n = self._number
            self._hold(CassetteEvent(kind, at, n, name, body, is_busy))
            return n

    def _hold(self, event: CassetteEvent) -> None:
        """Write an event, or hold it back while a later event may continue a secret."""
        self._held.append(event)
        if event.kind in {"chunk", "part"}:
            self._open.add(event.n)
        elif event.kind in {"ran", "closed"}:
            self._open.discard(event.n)
        if is_piece(event):
            self._piece_s = time.monotonic()
        self._check()

    def _abandon(self, number: int) -> None:
        """Hold nothing back for a stream that nobody reads to its end, as after a stopped turn."""
        with self._lock:
            self._open.discard(number)
            self._check()

    def _check(self) -> None:
        """Write the events if no stream is unfinished and no piece came lately, or do so later."""
        if self._open or self._timer is not None:
            return
        # The server tells the editor the last piece a moment after the end of the stream.
        left_s = self._piece_s + LINGER_S - time.monotonic() if self._piece_s else 0.0
        if left_s <= 0:
            self._write()
            return
        self._timer = threading.Timer(left_s, self._settle)
        self._timer.daemon = True
        self._timer.start()

    def _settle(self) -> None:
        with self._lock:
            self._timer = None
            self._check()

    def _write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._held, self._piece_s = self._held, [], 0.0
        whole = hide_split(held, self._hider.find)
        self.n_hidden += sum(one.body != other.body for one, other in zip(held, whole, strict=True))
        for event in whole:
            name, body = self._clean(event.name), each_text(event.body, self._clean)
            self._keep(msgspec.structs.replace(event, name=name, body=body))

    def _clean(self, text: str) -> str:
        hidden = self._hider.hide(text)
        self.n_hidden += hidden.count(MARK) - text.count(MARK)
        return self._places.fold(hidden)


def shown_words(words: object) -> str:
    """Return a program's words: shell text as it is, otherwise the program's name and arguments."""
    if isinstance(words, str):
        return words
    assert isinstance(words, Sequence)
    program, *rest = map(str, words)
    return bytes_of([Path(program).name, *rest]).decode("utf-8", "replace")


def _keys_in(message: Any) -> Iterator[str]:  # noqa: ANN401 - plain JSON
    """Yield the keys that the user typed into a form of the editor, or wrote into its settings."""
    match message:
        case dict():
            for name, value in message.items():
                if isinstance(value, str) and name.lower().replace("_", "") in {"key", "apikey"}:
                    yield value
                yield from _keys_in(value)
        case list():
            for value in message:
                yield from _keys_in(value)


class RecordedFiles:
    """The files of a workspace as the server can have seen them.

    Args:
        roots: The folders of the workspace.
        is_hidden: Whether the user hides a file from models; only its size is kept.
    """

    def __init__(self, roots: Sequence[Path], is_hidden: Callable[[Path], bool]) -> None:
        self._roots = roots
        self._is_hidden = is_hidden
        self._facts: dict[Path, tuple[int, int]] = {}
        self._first: dict[Path, bytes] = {}
        self._used: set[Path] = set()
        self._own: dict[Path, bytes] = {}
        self._held_b = 0
        for path, facts in self._walk():
            self._facts[path] = facts
            self._take(path, facts[1])

    def used(self, path: Path, data: bytes) -> tuple[Path, bytes] | None:
        """Return a file and its first content when the server reads it for the first time."""
        path = Path(os.path.normpath(path))
        if path in self._used or not any(path.is_relative_to(root) for root in self._roots):
            return None
        if self._is_hidden(path):
            return None
        self._used.add(path)
        is_later = path in self._own and path not in self._first
        return None if is_later else (path, self._first.get(path, data))

    def own(self, path: Path, data: bytes) -> None:
        """Remember what Indwell itself writes to a file."""
        self._own[path] = data

    def changed(self) -> Iterator[tuple[Path, bytes | None]]:
        """Yield files that others changed since the last call, None for a removed file."""
        now = dict(self._walk())
        for path in [one for one in self._facts if one not in now]:
            del self._facts[path]
            yield path, None
        for path, facts in now.items():
            if self._facts.get(path) != facts:
                self._facts[path] = facts
                if facts[1] <= FILE_B:
                    with suppress(OSError):
                        data = read_bytes_private(path, limit_b=FILE_B)
                        if data != self._own.get(path):
                            yield path, b" " * len(data) if self._is_hidden(path) else data

    def sizes(self) -> Mapping[str, int]:
        """Return the size of each file."""
        return {str(path): size for path, (_, size) in self._facts.items() if size <= FILE_B}

    def _take(self, path: Path, size: int) -> None:
        if size <= FILE_B and self._held_b + size <= ALL_B:
            with suppress(OSError):
                self._first[path] = read_bytes_private(path, limit_b=FILE_B)
                self._held_b += size

    def _walk(self) -> Iterator[tuple[Path, tuple[int, int]]]:
        n_files = 0
        for root in self._roots:
            for folder, names, files in os.walk(root):
                names[:] = [one for one in names if one not in _PASSED]
                for name in files:
                    path = Path(folder, name)
                    with suppress(OSError):
                        found = path.lstat()
                        if not stat.S_ISREG(found.st_mode):
                            continue
                        n_files += 1
                        if n_files > MOST_FILES:
                            return
                        yield path, (found.st_mtime_ns, found.st_size)


def started_now() -> datetime:
    """Return the present time to the millisecond."""
    now = datetime.now(UTC)
    return now.replace(microsecond=now.microsecond // 1_000 * 1_000)
