"""Creates files that get their final name only after all their bytes are written."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from pathlib import Path

from indwell.files.append_log import make_private_folder
from indwell.files.system import calls
from indwell.files.system.access import is_alone
from indwell.files.system.copying import copy_all, set_mode, write_all

_CLOSED = -1
_FLAGS = os.O_RDWR | calls.NOFOLLOW | calls.CLOEXEC | calls.BINARY
_NEW = _FLAGS | os.O_CREAT | os.O_EXCL
_OWN_LINKS = Path("/proc/self/fd")  # the path of an anonymous file for linkat(2)
_NO_LINKS = frozenset(
    {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.ENOENT, errno.EXDEV}
)


class Fresh:
    """A new file in a folder, open for writing and reading.

    Args:
        folder: The open folder.
        mode: The permissions before the process's umask.
        own: The temporary name, if the file needs a name; the name must be free.

    Raises:
        OSError: No file can be created in the folder.
    """

    def __init__(self, folder: int, mode: int, *, own: str | None = None) -> None:
        self._folder = folder
        self._own = own or random_name()
        self._name: str | None = None
        self.descriptor = _anonymous(folder, mode)
        if self.descriptor == _CLOSED:
            self._open_named(mode)

    def take(self, name: str) -> None:
        """Rename the file to ``name``, replacing an existing file.

        Raises:
            OSError: The system refuses; the old file is unchanged.
        """
        own = self._named()
        calls.replace(own, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._name = None

    def create(self, name: str) -> None:
        """Rename the file to ``name``, which must be free.

        Raises:
            FileExistsError: The name is taken.
            OSError: The system refuses.
        """
        try:
            if self._name is None:
                self._link(name)
            else:
                calls.link(
                    self._name,
                    name,
                    src_dir_fd=self._folder,
                    dst_dir_fd=self._folder,
                    follow_symlinks=False,
                )
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            # The file system has no hard links (FAT, some network drives), and the caller checked
            # the name.
            self.take(name)
        self.discard()

    def discard(self) -> None:
        """Remove the file, unless it has its final name; may be called several times.

        No error is raised, because the next write removes the file if it cannot be removed now.
        """
        with contextlib.suppress(OSError):
            self._close()
        if self._name is not None:
            with contextlib.suppress(OSError):
                calls.unlink(self._name, dir_fd=self._folder)
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
        calls.link(_OWN_LINKS / str(self.descriptor), name, dst_dir_fd=self._folder)

    def _open_named(self, mode: int) -> None:
        self.descriptor = calls.open_file(self._own, _NEW, mode, dir_fd=self._folder)
        self._name = self._own

    def _copy_to_named(self) -> None:
        """Start again with a named file, because the file system cannot name the anonymous file."""
        anonymous = self.descriptor
        mode = stat.S_IMODE(calls.fstat(anonymous).st_mode)
        self._open_named(mode & 0o777)  # set the mode now, because it may be refused later
        try:
            copy_all(anonymous, self.descriptor)
            set_mode(self.descriptor, mode)
            calls.fsync(self.descriptor)
        finally:
            os.close(anonymous)

    def _close(self) -> None:
        if self.descriptor != _CLOSED:
            descriptor, self.descriptor = self.descriptor, _CLOSED
            os.close(descriptor)


def _anonymous(folder: int, mode: int) -> int:
    """Open a file without a name; return -1 if the system does not support such files."""
    flag = calls.TMPFILE
    if not flag or not _OWN_LINKS.is_dir():
        return _CLOSED
    try:
        return calls.open_file(".", _FLAGS | flag, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT}:
            return _CLOSED
        raise


SUFFIX = ".tmp"
KEY_NAME = "key"
_KEY_B = 32
_SAFE = calls.NOFOLLOW | calls.CLOEXEC | calls.BINARY
_READ = os.O_RDONLY | calls.NONBLOCK | _SAFE
_NEW_NAME = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE


def random_name() -> str:
    """Return a random name for a temporary file."""
    return f".indwell-{secrets.token_hex(16)}{SUFFIX}"


def known_name(folder: int, private: Path | None) -> str | None:
    """Return Indwell's only temporary name in ``folder``, or None if there is no private folder.

    The caller must hold the folder's lock, because all processes use the same name.
    """
    if private is None:
        return None
    try:
        key = _key(private)
    except OSError:
        return None
    if key is None:
        return None
    kind = calls.fstat(folder)
    digest = hashlib.blake2b(f"{kind.st_dev} {kind.st_ino}".encode(), digest_size=16, key=key)
    return f".indwell-{digest.hexdigest()}{SUFFIX}"


def usable(private: Path | None) -> Path | None:
    """Return the private folder, created if missing, or None if other users may write to it.

    The result is also None if the folder cannot be created.
    """
    if private is None:
        return None
    try:
        make_private_folder(private)
        return private if is_alone(private) else None
    except OSError:
        return None


def _key(private: Path) -> bytes | None:
    path = private / KEY_NAME
    try:
        return _read(path)
    except FileNotFoundError:
        fresh = private / f"{KEY_NAME}-{secrets.token_hex(8)}"
        descriptor = calls.open_file(fresh, _NEW_NAME, 0o600)
        try:
            write_all(descriptor, secrets.token_bytes(_KEY_B))
        finally:
            os.close(descriptor)
        try:
            with contextlib.suppress(FileExistsError):  # another process created the file first
                calls.link(fresh, path)
        finally:
            with contextlib.suppress(OSError):
                calls.unlink(fresh)
        return _read(path)


def _read(path: Path) -> bytes | None:
    descriptor = calls.open_file(path, _READ)
    try:
        key = os.read(descriptor, _KEY_B + 1)
    finally:
        os.close(descriptor)
    return key if len(key) == _KEY_B else None
