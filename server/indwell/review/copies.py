"""Backup copies of files that commands changed, and reverse patches for large files.

The copies are for files that text alone cannot restore byte for byte: binary files, large files,
and removed files with their encoding and mode. Only the user may read the folder. All functions
block.

A patch is stored under the digest of the bytes after an edit, and restores the bytes before it.
A patch is applied only if both digests match.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from indwell.errors import EditRefused, TextMoved, TooLarge, ToolError
from indwell.files.append_log import make_private_folder
from indwell.files.contents.reading import read_bytes
from indwell.files.listing import exists
from indwell.files.private import read_own, remove_own, write_durable
from indwell.files.user_files import ANY_MODE, delete_exactly, put_back
from indwell.files.watch.snapshot import digest_of
from indwell.lazy_pattern import lazy_pattern
from indwell.prepared_types import prepared
from indwell.review.hunk import Opaque
from indwell.workspace.large import ByteSplice

MOST_B = 64 << 20  # The limit is in bytes of one file.
NOT_KEPT = "its earlier content is not kept, so it cannot be restored"
_DIGEST = lazy_pattern(r"[0-9a-f]{32}")


class Removed(msgspec.Struct, frozen=True):
    """A removed file: the digest of its bytes, and its mode."""

    digest: str
    mode: int


class Copies:
    """A folder of backup copies.

    Args:
        folder: The folder, in the user's state directory; created on first use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, data: bytes) -> str:
        """Store ``data`` durably and return its digest.

        Raises:
            OSError: The copy could not be written.
        """
        digest = digest_of(data)
        make_private_folder(self._folder)
        place = self._folder / digest
        if not exists(place):
            write_durable(place, data)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes with this digest.

        Raises:
            ToolError: The copy is missing or damaged.
        """
        if not _DIGEST.fullmatch(digest):
            raise ToolError(f"{digest[:40]!r} is not a copy")
        try:
            data = read_own(self._folder / digest, MOST_B)
        except OSError as error:
            raise ToolError(NOT_KEPT) from error
        if digest_of(data) != digest:
            raise ToolError("the copy of its earlier content is damaged")
        return data

    def before(self, digest: str, now: bytes | None) -> bytes:
        """Return the bytes with this digest, from a copy or by patching the bytes ``now``.

        Raises:
            ToolError: The bytes are missing or damaged.
        """
        if now is None or exists(self._folder / digest):
            return self.get(digest)
        data = Patches(self._folder).led_back(now, digest)
        if data is None:
            raise ToolError(NOT_KEPT)
        return data

    def note_removed(self, path: Path, data: bytes, mode: int) -> None:
        """Record the bytes and mode of a file that was removed.

        Raises:
            OSError: The record could not be written.
        """
        removed = Removed(self.put(data), mode)
        place = self._note(path)
        remove_own(place)
        write_durable(place, msgspec.json.encode(removed))

    def removed(self, path: Path) -> Removed | None:
        """Return the record of the file's last removal, if there is one."""
        try:
            return msgspec.json.decode(read_own(self._note(path), 1_000), type=prepared(Removed))
        except (OSError, ToolError, msgspec.MsgspecError):
            return None

    def _note(self, path: Path) -> Path:
        name = hashlib.blake2b(os.fsencode(path), digest_size=16).hexdigest()
        return self._folder / f"removed-{name}"


def restore(path: Path, roots: Sequence[Path], copies: Copies, change: Opaque) -> None:
    """Restore a file's bytes from before ``change``, unless the file has changed since.

    Args:
        path: Resolved path.
        roots: Folders that must contain the file.
        copies: The backup copies.
        change: The change to undo; it may span several changes in a row.

    Raises:
        TextMoved: The file has changed after ``change``.
        ToolError: The bytes are missing, or could not be written.
    """
    try:
        now = read_bytes(path, roots, MOST_B) if exists(path) else None
    except TooLarge as error:
        raise ToolError("it is too large to be restored") from error
    held = None if now is None else digest_of(now)
    if held == change.before:
        return  # The file already has its old bytes.
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


MOST_PATCH_B = 8 << 20  # The limit is for all replaced bytes of one edit.
MOST_STEPS = 100  # At most 100 patches are applied in a row.


class Patch(msgspec.Struct, frozen=True):
    """A patch that restores the bytes before an edit.

    Attributes:
        before: Digest of the bytes before the edit.
        splices: Start, stop and original bytes of each changed range, ascending.
    """

    before: str
    splices: tuple[tuple[int, int, bytes], ...]


class Patches:
    """A folder of reverse patches; may be the folder of the copies.

    Args:
        folder: The folder, in the user's state directory; created on first use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(
        self, before: str, after: str, splices: Sequence[ByteSplice], hide: Callable[[str], str]
    ) -> bool:
        """Store the patch that turns ``after`` back into ``before``, both digests of bytes.

        Return False, and store nothing, if the replaced bytes contain secrets or are too many.

        Raises:
            OSError: The patch could not be written.
        """
        texts = [one.data.decode("latin-1") for one in splices]
        if sum(map(len, texts)) > MOST_PATCH_B or any(hide(text) is not text for text in texts):
            return False
        patch = Patch(before, tuple((one.start, one.stop, one.data) for one in splices))
        make_private_folder(self._folder)
        place = self._place(after)
        remove_own(place)
        write_durable(place, msgspec.json.encode(patch))
        return True

    def led_back(self, data: bytes, wanted: str) -> bytes | None:
        """Patch ``data`` back to the bytes with digest ``wanted``, or return None if impossible."""
        digest = digest_of(data)
        for _ in range(MOST_STEPS):
            patch = self._found(digest)
            if patch is None:
                return None
            data = _applied(patch, data)
            digest = digest_of(data)
            if digest != patch.before or digest == wanted:
                break
        return data if digest == wanted else None

    def _found(self, digest: str) -> Patch | None:
        try:
            return msgspec.json.decode(
                read_own(self._place(digest), 2 * MOST_PATCH_B), type=prepared(Patch)
            )
        except (OSError, ToolError, msgspec.MsgspecError):
            return None

    def _place(self, digest: str) -> Path:
        return self._folder / f"back-from-{digest}"


def _applied(patch: Patch, data: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    for start, stop, was in patch.splices:
        parts += [data[at:start], was]
        at = stop
    return b"".join([*parts, data[at:]])
