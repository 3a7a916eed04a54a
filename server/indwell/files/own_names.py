"""The name of our half-made file in a user's folder: one that only this user's Indwell can give.

It is a keyed digest of the folder's own number, with a key of the private folder. So no repository
can carry such a file, none of the user's is taken for one, and what a killed process left is found
with one look and without listing the folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

from indwell.files.append_log import make_private_folder
from indwell.files.copying import write_all

SUFFIX = ".tmp"
KEY_NAME = "key"
_KEY_B = 32
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _SAFE
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE


def random_name() -> str:
    """A name for a moment that nobody finds again."""
    return f".indwell-{secrets.token_hex(16)}{SUFFIX}"


def known_name(folder: int | None, private: Path | None) -> str | None:
    """Our name in the open ``folder``, always the same; None without a private folder.

    Whoever uses it holds the folder's lock: there is one such name in each folder.
    """
    if folder is None or private is None:
        return None
    try:
        key = _key(private)
    except OSError:
        return None
    if key is None:
        return None
    kind = os.fstat(folder)
    digest = hashlib.blake2b(f"{kind.st_dev} {kind.st_ino}".encode(), digest_size=16, key=key)
    return f".indwell-{digest.hexdigest()}{SUFFIX}"


def usable(private: Path | None) -> Path | None:
    """The private folder, made if it is missing; None if others may write there, or it cannot be.

    Windows has no modes and no locks of our kind: there is none.
    """
    if private is None or not hasattr(os, "geteuid"):
        return None
    try:
        make_private_folder(private)
        kind = private.lstat()
    except OSError:
        return None
    is_alone = stat.S_ISDIR(kind.st_mode) and not kind.st_mode & 0o022
    return private if is_alone and kind.st_uid == os.geteuid() else None


def _key(private: Path) -> bytes | None:
    path = private / KEY_NAME
    try:
        return _read(path)
    except FileNotFoundError:
        fresh = private / f"{KEY_NAME}-{secrets.token_hex(8)}"
        descriptor = os.open(fresh, _NEW, 0o600)
        try:
            write_all(descriptor, secrets.token_bytes(_KEY_B))
        finally:
            os.close(descriptor)
        try:
            with contextlib.suppress(FileExistsError):  # another process was faster
                os.link(fresh, path)
        finally:
            with contextlib.suppress(OSError):
                fresh.unlink()
        return _read(path)


def _read(path: Path) -> bytes | None:
    descriptor = os.open(path, _READ)
    try:
        key = os.read(descriptor, _KEY_B + 1)
    finally:
        os.close(descriptor)
    return key if len(key) == _KEY_B else None
