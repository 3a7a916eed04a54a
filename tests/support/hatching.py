"""Runs ``indwell`` as a process forked from a preloaded one (``nest.py``), which saves time."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

NEST = Path(__file__).with_name("nest.py")
# Python reads these variables only at the start of a process.
FIXED = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "SSL_")
LATER = {"PYTHON_KEYRING_BACKEND"}  # The package ``keyring`` reads these variables later.
TESTS = str(NEST.parents[1])
STREAM_B = 1 << 16
_nests: list[tuple[subprocess.Popen[bytes], socket.socket]] = []


class Hatched:
    """A forked process with the interface of ``asyncio.subprocess.Process`` and three pipes."""

    def __init__(
        self, pid: int, report: asyncio.StreamReader, transports: Iterable[asyncio.BaseTransport]
    ) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: asyncio.StreamWriter
        self.stdout: asyncio.StreamReader
        self.stderr: asyncio.StreamReader
        self._transport = Pipes(transports)
        self._waiting = asyncio.ensure_future(self._wait(report))

    async def wait(self) -> int:
        """Wait for the end, and return the exit code, negative for a signal."""
        return await asyncio.shield(self._waiting)

    async def communicate(self, given: bytes | None = None) -> tuple[bytes, bytes]:
        """Write all input to the process, and return all its output."""
        if given:
            self.stdin.write(given)
        self.stdin.close()
        stdout, stderr, _ = await asyncio.gather(
            self.stdout.read(), self.stderr.read(), self.wait()
        )
        self.close()
        return stdout, stderr

    def kill(self) -> None:
        """Send SIGKILL, unless the process has ended."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def close(self) -> None:
        """Close the pipes."""
        self._transport.close()

    async def _wait(self, report: asyncio.StreamReader) -> int:
        status = await report.readline()
        assert status, "the nest is gone"
        self.returncode = os.waitstatus_to_exitcode(int(status))
        return self.returncode


class Begun:
    """A forked process for code without an event loop, with a part of ``subprocess.Popen``."""

    def __init__(self, pid: int, report: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._report = report

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs."""
        return self._look(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end, and return the exit code, negative for a signal."""
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired("indwell", timeout or 0.0)
        assert self.returncode is not None
        return self.returncode

    def kill(self) -> None:
        """Send SIGKILL, unless the process has ended."""
        if self.returncode is None:
            os.kill(self.pid, signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._report], [], [], timeout)[0]:
            status = os.read(self._report, 32)
            assert status, "the nest is gone"
            os.close(self._report)
            self.returncode = os.waitstatus_to_exitcode(int(status))
        return self.returncode


class Pipes:
    """The pipes of a forked process, and the pipe that reports its exit status."""

    def __init__(self, transports: Iterable[asyncio.BaseTransport]) -> None:
        self._transports = tuple(transports)

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport:
        """Return the transport of stdin (0), stdout (1) or stderr (2)."""
        return self._transports[fd]

    def close(self) -> None:
        """Close all pipes."""
        for one in self._transports:
            one.close()


def can_hatch(environment: Mapping[str, str]) -> bool:
    """Return whether this is Linux and no variable differs that Python reads only at its start."""
    return sys.platform == "linux" and _fixed(environment) == _fixed(_own())


async def hatch(
    arguments: Sequence[str], *, environment: Mapping[str, str], folder: Path
) -> Hatched:
    """Start ``indwell`` with these arguments and with pipes."""
    (in_read, in_write), (out_read, out_write), (err_read, err_write) = (
        os.pipe(), os.pipe(), os.pipe(),
    )  # fmt: skip
    theirs = (in_read, out_write, err_write)
    try:
        pid, report = begin(arguments, environment=environment, folder=folder, streams=theirs)
    finally:
        for fd in theirs:
            os.close(fd)
    stdin, stdin_pipe = await _writer(in_write)
    stdout, stdout_pipe = await _reader(out_read)
    stderr, stderr_pipe = await _reader(err_read)
    told, told_pipe = await _reader(report)
    process = Hatched(pid, told, (stdin_pipe, stdout_pipe, stderr_pipe, told_pipe))
    process.stdin, process.stdout, process.stderr = stdin, stdout, stderr
    return process


async def hatch_on(
    streams: Sequence[int],
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
) -> Hatched:
    """Start ``indwell`` with these three streams, which the caller closes."""
    pid, report = begin(arguments, environment=environment, folder=folder, streams=streams)
    told, told_pipe = await _reader(report)
    return Hatched(pid, told, (told_pipe,))


def begin(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    folder: Path,
    streams: Sequence[int],
    terminal: bool = False,
) -> tuple[int, int]:
    """Start ``indwell``; return the process id, and a pipe that reports the exit status.

    With ``terminal`` the process leads a new session, whose terminal is stdin.
    """
    told, tell = os.pipe()
    wanted = {
        "arguments": list(arguments),
        "environment": dict(environment),
        "folder": str(folder),
        "terminal": terminal,
    }
    try:
        socket.send_fds(_nest(), [json.dumps(wanted).encode()], (*streams, tell))
    finally:
        os.close(tell)
    pid = b""
    while not pid.endswith(b"\n"):
        read = os.read(told, 1)
        assert read, "the nest is gone"
        pid += read
    return int(pid), told


def close_nests() -> list[int]:
    """End the preloaded processes; return exit codes, 1 if one had to kill a process."""
    codes = []
    while _nests:
        nest, control = _nests.pop()
        control.close()
        codes.append(nest.wait())
    return codes


def _nest() -> socket.socket:
    """Return the socket of the preloaded process; the first call starts it (1 to 2 s)."""
    if not _nests:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nest = subprocess.Popen(
            [sys.executable, NEST, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env=_own(),
            stdin=subprocess.DEVNULL,
            # A terminal is unsuitable, because Python would write to it line by line.
            stdout=subprocess.DEVNULL,
        )
        theirs.close()
        assert ours.recv(16) == b"ready", "the nest could not load"
        _nests.append((nest, ours))
    return _nests[0][1]


def _own() -> dict[str, str]:
    """Return the nest's environment, with the variables that ``Home.environment`` copies."""
    return {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}


def _fixed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the fixed variables; PYTHONPATH omits the tests' folder, which ``nest.py`` adds."""
    fixed = {
        name: value
        for name, value in environment.items()
        if name.startswith(FIXED) and name not in LATER
    }
    places = fixed.pop("PYTHONPATH", "").split(os.pathsep)
    return {**fixed, "PYTHONPATH": os.pathsep.join(one for one in places if one not in {"", TESTS})}


class _Flow(asyncio.streams.FlowControlMixin):
    """Makes a writer wait while the pipe is full, and reports when the pipe closes."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._end: asyncio.Future[None] = loop.create_future()

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if not self._end.done():
            self._end.set_result(None)

    def _get_close_waiter(self, _stream: asyncio.StreamWriter) -> asyncio.Future[None]:
        return self._end


async def _reader(fd: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    loop, stream = asyncio.get_running_loop(), asyncio.StreamReader(STREAM_B)
    transport, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(fd, "rb", 0)
    )
    return stream, transport


async def _writer(fd: int) -> tuple[asyncio.StreamWriter, asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(lambda: _Flow(loop), os.fdopen(fd, "wb", 0))
    return asyncio.StreamWriter(transport, protocol, None, loop), transport
