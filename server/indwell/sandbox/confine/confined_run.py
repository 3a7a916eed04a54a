"""Prepares commands to run within their bounds, by the sandbox of this machine (SBX-22).

A mount needs an existing folder. An empty stub folder is created before the first command that
needs a mount, and removed after the last such command of all Indwell processes. If the folder is
removed earlier, the kernel drops the mount in every sandbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import logging
import os
import stat
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files.beneath import handle
from indwell.files.private import NOWHERE, remove_scratch, scratch_folder
from indwell.files.quarantine import error_reason
from indwell.files.system.stub_folders import hold_stub, make_stub, remove_stub
from indwell.sandbox.confine import seatbelt
from indwell.sandbox.confine.bubblewrap import ENVIRONMENT, arguments, bound_places, fitting
from indwell.sandbox.confine.cages import Cage
from indwell.sandbox.confine.landlock import start_held
from indwell.sandbox.confine.restricted_token import start_caged
from indwell.sandbox.confine.seccomp import filter_pipe
from indwell.sandbox.confine.strength import cage_for, host, strength
from indwell.sandbox.confinement import Confinement, looked_up
from indwell.sandbox.gate import close_until_settled
from indwell.sandbox.guard import guard
from indwell.sandbox.program import is_shortage
from indwell.sandbox.starting import Starter, start_plainly

log = logging.getLogger(__name__)

_STATUS_B = 4096
_MOST_TRIES, _TRY_S = 50, 0.1
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class ConfinedStart(msgspec.Struct, frozen=True):
    """The start of a confined command.

    Attributes:
        prefix: Arguments that precede the command.
        environment: Additional variables.
        pass_fds: Descriptors that the prefix needs.
        is_wrapped: Whether the prefix starts a separate process around the command.
        start: The function that starts the command.
        told: Notes to show after the command's end, a sentence each.
        was_set_up: A function that returns, after the command's end, whether the sandbox was set up
            and the command ran.
        has_ui: Whether the command may use other programs' windows and the clipboard (Windows).
    """

    prefix: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    pass_fds: tuple[int, ...] = ()
    is_wrapped: bool = False
    start: Starter = start_plainly
    told: Callable[[], tuple[str, ...]] = tuple
    was_set_up: Callable[[], bool] = lambda: True
    has_ui: bool = True


async def resolve_bounds(bounds: Confinement) -> Confinement:
    """Return the bounds, extended by what a scan of the disk finds."""
    return await asyncio.to_thread(looked_up, bounds)


async def settle_bounds(bounds: Confinement) -> tuple[str, ...]:
    """Move away the files that an ended command planted; return notes.

    If the system has no free file descriptor, other commands get a moment to end. If the check is
    still impossible, further commands are blocked until a check succeeds.
    """
    last: Exception = OSError()
    for _ in range(_MOST_TRIES):
        try:
            return await asyncio.to_thread(bounds.settle)
        except OSError as error:
            last = error
            if not is_shortage(error):
                break
            await asyncio.sleep(_TRY_S)
        except Exception as error:  # Any failure means that nothing was checked.
            log.warning("the check for planted files after a command failed", exc_info=error)
            last = error
            break
    reason = error_reason(last)
    return (
        await asyncio.to_thread(
            close_until_settled, bounds.writable, bounds.settle, reason, bounds.quarantine
        ),
    )


def prepare_confined(
    bounds: Confinement, cwd: Path
) -> contextlib.AbstractAsyncContextManager[ConfinedStart]:
    """Prepare a command that runs in ``cwd``, within bounds from ``resolve_bounds``.

    Raises:
        ToolError: The command cannot be confined on this machine.
    """
    match strength().level:
        case "S3":
            return _by_bubblewrap(bounds, cwd)
        case "S3m":
            return _by_seatbelt(bounds)
        case "S2":
            return _by_landlock(bounds)
        case "S2w":
            return _by_token(bounds, cwd)
        case _:
            raise ToolError(
                f"the command needs a sandbox, which this machine lacks: {strength().reason}"
            )


@contextlib.asynccontextmanager
async def _by_bubblewrap(bounds: Confinement, cwd: Path) -> AsyncIterator[ConfinedStart]:
    # The call stays on the event loop, because it takes 0.1 ms, less than a thread needs.
    there, folders = _existing(bounds.hidden)
    async with contextlib.AsyncExitStack() as stack:
        stubs = stack.enter_context(stubs_for(bounds.missing))
        filter_fd = stack.enter_context(filter_pipe(bounds))
        bounds = fitting(msgspec.structs.replace(bounds, hidden=there, missing=stubs))
        handles = _handles(stack, bound_places(bounds)) if host().binds_handles else None
        reading, status_fd = stack.enter_context(_status())
        words = arguments(
            host(),
            bounds,
            folders,
            cwd=str(cwd),
            filter_fd=filter_fd,
            handles=handles,
            status_fd=status_fd,
        )
        needed = (filter_fd, status_fd, *(handles or {}).values())
        was_set_up = functools.partial(_has_ended, reading)
        if not bounds.hosts:
            variables = {**ENVIRONMENT, **bounds.environment}
            yield ConfinedStart(words, variables, needed, is_wrapped=True, was_set_up=was_set_up)
            return
        from indwell.sandbox.proxy.handover import way_to  # noqa: PLC0415 - 10 ms, and seldom needed

        way = await stack.enter_async_context(way_to(bounds.hosts))
        yield ConfinedStart(
            (*words, *way.argv),
            {**ENVIRONMENT, **bounds.environment, **way.env},
            (*needed, *way.pass_fds),
            is_wrapped=True,
            told=way.told,
            was_set_up=was_set_up,
        )


@contextlib.asynccontextmanager
async def _by_seatbelt(bounds: Confinement) -> AsyncIterator[ConfinedStart]:
    bounds = await asyncio.to_thread(_with_ends, bounds)
    async with contextlib.AsyncExitStack() as stack:
        scratch = str(await stack.enter_async_context(_scratch(bounds)))
        environment = {**bounds.environment, "TMPDIR": scratch}
        port = 0
        if bounds.hosts:
            from indwell.sandbox.proxy.handover import way_by_port  # noqa: PLC0415 - as above

            way = await stack.enter_async_context(way_by_port(bounds.hosts))
            port = way.port
            environment |= way.env
        yield ConfinedStart(seatbelt.argv(bounds, scratch, proxy_port=port), environment)


@contextlib.asynccontextmanager
async def _by_landlock(bounds: Confinement) -> AsyncIterator[ConfinedStart]:
    if bounds.hosts:
        raise ToolError(
            "there is no network for commands without bubblewrap; run it outside the sandbox, or "
            "ask the user to install bubblewrap"
        )
    bounds = await asyncio.to_thread(_with_ends, bounds)
    async with _scratch(bounds) as scratch:
        start = functools.partial(start_held, confinement=bounds, scratch=scratch)
        yield ConfinedStart(environment=bounds.environment, start=start)


@contextlib.asynccontextmanager
async def _by_token(bounds: Confinement, cwd: Path) -> AsyncIterator[ConfinedStart]:
    cage = await asyncio.to_thread(cage_for, (*bounds.readable, str(cwd)))
    async with in_cage(bounds, cage) as how:
        yield how


@contextlib.asynccontextmanager
async def in_cage(bounds: Confinement, cage: Cage | None) -> AsyncIterator[ConfinedStart]:
    """Prepare a Windows command that can write only its own temporary files.

    Raises:
        ToolError: Nothing confines the command, or the bounds allow other writes.
    """
    if cage is None or bounds.writable or bounds.hosts:
        raise ToolError(
            "nothing was run: Windows confines only commands that write nothing and need no "
            "network; ask for it outside the sandbox"
        )
    async with _scratch(bounds) as scratch:
        start = functools.partial(start_caged, cage=cage, scratch=scratch)
        yield ConfinedStart(environment=bounds.environment, start=start, has_ui=False)


@contextlib.asynccontextmanager
async def _scratch(bounds: Confinement) -> AsyncIterator[Path]:
    """Yield a folder for temporary files: the session's, or one for this command alone."""
    if bounds.scratch:
        yield Path(bounds.scratch)
        return
    path = await asyncio.to_thread(lambda: scratch_folder().resolve())
    if path == NOWHERE:
        raise ToolError("no folder for temporary files could be made, so nothing was run")
    try:
        yield path
    finally:
        with contextlib.suppress(OSError):
            await asyncio.to_thread(remove_scratch, path)


@contextlib.contextmanager
def _status() -> Iterator[tuple[int, int]]:
    """Yield a pipe for bubblewrap's status reports about the command."""
    reading, writing = os.pipe()
    try:
        # The condition is always true, because bubblewrap runs only on Linux.
        if sys.platform != "win32":
            os.set_blocking(reading, False)
        yield reading, writing
    finally:
        os.close(reading)
        os.close(writing)


def _has_ended(reading: int) -> bool:
    """Return whether the command ended; bubblewrap reports this only if the command started."""
    try:
        return b'"exit-code"' in os.read(reading, _STATUS_B)
    except BlockingIOError:
        return False


def _with_ends(bounds: Confinement) -> Confinement:
    """Also hide the targets of hidden links; Landlock and Seatbelt protect any number of paths."""
    there, _ = _existing(bounds.hidden)
    return msgspec.structs.replace(
        bounds,
        hidden=tuple({*bounds.hidden, *there}),
        protected=(*bounds.protected, *bounds.minor),
        minor=(),
    )


def _handles(stack: contextlib.AsyncExitStack, places: Iterable[str]) -> dict[str, int]:
    """Open each path without following links; skip paths that are gone or became links."""
    handles: dict[str, int] = {}
    for place in places:
        try:
            handles[place] = stack.enter_context(handle(place))
        except OSError as error:
            if error.errno not in _GONE:
                raise ToolError(f"nothing was run: {place!r} could not be held: {error}") from error
    return handles


def _existing(paths: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the existing paths that are reached without links, and which of them are folders."""
    there: dict[str, bool] = {}
    for path in paths:
        with contextlib.suppress(OSError):
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - forty calls each time
            there[_real(path)] = is_folder
    return tuple(there), frozenset(path for path, is_folder in there.items() if is_folder)


def _real(path: str) -> str:
    """Resolve links; return the path itself if another program changes the path meanwhile."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


# The counter says how often this process uses each stub; only the event loop changes it.
_in_use: Counter[str] = Counter()
_MOST_STUB_TRIES = 5
_holds: dict[str, int] = {}


@contextlib.contextmanager
def stubs_for(paths: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Create missing folders as stubs, which commands share; yield the stubs."""
    taken = tuple(path for path in paths if _in_use[path] or _made(path))
    _in_use.update(taken)
    try:
        yield taken
    finally:
        _in_use.subtract(taken)
        for path in taken:
            if not _in_use[path]:
                remove_stub(Path(path), _holds.pop(path, None))


def _made(path: str) -> bool:
    for _ in range(_MOST_STUB_TRIES):
        if not make_stub(Path(path)):
            return False
        guard.clear(path)
        if (held := hold_stub(Path(path))) is not None:
            _holds[path] = held
            return True
    # Other programs keep removing the folder, so the mount is used only if the folder exists.
    return True
