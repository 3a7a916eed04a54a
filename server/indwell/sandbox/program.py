"""Runs a program with bounded output and time, and leaves no process behind.

Only a fixed number of programs run at once (PRC-12); other programs wait in order and can be
cancelled. Searches have a separate pool, because they take milliseconds and must not wait for test
runs. A lack of file descriptors, processes or threads is not reported as a bug.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import secrets
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from indwell.edges import program_edge
from indwell.errors import ToolError
from indwell.sandbox.capture import Capture, Feed, OnChunk, output_text, pipe_from, pipe_into
from indwell.sandbox.environment import clean_environment
from indwell.sandbox.guard import guard
from indwell.sandbox.leftovers import here as leftovers
from indwell.sandbox.leftovers.processes import MARK
from indwell.sandbox.limits import CommandLimits, LimitWatch, limit_run
from indwell.sandbox.starting import Launch, Starter, start_plainly


class Pool:
    """Slots for ``size`` programs, in each event loop."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            WeakKeyDictionary()
        )

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it."""
        loop = asyncio.get_running_loop()
        async with self._places.setdefault(loop, asyncio.Semaphore(self._size)):
            yield


COMMANDS = Pool(8)
"""The pool of commands, which mostly wait for tests or the network, but may need much memory.

Eight commands are more than a person can follow, and as many as a laptop can run.
"""

BACKGROUND = Pool(8)
"""A separate pool, so that background commands do not delay other commands."""

PROGRAMS = Pool(8)
"""The pool of searches.

One search uses all cores, so more searches would only compete for the disk.
"""


DRAIN_S = 0.2  # Leftovers that hold the pipe may write for 0.2 s after the program's end (PRC-07).
# KILL follows 1 s after TERM at a timeout, so that a test run can clean up.
TIMEOUT_GRACE_S = 1.0
CANCEL_GRACE_S = 0.1  # A cancelled turn must answer within 200 ms.
KILL_WAIT_S = 5.0  # A process that waits for a dead network drive survives KILL.
DEFAULT_LIMIT_B = 96_000

T = TypeVar("T")


def new_mark() -> str:
    """Create the mark of a run: a random number that is also valid as a resource limit."""
    return str(10**17 + secrets.randbelow(9 * 10**17))


@program_edge
async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float | None,
    limit_b: int = DEFAULT_LIMIT_B,
    on_chunk: OnChunk | None = None,
    on_errors: OnChunk | None = None,
    enough: asyncio.Event | None = None,
    enough_grace_s: float = 0,
    alarm: asyncio.Event | None = None,
    pause: leftovers.Pause | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    stdin: bytes | Feed = b"",
    merge_errors: bool = False,
    mark: str = "",
    limits: CommandLimits | None = None,
    pool: Pool | None = PROGRAMS,
    alone: bool = False,
    is_wrapped: bool = False,
    has_ui: bool = True,
    start: Starter | None = None,
) -> Finished:
    """Run a program without a shell, in its own session, with a clean environment.

    Args:
        argv: The program and its arguments.
        cwd: The working directory.
        timeout_s: Seconds until the program is ended, or None for no timeout.
        limit_b: Bytes of output to keep, from both ends.
        on_chunk: Called with each part of standard output on the event loop. If the function
            returns a future, the program waits for the future.
        on_errors: The same for standard error.
        enough: An event that the caller sets (for example in ``on_chunk``) to end the program
            early.
        enough_grace_s: Seconds for cleaning up after ``enough``.
        alarm: An event that the caller sets to kill the program at once.
        pause: Pauses the program for other tasks.
        env: Variables in addition to the allowed variables of this process.
        pass_fds: Descriptors that the program inherits, under the same numbers.
        stdin: The standard input; empty by default.
        merge_errors: Whether to merge standard error into standard output.
        mark: The number by which the program's descendants are found, if the program itself sets
            this resource limit.
        limits: The total limits; by default nothing is watched.
        pool: The pool in which the program waits for a slot; the wait does not count as run time.
            None if the caller has a slot.
        alone: Whether the program starts no other program, so that no search is needed; saves 2 ms.
        is_wrapped: Whether the started program is a wrapper that runs the command in a separate
            session.
        has_ui: Whether the program may use other programs' windows and the clipboard (Windows).
        start: The function that starts the program; ``start_plainly`` by default.

    Raises:
        ToolError: The program or ``cwd`` cannot be used.
        asyncio.CancelledError: The call was cancelled; everything that the program started has
            ended.
    """
    output = Capture(limit_b, on_chunk)
    errors = Capture(0 if merge_errors else limit_b, on_errors)
    async with (
        shortages(),
        pool.place() if pool else contextlib.nullcontext(),
        pipe_into(output) as out,
        pipe_into(errors) as err,
        pipe_from(stdin) as source,
        _guarded(mark or new_mark(), alone=alone) as run,
    ):
        began = time.monotonic()
        limit_run(run, limits, timeout_s)
        watch = None if limits is None else LimitWatch(run, limits)
        launch = Launch(
            argv,
            cwd,
            clean_environment(os.environ, {**(env or {}), MARK: run.mark}),
            stdin=source.number,
            stdout=out.number,
            stderr=out.number if merge_errors else err.number,
            pass_fds=tuple(pass_fds),
        )
        process, is_cancelled = await _in_peace((start or start_plainly)(launch))
        leftovers.adopt(process.pid, run, has_ui=has_ui)
        guard.watch(run.mark, process.pid)
        if pause:
            pause.begin(process.pid, run)
        out.let_go()
        err.let_go()
        source.let_go()
        done = asyncio.create_task(process.wait())
        watching = asyncio.create_task(watch.until_too_much(process.pid)) if watch else None
        try:
            if is_cancelled:
                raise asyncio.CancelledError  # noqa: TRY301 - cancelled while the program started
            stopped = False
            timed_out = await _wait(done, timeout_s, (enough, alarm), watching)
            if not done.done():
                grace_s = TIMEOUT_GRACE_S if timed_out else enough_grace_s
                if stopped := alarm is not None and alarm.is_set():
                    grace_s = 0
                await _stop(process.pid, run, done, grace_s, alone=alone, is_wrapped=is_wrapped)
            output.let_in()
            await asyncio.wait({output.closed, errors.closed}, timeout=DRAIN_S)
            left = await _end_rest(process.pid, run, alone=alone, is_wrapped=is_wrapped)
            await asyncio.wait({output.closed, errors.closed}, timeout=DRAIN_S)
        except asyncio.CancelledError:
            await _in_peace(
                _stop(process.pid, run, done, CANCEL_GRACE_S, alone=alone, is_wrapped=is_wrapped)
            )
            raise
        finally:
            if pause:
                pause.end()
            helpers: set[asyncio.Task[Any]] = {done, *((watching,) if watching else ())}
            for task in helpers:
                task.cancel()
            await asyncio.wait(helpers)
            if not done.cancelled():
                leftovers.ended(process.pid)
    overrun = watch.overrun if watch else ""
    return Finished(
        exit_code=-9 if done.cancelled() else done.result(),
        head=output.head,
        tail=output.tail,
        cut_b=output.cut_b,
        total_b=output.total_b,
        errors=errors.head + errors.tail,
        timed_out=timed_out,
        seconds=time.monotonic() - began,
        # Processes in a sandbox end with the sandbox, at an uncertain moment.
        left_running=0 if timed_out or overrun or is_wrapped else left.n,
        may_run_on=not left.is_gone,
        overrun=overrun,
        stopped=stopped,
    )


@contextlib.asynccontextmanager
async def _guarded(mark: str, *, alone: bool) -> AsyncIterator[leftovers.Run]:
    """Yield a run whose processes end with Indwell's process, however that ends."""
    async with leftovers.running(mark, alone=alone) as run:
        guard.watch(mark)
        try:
            yield run
        finally:
            guard.forget(mark)


async def _wait(
    done: asyncio.Task[int],
    timeout_s: float | None,
    stops: Sequence[asyncio.Event | None],
    watching: asyncio.Task[None] | None,
) -> bool:
    """Wait for the program's end, or a reason to stop the program; return True after a time-out."""
    waits = [asyncio.create_task(one.wait()) for one in stops if one is not None]
    ends: set[asyncio.Task[Any]] = {one for one in (done, *waits, watching) if one is not None}
    try:
        await asyncio.wait(ends, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        return not any(one.done() for one in ends)
    finally:
        for one in waits:
            one.cancel()


async def _stop(
    pid: int,
    run: leftovers.Run,
    ended: asyncio.Task[int],
    grace_s: float,
    *,
    alone: bool,
    is_wrapped: bool,
) -> None:
    """End a program and everything that it started: ask, wait a grace period, then kill."""
    if grace_s and await leftovers.ask_to_end(pid, run, grace_s, is_wrapped=is_wrapped):
        await asyncio.wait({ended}, timeout=grace_s)
    if not ended.done():
        leftovers.kill(pid, run)
    await _end_rest(pid, run, alone=alone)
    await asyncio.wait({ended}, timeout=KILL_WAIT_S)


async def _end_rest(
    pid: int, run: leftovers.Run, *, alone: bool, is_wrapped: bool = False
) -> leftovers.LeftoverRun:
    if alone:
        return leftovers.LeftoverRun(0)
    return await asyncio.to_thread(
        leftovers.end_wrapped if is_wrapped else leftovers.end_descendants, pid, run
    )


async def _in_peace(work: Coroutine[None, None, T]) -> tuple[T, bool]:
    """Finish ``work`` even if cancelled; say whether to raise the cancellation afterwards."""
    task = asyncio.ensure_future(work)
    is_cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled and task.exception() is not None:
        raise asyncio.CancelledError from task.exception()
    return task.result(), is_cancelled


class Finished(msgspec.Struct, frozen=True):
    """The end of a program, and its output.

    Attributes:
        exit_code: The exit code; negative for the signal that ended the program.
        head: The first bytes of the output; all bytes if ``cut_b`` is 0.
        tail: The last bytes of the output, or empty if ``cut_b`` is 0.
        cut_b: The number of bytes that were cut between head and tail.
        total_b: The number of bytes that the program wrote.
        errors: The standard error, if separate; shortened in the same way.
        timed_out: Whether the timeout ended the program.
        seconds: Wall time, without the wait for a slot.
        left_running: The number of processes that the program left running, and that were ended.
        overrun: The exceeded limit, such as ``over 600 s of processor time``, for which the program
            or a part was ended, or empty if no limit was exceeded.
        may_run_on: Whether some of the program's processes may still run, because ending all took
            too long.
        stopped: Whether the program was killed because it planted files, which ``notes`` lists.
        notes: A sentence for each planted file, which says what Indwell did with the file.
    """

    exit_code: int
    head: bytes
    tail: bytes
    cut_b: int
    total_b: int
    errors: bytes
    timed_out: bool
    seconds: float
    left_running: int
    overrun: str = ""
    may_run_on: bool = False
    stopped: bool = False
    notes: tuple[str, ...] = ()

    @property
    def output(self) -> str:
        """The output as text, with undecodable bytes replaced and the gap marked."""
        if not self.cut_b:
            return output_text(self.head)
        return (
            f"{output_text(self.head)}\n"
            f"[… {self.cut_b:,} bytes left out …]\n"
            f"{output_text(self.tail)}"
        )


_WHAT = {
    errno.EMFILE: "Indwell has as many files open as the system allows (ulimit -n)",
    errno.ENFILE: "the system has as many files open as it can",
    errno.EAGAIN: "the system starts no more processes for this user (ulimit -u, or a pids limit)",
    errno.ENOMEM: "the system has no memory left for it",
}


def is_shortage(error: OSError) -> bool:
    """Return whether an error means that a system resource has run out."""
    return error.errno in _WHAT


@asynccontextmanager
async def shortages() -> AsyncIterator[None]:
    """Report a resource shortage as a tool error.

    Raises:
        ToolError: A resource has run out; this error replaces the system's error.
    """
    try:
        yield
    except OSError as error:
        if not is_shortage(error):
            raise
        raise ToolError(_words(_WHAT[error.errno or 0])) from error
    # The module `threading` raises this error, which has no specific class.
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        raise ToolError(_words("the system starts no more threads for this user")) from error


def _words(what: str) -> str:
    return (
        f"the command could not be run to its end: {what}. End other programs, or background "
        "commands, and try again"
    )
