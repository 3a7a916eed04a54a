"""Handles of places: they name a file or folder to the kernel, and open nothing of it (Linux).

For ``sandbox.landlock``, whose rules are about handles. The way to each is walked by the kernel
without following a link, so that nobody can exchange a folder for a link meanwhile.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import msgspec

from indwell.files import openat2

_HANDLE = getattr(os, "O_PATH", 0) | os.O_NOFOLLOW | os.O_CLOEXEC if os.name == "posix" else 0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC if os.name == "posix" else 0


class Child(msgspec.Struct, frozen=True):
    """What stands in a folder, and is no link."""

    name: str
    is_folder: bool


@contextlib.contextmanager
def handle(path: str) -> Iterator[int]:
    """A handle of an absolute path without links.

    Raises:
        OSError: It is gone, or a link stands on the way to it.
    """
    descriptor = _open(path, _HANDLE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def children(folder: str) -> tuple[Child, ...]:
    """What stands in a folder, in no order; links are left out.

    Raises:
        OSError: It is gone, no folder, not readable, or a link stands on the way to it.
    """
    descriptor = _open(folder, _FOLDER)
    try:
        with os.scandir(descriptor) as found:
            return tuple(
                Child(one.name, is_folder=one.is_dir(follow_symlinks=False))
                for one in found
                if not one.is_symlink()
            )
    finally:
        os.close(descriptor)


def _open(path: str, flags: int) -> int:
    root = os.open("/", _FOLDER)
    try:
        return openat2.open_at(root, path.strip("/") or ".", flags)
    finally:
        os.close(root)
