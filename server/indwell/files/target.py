"""A name that is ours to write for now: what stands there, and whether it is still as it was."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from indwell.errors import TextMoved, ToolError
from indwell.files.beneath import Place, find, parent_folder, told
from indwell.files.in_place import NotPutBack
from indwell.files.leftovers import free_name, settle
from indwell.files.one_writer import one_writer
from indwell.files.own_names import usable
from indwell.files.reading import read_regular

_OLD = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


class Target(msgspec.Struct, frozen=True):
    """A name in an open folder that is ours to write for now; ``old`` is what stands there.

    ``own`` is the name for a half-made file there, and ``private`` the private folder, if any.
    """

    asked: Path
    place: Place
    folder: int | None
    name: str
    old: os.stat_result | None
    own: str | None
    private: Path | None


@contextlib.contextmanager
def target_of(
    path: Path,
    roots: Sequence[Path],
    private: Path | None,
    *,
    parents: bool = False,
    resolved: bool = False,
) -> Iterator[Target]:
    """Take the name at ``path`` beneath ``roots``; arguments as for ``write_atomic``.

    Raises:
        EditRefused: Others keep it locked.
        ToolError: Outside, read-only, no regular file, or the system refuses.
    """
    place = find(path, roots, resolved=resolved)
    if not place.parts:
        raise ToolError(f"{str(path)!r} is a folder; name a file in it")
    private = usable(private)
    with (
        parent_folder(place, create=parents) as (folder, name),
        told(place.path),
        one_writer(folder, path) as is_alone,
    ):
        own = free_name(folder, private) if is_alone else None
        if private is not None:
            try:
                settle(place.path, name, folder, private)
            except NotPutBack as error:
                raise damaged(path, error) from error
        old = _stat(name, folder)
        if old is not None:
            _check_writable(old, path)
        yield Target(path, place, folder, name, old, own, private)


def check_bytes(target: Target, expected: bytes | None) -> None:
    """Look whether the file holds these bytes; None: any will do.

    Raises:
        TextMoved: It does not.
    """
    if expected is None:
        return
    descriptor = os.open(target.name, os.O_RDONLY | _OLD, dir_fd=target.folder)
    try:
        same_size = os.fstat(descriptor).st_size == len(expected)
        if same_size and read_regular(descriptor, target.asked, len(expected)) == expected:
            return
    finally:
        os.close(descriptor)
    raise moved(target)


def check_same(target: Target, unchanged: os.stat_result) -> None:
    """Look whether the system tells the same of the file: device, number, size, time of change.

    Raises:
        TextMoved: It does not.
    """
    now = _stat(target.name, target.folder)
    if now is None or _identity(now) != _identity(unchanged):
        raise moved(target)


def moved(target: Target) -> TextMoved:
    """What to raise when it is not."""
    return TextMoved(
        f"{str(target.place.path)!r} changed while it was being edited; nothing was written; "
        "read it again"
    )


def damaged(path: Path, error: NotPutBack) -> ToolError:
    """What to raise when a write in place failed, and so did taking it back."""
    later = ", and is put back when the file is read or edited next" if error.comes_back else ""
    kept = f"is kept in {str(error.kept)!r}{later}" if error.kept else "could not be kept"
    return ToolError(
        f"{str(path)!r} was damaged by the system ({error.strerror}); its old text {kept}"
    )


def _stat(name: str, folder: int | None) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _check_writable(old: os.stat_result, path: Path) -> None:
    if stat.S_ISDIR(old.st_mode):
        raise ToolError(f"{str(path)!r} is a folder; name a file in it")
    if not stat.S_ISREG(old.st_mode):
        raise ToolError(f"{str(path)!r} is a link, pipe, socket or device, and is not written to")
    if not old.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise ToolError(
            f"{str(path)!r} is read-only; if it is meant to be changed, make it writable first"
        )


def _identity(kind: os.stat_result) -> tuple[int, int, int, int]:
    return kind.st_dev, kind.st_ino, kind.st_size, kind.st_mtime_ns
