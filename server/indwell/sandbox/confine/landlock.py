"""Confines a thread, and all that the thread starts, by Landlock of the Linux kernel.

Landlock is used on machines without bubblewrap. Landlock restricts files (see ``Rule``), TCP,
signals and abstract sockets; the system-call filter handles other sockets. The bounds are permanent
and apply only to the calling thread, so call ``enter`` in a separate thread.

Landlock can only allow: a rule covers a folder with all its content, and no other rule excludes a
part. A hidden path is excluded by allowing everything beside the path and beside each folder above
it. Writing cannot be excluded this way, so protected files are checked after the run, as `LIMITS`
says.

In a program with threads, no Python code may run between fork and exec, and a helper process would
take ten times as long. A separate thread therefore enters the bounds, starts the program, and ends.
"""

from __future__ import annotations

import asyncio
import ctypes
import errno
import functools
import os
import platform
import stat
import struct
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from indwell.errors import ToolError
from indwell.files import beneath
from indwell.files.beneath import Child, children, handle
from indwell.sandbox.confine.seccomp import filter_of, has_filter
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.environment import raw
from indwell.sandbox.starting import Launch

NEEDED_ABI = 6
"""The Landlock version of Linux 6.12.

With older versions, a command could kill Indwell's processes and reach abstract sockets.
"""

# The system-call numbers are the same on every architecture.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1  # The kernel calls the value LANDLOCK_CREATE_RULESET_VERSION.
_PATH_BENEATH = 1
_NO_TCP = 3  # The value forbids bind and connect.
_NO_SIGNALS_NOR_ABSTRACT_SOCKETS = 3
_PR_SET_SECCOMP, _FILTER = 22, 2  # The values come from linux/prctl.h and linux/seccomp.h.
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_CAPABILITIES_3 = 0x20080522  # The value comes from linux/capability.h.
_PASSED_OVER = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES}
"""Errors of a path that needs no rule: it is gone, became a link, or Indwell itself cannot read it.
"""


@functools.cache
def abi() -> int:
    """Return the kernel's Landlock version, or 0 if missing or refused. The result is cached."""
    if sys.platform != "linux":
        return 0
    try:
        return int(_call(_CREATE, None, 0, _VERSION))
    # An AttributeError means that the C library has no syscall().
    except (OSError, AttributeError):
        return 0


def why_not() -> str:
    """Explain, in a clause, why Landlock cannot confine commands here, or return no text."""
    if sys.platform != "linux":
        return "Landlock is a part of Linux"
    if not has_filter(platform.machine()):
        return f"no filter of system calls is known for {platform.machine()}"
    if abi() >= NEEDED_ABI and beneath.works():
        return ""
    if not abi() or abi() >= NEEDED_ABI:
        return "the kernel has no Landlock, or a container forbids it"
    return f"the kernel's Landlock is of version {abi()}, and {NEEDED_ABI} is needed (Linux 6.12)"


def enter(rules: Sequence[Rule], filters: bytes) -> None:
    """Confine the calling thread, and all that it starts later, permanently.

    The thread also loses all capabilities: root's programs still run as root, but can do no more
    than file permissions allow.

    Args:
        rules: The access that stays allowed; missing paths are skipped.
        filters: The assembled seccomp filter, which must block sockets that Landlock ignores.

    Raises:
        OSError: The kernel refuses; the thread must not start anything.
    """
    ruleset = _ruleset(rules)
    try:
        _control(_PR_SET_NO_NEW_PRIVS, 1)
        _call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    _drop_capabilities()
    _filter(filters)


def keep_writes_in(folder: str) -> bool:
    """Let this thread, and threads that it starts, write only in ``folder``, and permanently.

    They start no program and connect to nothing. Reading stays as it is.

    Returns:
        False if the kernel cannot hold the thread, which then stays as it is.
    """
    if abi() < NEEDED_ABI:
        return False
    devices = (Rule(one, WRITE_FILE | TRUNCATE) for one in _DEVICES)
    read = READ_FILE | READ_DIR
    ruleset = _ruleset((Rule("/", read), *devices, Rule(folder, read | WRITE)))
    try:
        _control(_PR_SET_NO_NEW_PRIVS, 1)
        _call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    return True


def _ruleset(rules: Sequence[Rule]) -> int:
    attributes = struct.pack("=QQQ", ALL, _NO_TCP, _NO_SIGNALS_NOR_ABSTRACT_SOCKETS)
    ruleset = _call(_CREATE, attributes, len(attributes), 0)
    try:
        for rule in rules:
            _add(ruleset, rule)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _add(ruleset: int, rule: Rule) -> None:
    try:
        with handle(rule.path) as descriptor:
            is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            access = rule.access if is_folder else rule.access & FOR_FILES
            _call(_ADD, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0)
    except OSError as error:
        if error.errno not in _PASSED_OVER:
            raise


def _drop_capabilities() -> None:
    _control(_PR_CAP_AMBIENT, _CLEAR_ALL)
    capability = 0
    try:
        # The loop ends when the kernel knows no further capability; an ordinary user may drop none.
        while True:
            _control(_PR_CAPBSET_DROP, capability)
            capability += 1
    except OSError:
        pass
    header = struct.pack("=Ii", _CAPABILITIES_3, 0)
    if _libc().capset(header, bytes(24)):
        raise _error()


def _filter(filters: bytes) -> None:
    text = ctypes.create_string_buffer(filters, len(filters))
    program = struct.pack("@HP", len(filters) // 8, ctypes.addressof(text))
    _control(_PR_SET_SECCOMP, _FILTER, program)


def _control(option: int, *arguments: int | bytes) -> None:
    padded = (*arguments, 0, 0, 0, 0)[:4]
    wide = (ctypes.c_ulong(one) if isinstance(one, int) else one for one in padded)
    if _libc().prctl(option, *wide):
        raise _error()


def _call(number: int, *arguments: int | bytes | None) -> int:
    wide = (ctypes.c_long(one) if isinstance(one, int) else one for one in arguments)
    result = int(_libc().syscall(ctypes.c_long(number), *wide))
    if result < 0:
        raise _error()
    return result


def _error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


@functools.cache
def _libc() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


EXECUTE = 1 << 0  # The numbers come from linux/landlock.h.
WRITE_FILE = 1 << 1
READ_FILE = 1 << 2
READ_DIR = 1 << 3
REMOVE_DIR = 1 << 4
REMOVE_FILE = 1 << 5
MAKE_CHAR = 1 << 6
MAKE_DIR = 1 << 7
MAKE_REG = 1 << 8
MAKE_SOCK = 1 << 9
MAKE_FIFO = 1 << 10
MAKE_BLOCK = 1 << 11
MAKE_SYM = 1 << 12
REFER = 1 << 13
TRUNCATE = 1 << 14
IOCTL_DEV = 1 << 15
ALL = (1 << 16) - 1
"""All rights that ABI 6 knows; a right is refused wherever no rule allows this right."""

FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
"""The rights that a rule for a file may name; for other rights, the kernel reports an error."""

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = ALL & ~(READ | MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)

LIMITS = (
    "protected files such as `.git/config` are checked only after a command that may write",
    "a command can change modes, owners and times of files elsewhere, if the user may",
    "a command cannot read files that it creates beside a hidden file",
)
"""What bubblewrap can enforce and Landlock cannot, for the user."""

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_SHUT = ("/dev", "/run", "/tmp", "/var/tmp", "/var/run", "/lost+found")  # noqa: S108 - hidden
_OPEN = ("/run/current-system", "/run/opengl-driver")  # NixOS keeps programs in these folders.


class Rule(msgspec.Struct, frozen=True):
    """A rule: the allowed access to a path and its contents."""

    path: str
    access: int


def rules_of(
    confinement: Confinement, scratch: str, children: Callable[[str], Sequence[Child]]
) -> tuple[Rule, ...]:
    """Build the rules for a command.

    Args:
        confinement: The command's bounds.
        scratch: The command's folder for temporary files; absolute and resolved.
        children: Lists a folder; raises ``OSError`` if that fails.
    """
    hidden = frozenset(confinement.hidden)
    outside = hidden | frozenset(_SHUT)
    roots = dict.fromkeys((*confinement.writable, *confinement.readable))
    readable = [*_beside("/", outside, children)]
    for root in (*roots, *_OPEN):  # Roots may be in hidden folders, as for a project in /tmp.
        # A workspace folder may be in a hidden folder, such as a project in the home folder.
        within = [one for one in hidden if one == root or not _is_in_one(root, (one,))]
        readable += _beside(root, within, children)
    return (
        *(Rule(path, READ) for path in dict.fromkeys(readable)),
        *(Rule(root, READ_DIR) for root in roots if root not in hidden),
        *(Rule(path, READ) for one in confinement.shown for path in _shown(one, hidden, children)),
        *(Rule(root, WRITE) for root in confinement.writable),
        *(Rule(device, READ_FILE | WRITE_FILE | TRUNCATE) for device in _DEVICES),
        Rule(scratch, READ | WRITE),
    )


def _shown(
    folder: str, hidden: frozenset[str], children: Callable[[str], Sequence[Child]]
) -> Iterator[str]:
    """Yield a readable folder inside a hidden folder, without its hidden parts."""
    return _beside(folder, [one for one in hidden if not _is_in_one(folder, (one,))], children)


def _beside(
    folder: str, shut: Collection[str], children: Callable[[str], Sequence[Child]]
) -> Iterator[str]:
    """Yield the largest paths in ``folder`` that do not overlap any path of ``shut``."""
    if _is_in_one(folder, shut):
        return
    inside = [one for one in shut if one.startswith(folder.rstrip("/") + "/")]
    if not inside:
        yield folder
        return
    try:
        found = children(folder)
    except OSError:  # The command cannot read the folder, either.
        return
    for child in found:
        path = f"{folder.rstrip('/')}/{child.name}"
        if child.is_folder:
            yield from _beside(path, inside, children)
        elif path not in shut:
            yield path


def _is_in_one(path: str, shut: Collection[str]) -> bool:
    return any(path == one or path.startswith(one.rstrip("/") + "/") for one in shut)


class HeldProcess:
    """A running program, with the parts of asyncio's process that ``run_program`` uses."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.pid = process.pid
        self._process = process

    async def wait(self) -> int:
        """Wait for the program's end; return its exit code, negative for a signal."""
        if sys.platform != "linux":
            raise NotImplementedError("Landlock is a part of Linux")
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        descriptor = os.pidfd_open(self.pid)
        try:
            loop.add_reader(descriptor, ended.set)
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)
        return self._process.wait()


async def start_held(launch: Launch, *, confinement: Confinement, scratch: Path) -> HeldProcess:
    """Start a program in its own session, within ``confinement``.

    Args:
        launch: The program; ``start_held`` sets ``TMPDIR``.
        confinement: The program's bounds. Hosts and sockets are ignored, and no socket is allowed,
            because any socket would reach the network without namespaces.
        scratch: A resolved folder for the program's temporary files.

    Raises:
        ToolError: The program or ``cwd`` cannot be used, or the kernel refuses to confine it.
    """
    environment = {**launch.env, "TMPDIR": str(scratch)}

    def start() -> subprocess.Popen[bytes]:
        _enter(rules_of(confinement, str(scratch), children), filter_of(confinement, inet=False))
        return subprocess.Popen(  # noqa: S603 - it is judged, asked for and held
            [*map(raw, launch.argv)],
            cwd=raw(str(launch.cwd)),
            env={raw(name): raw(value) for name, value in environment.items()},
            stdin=launch.stdin,
            stdout=launch.stdout,
            stderr=launch.stderr,
            pass_fds=launch.pass_fds,
            start_new_session=True,
        )

    # A shared pool thread is unsuitable, because the bounds would apply to later work in the
    # thread.
    with ThreadPoolExecutor(1, "held") as alone:
        try:
            return HeldProcess(await asyncio.get_running_loop().run_in_executor(alone, start))
        except (OSError, ValueError) as error:  # A ValueError means a NUL byte or a lone surrogate.
            raise launch.failed(error) from error


def _enter(rules: Sequence[Rule], filter_: bytes) -> None:
    try:
        enter(rules, filter_)
    except OSError as error:
        raise ToolError(
            f"the kernel refused to confine the command ({error.strerror}), so it was not run"
        ) from error
