"""Tests a confinement: a script attempts forbidden actions, and the effects are checked.

The same script runs twice: first unconfined, then confined. Only an attempt that succeeds the first
time and fails the second time proves that the confinement blocks it. Any other result counts as not
blocked, with the reason.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from indwell.files.append_log import make_private_folder
from indwell.files.private import NOWHERE, remove_scratch, scratch_folder, write_private

Held: TypeAlias = Literal["writes", "network", "secrets", "processes"]
ALL_HELD: tuple[Held, ...] = ("writes", "network", "secrets", "processes")

STARTED, _REACHED = "trial-started", "trial-reached"
_MOST_SAID = 200  # At most 200 characters of a program's last output are kept.
_WAIT_S = 1  # A connection may take 1 second.
# The permissions are: end the process, start threads in it, change and read its memory.
_RIGHTS = (0x1, 0x2, 0x8, 0x10, 0x20)


class TrialPlace(msgspec.Struct, frozen=True):
    """The folder of a trial, and what its script attempts to reach.

    Attributes:
        folder: A private folder, resolved; the working directory.
        inside: A subfolder that the script may write to.
        outside: A path in the folder that the script must not create.
        secret: A file in the folder that the script must not read.
        canary: The content of the secret file.
        port: A local port on which this process listens.
        victim: The id of this process, which the script must not reach; the script only tests
            whether it could.
    """

    folder: Path
    inside: Path
    outside: Path
    secret: Path
    canary: str
    port: int
    victim: int


class Effects(msgspec.Struct, frozen=True):
    """The effects of one run of the script.

    Attributes:
        started: Whether the script ran.
        is_usable: Whether the script could write to its own folder.
        done: The actions that succeeded and that a confinement should block.
        said: The end of the script's output, for the user.
    """

    started: bool
    is_usable: bool
    done: frozenset[Held] = frozenset()
    said: str = ""


class Proof(msgspec.Struct, frozen=True):
    """The result of a trial, which checks what a confined program can still do.

    Attributes:
        held: The actions that the confinement blocked in the trial.
        reason: Why the confinement does not block everything, as a clause, or empty if everything
            is blocked.
    """

    held: frozenset[Held] = frozenset()
    reason: str = ""


Run: TypeAlias = Callable[[TrialPlace, str], bytes]
"""Runs the script in the trial's folder, and returns the output.

Raises OSError if the script cannot be started.
"""


def proof_of(confined: Run, *, unconfined: Run, dialect: Literal["sh", "python"]) -> Proof:
    """Run the script unconfined and confined, and compare; blocks for some 20 ms."""
    free = effects_of(unconfined, dialect)
    return judge(free, effects_of(confined, dialect))


def judge(free: Effects, confined: Effects) -> Proof:
    """Return what a confinement blocks, given the effects without and with confinement. Pure."""
    if not free.started:
        return Proof(reason=f"the trial could not be run at all ({free.said or 'no output'})")
    if not confined.started:
        return Proof(reason=f"no command starts in it ({confined.said or 'no output'})")
    if not confined.is_usable:
        return Proof(reason="a command cannot write its own temporary files in it")
    held = free.done - confined.done
    broken = [one for one in ALL_HELD if one in confined.done]
    unproved = [one for one in ALL_HELD if one not in free.done and one not in confined.done]
    reasons = [f"it does not block {' and '.join(broken)}"] if broken else []
    reasons += [f"{' and '.join(unproved)} could not be tried"] if unproved else []
    return Proof(held, "; ".join(reasons))


def effects_of(run: Run, dialect: Literal["sh", "python"]) -> Effects:
    """Run the script once in a separate folder, and check the effects; blocks."""
    try:
        with _place() as (place, listening):
            script = shell_script(place) if dialect == "sh" else python_script(place)
            said = run(place, script)
            done: set[Held] = {"writes"} if place.outside.exists() else set()
            done |= {"secrets"} if place.canary.encode() in said else set()
            done |= {"network"} if _has_caller(listening) else set()
            done |= {"processes"} if _REACHED.encode() in said else set()
            last = said.decode("utf-8", "replace").strip().rpartition("\n")[2]
            is_usable = (place.inside / "own").exists()
            return Effects(STARTED.encode() in said, is_usable, frozenset(done), last[-_MOST_SAID:])
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return Effects(started=False, is_usable=False, said=reason[:_MOST_SAID])


def shell_script(place: TrialPlace) -> str:
    """Return the script for bash; the paths in ``place`` need no further quoting. Pure."""
    return (
        f"echo {STARTED}; echo x >'{place.inside}/own'; echo x >'{place.outside}'; "
        f"cat '{place.secret}'; kill -0 {place.victim} && echo {_REACHED}; "
        f"(: <>/dev/tcp/127.0.0.1/{place.port}); :"
    )


def python_script(place: TrialPlace) -> str:
    """Return the script for Python on Windows. Pure.

    A script for ``cmd.exe`` would be unsuitable, because its helpers could fail for other reasons.
    """
    return f"""\
import ctypes, socket
def attempt(action):
    try:
        action()
    except OSError as error:
        print(error)
def write(path):
    with open(path, "w") as file:
        file.write("x")
print({STARTED!r}, flush=True)
attempt(lambda: write({str(place.inside / "own")!r}))
attempt(lambda: write({str(place.outside)!r}))
attempt(lambda: print(open({str(place.secret)!r}).read()))
attempt(lambda: socket.create_connection(("127.0.0.1", {place.port}), {_WAIT_S}).close())
opened = ctypes.WinDLL("kernel32").OpenProcess
if any(opened(right, 0, {place.victim}) for right in {_RIGHTS}):
    print({_REACHED!r})
"""


@contextlib.contextmanager
def _place() -> Iterator[tuple[TrialPlace, socket.socket]]:
    folder = scratch_folder().resolve()
    if folder == NOWHERE:
        raise OSError("no folder for temporary files could be made")
    try:
        inside = folder / "inside"
        make_private_folder(inside)
        canary = secrets.token_hex(16)
        secret = write_private(folder / "secret", canary.encode())
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(0)
            port: int = listening.getsockname()[1]
            outside = folder / "outside"
            yield TrialPlace(folder, inside, outside, secret, canary, port, os.getpid()), listening
    finally:
        remove_scratch(folder)


def _has_caller(listening: socket.socket) -> bool:
    try:
        connection, _ = listening.accept()
    except BlockingIOError:
        return False
    connection.close()
    return True
