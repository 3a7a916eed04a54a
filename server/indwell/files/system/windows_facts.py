"""Converts the arguments and results of Windows' file calls to those of POSIX. Pure.

A junction counts as a link. A name may not end in a dot or a blank, contain a colon (for a stream),
or name a device.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat as kinds
import struct
from collections.abc import Iterator
from typing import NamedTuple

READ_ONLY, FOLDER, REPARSE = 0x1, 0x10, 0x400
SURROGATE = 0x20000000  # a reparse tag with this bit refers to another path
_EPOCH = 116_444_736_000_000_000  # the time from 1601 to 1970, in units of 100 ns
_ENTRY = struct.Struct("<IIqqqqqqIIIbx24sxxq")  # FILE_ID_BOTH_DIR_INFO, without the name at its end
_FORBIDDEN = frozenset('<>:"/\\|?*') | {chr(number) for number in range(32)}
_PORTS = ("COM", "LPT")
_DEVICES = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
_DEVICES |= {port + digit for port in _PORTS for digit in "123456789¹²³"}
LINK_WORDS = "a link is on the way"  # the error text for ELOOP, which Windows does not have
ERRNOS = {
    0xC000050B: errno.ELOOP,  # a component of the path is a link
    0xC0000056: errno.ENOENT,  # the file is deleted, but a program still has it open
    0xC0000103: errno.ENOTDIR,
    0xC00000BA: errno.EISDIR,
    0xC0000033: errno.EINVAL,
    0xC0000101: errno.ENOTEMPTY,
}


class UnicodeString(ctypes.Structure):
    """The C structure ``UNICODE_STRING``."""

    _fields_ = (
        ("length", ctypes.c_ushort),
        ("most", ctypes.c_ushort),
        ("text", ctypes.c_void_p),
    )


class ObjectAttributes(ctypes.Structure):
    """The C structure ``OBJECT_ATTRIBUTES``."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("folder", ctypes.c_void_p),
        ("name", ctypes.POINTER(UnicodeString)),
        ("flags", ctypes.c_uint32),
        ("security", ctypes.c_void_p),
        ("quality", ctypes.c_void_p),
    )


class StatusBlock(ctypes.Structure):
    """The C structure ``IO_STATUS_BLOCK``."""

    _fields_ = (("status", ctypes.c_void_p), ("information", ctypes.c_void_p))


class HandleFacts(ctypes.Structure):
    """The C structure ``BY_HANDLE_FILE_INFORMATION``."""

    _pack_ = 4
    _fields_ = (
        ("attributes", ctypes.c_uint32),
        ("times", ctypes.c_uint64 * 3),
        ("volume", ctypes.c_uint32),
        ("size_high", ctypes.c_uint32),
        ("size_low", ctypes.c_uint32),
        ("n_links", ctypes.c_uint32),
        ("index_high", ctypes.c_uint32),
        ("index_low", ctypes.c_uint32),
    )


class BasicFacts(ctypes.Structure):
    """The C structure ``FILE_BASIC_INFO``; times in 100 ns since 1601, 0 for no change."""

    _fields_ = (
        ("created", ctypes.c_int64),
        ("read", ctypes.c_int64),
        ("written", ctypes.c_int64),
        ("changed", ctypes.c_int64),
        ("attributes", ctypes.c_uint32),
    )


class Overlapped(ctypes.Structure):
    """The C structure ``OVERLAPPED``, with the offset for reading or writing."""

    _fields_ = (
        ("internal", ctypes.c_void_p * 2),
        ("offset", ctypes.c_uint64),
        ("event", ctypes.c_void_p),
    )


class StatFacts(NamedTuple):
    """A file's metadata as Windows reports it; times are in 100 ns since 1601.

    ``number`` is the file's index on its volume.
    """

    attributes: int
    tag: int
    number: int
    volume: int
    n_links: int
    size_b: int
    read: int
    written: int
    changed: int


def stat_result(facts: StatFacts) -> os.stat_result:
    """Convert metadata to a stat result: a junction is a link, a read-only file not writable."""
    is_link = bool(facts.attributes & REPARSE) and bool(facts.tag & SURROGATE)
    if is_link:
        mode = kinds.S_IFLNK | 0o777
    elif facts.attributes & FOLDER:
        mode = kinds.S_IFDIR | 0o777
    else:
        mode = kinds.S_IFREG | (0o444 if facts.attributes & READ_ONLY else 0o666)
    times = [(one - _EPOCH) * 100 for one in (facts.read, facts.written, facts.changed)]
    names = ("st_atime", "st_mtime", "st_ctime")
    fine = {f"{name}_ns": at for name, at in zip(names, times, strict=True)}
    coarse = {name: at / 1e9 for name, at in zip(names, times, strict=True)}
    whole = [at // 10**9 for at in times]
    values = (mode, facts.number, facts.volume, facts.n_links, 0, 0, facts.size_b, *whole)
    return os.stat_result(values, {**coarse, **fine})


class WindowsEntry:
    """An entry of a folder, in the form of ``os.DirEntry``; links are never followed."""

    __slots__ = ("_facts", "name", "path")

    def __init__(self, name: str, path: str, facts: StatFacts) -> None:
        self.name = name
        self.path = path
        self._facts = facts

    def inode(self) -> int:
        """Return the file's index."""
        return self._facts.number

    def is_symlink(self) -> bool:
        """Return whether the entry is a link or a junction."""
        return bool(self._facts.attributes & REPARSE) and bool(self._facts.tag & SURROGATE)

    def is_dir(self, *, follow_symlinks: bool = False) -> bool:
        """Return whether the entry is a folder."""
        del follow_symlinks
        return bool(self._facts.attributes & FOLDER) and not self.is_symlink()

    def is_file(self, *, follow_symlinks: bool = False) -> bool:
        """Return whether the entry is a file."""
        del follow_symlinks
        return not self._facts.attributes & FOLDER and not self.is_symlink()

    def stat(self, *, follow_symlinks: bool = False) -> os.stat_result:
        """Return the metadata from the listing, without another call; ``st_nlink`` is always 1."""
        del follow_symlinks
        return stat_result(self._facts)

    def __fspath__(self) -> str:
        return self.path


def entries_in(data: bytes, path: str, volume: int) -> Iterator[WindowsEntry]:
    """Yield the entries in the buffer that one call returned."""
    at = 0
    front = path
    if path and not path.endswith(("/", "\\")):
        front += "/" if "/" in path else "\\"
    while True:
        found = _ENTRY.unpack_from(data, at)
        following, _, _, read, written, changed, size_b, _, attributes, length, extra = found[:11]
        begin = at + _ENTRY.size
        name = data[begin : begin + length].decode("utf-16-le", "surrogatepass")
        if name not in {".", ".."}:
            tag = extra if attributes & REPARSE else 0
            number = found[13] & (1 << 64) - 1
            changed = changed or written
            facts = StatFacts(attributes, tag, number, volume, 1, size_b, read, written, changed)
            yield WindowsEntry(name, front + name, facts)
        if not following:
            return
        at += following


def nt_path(path: str) -> str:
    r"""Return a path in NT's own spelling (``\??\C:\a``), which may exceed 260 characters.

    Raises:
        OSError: The name belongs to a device.
    """
    whole = path if path.startswith("\\\\?\\") else os.path.abspath(path)  # noqa: PTH100 - as written
    if whole.startswith("\\\\?\\"):
        return "\\??\\" + whole[4:]
    if whole.startswith("\\\\.\\"):
        raise OSError(errno.ENXIO, "it is a device", path)
    if whole.startswith("\\\\"):
        return "\\??\\UNC\\" + whole[2:]
    return "\\??\\" + whole


def plain_path(path: str) -> str:
    r"""Drop the prefix for long paths: ``\\?\C:\a`` becomes ``C:\a``."""
    if path.startswith("\\\\?\\UNC\\"):
        return "\\\\" + path[8:]
    return path.removeprefix("\\\\?\\")


def check_new_name(name: str) -> None:
    """Check that Windows' own programs can open a name, and interpret it in the same way.

    Raises:
        OSError: The name is forbidden (EINVAL).
    """
    stem = name.split(".", maxsplit=1)[0].rstrip(" ").upper()
    if name != name.rstrip(". ") or _FORBIDDEN & set(name) or stem in _DEVICES:
        raise OSError(errno.EINVAL, "Windows allows no file of this name", name)


def one_name(name: str) -> str:
    """Return a single name below an open folder; ``.`` means the folder."""
    if name == ".":
        return ""
    if name in {"", ".."} or _FORBIDDEN & set(name):
        raise OSError(errno.EINVAL, "it is not a single name", name)
    return name
