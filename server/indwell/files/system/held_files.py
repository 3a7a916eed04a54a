"""Waits for files that another program holds open on Windows, and names the program.

Other systems can replace and remove open files, so no wait is needed there. Each wait is short, and
a thread with an event loop never waits.
"""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# the wait in seconds; scanners and editors keep a file open for some tens of milliseconds
WAIT_S = 1.0
_FIRST_STEP_S = 0.005
_SHARED_OUT = frozenset({32, 33})  # the values of ERROR_SHARING_VIOLATION and ERROR_LOCK_VIOLATION
_MOST_NAMED = 3


class Holder(NamedTuple):
    """A program that holds a file open."""

    name: str
    process: int


class HeldOpen(PermissionError):
    """Another program has the file open; the message names the program if possible."""


def is_shared_out(error: OSError) -> bool:
    """Return whether an error says that another program has the file open."""
    return getattr(error, "winerror", None) in _SHARED_OUT


def held_words(holders: Sequence[Holder]) -> str:
    """Describe which programs have a file open, and what the user can do."""
    if not holders:
        return (
            "is held open by another program (an editor, a build, a virus scanner); "
            "close it there, or try again"
        )
    named = [f"{one.name} (process {one.process})" for one in holders[:_MOST_NAMED]]
    more = len(holders) - _MOST_NAMED
    if more > 0:
        named.append(f"{more} more")
    return f"is held open by {', '.join(named)}; close it there, or try again"


def patiently(
    act: Callable[[], T],
    is_held: Callable[[OSError], bool],
    path: Callable[[], Path],
    *,
    wait_s: float = WAIT_S,
) -> T:
    """Call ``act`` again and again while another program has the file open.

    Args:
        act: The function to call, which succeeds completely or changes nothing.
        is_held: Returns whether an error is due to an open file.
        path: Returns the file's path, for finding the program.
        wait_s: The time to wait, in seconds.

    Raises:
        HeldOpen: The file is still open in another program.
        OSError: Any other error of ``act``.
    """
    until, step_s = time.monotonic() + wait_s, _FIRST_STEP_S
    while True:
        try:
            return act()
        except OSError as error:
            if not is_held(error):
                raise
            if time.monotonic() >= until or _runs_a_loop():
                where = path()
                raise HeldOpen(errno.EACCES, held_words(holders_of(where)), str(where)) from error
        time.sleep(step_s)
        step_s = min(step_s * 2, 0.1)


def _runs_a_loop() -> bool:
    """Return whether this thread runs an event loop, which must not wait."""
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None  # noqa: SLF001 - no raise


if sys.platform == "win32":
    import ctypes
    import os

    class _Process(ctypes.Structure):
        """The C structure ``RM_PROCESS_INFO``."""

        _fields_ = (
            ("process", ctypes.c_uint32),
            ("started", ctypes.c_uint32 * 2),
            ("name", ctypes.c_wchar * 256),
            ("service", ctypes.c_wchar * 64),
            ("kind", ctypes.c_uint32),
            ("status", ctypes.c_uint32),
            ("session", ctypes.c_uint32),
            ("restarts", ctypes.c_int32),
        )

    def holders_of(path: Path) -> tuple[Holder, ...]:
        """Ask the Restart Manager which programs have a file open; return nothing if unknown."""
        try:
            manager = ctypes.WinDLL("rstrtmgr")
        except OSError:
            return ()
        session, key = ctypes.c_uint32(), ctypes.create_unicode_buffer(33)
        if manager.RmStartSession(ctypes.byref(session), 0, key):
            return ()
        try:
            names = (ctypes.c_wchar_p * 1)(str(path))
            if manager.RmRegisterResources(session, 1, names, 0, None, 0, None):
                return ()
            found, n_found = (_Process * 16)(), ctypes.c_uint32(16)
            n_needed, reasons = ctypes.c_uint32(), ctypes.c_uint32()
            if manager.RmGetList(
                session,
                ctypes.byref(n_needed),
                ctypes.byref(n_found),
                found,
                ctypes.byref(reasons),
            ):
                return ()
            rows = found[: min(n_found.value, 16)]
            return tuple(
                Holder(one.name or "a program", one.process)
                for one in rows
                if one.process not in {0, os.getpid()}
            )
        finally:
            manager.RmEndSession(session)

else:

    def holders_of(path: Path) -> tuple[Holder, ...]:
        """Return nothing, because open files block other programs only on Windows."""
        del path
        return ()
