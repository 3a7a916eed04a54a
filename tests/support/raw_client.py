"""A raw LSP client with its server: breaks every rule that it is told to, and leaves no process."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from support.editing import SERVE, Home
from support.hatching import Hatched, can_hatch, hatch_on
from support.process_facts import Facts, descendants, facts
from support.raw_wire import PATIENCE_S, Message, Wire

SCRIPTED = (*SERVE, "--scripted")
HATCHED = ("serve", "--stdio")  # a server that is forked (``hatching.py``) where that can be
HATCHED_SCRIPTED = (*HATCHED, "--scripted")
RICH = ("events", "permission")
DEMO_WORDS = "Fix what you see."


class RawClient(Wire):
    """A wire to a server process of its own.

    Args:
        process: The server.
        pipes: Our ends of its stdin, stdout and stderr; not blocking.
        home: The user's folders.
    """

    def __init__(
        self, process: asyncio.subprocess.Process | Hatched, pipes: Sequence[int], home: Home
    ) -> None:
        write_fd, read_fd, self._stderr_fd = pipes
        self.home = home
        self.process = process
        self._stderr = bytearray()
        super().__init__(read_fd, write_fd)
        self.replies["indwell/permission"] = lambda _params: {"answer": "once"}
        self._loop.add_reader(self._stderr_fd, self._log_readable)
        self._waiting = asyncio.create_task(self._wait_for_the_end())

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self.process.pid

    @property
    def stderr(self) -> str:
        """What the server has logged so far."""
        return self._stderr.decode(errors="replace")

    @property
    def facts(self) -> Facts:
        """What the kernel says of the server."""
        return facts(self.pid)

    @property
    def is_running(self) -> bool:
        """Has it not ended yet?"""
        return self.process.returncode is None

    async def initialize(
        self, *, extensions: Sequence[str] = RICH, timeout_s: float = PATIENCE_S, **more: Any
    ) -> Message:
        """Say hello, as an editor with these extensions in the home's workspace."""
        answer = await self.request(
            "initialize", self.hello(extensions, **more), timeout_s=timeout_s
        )
        self.notify("initialized", {})
        return answer

    def hello(self, extensions: Sequence[str] = RICH, **more: Any) -> dict[str, Any]:
        """The params of ``initialize``."""
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
        """Open a document; gives its URI."""
        path = self.home.workspace / name
        item = {"uri": path.as_uri(), "languageId": "python", "version": 1}
        item["text"] = path.read_text(encoding="utf-8") if text is None else text
        self.notify("textDocument/didOpen", {"textDocument": item})
        return path.as_uri()

    async def prompt(self, text: str = "hello", *, timeout_s: float = PATIENCE_S) -> Message:
        """A turn to its end; gives the answer."""
        return await self.request("indwell/prompt", {"text": text}, timeout_s=timeout_s)

    async def say_goodbye(self) -> int:
        """Shutdown, exit; gives the exit code."""
        answer = await self.request("shutdown")
        assert answer["result"] is None, answer
        self.notify("exit")
        return await self.ended()

    async def ended(self, *, timeout_s: float = PATIENCE_S) -> int:
        """Wait for the server's end and for the end of its log; gives the exit code."""
        async with asyncio.timeout(timeout_s):
            await asyncio.shield(self._waiting)
        assert self.process.returncode is not None
        return self.process.returncode

    async def close(self) -> None:
        """Let go of everything; the server and all below it are gone afterwards."""
        left = [self.pid, *descendants(self.pid)] if self.is_running else []
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.close_stdin()
        self.close_stdout()
        await self._waiting
        self.process._transport.close()  # type: ignore[attr-defined] # else it warns when collected
        self._loop.remove_reader(self._stderr_fd)
        os.close(self._stderr_fd)

    async def _wait_for_the_end(self) -> None:
        await self.process.wait()
        self._log_readable()  # what it wrote last is in the pipe now
        self.tell()

    def _log_readable(self) -> None:
        with suppress(BlockingIOError):
            while data := os.read(self._stderr_fd, 1 << 16):
                self._stderr += data
                self.tell()
            self._loop.remove_reader(self._stderr_fd)


@asynccontextmanager
async def raw_client(
    home: Home,
    *,
    command: Sequence[str] = HATCHED_SCRIPTED,
    environment: Mapping[str, str] | None = None,
    hello: bool = True,
) -> AsyncIterator[RawClient]:
    """A server and its raw client, initialized if ``hello``."""
    client = await _start(home, command, home.environment() if environment is None else environment)
    try:
        if hello:
            await client.initialize()
        yield client
    finally:
        await client.close()


async def _start(home: Home, command: Sequence[str], environment: Mapping[str, str]) -> RawClient:
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
    return RawClient(process, ours, home)


def launched(code: str, *arguments: str) -> tuple[str, ...]:
    """A command that runs ``code`` in the process of the server, and then serves."""
    serve = f"import sys; from indwell.cli import main; sys.exit(main({['serve', *arguments]!r}))"
    return (sys.executable, "-c", f"{code}\n{serve}")
