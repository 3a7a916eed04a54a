"""The edges of a session: clock, random ids, programs, HTTP, and the files that are read.

Each of these calls goes to the real world. ``indwell record`` installs edges that also write the
answers into a cassette, and ``indwell replay-cassette`` installs edges that read them from there.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

# Whether the current task is already inside a program call, so that inner calls are not recorded.
_inside: ContextVar[bool] = ContextVar("inside", default=False)


class Edges:
    """The real world.

    Attributes:
        uses_cassette: Whether the answers go into a cassette or come from one.
    """

    uses_cassette = False

    def now(self) -> datetime:
        """Return the current time, with the time zone UTC."""
        return datetime.now(UTC)

    def random_bytes(self, purpose: str, n_bytes: int) -> bytes:
        """Return random bytes for an id; ``purpose`` says what the id names."""
        del purpose
        return os.urandom(n_bytes)

    def value(self, kind: str, compute: Callable[[], str], *, is_fixed: bool = False) -> str:
        """Return a text about this machine, such as the folder in which a command ended.

        Args:
            kind: What the text tells.
            compute: Returns the text.
            is_fixed: Whether the text stays the same as long as the process runs.
        """
        del kind, is_fixed
        return compute()

    async def program(
        self,
        words: object,
        on_chunk: Callable[[bytes], Any] | None,
        run: Callable[[Callable[[bytes], Any] | None], Awaitable[T]],
    ) -> T:
        """Run a program; ``run`` starts it and takes the function that gets its output."""
        del words
        return await run(on_chunk)

    def transport(self, make: Callable[[], Any]) -> Any | None:  # noqa: ANN401 - a type of httpx2
        """Return the transport of an HTTP client, or None for the client's own."""
        del make
        return None

    def on_file_read(self, path: Path, data: bytes) -> None:
        """Called after the content of a file was read."""

    def before_file_write(self, path: Path, data: bytes) -> None:
        """Called before Indwell itself writes a file.

        Raises:
            ToolError: A replay refuses the write.
        """

    def on_message_received(self, body: bytes) -> None:
        """Called with a message of the editor, just before it is handled."""

    def on_message_sent(self, body: bytes) -> None:
        """Called with a message to the editor."""

    def before_contact(self, what: str) -> None:
        """Called before a contact that is not recorded, and that a replay can do without.

        Args:
            what: The other side, such as ``the system's keyring``.

        Raises:
            PermissionError: A replay refuses the contact.
        """

    def before_unrecordable(self, what: str) -> None:
        """Called before the use of something that cannot be recorded and replayed.

        Raises:
            ToolError: A replay refuses the use.
        """


_REAL = Edges()
_installed = [_REAL]


def current() -> Edges:
    """Return the installed edges."""
    return _installed[-1]


@contextlib.contextmanager
def installed(edges: Edges) -> Iterator[None]:
    """Use other edges, for the whole process, until the context ends."""
    _installed.append(edges)
    try:
        yield
    finally:
        _installed.remove(edges)


def now() -> datetime:
    """Return the current time, with the time zone UTC."""
    return current().now()


def loop_time() -> float:
    """Return the seconds of the running event loop's clock; in a replay, the recorded time passes.

    A wait measures time with this clock. With the clock of the machine, a wait would end at another
    moment in a replay, which skips idle time.
    """
    return asyncio.get_running_loop().time()


def random_hex(purpose: str, n_bytes: int) -> str:
    """Return a random hexadecimal text for an id; ``purpose`` says what the id names."""
    return current().random_bytes(purpose, n_bytes).hex()


def program_edge(run: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let the edges see each call of a function that runs a program.

    The function takes the program as its first argument, and ``on_chunk``. A call within another
    call, and a program that talks with Indwell, are left to the outer call.
    """

    @functools.wraps(run)
    async def at_edge(*args: P.args, **kwargs: P.kwargs) -> T:
        edges = current()
        stdin = kwargs.get("stdin", b"")
        if not edges.uses_cassette or _inside.get():
            return await run(*args, **kwargs)
        if not isinstance(stdin, bytes):
            edges.before_unrecordable("a language server or an MCP server")
            return await run(*args, **kwargs)
        if kwargs.get("stop") is not None:
            edges.before_unrecordable("a background command")
            return await run(*args, **kwargs)

        async def inner(on_chunk: Callable[[bytes], Any] | None) -> T:
            token = _inside.set(True)
            try:
                return await run(*args, **{**kwargs, "on_chunk": on_chunk})  # type: ignore[arg-type]
            finally:
                _inside.reset(token)

        return await edges.program(args[0], kwargs.get("on_chunk"), inner)  # type: ignore[arg-type]

    return at_edge
