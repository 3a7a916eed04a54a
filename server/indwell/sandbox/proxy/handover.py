"""Connects a confined command to the proxy through a descriptor that it inherits.

The command's network namespace has only its own loopback. A few lines of Python first create a
listening socket there, pass the socket to Indwell through a socket pair, and then become the
command. A socket stays in the network where it was created, so Indwell accepts connections from
inside and opens connections from outside. The sandbox therefore needs no path and no process of
Indwell, and the system-call filter can forbid AF_UNIX sockets.

Landlock and Seatbelt have no separate network, but can forbid ports. The proxy then listens on a
local port, and ``Proxy-Authorization`` identifies the command.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Iterable, Mapping

import msgspec

from indwell.errors import ToolError
from indwell.sandbox.proxy.hosts import Allowed, allowed
from indwell.sandbox.proxy.service import Proxy, Reach, Resolve, reach, resolve

_NAMES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy")
# These names belong to the command's own servers, unless the user allowed Indwell's machine.
_NEAR = ("localhost", "127.0.0.1", "::1")
_BACKLOG = 128

# SIGPIPE and SIGXFSZ are restored, because Python ignores them and programs would inherit that.
STARTER = f"""
import os, signal, socket, sys
out = socket.socket(fileno=int(sys.argv[1]))
door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
door.bind(("127.0.0.1", 0))
door.listen({_BACKLOG})
socket.send_fds(out, [b"."], [door.fileno()])
address = "http://127.0.0.1:%d" % door.getsockname()[1]
out.close(), door.close()
os.environ.update(dict.fromkeys({_NAMES!r}, address))
signal.signal(signal.SIGPIPE, signal.SIG_DFL), signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Way(msgspec.Struct, frozen=True):
    """The data that a command needs to reach the proxy.

    Attributes:
        argv: Arguments that precede the command, inside the sandbox.
        fd: A descriptor that the command must inherit under the same number, or -1.
        env: Additional variables for the command.
        port: A local port that the command must be able to reach, or 0 for none.
        proxy: The proxy itself.
    """

    argv: tuple[str, ...]
    fd: int
    env: Mapping[str, str]
    port: int
    proxy: Proxy

    @property
    def pass_fds(self) -> tuple[int, ...]:
        """The inherited descriptor, for ``run_program``."""
        return () if self.fd < 0 else (self.fd,)

    @property
    def refused(self) -> tuple[str, ...]:
        """The refused requests, as ``host:port``, in order."""
        return tuple(self.proxy.refused)

    def told(self) -> tuple[str, ...]:
        """Notes about the network to show after the command's end, a sentence each."""
        if not self.refused:
            return ()
        return (f"the sandbox refused connections to {', '.join(self.refused)}",)


@contextlib.asynccontextmanager
async def way_to(
    hosts: Iterable[str],
    *,
    resolve: Resolve = resolve,
    reach: Reach = reach,
    python: str = sys.executable,
) -> AsyncIterator[Way]:
    """Open a proxy for a command in its own network namespace; close it at the end.

    Args:
        hosts: See ``Confinement.hosts``.
        resolve: Resolves names to addresses.
        reach: Connects to addresses.
        python: The interpreter for the lines that run inside.

    Raises:
        ToolError: This Python cannot be started again.
    """
    if not python:
        raise ToolError("commands get no network here: the path of Python is not known")
    proxy = Proxy(allowed(hosts), resolve=resolve, reach=reach)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)  # noqa: FBT003 - its name is its meaning
        serving = asyncio.create_task(_serve_handed_over(ours, proxy))
        start = (python, "-I", "-S", "-c", STARTER, str(theirs.fileno()))
        env = _around(proxy.hosts)
        try:
            yield Way(start, theirs.fileno(), env, 0, proxy)
        finally:
            await _ended(serving, proxy)


@contextlib.asynccontextmanager
async def way_by_port(
    hosts: Iterable[str], *, resolve: Resolve = resolve, reach: Reach = reach
) -> AsyncIterator[Way]:
    """Open a proxy for a command without a network namespace, which may use only one port."""
    word = secrets.token_urlsafe(24)
    credentials = f"Basic {base64.b64encode(f'indwell:{word}'.encode()).decode()}"
    door = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
    port = door.getsockname()[1]
    env = dict.fromkeys(_NAMES, f"http://indwell:{word}@127.0.0.1:{port}")
    async with serving(door, hosts, credentials=credentials, resolve=resolve, reach=reach) as proxy:
        yield Way((), -1, {**env, **_around(proxy.hosts)}, port, proxy)


def _around(hosts: Allowed) -> Mapping[str, str]:
    """Return variables that name hosts to reach without the proxy, also for Node."""
    named = {place.host.strip("[]") for place in hosts.places}
    near = ",".join(name for name in _NEAR if name not in named)
    return {"NO_PROXY": near, "no_proxy": near, "NODE_USE_ENV_PROXY": "1"}


@contextlib.asynccontextmanager
async def serving(
    door: socket.socket,
    hosts: Iterable[str],
    *,
    credentials: str = "",
    resolve: Resolve = resolve,
    reach: Reach = reach,
) -> AsyncIterator[Proxy]:
    """Run a proxy on a listening socket; close it at the end, with all connections."""
    proxy = Proxy(allowed(hosts), credentials=credentials, resolve=resolve, reach=reach)
    task = asyncio.create_task(_serve(door, proxy))
    try:
        yield proxy
    finally:
        await _ended(task, proxy)


async def _serve_handed_over(ours: socket.socket, proxy: Proxy) -> None:
    """Wait for the socket from the sandbox, and serve it if it is valid."""
    await _readable(ours)
    # The condition is always true, because Windows has no separate networks for commands.
    if sys.platform != "win32":
        _, numbers, _, _ = socket.recv_fds(ours, 1, 1)
        if not numbers:
            return  # The sender ended first.
        try:
            door = socket.socket(fileno=numbers[0])
        except OSError:  # The received data is not a socket.
            os.close(numbers[0])
            return
        with door:
            if _is_door(door):
                await _serve(door.dup(), proxy)


async def _serve(door: socket.socket, proxy: Proxy) -> None:
    server = await asyncio.start_server(proxy.serve, sock=door)
    try:
        await asyncio.get_running_loop().create_future()  # The wait lasts until it is cancelled.
    finally:
        server.close()


async def _ended(serving: asyncio.Task[None], proxy: Proxy) -> None:
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    await proxy.close()


def _is_door(handed: socket.socket) -> bool:
    """Return whether this is a listening TCP socket; the sandboxed side could send anything."""
    if handed.family != socket.AF_INET or handed.type != socket.SOCK_STREAM:
        return False
    return bool(handed.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _done(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


async def _readable(ours: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(ours, _done, ready)
    try:
        await ready
    finally:
        loop.remove_reader(ours)
