"""The workspace of files on disk, without an editor: for ``indwell run``, and below the buffers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files import exists, list_folder, locate, read_bytes, write_atomic
from indwell.workspace.base import Change, Settlement, Snapshot, Stamp, digest
from indwell.workspace.paths import display, folder_said, missing, parse, respelled
from indwell.workspace.text import Decoded, binary_kind, decode, encode

READ_LIMIT_B = 64 << 20  # a larger file is searched or cut by commands, not read whole

T = TypeVar("T")


class DiskWorkspace:
    """Files beneath some folders, read and written through ``files``.

    Args:
        roots: Folders that the agent may work in; the first is where commands start.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        assert roots, "a workspace has a folder"
        self._roots = tuple(locate(root, [root]).root for root in roots)

    @property
    def roots(self) -> tuple[Path, ...]:
        """Resolved folders."""
        return self._roots

    def resolve(self, path: str) -> Path:
        """Resolve what the model wrote within the roots; see ``Workspace``."""
        place = locate(parse(path, self._roots[0]), self._roots)
        if exists(place.path):
            return place.path
        forms = [locate(form, self._roots).path for form in respelled(place.path, place.root)]
        return next(filter(exists, forms), forms[0])

    async def read(self, path: Path) -> Snapshot:
        """Read a file from disk; see ``Workspace``."""
        return await asyncio.to_thread(self._read, path)

    async def write(self, path: Path, base: Snapshot | None, text: str, *, label: str) -> Change:
        """Write a file in one step; see ``Workspace``.

        A cancelled write is finished or not begun, before the cancellation goes on.
        """
        del label
        return await _to_the_end(lambda: self._write(path, base, text))

    def unsaved(self) -> Mapping[Path, str]:
        """Nothing: there are no buffers."""
        return {}

    async def settle(self) -> Settlement:
        """Nothing to bring together."""
        return Settlement()

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Nothing: there are no buffers."""
        return ()

    def _read(self, path: Path) -> Snapshot:
        place = locate(path, self._roots).path
        text = self._decoded(place, self._bytes(place))
        return Snapshot(
            path=place, text=text.text, stamp=Stamp(digest(text.text)), lossless=text.lossless
        )

    def _bytes(self, path: Path) -> bytes:
        shown = display(path, self._roots)
        if not exists(path):
            raise missing(shown, path.name, self._neighbours(path))
        if path.is_dir():
            raise folder_said(shown, self._names(path))
        return read_bytes(path, self._roots, READ_LIMIT_B)

    def _decoded(self, path: Path, data: bytes) -> Decoded:
        kind = binary_kind(data)
        if kind is not None:
            shown = display(path, self._roots)
            raise ToolError(f"{shown!r} is no text but a {kind} of {len(data):,} bytes")
        return decode(data)

    def _names(self, path: Path) -> tuple[str, ...]:
        return tuple(
            f"{entry.name}/" if entry.is_folder else entry.name
            for entry in list_folder(path, self._roots)
        )

    def _neighbours(self, path: Path) -> tuple[str, ...]:
        try:
            return tuple(entry.name for entry in list_folder(path.parent, self._roots))
        except ToolError:  # the folder is missing too
            return ()

    def _write(self, path: Path, base: Snapshot | None, text: str) -> Change:
        shown = display(path, self._roots)
        if base is None:
            place = write_atomic(
                path, _encoded(text, None, shown), self._roots, parents=True, create=True
            )
        else:
            held = self._bytes(path)
            decoded = self._decoded(path, held)
            if not decoded.lossless:
                raise EditRefused(
                    f"{shown!r} is neither UTF-8 nor UTF-16, and editing it would damage it; "
                    "convert it first, or change it with a command"
                )
            if digest(decoded.text) != base.stamp.digest:
                raise TextMoved(
                    f"{shown!r} changed on disk since it was read; nothing was written; "
                    "read_file it again"
                )
            data = _encoded(text, decoded, shown)
            place = write_atomic(path, data, self._roots, expected=held)
        stands = decode(read_bytes(place, self._roots, READ_LIMIT_B)).text
        return Change(
            path=place,
            before=None if base is None else base.text,
            after=stands,
            stamp=Stamp(digest(stands)),
            verified=stands == text,
            note="" if stands == text else "the file was changed again right after the edit",
        )


def _encoded(text: str, like: Decoded | None, shown: str) -> bytes:
    try:
        return encode(text, like)
    except UnicodeEncodeError as error:
        lone = error.object[error.start]
        raise ToolError(
            f"the new text of {shown!r} holds {lone!r}, half of a surrogate pair, which no file "
            "can hold; write the whole character"
        ) from error


async def _to_the_end(work: Callable[[], T]) -> T:
    """Run ``work`` in a thread; when cancelled, wait for its end first."""
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # seen: the cancellation is what goes on
        raise
