"""Bytes of files that commands changed or removed, kept in the state folder until they are old.

For what no text can bring back byte for byte: binary files, large ones, and removed files whose
encoding or mode a new one would not have. Only the user may read them. Blocks.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from indwell.errors import EditRefused, TextMoved, TooLarge, ToolError
from indwell.files import (
    exists,
    make_private_folder,
    read_bytes,
    read_own,
    write_durable,
)
from indwell.files.bodies import digest_of
from indwell.files.deleting import delete_exactly
from indwell.files.putting_back import ANY_MODE, put_back
from indwell.files.removing import remove_own
from indwell.review.hunk import Opaque
from indwell.review.patches import Patches

MOST_B = 64 << 20  # of one file
NOT_KEPT = "what it held before is not kept, so it cannot be put back"
_DIGEST = re.compile(r"[0-9a-f]{32}")


class Removed(msgspec.Struct, frozen=True):
    """How a file was when it was removed: the digest of its bytes, and its mode."""

    digest: str
    mode: int


class Copies:
    """A folder of kept bytes.

    Args:
        folder: In the user's state; made when it is needed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Keep ``data``, on disk when it returns; gives its digest.

        Raises:
            OSError: The system refuses.
        """
        digest = digest_of(data)
        make_private_folder(self._folder)
        place = self._folder / digest
        if not exists(place):
            write_durable(place, data)
        return digest

    def get(self, digest: str) -> bytes:
        """The bytes of a digest.

        Raises:
            ToolError: They are not kept, or are damaged.
        """
        if not _DIGEST.fullmatch(digest):
            raise ToolError(f"{digest[:40]!r} is no copy")
        try:
            data = read_own(self._folder / digest, MOST_B)
        except OSError as error:
            raise ToolError(NOT_KEPT) from error
        if digest_of(data) != digest:
            raise ToolError("the copy of what it held is damaged")
        return data

    def before(self, digest: str, now: bytes | None) -> bytes:
        """The bytes of a digest: kept whole, or by the places that differ from ``now``.

        Raises:
            ToolError: They are not kept, or are damaged.
        """
        if now is None or exists(self._folder / digest):
            return self.get(digest)
        data = Patches(self._folder).led_back(now, digest)
        if data is None:
            raise ToolError(NOT_KEPT)
        return data

    def note_removed(self, path: Path, data: bytes, mode: int) -> None:
        """Remember how a file was that is gone now.

        Raises:
            OSError: The system refuses.
        """
        removed = Removed(self.put(data), mode)
        place = self._note(path)
        remove_own(place)
        write_durable(place, msgspec.json.encode(removed))

    def removed(self, path: Path) -> Removed | None:
        """How a file was when it was removed last, if that was noted."""
        try:
            return msgspec.json.decode(read_own(self._note(path), 1_000), type=Removed)
        except (OSError, ToolError, msgspec.MsgspecError):
            return None

    def _note(self, path: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
        return self._folder / f"removed-{name}"


def restore(path: Path, roots: Sequence[Path], copies: Copies, change: Opaque) -> None:
    """Let a file hold what it held before ``change``, if it still is as that left it.

    Args:
        path: Resolved.
        roots: Folders that it must lie in.
        copies: Where the bytes are.
        change: From the first of some changes to the last.

    Raises:
        TextMoved: It holds something else by now.
        ToolError: The bytes are not there, or the system refuses.
    """
    try:
        now = read_bytes(path, roots, MOST_B) if exists(path) else None
    except TooLarge as error:
        raise ToolError("it is too large to be put back") from error
    held = None if now is None else digest_of(now)
    if held == change.before:
        return  # somebody put it back already
    if held != change.after:
        raise TextMoved("it was changed since")
    try:
        if change.before is not None:
            mode = change.mode if now is None else ANY_MODE
            put_back(path, copies.before(change.before, now), roots, expected=now, mode=mode)
        elif now is not None:
            copies.put(now)
            delete_exactly(path, roots, now)
    except EditRefused as error:
        raise TextMoved("it was changed just now") from error
