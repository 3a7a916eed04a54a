"""Starts the interactive session: first shows the input line, then loads the program."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from indwell.cli.interactive.desk import Line, Status

if TYPE_CHECKING:
    from indwell.cli.interactive.line_editor import LineEditor
    from indwell.cli.interactive.opening import Opened
    from indwell.cli.interactive.plain_desk import PlainDesk
    from indwell.lsp.chat.completion import CompletionChoice

AGAIN_S = 2.0  # A second Ctrl-C within 2 seconds ends a plain session.


class InteractiveOptions(msgspec.Struct, frozen=True):
    """The options of the command line.

    Attributes:
        plain: Whether nothing moves and no colour is used, for screen readers.
        session: The session to resume: its id, the beginning of the id, ``NEWEST``, or empty for a
            new session.
        scripted: Whether the scripted model answers.
        worktree: Whether each new session works in a copy of the folder.
    """

    plain: bool = False
    session: str = ""
    scripted: bool = False
    worktree: bool = False


def is_terminal() -> bool:
    """Return whether a user can type and read here."""
    return all(one is not None and one.isatty() for one in (sys.stdin, sys.stdout))


def interactive(wish: InteractiveOptions) -> int:
    """Run the interactive session until the user leaves; return 0."""
    from indwell.cli.terminal.interruptible_work import wait_for

    return wait_for(InteractiveSession(wish).run())


class InteractiveSession:
    """The interactive session of a process.

    Args:
        wish: The options.
    """

    def __init__(self, wish: InteractiveOptions) -> None:
        self._wish = wish
        is_dumb = sys.platform != "win32" and os.environ.get("TERM", "dumb") in {"", "dumb"}
        self._is_plain = wish.plain or is_dumb or bool(os.environ.get("INDWELL_PLAIN"))
        self._opened: Opened | None = None
        self._is_ready = False
        self._early: list[Line] = []
        self._taken: set[asyncio.Task[None]] = set()
        self._interrupted = float("-inf")

    async def run(self) -> int:
        """Show the input line, load the program, and handle lines until the user leaves."""
        desk = self._desk()
        loading = asyncio.create_task(self._load(desk))
        loading.add_done_callback(lambda task: desk.leave() if _failed(task) else None)
        try:
            await desk.run()
        finally:
            await self._close(loading)
        if _failed(loading):
            loading.result()
        return 0

    async def _load(self, desk: LineEditor | PlainDesk) -> None:
        """Load the program in a thread, while the user can already type, and open the service."""
        if self._is_plain:
            self._hear_interrupts(desk)
        wish = self._wish
        opened = await asyncio.to_thread(_opened)
        self._opened = opened(
            desk,
            session=wish.session,
            scripted=wish.scripted,
            is_plain=self._is_plain,
            is_apart=wish.worktree,
        )
        desk.refresh()
        await self._opened.begin()
        self._is_ready = True
        early, self._early = self._early, []
        for line in early:
            self._take(line)

    async def _close(self, loading: asyncio.Task[None]) -> None:
        loading.cancel()
        await asyncio.wait([loading])
        for task in self._taken:
            task.cancel()
        if self._opened is not None:
            await self._opened.close()

    def _desk(self) -> LineEditor | PlainDesk:
        from indwell.cli.interactive.history import LineHistory
        from indwell.settings.paths import state_folder

        history = LineHistory(state_folder(os.environ))
        if self._is_plain:
            from indwell.cli.interactive.plain_desk import PlainDesk

            return PlainDesk(take=self._take, keep=history.keep)
        from indwell.cli.interactive.line_editor import LineEditor

        return LineEditor(
            take=self._take,
            stop=self._stop,
            status=self._status,
            choices=self._choices,
            history=history.lines(),
            keep=history.keep,
            is_vi=os.environ.get("INDWELL_KEYS", "").lower() == "vi",
        )

    def _take(self, line: Line) -> None:
        if self._opened is None or not self._is_ready:
            self._early.append(line)
            return
        task = asyncio.create_task(self._opened.talk.take(line))
        self._taken.add(task)
        task.add_done_callback(self._taken.discard)

    def _status(self) -> Status:
        return self._opened.talk.status() if self._opened else Status(doing="starting")

    def _stop(self) -> bool:
        return self._opened is not None and self._opened.talk.stop()

    def _choices(self, line: str, is_first: bool) -> Sequence[CompletionChoice]:  # noqa: FBT001
        return self._opened.completions(line, is_first) if self._opened else ()

    def _hear_interrupts(self, desk: LineEditor | PlainDesk) -> None:
        """In a plain session, let Ctrl-C stop the turn, and a second Ctrl-C end the session."""
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            now = time.monotonic()
            is_again, self._interrupted = now - self._interrupted < AGAIN_S, now
            if self._stop():
                return
            if is_again:
                desk.leave()
            else:
                desk.console.print("Press Ctrl-C again to leave.")

        if sys.platform == "win32":
            signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(interrupt))
        else:
            loop.add_signal_handler(signal.SIGINT, interrupt)


def _failed(task: asyncio.Task[None]) -> bool:
    """Return whether a task ended with an error."""
    return task.done() and not task.cancelled() and task.exception() is not None


def _opened() -> type[Opened]:
    """Import the rest of the program, which takes half a second."""
    from indwell.cli.interactive.opening import Opened

    return Opened
