"""Opens paths beneath allowed folders; no symbolic link can lead outside."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

import msgspec

from indwell.errors import ToolError
from indwell.files.disk_names import (
    OtherShare,
    as_on_disk,
    folds_case,
    is_same_folder,
    real_path,
    real_path_here,
)
from indwell.files.spelling import HERE, components, quoted, slashed
from indwell.files.system import calls
from indwell.files.system.held_files import HeldOpen, held_words, holders_of, is_shared_out

NAME_LIMIT_B = 255  # the limit of bytes for one name on every common file system
PATH_LIMIT_B = 4_096  # the limit of bytes for a path, PATH_MAX of Linux

_NO_FOLLOW = calls.NOFOLLOW
_FOLDER = os.O_RDONLY | _NO_FOLLOW | calls.DIRECTORY | calls.CLOEXEC
_STEP = _FOLDER | calls.PATH  # an intermediate folder need not be listable
_ALWAYS = (
    _NO_FOLLOW
    | calls.CLOEXEC
    | calls.NOCTTY
    | calls.NONBLOCK  # opening a FIFO must not wait for its other end
    | calls.BINARY
)


class PathBeneath(msgspec.Struct, frozen=True):
    """A resolved path beneath a root; ``parts`` contained no link when it was resolved.

    Attributes:
        root: The resolved root folder.
        parts: Names below the root, or empty for the root itself.
    """

    root: Path
    parts: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The complete path."""
        return self.root.joinpath(*self.parts)


def check_path(path: str) -> None:
    """Refuse an invalid path before it reaches the system.

    Raises:
        ToolError: The path is empty or too long, contains NUL or ``~user``, or cannot be encoded.
    """
    if not path.strip():
        raise ToolError("the path is empty; name a file or folder of the workspace")
    if "\0" in path:
        raise ToolError(f"{quoted(path[:200])} holds a NUL byte and is not a path")
    if path.startswith("~"):
        raise ToolError(f"{quoted(path[:200])}: '~' is not expanded; write the path in full")
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError as error:
        raise ToolError(f"{quoted(path[:200])} holds characters that no path can hold") from error
    longest = max(map(len, encoded.replace(b"\\", b"/").split(b"/")))
    if len(encoded) >= PATH_LIMIT_B or longest > NAME_LIMIT_B:
        sizes = f"{len(encoded)} bytes, a name of {longest}"
        raise ToolError(f"{quoted(path[:80])}… is too long for a path ({sizes})")


def locate(path: Path, roots: Sequence[Path]) -> PathBeneath:
    """Resolve all links of ``path``, and find the root that contains the path.

    Components that do not exist yet are kept as written.

    Raises:
        ToolError: The path is invalid or leads outside ``roots``.
    """
    check_path(str(path))
    if HERE == "win32" and is_on_other_share(path, roots):
        raise ToolError(f"{quoted(path)} is on another share; stay within {_named(roots)}")
    # The user chose the roots, and so also accepts the targets of roots that are links.
    near = (*roots, *(Path(real_path(root)) for root in roots)) if HERE == "win32" else ()
    try:
        real = Path(real_path_here(path, near))
    except OSError as error:
        raise plain_os_error(error, path) from error
    bases: list[Path] = []
    for root in roots:
        base = Path(real_path(root))
        if real.parts[: len(base.parts)] == base.parts:
            return _beneath(base, real.parts[len(base.parts) :])
        bases.append(base)
    for base in bases:
        start = real.parts[: len(base.parts)]
        is_alike = components("/".join(start)) == components("/".join(base.parts))
        if is_alike and is_same_folder(str(Path(*start)), str(base)):
            return _beneath(base, real.parts[len(start) :])
    leads = "" if real == path else f" (it leads to {quoted(real)})"
    raise ToolError(f"{quoted(path)}{leads} is outside the workspace; stay within {_named(roots)}")


def _named(roots: Sequence[Path]) -> str:
    return ", ".join(slashed(str(root)) for root in roots)


def _beneath(base: Path, parts: tuple[str, ...]) -> PathBeneath:
    """Return a path beneath a root, with names in the disk's spelling."""
    folder = str(base)
    if parts and HERE != "win32" and folds_case(folder):
        parts = as_on_disk(folder, parts)
    return PathBeneath(root=base, parts=parts)


def is_on_other_share(path: PurePath, roots: Sequence[PurePath]) -> bool:
    """Return whether the path is on a network share that contains no root.

    Accessing the share would send the user's password hash to the share's host.
    """
    share = path.drive
    return share.startswith("\\\\") and share.lower() not in {one.drive.lower() for one in roots}


def find(path: Path, roots: Sequence[Path], *, resolved: bool) -> PathBeneath:
    """Locate ``path``; a path that was ``resolved`` before must still resolve to itself.

    A link may replace a path between its check and its use. A decision about the old path, such as
    a deny rule, would not apply to the link's target.

    Raises:
        ToolError: The path is outside ``roots``, or now contains a link.
    """
    place = locate(path, roots)
    if resolved and place.path != path:
        raise ToolError(
            f"{quoted(path)} is or passes through a link that was not there a moment ago; nothing "
            "was done"
        )
    return place


def open_beneath(path: Path, roots: Sequence[Path], flags: int, mode: int = 0o666) -> int:
    """Open a file beneath ``roots`` with the ``flags`` of ``os.open``; return the descriptor.

    Raises:
        ToolError: The path is outside ``roots``, missing, or refused by the system.
    """
    return open_place(locate(path, roots), flags, mode)


def open_place(place: PathBeneath, flags: int, mode: int = 0o666) -> int:
    """Open a located path without following any link.

    Raises:
        ToolError: A component was replaced by a link, is missing, or the system refuses.
    """
    with plain_os_errors(place.path):
        root = calls.open_file(place.root, _FOLDER)
        try:
            return open_below(root, place.parts, flags | _ALWAYS, mode)
        finally:
            os.close(root)


def open_below(root: int, parts: Sequence[str], flags: int, mode: int = 0o666) -> int:
    """Open ``parts`` below the open folder ``root`` without following any link.

    Raises:
        OSError: ELOOP or ENOTDIR if a component is a link; otherwise the errors of ``os.open``.
    """
    if works():
        return open_at(root, "/".join(parts) or ".", flags, mode)
    return walk_below(root, parts, flags, mode)


def walk_below(root: int, parts: Sequence[str], flags: int, mode: int = 0o666) -> int:
    """Open like ``open_below``, one component at a time, on systems without ``openat2``."""
    *folders, name = parts or (".",)
    folder = os.dup(root)
    try:
        for part in folders:
            folder = _step(folder, part)
        opened = calls.open_file(name, flags | calls.NOFOLLOW, mode, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        calls.check_beneath(opened, root, parts)
    except BaseException:
        os.close(opened)
        raise
    return opened


@contextlib.contextmanager
def parent_folder(place: PathBeneath, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """Open the parent folder of ``place``; yield its descriptor and the last name.

    Args:
        place: The path to reach; for the root itself the name is ``.``.
        create: Whether to create missing parent folders.

    Raises:
        ToolError: A component was replaced by a link, is missing, or is not a folder.
    """
    *folders, name = place.parts or (".",)
    with plain_os_errors(place.path):
        folder = _open_folder(place.root, folders, create=create)
    try:
        yield folder, name
    finally:
        os.close(folder)


@contextlib.contextmanager
def plain_os_errors(path: Path) -> Iterator[None]:
    """Convert an ``OSError`` in the context to a plain message about ``path``."""
    try:
        yield
    except OSError as error:
        raise plain_os_error(error, path) from error


def plain_os_error(error: OSError, path: Path) -> ToolError:
    """Describe an error of the operating system about ``path`` in plain words."""
    if isinstance(error, OtherShare):
        return ToolError(f"{quoted(path)} {error.strerror}, which is not a folder of the workspace")
    if isinstance(error, HeldOpen):
        return ToolError(f"{quoted(path)} {error.strerror}")
    if is_shared_out(error):
        return ToolError(f"{quoted(path)} {held_words(holders_of(path))}")
    words = _WORDS.get(error.errno or 0)
    return ToolError(f"{quoted(path)} {words or f'cannot be used: {error.strerror or error}'}")


_WORDS = {
    errno.ENOENT: "does not exist",
    errno.ELOOP: "passes through a symbolic link that changed or leads nowhere; nothing was done",
    errno.ENOTDIR: "passes through something that is not a folder, or a link that changed",
    errno.EISDIR: "is a folder",
    errno.EACCES: "may not be used: the system denies permission",
    errno.EPERM: "may not be used: the system denies permission",
    errno.EROFS: "lies on a file system that is read-only",
    errno.ENOSPC: "cannot be written: the disk is full; the file is as it was",
    errno.EDQUOT: "cannot be written: the disk quota is used up; the file is as it was",
    errno.ENAMETOOLONG: "is too long for a path",
    errno.EEXIST: "exists already",
    errno.ENXIO: "is a pipe, socket or device, not a file",
}


def _open_folder(root: Path, parts: Sequence[str], *, create: bool) -> int:
    top = calls.open_file(root, _FOLDER)
    try:
        try:
            return open_below(top, parts, _FOLDER)
        except FileNotFoundError:
            if not create:
                raise
        folder = os.dup(top)
        try:
            for part in parts:
                with contextlib.suppress(FileExistsError):
                    calls.mkdir(part, dir_fd=folder)
                folder = _step(folder, part)
        finally:
            os.close(folder)
        return open_below(top, parts, _FOLDER)
    finally:
        os.close(top)


def _step(folder: int, part: str) -> int:
    """Open a subfolder, close ``folder``, and return the new descriptor."""
    deeper = calls.open_file(part, _STEP, dir_fd=folder)
    os.close(folder)
    return deeper


_NUMBER = 437  # the number is the same on every architecture with a Python wheel
_NO_MAGIC_LINKS = 0x02  # the flag in linux/openat2.h refuses links such as those in /proc/*/fd
_NO_SYMLINKS = 0x04
_BENEATH = 0x08
_RESOLVE = _BENEATH | _NO_MAGIC_LINKS | _NO_SYMLINKS
# the limit of attempts, because EAGAIN means that a rename ran during the walk (man 2 openat2)
_TRIES = 64


class _How(ctypes.Structure):
    """The C structure ``open_how``."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@functools.cache
def works() -> bool:
    """Return whether the kernel supports ``openat2``, which is tested once.

    The test fails with ENOSYS on an old kernel, with EPERM in a container with a filter, and with
    EINVAL on a kernel without one of the flags.
    """
    if sys.platform != "linux":
        return False
    folder = calls.open_file("/", os.O_RDONLY | calls.DIRECTORY | calls.CLOEXEC)
    try:
        os.close(open_at(folder, ".", os.O_RDONLY | calls.DIRECTORY | calls.CLOEXEC))
    except (OSError, AttributeError):  # an AttributeError means that the C library has no syscall()
        return False
    finally:
        os.close(folder)
    return True


def open_at(folder: int, path: str, flags: int, mode: int = 0o666) -> int:
    """Open ``path`` beneath the open ``folder``, with the arguments of ``os.open``.

    Raises:
        OSError: ELOOP if a component is a link, EXDEV if ``path`` leaves the folder, EAGAIN if
            concurrent renames do not stop; otherwise the errors of ``os.open``.
    """
    # Without O_CREAT, a mode would cause EINVAL.
    how = _How(flags, mode if flags & os.O_CREAT else 0, _RESOLVE)
    name = os.fsencode(path)
    problem = 0
    for _ in range(_TRIES):
        descriptor = _syscall()(_NUMBER, folder, name, ctypes.byref(how), ctypes.sizeof(how))
        if descriptor >= 0:
            return int(descriptor)
        problem = ctypes.get_errno()
        if problem not in {errno.EAGAIN, errno.EINTR}:
            break
    raise OSError(problem, os.strerror(problem), path)


@functools.cache
def _syscall() -> ctypes._NamedFuncPointer:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    call.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
    )
    return call


_HANDLE = calls.PATH | calls.NOFOLLOW | calls.CLOEXEC
_HANDLE_OF_FOLDER = os.O_RDONLY | calls.DIRECTORY | calls.CLOEXEC


class Child(msgspec.Struct, frozen=True):
    """An entry of a folder; links are not included."""

    name: str
    is_folder: bool


@contextlib.contextmanager
def handle(path: str) -> Iterator[int]:
    """Open an absolute path that contains no link.

    Raises:
        OSError: The path is gone, or contains a link.
    """
    descriptor = _open(path, _HANDLE)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def children(folder: str) -> tuple[Child, ...]:
    """List the entries of a folder, unordered and without links.

    Raises:
        OSError: The path is gone, not a folder, unreadable, or contains a link.
    """
    descriptor = _open(folder, _HANDLE_OF_FOLDER)
    try:
        with calls.scan(descriptor) as found:
            return tuple(
                Child(one.name, is_folder=one.is_dir(follow_symlinks=False))
                for one in found
                if not one.is_symlink()
            )
    finally:
        os.close(descriptor)


def _open(path: str, flags: int) -> int:
    root = calls.open_file("/", _HANDLE_OF_FOLDER)
    try:
        return open_at(root, path.strip("/") or ".", flags)
    finally:
        os.close(root)
