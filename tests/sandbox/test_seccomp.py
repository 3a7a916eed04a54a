"""The filter of system calls, interpreted by a small simulation of the kernel."""

from __future__ import annotations

import errno
import struct

import pytest

from indwell.sandbox.confine.seccomp import (
    AUDIT_ARCH,
    LAST_KNOWN,
    NUMBERS,
    REFUSED,
    filter_program,
    has_filter,
)

ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
MACHINES = ("x86_64", "aarch64")
ENOSYS, EPERM = ERROR | errno.ENOSYS, ERROR | errno.EPERM


def answer(program: bytes, number: int, arguments: tuple[int, ...] = (), *, arch: int) -> int:
    """Simulates the kernel: the instructions of seccomp(2) that the filter uses."""
    padded = (*arguments, *[0] * (6 - len(arguments)))
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, arch, 0, *padded)
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    at, held = 0, 0
    while True:
        kind, yes, no, value = code[at]
        at += 1
        match kind:
            case 0x20:
                held = struct.unpack_from("<I", data, value)[0]
            case 0x54:
                held &= value
            case 0x06:
                return int(value)
            case 0x15:
                at += yes if held == value else no
            case 0x25:
                at += yes if held > value else no
            case 0x45:
                at += yes if held & value else no
            case _:
                raise AssertionError(hex(kind))


def asked(
    machine: str,
    name: str,
    *arguments: int,
    unix: bool = False,
    inet: bool = True,
    setgid: bool = False,
) -> int:
    program = filter_program(machine, unix_sockets=unix, inet=inet, setgid=setgid)
    return answer(program, NUMBERS[machine][name], arguments, arch=AUDIT_ARCH[machine])


@pytest.mark.parametrize("machine", MACHINES)
def test_another_architecture_ends_the_program(machine: str) -> None:
    other = next(arch for name, arch in AUDIT_ARCH.items() if name != machine)
    for arch in (other, 0x40000003):  # i386
        assert answer(filter_program(machine), 0, arch=arch) == KILL


@pytest.mark.parametrize("machine", MACHINES)
def test_sbx_10_calls_for_namespaces_mounts_and_kernel_internals_are_refused(machine: str) -> None:
    for name in set(REFUSED) & set(NUMBERS[machine]):
        assert asked(machine, name, 1, 2, 3) == EPERM
    assert asked(machine, "clone3") == ENOSYS
    assert asked(machine, "openat2") == ENOSYS


@pytest.mark.parametrize("number", [LAST_KNOWN + 1, 0x40000000, 0x40000029, 0xFFFFFFFF])
def test_newer_system_calls_and_the_x32_table_count_as_missing(number: int) -> None:
    assert answer(filter_program("x86_64"), number, arch=AUDIT_ARCH["x86_64"]) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("bit", [17, 25, 26, 27, 28, 29, 30])
def test_sbx_10_a_clone_makes_threads_and_processes_but_no_namespace(
    machine: str, bit: int
) -> None:
    thread = 0x3D0F00  # the flags that the C library uses for a thread
    assert asked(machine, "clone", thread) == ALLOW
    assert asked(machine, "clone", 17) == ALLOW
    assert asked(machine, "clone", thread | 1 << bit) == EPERM
    assert asked(machine, "clone", 1 << 40 | 1 << bit) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_sbx_06_only_internet_sockets_and_socket_pairs_can_be_created(machine: str) -> None:
    assert [asked(machine, "socket", family, 1, 0) for family in (2, 10)] == [ALLOW, ALLOW]
    for family in (1, 3, 17, 31, 38, 40, 44, 1 | 1 << 33):
        assert asked(machine, "socket", family, 1, 0) == EPERM
    assert [asked(machine, "socket", 16, 3, kind) for kind in (0, 9, 15)] == [ALLOW, EPERM, EPERM]
    assert asked(machine, "socket", 1, 1, 0, unix=True) == ALLOW
    assert asked(machine, "socket", 2, 1, 0, inet=False) == EPERM
    close_on_exec = 0o2000000
    assert asked(machine, "socketpair", 1, 1 | close_on_exec, 0) == ALLOW
    assert asked(machine, "socketpair", 1, 5, 0) == ALLOW
    # a pair of datagram sockets, which could send anywhere
    assert asked(machine, "socketpair", 1, 2, 0) == EPERM
    assert asked(machine, "socketpair", 30, 1, 0) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
def test_typing_into_a_terminal_and_setuid_files_are_refused(machine: str) -> None:
    for request in (0x5412, 0x541C, 0x5412 | 1 << 32):
        assert asked(machine, "ioctl", 0, request) == EPERM
    assert asked(machine, "ioctl", 0, 0x5401) == ALLOW
    assert asked(machine, "fchmod", 3, 0o4755) == EPERM
    assert asked(machine, "fchmod", 3, 0o2775) == EPERM
    assert (
        asked(machine, "fchmod", 3, 0o2775, setgid=True) == ALLOW
    )  # commands may set it in a folder that several people share
    assert asked(machine, "fchmod", 3, 0o4775, setgid=True) == EPERM
    assert asked(machine, "openat", 3, 0, 0o101, 0o2755, setgid=True) == EPERM
    assert asked(machine, "fchmodat", 3, 0, 0o6755) == EPERM
    assert asked(machine, "fchmodat2", 3, 0, 0o4000) == EPERM
    assert asked(machine, "openat", 3, 0, 0o101, 0o4755) == EPERM
    assert asked(machine, "openat", 3, 0, 0o20200001, 0o4755) == EPERM
    # without O_CREAT, the mode has no meaning
    assert asked(machine, "openat", 3, 0, 0, 0o4755) == ALLOW
    assert asked(machine, "personality", 0xFFFFFFFF) == ALLOW
    assert asked(machine, "personality", 0x0400000) == EPERM


def test_ordinary_system_calls_are_allowed() -> None:
    read, futex, execve, landlock = 0, 202, 59, 444
    for number in (read, futex, execve, landlock):
        assert answer(filter_program("x86_64"), number, arch=AUDIT_ARCH["x86_64"]) == ALLOW


def test_an_architecture_without_a_filter_is_reported() -> None:
    assert (has_filter("x86_64"), has_filter("riscv64")) == (True, False)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_filter_fits_into_a_pipe_and_the_kernels_limit(machine: str) -> None:
    assert len(filter_program(machine)) < 4_096 * 8
    assert len(filter_program(machine)) < 65_536
