"""Protects our own process: its memory, its first environment, and what its death leaves.

A command of the same user may read ``/proc/PID/environ`` of the server, which shows the memory
where the system put the variables when the process began; taking them out of ``os.environ`` does
not change that. So it is written over (SEC-02).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable

from indwell.sandbox.leftovers import prepare

if sys.platform != "win32":
    import resource


def keep_private() -> None:
    """No core file of ours or of a child, and no look into our memory by programs of this user.

    Root reads it anyway. Best effort: a system that refuses leaves us as we were.
    """
    if sys.platform != "win32":
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    prepare()


def take_out(is_secret: Callable[[str], bool], is_needed: Callable[[str], bool]) -> dict[str, str]:
    """Take variables out of this process's environment, and write over where they stood.

    Args:
        is_secret: Is the variable of this name to be taken out?
        is_needed: Is it to be written over there, but stay where libraries look for it?

    Returns:
        Those that were taken out, with their values.
    """
    taken = {name: value for name, value in os.environ.items() if is_secret(name)}
    rest = ((name, value) for name, value in os.environ.items() if name not in taken)
    kept = {name: value for name, value in rest if is_needed(name)}
    for name in (*taken, *kept):
        places = _places(name)
        del os.environ[name]
        for address, n_bytes in places:
            ctypes.memset(address, 0, n_bytes)
    os.environ.update(kept)
    return taken


def _places(name: str) -> list[tuple[int, int]]:
    """Where the value of a variable stands in memory: addresses with lengths in bytes."""
    if sys.platform == "win32":
        return []
    library = ctypes.CDLL(None)
    if sys.platform == "darwin":
        library._NSGetEnviron.restype = ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))  # noqa: SLF001 -- its name
        entries = library._NSGetEnviron().contents  # noqa: SLF001 -- its name
    else:
        entries = ctypes.POINTER(ctypes.c_void_p).in_dll(library, "environ")
    beginning = os.fsencode(name) + b"="
    places, at = [], 0
    while entries and (address := entries[at]):
        entry = ctypes.string_at(address)
        if entry.startswith(beginning):
            n_name = len(beginning)
            places.append((address + n_name, len(entry) - n_name))
        at += 1
    return places
