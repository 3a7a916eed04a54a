"""Protects this process: its memory, its initial environment, and its core dumps.

A command of the same user may read ``/proc/PID/environ`` of the server. It shows the memory where
the system put the variables at start; deleting them from ``os.environ`` does not change it. So that
memory is overwritten (SEC-02).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Mapping

from indwell.sandbox.leftovers import prepare
from indwell.secrets.hiding import is_proxy, is_secret

if sys.platform != "win32":
    import resource


def keep_private() -> None:
    """Disable core dumps of us and our children, and access to our memory by this user's programs.

    Root reads it anyway. Best effort: where the system refuses, nothing changes.
    """
    if sys.platform != "win32":
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    prepare()


def take_out(is_secret: Callable[[str], bool], is_needed: Callable[[str], bool]) -> dict[str, str]:
    """Remove variables from this process's environment, and overwrite their memory.

    Args:
        is_secret: Tells whether to remove the variable of this name.
        is_needed: Tells whether to overwrite it but keep it where libraries look for it.

    Returns:
        The removed variables with their values.
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
    """Find a variable's value in memory: addresses, with lengths in bytes."""
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


def own_environment() -> Mapping[str, str]:
    """Return all variables, for the settings, and remove those with secrets from ``os.environ``.

    Child processes get only a few of the others (``sandbox.environment``). The HTTP client still
    finds the addresses of proxies, and child processes do not.
    """
    keep_private()
    taken = take_out(is_secret, is_proxy)
    return {**os.environ, **taken}
