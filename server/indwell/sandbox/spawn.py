"""Start a program, hear it out in bounded memory and time, and leave none of it behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.sandbox.capture import Capture
from indwell.sandbox.environment import clean_environment, raw
from indwell.sandbox.orphans import Run, ended, running, waited_for
from indwell.sandbox.processes import MARK, end_descendants, signal_group

SHELL = ("--norc", "--noprofile", "-c")  # never a login shell: 0.3 s against 1 ms
DRAIN_S = 0.2  # after the program's end, for what it left holding the pipe (PRC-07)
TIMEOUT_GRACE_S = 1.0  # between TERM and KILL when time is over: a test run can clean up
CANCEL_GRACE_S = 0.1  # a cancelled turn answers within 200 ms
KILL_WAIT_S = 5.0  # a process in an uninterruptible wait (a dead network drive) outlives KILL
DEFAULT_LIMIT_B = 96_000


class Finished(msgspec.Struct, frozen=True):
    """How a program ended and what it wrote.

    Attributes:
        exit_code: Its status; negative for the signal that ended it.
        head: The first bytes of its output; all of them if ``cut_b`` is 0.
        tail: The last bytes; empty if ``cut_b`` is 0.
        cut_b: Bytes left out in between.
        total_b: Bytes it wrote.
        errors: What it wrote to standard error, if that was kept apart; cut in the same way.
        timed_out: It was ended because its time was over.
        seconds: Wall time.
        left_running: Processes that it had left behind and that were ended.
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

    @property
    def output(self) -> str:
        """The output as text; undecodable bytes are replaced, the gap is said."""
        if not self.cut_b:
            return self.head.decode("utf-8", "replace")
        return (
            f"{self.head.decode('utf-8', 'replace')}\n"
            f"[… {self.cut_b:,} bytes left out …]\n"
            f"{self.tail.decode('utf-8', 'replace')}"
        )


def find_program(name: str) -> Path | None:
    """Find a program beside our own Python (where packages install theirs), else on PATH."""
    beside = shutil.which(name, path=str(Path(sys.executable).parent))
    found = beside or shutil.which(name, path=clean_environment(os.environ)["PATH"])
    return None if found is None else Path(found)


async def spawn(
    command: str,
    *,
    cwd: Path,
    timeout_s: float,
    limit_b: int = DEFAULT_LIMIT_B,
    on_chunk: Callable[[bytes], None] | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> Finished:
    """Run shell text with bash; both output streams arrive as one, as on a terminal.

    Args:
        command: The text for ``bash -c``.
        cwd: Where it runs.
        timeout_s: Seconds until it is ended.
        limit_b: Bytes of output to keep, from both ends.
        on_chunk: Hears every byte of output as it arrives, on the event loop.
        env: Variables besides the allowed ones of our own environment.
        pass_fds: Descriptors that the shell may use, under the same numbers.

    Raises:
        ToolError: There is no bash, or ``cwd`` cannot be used.
        asyncio.CancelledError: Once everything it started has ended.
    """
    shell = find_program("bash")
    if shell is None:
        raise ToolError("bash was not found on PATH; install it, or work without commands")
    return await run_program(
        [str(shell), *SHELL, command],
        cwd=cwd,
        timeout_s=timeout_s,
        limit_b=limit_b,
        on_chunk=on_chunk,
        env=env,
        pass_fds=pass_fds,
        merge_errors=True,
    )


async def run_program(
    argv: Sequence[str],
    *,
    cwd: Path,
    timeout_s: float,
    limit_b: int = DEFAULT_LIMIT_B,
    on_chunk: Callable[[bytes], None] | None = None,
    enough: asyncio.Event | None = None,
    env: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
    stdin: bytes = b"",
    merge_errors: bool = False,
) -> Finished:
    """Run a program without a shell, in a session of its own, with a clean environment.

    Args:
        argv: The program and its arguments.
        cwd: Where it runs.
        timeout_s: Seconds until it is ended.
        limit_b: Bytes of output to keep, from both ends.
        on_chunk: Hears every byte of standard output as it arrives, on the event loop.
        enough: Set by the caller (such as from ``on_chunk``) to end the program early.
        env: Variables besides the allowed ones of our own environment.
        pass_fds: Descriptors that the program may use, under the same numbers.
        stdin: What it reads from standard input; nothing by default.
        merge_errors: Standard error joins standard output.

    Raises:
        ToolError: The program or ``cwd`` cannot be used.
        asyncio.CancelledError: Once everything it started has ended.
    """
    began = time.monotonic()
    output = Capture(limit_b, on_chunk)
    errors = Capture(0 if merge_errors else limit_b)
    async with _pipe(output) as out, _pipe(errors) as err, running(secrets.token_hex(8)) as run:
        process = await _start(
            argv,
            cwd=cwd,
            env=clean_environment(os.environ, {**(env or {}), MARK: run.mark}),
            stdin=asyncio.subprocess.PIPE if stdin else asyncio.subprocess.DEVNULL,
            stdout=out.number,
            stderr=out.number if merge_errors else err.number,
            pass_fds=tuple(pass_fds),
        )
        waited_for(process.pid)
        out.let_go()
        err.let_go()
        feeder = asyncio.create_task(_feed(process, stdin))
        done = asyncio.create_task(process.wait())
        try:
            timed_out = await _wait(done, timeout_s, enough)
            if not done.done():
                await _stop(process.pid, run, done, TIMEOUT_GRACE_S if timed_out else 0)
            await asyncio.wait({output.closed, errors.closed}, timeout=DRAIN_S)
            left = await asyncio.to_thread(end_descendants, process.pid, run)
            await asyncio.wait({output.closed, errors.closed}, timeout=DRAIN_S)
        except asyncio.CancelledError:
            await _in_peace(_stop(process.pid, run, done, CANCEL_GRACE_S))
            raise
        finally:
            feeder.cancel()
            done.cancel()
            await asyncio.wait({feeder, done})
            if not done.cancelled():
                ended(process.pid)
    return Finished(
        exit_code=-signal.SIGKILL if done.cancelled() else done.result(),
        head=output.head,
        tail=output.tail,
        cut_b=output.cut_b,
        total_b=output.total_b,
        errors=errors.head + errors.tail,
        timed_out=timed_out,
        seconds=time.monotonic() - began,
        left_running=0 if timed_out else left,
    )


class _WriteEnd:
    """The end of a pipe that the child gets; ours is closed once the child has its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._is_open = True

    def let_go(self) -> None:
        if self._is_open:
            self._is_open = False
            os.close(self.number)


@contextlib.asynccontextmanager
async def _pipe(capture: Capture) -> AsyncIterator[_WriteEnd]:
    """A pipe into ``capture``.

    Not asyncio's own: there, waiting for a process also waits for whoever else holds its pipes.
    """
    reading, writing = os.pipe()
    end = _WriteEnd(writing)
    loop = asyncio.get_running_loop()
    try:
        transport, _ = await loop.connect_read_pipe(
            lambda: capture, os.fdopen(reading, "rb", buffering=0)
        )
        try:
            yield end
        finally:
            transport.close()
    finally:
        end.let_go()


async def _start(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
    pass_fds: tuple[int, ...],
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *map(raw, argv),
            cwd=raw(str(cwd)),
            env={raw(name): raw(value) for name, value in env.items()},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=pass_fds,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a NUL byte or a lone surrogate
        reason = error.strerror if isinstance(error, OSError) else error
        raise ToolError(f"{argv[0]!r} could not be started in {str(cwd)!r}: {reason}") from error


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    """Write standard input; a program may end without reading all of it."""
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _wait(ended: asyncio.Task[int], timeout_s: float, enough: asyncio.Event | None) -> bool:
    """Wait for the end, or until it is enough; True if time was over before."""
    stop = None if enough is None else asyncio.create_task(enough.wait())
    try:
        await asyncio.wait(
            {ended} if stop is None else {ended, stop},
            timeout=timeout_s,
            return_when=asyncio.FIRST_COMPLETED,
        )
        return not ended.done() and (stop is None or not stop.done())
    finally:
        if stop is not None:
            stop.cancel()


async def _stop(pid: int, run: Run, ended: asyncio.Task[int], grace_s: float) -> None:
    """End a program and all that it started: TERM, a moment, KILL."""
    if grace_s:
        signal_group(pid, "SIGTERM")
        await asyncio.wait({ended}, timeout=grace_s)
    if not ended.done():
        signal_group(pid, "SIGKILL")
    await asyncio.to_thread(end_descendants, pid, run)
    await asyncio.wait({ended}, timeout=KILL_WAIT_S)


async def _in_peace(work: Coroutine[None, None, None]) -> None:
    """Do ``work`` to its end, whoever cancels us meanwhile; the caller raises afterwards."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    task.result()
