"""A file under construction, which gets its name once all its bytes are written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import sys
from pathlib import Path

from indwell.files.append_log import make_private_folder
from indwell.files.copying import copy_all, set_mode, write_all

_CLOSED = -1
_FLAGS = (
    os.O_RDWR
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_NEW = _FLAGS | os.O_CREAT | os.O_EXCL
_OWN_LINKS = Path("/proc/self/fd")  # how an anonymous file is named to linkat(2)
_NO_LINKS = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENOENT, errno.EXDEV}
)


def sync_folder(folder: int | None) -> None:
    """Flush a folder's names, where the system can; a rename survives a power cut only then."""
    if folder is not None:
        with contextlib.suppress(OSError):  # some file systems refuse it for folders
            os.fsync(folder)


class Fresh:
    """A new file in a folder, open for writing and reading back.

    Args:
        folder: The open folder; None where there are no such descriptors.
        beside: A name in it, or the whole path without a folder.
        mode: Permissions before the process's mask.
        own: The name that it has before it gets its own, if it needs one; nothing may have it.

    Raises:
        OSError: The folder takes no new file.
    """

    def __init__(
        self, folder: int | None, beside: str, mode: int, *, own: str | None = None
    ) -> None:
        self._folder = folder
        self._beside = beside
        self._own = own or random_name()
        self._name: str | None = None
        self.descriptor = _anonymous(folder, mode)
        if self.descriptor == _CLOSED:
            self._open_named(mode)

    def take(self, name: str) -> None:
        """Become ``name``, in the place of what has it.

        Raises:
            OSError: The system refuses; the old file stands.
        """
        own = self._named()
        if sys.platform == "win32":
            self._close()  # what is open has its name for good there
        os.replace(own, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._name = None

    def create(self, name: str) -> None:
        """Become ``name``, which nothing may have.

        Raises:
            FileExistsError: Something has it.
            OSError: The system refuses.
        """
        try:
            if self._name is None:
                self._link(name)
            elif hasattr(os, "link"):
                os.link(
                    self._name,
                    name,
                    src_dir_fd=self._folder,
                    dst_dir_fd=self._folder,
                    follow_symlinks=False,
                )
            else:
                self.take(name)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self.take(name)  # no hard links here (FAT, some network drives); the caller looked
        self.discard()

    def discard(self) -> None:
        """Be gone, but for the name that was taken; discarding twice is nothing.

        Raises nothing: what cannot be removed now is removed by the next write.
        """
        with contextlib.suppress(OSError):
            self._close()
        if self._name is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder)
            self._name = None

    def _named(self) -> str:
        if self._name is None:
            try:
                self._link(self._own)
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                self._copy_to_named()
            else:
                self._name = self._own
        assert self._name is not None
        return self._name

    def _link(self, name: str) -> None:
        os.link(_OWN_LINKS / str(self.descriptor), name, dst_dir_fd=self._folder)

    def _open_named(self, mode: int) -> None:
        own = self._own
        if self._folder is None:
            own = str(Path(self._beside).with_name(own))
        self.descriptor = os.open(own, _NEW, mode, dir_fd=self._folder)
        self._name = own

    def _copy_to_named(self) -> None:
        """A file system that makes anonymous files and cannot name them: begin again with one."""
        anonymous = self.descriptor
        mode = stat.S_IMODE(os.fstat(anonymous).st_mode)
        self._open_named(mode & 0o777)  # at once: it may be refused later
        try:
            copy_all(anonymous, self.descriptor)
            set_mode(self.descriptor, mode)
            os.fsync(self.descriptor)
        finally:
            os.close(anonymous)

    def _close(self) -> None:
        if self.descriptor != _CLOSED:
            descriptor, self.descriptor = self.descriptor, _CLOSED
            os.close(descriptor)


def _anonymous(folder: int | None, mode: int) -> int:
    """An open file without a name, or -1 where there is no such thing."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or folder is None or not _OWN_LINKS.is_dir():
        return _CLOSED
    try:
        return os.open(".", _FLAGS | flag, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}:
            return _CLOSED
        raise


SUFFIX = ".tmp"
KEY_NAME = "key"
_KEY_B = 32
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _SAFE
_NEW_NAME = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE


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
        descriptor = os.open(fresh, _NEW_NAME, 0o600)
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
