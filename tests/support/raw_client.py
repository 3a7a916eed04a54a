"""Runs a server with a raw LSP client, which can break each rule and leaves no process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from support.editing import SERVE, Home
from support.hatching import Hatched, can_hatch, hatch_on
from support.overlapped import OverlappedLog, start_overlapped
from support.process_facts import Facts, descendants, facts
from support.raw_wire import PATIENCE_S, Descriptors, Ends, Message, Wire

SCRIPTED = (*SERVE, "--scripted")
HATCHED = ("serve", "--stdio")  # The server is forked (``hatching.py``) if a fork is possible.
HATCHED_SCRIPTED = (*HATCHED, "--scripted")
RICH = ("events", "permission")
DEMO_WORDS = "Fix what you see."


class Log:
    """A server's stderr, a pipe that does not block.

    Attributes:
        data: The output so far.
    """

    def __init__(self, fd: int) -> None:
        self.data = bytearray()
        self._fd = fd
        self._loop = asyncio.get_running_loop()

    def listen(self, tell: Callable[[], None]) -> None:
        """Start to read, and call ``tell`` after each new output."""
        self._tell = tell
        self._loop.add_reader(self._fd, self.read)

    def read(self) -> None:
        """Read the available bytes."""
        with suppress(BlockingIOError):
            while data := os.read(self._fd, 1 << 16):
                self.data += data
                self._tell()
            self._loop.remove_reader(self._fd)

    def close(self) -> None:
        """Close the pipe."""
        self._loop.remove_reader(self._fd)
        os.close(self._fd)


class RawClient(Wire):
    """A connection to a separate server process."""

    def __init__(
        self,
        process: asyncio.subprocess.Process | Hatched,
        ends: Ends,
        log: Log | OverlappedLog,
        home: Home,
    ) -> None:
        self.home = home
        self.process = process
        self._log = log
        super().__init__(ends)
        self.replies["indwell/permission"] = lambda _params: {"answer": "once"}
        log.listen(self.tell)
        self._waiting = asyncio.create_task(self._wait_for_the_end())

    @property
    def pid(self) -> int:
        """Return the server's process id."""
        return self.process.pid

    @property
    def stderr(self) -> str:
        """Return the server's log so far."""
        return self._log.data.decode(errors="replace")

    @property
    def facts(self) -> Facts:
        """Return the kernel's data about the server."""
        return facts(self.pid)

    @property
    def is_running(self) -> bool:
        """Return whether the server is still running."""
        return self.process.returncode is None

    async def initialize(
        self, *, extensions: Sequence[str] = RICH, timeout_s: float = PATIENCE_S, **more: Any
    ) -> Message:
        """Send ``initialize``, as an editor with these extensions in the home's workspace."""
        answer = await self.request(
            "initialize", self.hello(extensions, **more), timeout_s=timeout_s
        )
        self.notify("initialized", {})
        return answer

    def hello(self, extensions: Sequence[str] = RICH, **more: Any) -> dict[str, Any]:
        """Return the params of ``initialize``."""
        folder = {"uri": self.home.workspace.as_uri(), "name": "work"}
        experimental = {"indwell": dict.fromkeys(extensions, True)}
        return {
            "processId": os.getpid(),
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": {
                "experimental": experimental,
                "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
            },
            **more,
        }

    def open_shop(self, text: str | None = None, *, name: str = "shop.py") -> str:
        """Open a document; return its URI."""
        path = self.home.workspace / name
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1}
        item["text"] = path.read_text(encoding="utf-8") if text is None else text
        self.notify("textDocument/didOpen", {"textDocument": item})
        return path.as_uri()

    async def prompt(self, text: str = "hello", *, timeout_s: float = PATIENCE_S) -> Message:
        """Run a turn to its end; return the answer."""
        return await self.request("indwell/prompt", {"text": text}, timeout_s=timeout_s)

    async def say_goodbye(self) -> int:
        """Send shutdown and exit; return the exit code."""
        answer = await self.request("shutdown")
        assert answer["result"] is None, answer
        self.notify("exit")
        return await self.ended()

    async def ended(self, *, timeout_s: float = PATIENCE_S) -> int:
        """Wait for the end of the server and of its log; return the exit code."""
        async with asyncio.timeout(timeout_s):
            await asyncio.shield(self._waiting)
        assert self.process.returncode is not None
        return self.process.returncode

    async def close(self) -> None:
        """Close everything, and end the server and all its descendants."""
        left = [self.pid, *descendants(self.pid)] if self.is_running else []
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        self.close_stdin()
        self.close_stdout()
        await self._waiting
        self.process._transport.close()  # type: ignore[attr-defined] # else it warns when collected
        self._log.close()

    async def _wait_for_the_end(self) -> None:
        await self.process.wait()
        self._log.read()  # The pipe now has the server's last output.
        self.tell()


@asynccontextmanager
async def raw_client(
    home: Home,
    *,
    command: Sequence[str] = HATCHED_SCRIPTED,
    environment: Mapping[str, str] | None = None,
    hello: bool = True,
) -> AsyncIterator[RawClient]:
    """Yield a raw client of a new server, initialized if ``hello``."""
    client = await _start(home, command, home.environment() if environment is None else environment)
    try:
        if hello:
            await client.initialize()
        yield client
    finally:
        await client.close()


async def _start(home: Home, command: Sequence[str], environment: Mapping[str, str]) -> RawClient:
    if sys.platform == "win32":
        if command in {HATCHED, HATCHED_SCRIPTED}:
            command = (*SERVE, *command[len(HATCHED) :])
        server, process = await start_overlapped(command, environment, home.workspace)
        return RawClient(process, server, server.log, home)
    (in_read, in_write), (out_read, out_write), (err_read, err_write) = (
        os.pipe(), os.pipe(), os.pipe(),
    )  # fmt: skip
    theirs, ours = (in_read, out_write, err_write), (in_write, out_read, err_read)
    try:
        process: asyncio.subprocess.Process | Hatched
        is_hatched = command in {HATCHED, HATCHED_SCRIPTED}
        if is_hatched and can_hatch(environment):
            process = await hatch_on(
                theirs, command, environment=environment, folder=home.workspace
            )
        else:
            process = await asyncio.create_subprocess_exec(
                *((*SERVE, *command[len(HATCHED) :]) if is_hatched else command),
                stdin=in_read,
                stdout=out_write,
                stderr=err_write,
                env=dict(environment),
                cwd=home.workspace,
            )
    finally:
        for fd in theirs:
            os.close(fd)
    for fd in ours:
        os.set_blocking(fd, False)
    write_fd, read_fd, log_fd = ours
    return RawClient(process, Descriptors(read_fd, write_fd), Log(log_fd), home)


def launched(code: str, *arguments: str) -> tuple[str, ...]:
    """Return a command that runs ``code`` in the server's process before serving."""
    serve = f"import sys; from indwell.cli import main; sys.exit(main({['serve', *arguments]!r}))"
    return (sys.executable, "-c", f"{code}\n{serve}")
