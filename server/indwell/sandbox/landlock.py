"""Landlock: bounds that Linux keeps for a thread and for all that it starts, without any program.

For machines without bubblewrap. It holds files (see ``landlock_rules``), TCP, signals and abstract
sockets; other sockets are left to the filter of system calls. Everything here is for good, and for
the calling thread alone: call ``enter`` on a thread of its own.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import platform
import stat
import struct
import sys
from collections.abc import Sequence

from indwell.files import openat2
from indwell.files.handles import handle
from indwell.sandbox.landlock_rules import ALL, FOR_FILES, Rule
from indwell.sandbox.seccomp import has_filter

NEEDED_ABI = 6
"""From Linux 6.12: before, a command could end our processes and reach abstract sockets."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH = 1
_NO_TCP = 3  # bind and connect
_NO_SIGNALS_NOR_ABSTRACT_SOCKETS = 3
_PR_SET_SECCOMP, _FILTER = 22, 2  # linux/prctl.h, linux/seccomp.h
_PR_CAPBSET_DROP = 24
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT, _CLEAR_ALL = 47, 4
_CAPABILITIES_3 = 0x20080522  # linux/capability.h
_PASSED_OVER = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES}
"""A place is gone, has become a link, or is closed to us, and so to the command."""


@functools.cache
def abi() -> int:
    """Which version of Landlock the kernel has; 0 if it has none or does not let us. Asked once."""
    if sys.platform != "linux":
        return 0
    try:
        return int(_call(_CREATE, None, 0, _VERSION))
    except (OSError, AttributeError):  # AttributeError: a C library without syscall()
        return 0


def why_not() -> str:
    """Why Landlock cannot hold commands here, in a clause for people; empty if it can."""
    if sys.platform != "linux":
        return "Landlock is a part of Linux"
    if not has_filter(platform.machine()):
        return f"no filter of system calls is known for {platform.machine()}"
    if abi() >= NEEDED_ABI and openat2.works():
        return ""
    if not abi() or abi() >= NEEDED_ABI:
        return "the kernel has no Landlock, or a container forbids it"
    return f"the kernel's Landlock is of version {abi()}, and {NEEDED_ABI} is needed (Linux 6.12)"


def enter(rules: Sequence[Rule], filters: bytes) -> None:
    """Confine the calling thread, and all that it starts from now on, for good.

    It loses all capabilities as well: root's programs stay root's, but can do no more than that
    user's files allow.

    Args:
        rules: What stays allowed; places that are not there are passed over.
        filters: The seccomp filter, assembled; it has to close the sockets that no rule knows.

    Raises:
        OSError: The kernel refuses, so the thread must start nothing.
    """
    ruleset = _ruleset(rules)
    try:
        _control(_PR_SET_NO_NEW_PRIVS, 1)
        _call(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)
    _drop_capabilities()
    _filter(filters)


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
        while True:  # until the first that the kernel does not know; an ordinary user may drop none
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
