"""Assembles the system-call filter of confined programs, as classic BPF.

The kernel runs this program of eight-byte instructions at each system call (seccomp(2)). The filter
refuses calls that lead out of a sandbox or expose rarely used parts of the kernel. The error is
that of a system without these calls, so that programs use other calls. All other calls are allowed:
the filter only closes the gaps of mounts and namespaces.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import pkgutil
import platform
import stat
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.sandbox.confinement import Confinement

Instruction: TypeAlias = tuple[int, int, int, int]
"""One instruction (struct sock_filter of linux/filter.h): code, jump if true, jump if false,
constant.
"""

_LOAD = 0x20  # The instruction is BPF_LD | BPF_W | BPF_ABS.
_AND = 0x54  # The instruction is BPF_ALU | BPF_AND | BPF_K.
_RETURN = 0x06  # The instruction is BPF_RET | BPF_K.
_IF_EQUAL, _IF_GREATER, _IF_ANY_BIT = 0x15, 0x25, 0x45  # The instructions are jumps: BPF_JMP | ….

_ALLOW = 0x7FFF0000  # The value is SECCOMP_RET_ALLOW.
_KILL = 0x80000000  # The value is SECCOMP_RET_KILL_PROCESS.
_ERROR = 0x00050000  # The value is SECCOMP_RET_ERRNO.

# The offsets are those of struct seccomp_data; both architectures are little endian.
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16

REFUSED = (
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "mount_setattr", "open_tree"),
    *("open_tree_attr", "fsopen", "fsconfig", "fsmount", "fspick", "swapon", "swapoff"),
    *("unshare", "setns", "open_by_handle_at", "fanotify_init", "quotactl", "quotactl_fd"),
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"),
    *("keyctl", "add_key", "request_key", "bpf", "perf_event_open", "userfaultfd"),
    *("io_uring_setup", "io_uring_enter", "io_uring_register", "lookup_dcookie", "nfsservctl"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot"),
    *("create_module", "uselib", "_sysctl", "acct", "syslog", "vhangup", "iopl", "ioperm"),
    *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "sethostname"),
    *("setdomainname", "modify_ldt"),
)
"""Calls that fail with EPERM, whatever their arguments."""

ABSENT = ("clone3", "openat2")
"""Calls whose arguments are in memory, which filters cannot read; libraries then use older calls.
"""

# The flags are CLONE_NEWNS | CGROUP | UTS | IPC | USER | PID | NET of linux/sched.h.
_NEW_NAMESPACE = 0x7E020000
_PUSHES_INPUT = (0x5412, 0x541C)  # TIOCSTI and TIOCLINUX type into another process's terminal.
# Container runtimes allow these values.
_PERSONALITIES = (0x0, 0x8, 0x20000, 0x20008, 0xFFFFFFFF)
# The bits are O_CREAT, and the bit of O_TMPFILE beyond O_DIRECTORY.
_MAKES_FILE = 0o100 | 0o20000000
_SETUID, _SETGID = 0o4000, 0o2000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16  # The numbers are address families.
_STREAM, _SEQPACKET, _TYPE_MASK = 1, 5, 0xF


@functools.lru_cache(maxsize=16)
def filter_program(
    machine: str, *, unix_sockets: bool = False, inet: bool = True, setgid: bool = False
) -> bytes:
    """Assemble the filter.

    Args:
        machine: The value of ``platform.machine()``.
        unix_sockets: Whether to allow sockets with names in the file system.
        inet: Whether to allow internet sockets, which would reach every host without a network
            namespace.
        setgid: Whether to allow the set-group-id bit on folders, which git uses in repositories
            shared by several people. The same bit makes a program run as its group, and a filter
            cannot distinguish folders from files.

    Raises:
        KeyError: There is no filter for this machine.
    """
    numbers = NUMBERS[machine]
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCH_AT),
        *_unless(_IF_EQUAL, AUDIT_ARCH[machine], [(_RETURN, 0, 0, _KILL)]),
        (_LOAD, 0, 0, _NUMBER_AT),
        # The check also refuses x86_64's second table (x32), whose numbers start at 0x40000000.
        *_when(_IF_GREATER, LAST_KNOWN, _fail(errno.ENOSYS)),
    ]
    for name in ABSENT:
        code += _when(_IF_EQUAL, numbers[name], _fail(errno.ENOSYS))
    for name in REFUSED:
        if name in numbers:
            code += _when(_IF_EQUAL, numbers[name], _fail(errno.EPERM))
    for name, block in _looked_at(unix_sockets=unix_sockets, inet=inet, setgid=setgid).items():
        if name in numbers:
            code += _when(_IF_EQUAL, numbers[name], block)
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *one) for one in code)


def has_filter(machine: str) -> bool:
    """Return whether there is a filter for this machine."""
    return machine in NUMBERS


def _looked_at(
    *, unix_sockets: bool, inet: bool, setgid: bool
) -> Mapping[str, Sequence[Instruction]]:
    """Map calls that depend on their arguments to the deciding code, which ends in a return."""
    refused = _SETUID if setgid else _SETUID | _SETGID
    return {
        "clone": [
            _argument(0),
            *_when(_IF_ANY_BIT, _NEW_NAMESPACE, _fail(errno.EPERM)),
            (_RETURN, 0, 0, _ALLOW),
        ],
        "ioctl": _only_not(1, _PUSHES_INPUT),
        "personality": _only(0, _PERSONALITIES),
        "socket": _socket(unix_sockets=unix_sockets, inet=inet),
        "socketpair": _socketpair(unix_sockets=unix_sockets),
        # No command may create a set-user-id or set-group-id program.
        "chmod": _no_mode(1, refused),
        "fchmod": _no_mode(1, refused),
        "fchmodat": _no_mode(2, refused),
        "fchmodat2": _no_mode(2, refused),
        "creat": _no_mode(1, _SETUID | _SETGID),
        "mknod": _no_mode(1, _SETUID | _SETGID),
        "mknodat": _no_mode(2, _SETUID | _SETGID),
        "open": _opening(1),
        "openat": _opening(2),
    }


def _no_mode(mode_at: int, bits: int) -> list[Instruction]:
    return [
        _argument(mode_at),
        *_when(_IF_ANY_BIT, bits, _fail(errno.EPERM)),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _opening(flags_at: int) -> list[Instruction]:
    """Check the mode only if a file is created, because the register has no meaning otherwise."""
    return [
        _argument(flags_at),
        *_when(_IF_ANY_BIT, _MAKES_FILE, _no_mode(flags_at + 1, _SETUID | _SETGID)),
        (_RETURN, 0, 0, _ALLOW),
    ]


def _socket(*, unix_sockets: bool, inet: bool) -> list[Instruction]:
    """Allow listed address families; of netlink, allow only the listing of network interfaces."""
    families = [*([_UNIX] if unix_sockets else []), *([_INET, _INET6] if inet else [])]
    allowed = [(_RETURN, 0, 0, _ALLOW)]
    code = [_argument(0)]
    for family in families:
        code += _when(_IF_EQUAL, family, allowed)
    route = [_argument(2), *_when(_IF_EQUAL, 0, allowed), *_fail(errno.EPERM)]
    return [*code, *_when(_IF_EQUAL, _NETLINK, route), *_fail(errno.EPERM)]


def _socketpair(*, unix_sockets: bool) -> list[Instruction]:
    """Allow only connected pairs, because a datagram socket could be connected to any name."""
    allowed = [(_RETURN, 0, 0, _ALLOW)]
    code = [_argument(0), *_unless(_IF_EQUAL, _UNIX, _fail(errno.EPERM))]
    if unix_sockets:
        return [*code, *allowed]
    code += [_argument(1), (_AND, 0, 0, _TYPE_MASK)]
    for kind in (_STREAM, _SEQPACKET):
        code += _when(_IF_EQUAL, kind, allowed)
    return [*code, *_fail(errno.EPERM)]


def _only(at: int, values: Sequence[int]) -> list[Instruction]:
    code = [_argument(at)]
    for value in values:
        code += _when(_IF_EQUAL, value, [(_RETURN, 0, 0, _ALLOW)])
    return [*code, *_fail(errno.EPERM)]


def _only_not(at: int, values: Sequence[int]) -> list[Instruction]:
    code = [_argument(at)]
    for value in values:
        code += _when(_IF_EQUAL, value, _fail(errno.EPERM))
    return [*code, (_RETURN, 0, 0, _ALLOW)]


def _argument(at: int) -> Instruction:
    """Load the lower half of an argument, because the kernel reads no more of an ``int``."""
    return (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * at)


def _when(test: int, value: int, then: Sequence[Instruction]) -> Iterator[Instruction]:
    yield (test, 0, len(then), value)
    yield from then


def _unless(test: int, value: int, then: Sequence[Instruction]) -> Iterator[Instruction]:
    yield (test, len(then), 0, value)
    yield from then


def _fail(number: int) -> list[Instruction]:
    return [(_RETURN, 0, 0, _ERROR | number)]


# The values come from linux/audit.h.
AUDIT_ARCH: Mapping[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
LAST_KNOWN = 469
"""The number of ``file_setattr`` (Linux 6.17); for a confined program, later calls do not exist."""

_CALLS = msgspec.json.decode(
    pkgutil.get_data(__name__, "system_calls.json") or b"", type=dict[str, dict[str, int]]
)
NUMBERS = {one: _CALLS["all machines"] | _CALLS[one] for one in ("x86_64", "aarch64")}
"""The numbers of system calls, by machine as named by ``platform.machine()``."""


@contextlib.contextmanager
def filter_pipe(bounds: Confinement) -> Iterator[int]:
    """Yield a pipe with the filter for these bounds; the pipe is read once and holds all 2 kB."""
    reading, writing = os.pipe()
    try:
        with os.fdopen(writing, "wb") as end:
            end.write(filter_of(bounds))
        yield reading
    finally:
        os.close(reading)


def filter_of(bounds: Confinement, *, inet: bool = True) -> bytes:
    """Assemble the filter for these bounds.

    If a workspace folder has the set-group-id bit, commands may set that bit, too.
    """
    return filter_program(
        platform.machine(),
        unix_sockets=bounds.unix_sockets and inet,
        inet=inet,
        setgid=any(map(_gives_group, bounds.writable)),
    )


def _gives_group(folder: str) -> bool:
    try:
        return bool(Path(folder).stat().st_mode & stat.S_ISGID)
    except OSError:
        return False
