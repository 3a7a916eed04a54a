"""Mounts a file system in memory (FUSE) that ignores case and the form of accents.

Like HFS+ of macOS, the file system stores decomposed names, keeps their case, and ignores the
characters that Apple's note TN1150 lists. ``python -m support.folding_disk FOLDER`` mounts the file
system and serves the kernel's requests (linux/fuse.h) until the folder is unmounted.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_DETACH = 2


@contextlib.contextmanager
def folding_disk(folder: Path) -> Iterator[Path]:
    """Mount an empty file system at a folder."""
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "FUSE is asked of Linux alone")
    server = subprocess.Popen(
        [sys.executable, "-m", "support.folding_disk", str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert server.stdout is not None
    try:
        said = server.stdout.readline().strip()
        if said != "ready":
            raise OSError(errno.EPERM, said or "the server of the file system ended")
        yield folder
    finally:
        _libc().umount2(os.fsencode(folder), _DETACH)
        server.stdout.close()
        server.kill()
        server.wait()


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@dataclass
class _Node:
    number: int
    mode: int
    data: bytearray = field(default_factory=bytearray)
    target: bytes = b""
    # The key is the folded name; the value is the stored name and the number of the file.
    names: dict[str, tuple[str, int]] = field(default_factory=dict)
    n_links: int = 1


_IGNORED = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


def _folded(name: str) -> str:
    name = name.translate(_IGNORED)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class _Disk:
    def __init__(self) -> None:
        self.nodes = {1: _Node(1, stat.S_IFDIR | 0o755)}
        self._next = 2

    def find(self, folder: int, name: bytes) -> _Node:
        found = self.nodes[folder].names.get(_folded(os.fsdecode(name)))
        if found is None:
            raise OSError(errno.ENOENT, "")
        return self.nodes[found[1]]

    def add(self, folder: int, name: bytes, node: _Node) -> _Node:
        key, stored = _folded(text := os.fsdecode(name)), unicodedata.normalize("NFD", text)
        if key in self.nodes[folder].names:
            raise OSError(errno.EEXIST, "")
        self.nodes[node.number] = node
        self.nodes[folder].names[key] = (stored, node.number)
        return node

    def make(self, folder: int, name: bytes, mode: int, target: bytes = b"") -> _Node:
        node = _Node(self._next, mode, target=target)
        self._next += 1
        return self.add(folder, name, node)

    def remove(self, folder: int, name: bytes) -> None:
        if self.find(folder, name).names:
            raise OSError(errno.ENOTEMPTY, "")
        del self.nodes[folder].names[_folded(os.fsdecode(name))]

    def move(self, folder: int, name: bytes, to: int, new: bytes) -> None:
        node = self.find(folder, name)
        del self.nodes[folder].names[_folded(os.fsdecode(name))]
        self.nodes[to].names.pop(_folded(os.fsdecode(new)), None)
        self.add(to, new, node)


def _attributes(node: _Node) -> bytes:
    size = len(node.target or node.data)
    times = (0, 0, 0, 0, 0, 0)
    return struct.pack(
        "<6Q10I", node.number, size, 0, *times[:3], *times[3:], node.mode, node.n_links, 0, 0, 0,
        4096, 0,
    )  # fmt: skip


def _entry(node: _Node) -> bytes:
    return struct.pack("<4Q2I", node.number, 0, 0, 0, 0, 0) + _attributes(node)


_OPENED = struct.pack("<Q2I", 0, 0, 0)
_SILENT = {2, 42}  # The messages are FORGET and BATCH_FORGET.


def _answer(disk: _Disk, code: int, at: int, body: bytes) -> bytes:  # noqa: C901, PLR0912
    names = body.split(b"\0")
    match code:
        case 1:  # LOOKUP
            return _entry(disk.find(at, names[0]))
        case 3:  # GETATTR
            return struct.pack("<Q2I", 0, 0, 0) + _attributes(disk.nodes[at])
        case 4:  # SETATTR
            wanted, _, _, size = struct.unpack_from("<2I2Q", body)
            node = disk.nodes[at]
            if wanted & 8:
                node.data[size:] = bytes(max(size - len(node.data), 0))
            if wanted & 1:
                (mode,) = struct.unpack_from("<I", body, 68)
                node.mode = stat.S_IFMT(node.mode) | stat.S_IMODE(mode)
            return struct.pack("<Q2I", 0, 0, 0) + _attributes(node)
        case 5:  # READLINK
            return disk.nodes[at].target
        case 6:  # SYMLINK
            return _entry(disk.make(at, names[0], stat.S_IFLNK | 0o777, names[1]))
        case 9:  # MKDIR
            mode = struct.unpack_from("<I", body)[0]
            return _entry(disk.make(at, body[8:-1], stat.S_IFDIR | stat.S_IMODE(mode)))
        case 10 | 11:  # UNLINK, RMDIR
            disk.remove(at, names[0])
            return b""
        case 12 | 45:  # RENAME, RENAME2
            start = 8 if code == 12 else 16
            old, new = body[start:].split(b"\0")[:2]
            disk.move(at, old, struct.unpack_from("<Q", body)[0], new)
            return b""
        case 13:  # LINK
            node = disk.nodes[struct.unpack_from("<Q", body)[0]]
            node.n_links += 1
            return _entry(disk.add(at, body[8:-1], node))
        case 14 | 27:  # OPEN, OPENDIR
            return _OPENED
        case 15:  # READ
            _, offset, size = struct.unpack_from("<2QI", body)
            return bytes(disk.nodes[at].data[offset : offset + size])
        case 16:  # WRITE
            _, offset, size = struct.unpack_from("<2QI", body)
            data = disk.nodes[at].data
            data.extend(bytes(max(offset - len(data), 0)))
            data[offset : offset + size] = body[40 : 40 + size]
            return struct.pack("<2I", size, 0)
        case 17:  # STATFS
            return struct.pack(
                "<5Q4I", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 0, 0
            ) + bytes(24)
        case 18 | 20 | 25 | 29 | 30:  # RELEASE, FSYNC, FLUSH, RELEASEDIR, FSYNCDIR
            return b""
        case 28:  # READDIR
            _, offset, size = struct.unpack_from("<2QI", body)
            return _listed(disk, at, offset, size)
        case 35:  # CREATE
            mode = struct.unpack_from("<2I", body)[1]
            node = disk.make(at, body[16:-1], stat.S_IFREG | stat.S_IMODE(mode))
            return _entry(node) + _OPENED
        case _:
            raise OSError(errno.ENOSYS, "")


def _listed(disk: _Disk, at: int, offset: int, size: int) -> bytes:
    found = b""
    entries = [(".", at), ("..", at), *disk.nodes[at].names.values()]
    for number, (name, node) in enumerate(entries[offset:], start=offset + 1):
        raw = os.fsencode(name)
        kind = disk.nodes[node].mode >> 12
        one = struct.pack("<2Q2I", node, number, len(raw), kind) + raw
        one += bytes(-len(one) % 8)
        if len(found) + len(one) > size:
            break
        found += one
    return found


def _serve(folder: str) -> None:
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    if _libc().mount(b"folding", os.fsencode(folder), b"fuse", 6, options):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    disk = _Disk()
    while True:
        try:
            request = os.read(device, 1 << 20)
        except OSError as error:
            if error.errno == errno.EINTR:
                continue
            return  # ENODEV means that the file system was unmounted.
        _, code, unique, at = struct.unpack_from("<2I2Q", request)
        body = request[40:]
        if code in _SILENT:
            continue
        try:
            if code == 26:
                found = struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 8, 8, 1 << 17, 1, 32, 0, *[0] * 8)
                print("ready", flush=True)  # noqa: T201 - what the parent waits for
            else:
                found = _answer(disk, code, at, body)
            problem = 0
        except OSError as error:
            found, problem = b"", error.errno or errno.EIO
        os.write(device, struct.pack("<IiQ", 16 + len(found), -problem, unique) + found)


if __name__ == "__main__":
    try:
        _serve(sys.argv[1])
    except OSError as problem:
        print(problem)  # noqa: T201 - why it cannot be mounted
