"""End a program with everything that it started, also what left its process group.

Each run carries a random mark in its environment, which its descendants inherit. A group signal
misses children with a session of their own, and their parents may be gone; on Linux the mark in
/proc finds them (`safety.json` PRC-01: killing the group alone left 4 of 7).
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import list_folder, read_own

MARK = "INDWELL_RUN"
_PROC = Path("/proc")
_ENVIRONMENT_LIMIT_B = 4 << 20  # ARG_MAX of Linux is 2 MB by default
_PASSES = 20  # a child may fork while it is searched for


def signal_group(pid: int, name: str) -> bool:
    """Send a signal, such as ``SIGTERM``, to a process group; False if nobody is left in it."""
    if sys.platform == "win32":
        return False
    try:
        os.killpg(pid, getattr(signal, name))
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS says so of a group of zombies
        return False
    return True


def end_descendants(pid: int, mark: str) -> int:
    """Kill what is left of the run with ``mark``, again until none is found; gives how many.

    Blocks: on Linux all of /proc is read, about 50 µs a process.

    Args:
        pid: The program that was started, which led a session and group of its own.
        mark: Its random mark.
    """
    if not sys.platform.startswith("linux"):
        return int(signal_group(pid, "SIGKILL"))
    found: set[int] = set()
    for _ in range(_PASSES):
        alive = _descendants(pid, mark)
        if not alive:
            break
        found |= alive
        for one in alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(one, signal.SIGKILL)
    return len(found)


def _descendants(pid: int, mark: str) -> set[int]:
    """Living processes of the session that ``pid`` led, or with ``mark``, except ``pid``."""
    wanted = f"{MARK}={mark}".encode()
    numbers = (one.name for one in list_folder(_PROC, [_PROC]) if one.name.isdecimal())
    return {
        int(number)
        for number in numbers
        if int(number) != pid
        and (state := _read(number, "stat").rpartition(b")")[2].split())
        and state[0] not in {b"Z", b"X"}
        and (int(state[3]) == pid or wanted in _read(number, "environ").split(b"\0"))
    }


def _read(pid: str, name: str) -> bytes:
    """A file of a process; empty if that is gone, a zombie, or somebody else's."""
    try:
        return read_own(_PROC / pid / name, _ENVIRONMENT_LIMIT_B)
    except (OSError, ToolError):
        return b""
