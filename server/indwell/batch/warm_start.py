"""Starts each run of a batch as a fork of one process that has imported Indwell. Linux only.

An import takes nine tenths of the processor time of a short run. The forking process
(``cli.run.forking``) receives no secret: a run's arguments and variables are in a file in memory,
which only the fork reads. Elsewhere, and if the forking process cannot start, a run starts as a
program of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence

import msgspec

from indwell.sandbox.environment import raw
from indwell.sandbox.leftovers import here as leftovers
from indwell.sandbox.starting import Launch, StartedProgram, start_plainly
from indwell.secrets import is_proxy, is_secret

IS_FROZEN = bool(getattr(sys, "frozen", False))
OWN_PROGRAM = (sys.executable,) if IS_FROZEN else (sys.executable, "-P", "-m", "indwell")
"""The words that start Indwell as a program of its own."""
_FORKING = (sys.executable, "-P", "-m", "indwell.cli.run.forking")
_CLOSE_S = 5.0
NUMBER = struct.Struct("=q")  # A process id, and then an exit code, as the pipe has them.


class ForkOrder(msgspec.Struct, frozen=True):
    """What a fork runs: the arguments of ``indwell``, the working directory, all variables."""

    words: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]


if sys.platform == "linux":

    class _Fork:
        """A fork, whose exit code the forking process writes into a pipe."""

        def __init__(self, pid: int, status: int) -> None:
            self.pid = pid
            self._status = status

        async def wait(self) -> int:
            """Wait for the fork's end; return its exit code, negative for a signal."""
            loop = asyncio.get_running_loop()
            ended: asyncio.Future[bytes] = loop.create_future()

            def read() -> None:
                loop.remove_reader(self._status)
                ended.set_result(os.read(self._status, NUMBER.size))

            loop.add_reader(self._status, read)
            try:
                code = await ended
            finally:
                loop.remove_reader(self._status)
                os.close(self._status)
            if code:
                return int(NUMBER.unpack(code)[0])
            # The forking process was killed, and the system kills its forks.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            return -signal.SIGKILL

    class WarmStart:
        """Starts runs as forks; implements ``Starter``.

        Args:
            hidden: The names of variables that the forking process does not get.
        """

        def __init__(self, hidden: Sequence[str] = ()) -> None:
            self._hidden = frozenset(hidden)
            self._lock = threading.Lock()
            self._process: subprocess.Popen[bytes] | None = None
            self._socket: socket.socket | None = None

        async def __call__(self, launch: Launch) -> StartedProgram:
            """Start a run, whose argv begins with ``OWN_PROGRAM``.

            Raises:
                ToolError: The run cannot be started in any way.
                OSError: The system has no descriptors or memory left.
            """
            has_files = min(launch.stdin, launch.stdout, launch.stderr) >= 0
            if IS_FROZEN or not has_files:
                return await start_plainly(launch)
            for _ in range(2):
                if not await asyncio.to_thread(self._begin, launch.env):
                    break
                with contextlib.suppress(ConnectionError):
                    return await asyncio.to_thread(self._fork, launch)
            return await start_plainly(launch)

        def close(self) -> None:
            """End the forking process, with the forks that still run."""
            with self._lock:
                if self._socket is not None:
                    self._socket.close()
                if self._process is not None:
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        self._process.wait(_CLOSE_S)
                    self._process.kill()
                    self._process.wait()
                    leftovers.ended(self._process.pid)
                self._socket = self._process = None

        def _begin(self, variables: Mapping[str, str]) -> bool:
            """Start the forking process if none runs; return False if that is impossible."""
            with self._lock:
                if self._process is not None and self._process.poll() is None:
                    return True
                if self._process is not None and self._socket is not None:
                    leftovers.ended(self._process.pid)
                    self._socket.close()
                env = {
                    raw(name): raw(value)
                    for name, value in variables.items()
                    if not self._is_for_runs_only(name)
                }
                ours, theirs = socket.socketpair()
                with theirs:
                    try:
                        self._process = subprocess.Popen(  # noqa: S603 - our own words
                            [*_FORKING, str(theirs.fileno())],
                            cwd="/",
                            env=env,
                            stdin=subprocess.DEVNULL,
                            stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL,
                            pass_fds=(theirs.fileno(),),
                            # Ctrl-C at the terminal must not end runs, which stop in order.
                            process_group=0,
                        )
                    except OSError:
                        ours.close()
                        return False
                leftovers.waited_for(self._process.pid)
                self._socket = ours
                return True

        def _is_for_runs_only(self, name: str) -> bool:
            is_private = is_secret(name) or is_proxy(name) or name in self._hidden
            return is_private or name.startswith("INDWELL_")

        def _fork(self, launch: Launch) -> _Fork:
            """Have the run started.

            Raises:
                ConnectionError: The forking process was killed before it reported a fork. The
                    process has ended, and the system has killed a fork that it did not report.
                OSError: The system has no descriptors or memory left.
            """
            order = ForkOrder(
                tuple(launch.argv[len(OWN_PROGRAM) :]), str(launch.cwd), dict(launch.env)
            )
            file = os.memfd_create("indwell-order")
            status, theirs = os.pipe()
            try:
                os.write(file, msgspec.json.encode(order))
                with self._lock:
                    assert self._socket is not None
                    assert self._process is not None
                    forking = self._process
                    descriptors = [launch.stdin, launch.stdout, launch.stderr, file, theirs]
                    with contextlib.suppress(ConnectionError):
                        socket.send_fds(self._socket, [b"f"], descriptors)
            except OSError:
                os.close(status)
                raise
            finally:
                os.close(theirs)
                os.close(file)
            number = os.read(status, NUMBER.size)
            if not number:
                os.close(status)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    forking.wait(_CLOSE_S)
                raise ConnectionResetError("the process that starts runs was killed")
            return _Fork(NUMBER.unpack(number)[0], status)

else:

    class WarmStart:
        """Starts each run as a program of its own; implements ``Starter``."""

        def __init__(self, hidden: Sequence[str] = ()) -> None:
            del hidden

        async def __call__(self, launch: Launch) -> StartedProgram:
            """Start a run.

            Raises:
                ToolError: The run cannot be started.
            """
            return await start_plainly(launch)

        def close(self) -> None:
            """Do nothing, because no process is kept."""
