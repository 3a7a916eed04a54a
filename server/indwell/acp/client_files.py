"""Reads and writes the user's files, with the unsaved text of an ACP client.

The protocol has no versions and does not say which files are open. Each read and each write
therefore asks the client for its text. A text that differs from the disk is an unsaved buffer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from indwell.acp.client import AcpClient, Silent
from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.listing import exists
from indwell.workspace.base import (
    UNMARKED,
    AppliedChange,
    ChangeMarks,
    Noted,
    PathLocks,
    Settlement,
    Snapshot,
    TextStamp,
    Workspace,
    digest,
)
from indwell.workspace.comparing.matching import changed_blocks
from indwell.workspace.encoding.notebook import SUFFIX
from indwell.workspace.large import Large
from indwell.workspace.text import LineEnd

T = TypeVar("T")
R = TypeVar("R")


class ClientFiles:
    """Shows the client's unsaved buffers in place of files on disk; implements ``Workspace``.

    A saved file is written on disk, and the client reloads the file. The encoding and the line ends
    therefore stay unchanged. An unsaved buffer is changed through the client.

    Args:
        client: The client.
        session: Returns the id of the session, or empty while the client does not know it.
        disk: The files on disk.
        named: Returns the client's spelling of a path, which may contain links.
    """

    def __init__(
        self,
        client: AcpClient,
        session: Callable[[], str],
        disk: Workspace,
        named: Callable[[Path], str] = str,
    ) -> None:
        self._named = named
        self._late: dict[Path, str] = {}
        self._client = client
        self._session = session
        self._disk = disk
        self._locks = PathLocks()
        self._unsaved: dict[Path, str] = {}
        self.roots, self.resolve, self.watch = disk.roots, disk.resolve, disk.watch

    async def read(self, path: Path) -> Snapshot:
        """Return the client's unsaved text of a file, or the text on disk if there is none."""
        on_disk = await self._disk.read(path)
        try:
            text = await self._buffer(path, on_disk)
        except Silent:
            note = "the client did not answer; the text on disk is shown, not a buffer's"
            return msgspec.structs.replace(on_disk, notes=(*on_disk.notes, note))
        if text is None:
            return on_disk
        stamp = TextStamp(digest(text))
        return Snapshot(path, text, stamp, origin="buffer", unsaved=True)

    async def write(
        self,
        path: Path,
        base: Snapshot | None,
        text: str,
        *,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        """Change an unsaved buffer through the client, and any other file on disk."""
        del marks  # An ACP client applies each change without a question.
        async with self._locks.hold(path):
            if base is None:
                await self._check_new(path)
                return await self._disk.write(path, base, text, label=label)
            on_disk = await self._disk.read(path)
            now = await self._known_buffer(path, on_disk)
            if now is None:
                if base.origin == "buffer" and base.text != on_disk.text:
                    raise _moved(path)
                on_base = on_disk if base.origin == "buffer" else base
                return await self._disk.write(path, on_base, text, label=label)
            if now != base.text:
                raise _moved(path)
            return await self._change(path, base, text)

    async def _change(self, path: Path, base: Snapshot, text: str) -> AppliedChange:
        if not self._client.writes_files:
            raise EditRefused(
                f"{path.name!r} has unsaved text in the client, which cannot be edited from here; "
                "ask the user to save the file"
            )
        if not await self._client.write_file(self._session(), self._named(path), text):
            # The client may still write the text later; ``late_edits`` checks for that.
            self._late[path] = text
            raise EditRefused(
                f"the client has not said that it wrote {path.name!r}; read_file it again before "
                "the next edit"
            )
        after = await self.read(path)
        is_same = _unbroken(after.text) == _unbroken(text)
        note = "" if is_same else "the client changed the text while it saved the file"
        return AppliedChange(path, base.text, after.text, after.stamp, verified=is_same, note=note)

    async def within(self, path: Path, look: Callable[[Large], T]) -> T:
        """Examine a large file on disk; see ``Workspace``."""
        return await self._disk.within(path, look)

    async def splice(
        self, path: Path, change: Callable[[Large], tuple[Large, R]], *, label: str
    ) -> tuple[TextStamp, R]:
        """Change a large file on disk, unless the client has unsaved text of it."""
        async with self._locks.hold(path):
            await self._check_saved(path)
            return await self._disk.splice(path, change, label=label)

    async def line_end(self, path: Path, text: str) -> LineEnd:
        """Return the line ends that a text on disk should have; see ``Workspace``."""
        return await self._disk.line_end(path, text)

    async def keep(self, snapshot: Snapshot) -> Path | None:
        """Save a copy of the text on disk; see ``Workspace``."""
        return await self._disk.keep(snapshot)

    async def remove(
        self, path: Path, base: Snapshot, *, label: str, marks: ChangeMarks = UNMARKED
    ) -> Path | None:
        """Delete a file on disk, unless the client has unsaved text of it."""
        del marks
        async with self._locks.hold(path):
            if await self._known_buffer(path, await self._disk.read(path)) is not None:
                raise EditRefused(
                    f"{path.name!r} has unsaved text in the client; it was not deleted"
                )
            return await self._disk.remove(path, base, label=label)

    def noting(self) -> Callable[[], Noted]:
        """Record nothing, because the protocol does not report the user's edits and saves."""
        return Noted

    def unsaved(self) -> Mapping[Path, str]:
        """Return the unsaved texts that reads have found."""
        return dict(self._unsaved)

    async def settle(self) -> Settlement:
        """Report the files that are still unsaved; Indwell never saves the user's text."""
        for path in tuple(self._unsaved):
            text = self._unsaved[path]
            try:
                snapshot = await self.read(path)
            except ToolError:
                continue  # the client did not answer, so its text may be unsaved
            if snapshot.notes and snapshot.origin == "disk":
                self._unsaved[path] = text  # the client did not answer
        return Settlement(stale=tuple(self._unsaved))

    async def late_edits(self) -> tuple[Path, ...]:
        """Return the files that the client wrote after the time limit, each once."""
        late = []
        for path, text in tuple(self._late.items()):
            with suppress(ToolError):
                if _unbroken((await self.read(path)).text) == _unbroken(text):
                    late.append(path)
                    del self._late[path]
        return tuple(late)

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        """Return nothing: the protocol does not say which files are open."""
        return ()

    async def _check_new(self, path: Path) -> None:
        """Refuse to create a file of which the client has unsaved text."""
        session = self._session()
        if not session or not self._client.reads_files or await asyncio.to_thread(exists, path):
            return
        try:
            text = await self._client.read_file(session, self._named(path))
        except Silent:
            raise _unknown(path) from None
        if text and text.strip():
            raise EditRefused(f"{path.name!r} is an unsaved new file in the client")

    async def _check_saved(self, path: Path) -> None:
        """Refuse to change a large file if the client's text is unknown or differs."""
        session = self._session()
        if not session or not self._client.reads_files:
            return
        try:
            text = await self._client.read_file(session, self._named(path))
        except Silent:
            raise _unknown(path) from None
        if text is not None and not await self._disk.within(path, partial(_is_text_of, text)):
            raise EditRefused(
                f"{path.name!r} has unsaved text in the client; ask the user to save the file"
            )

    async def _known_buffer(self, path: Path, on_disk: Snapshot) -> str | None:
        """Return the client's unsaved text; raise an error if the client does not answer."""
        try:
            return await self._buffer(path, on_disk)
        except Silent:
            raise _unknown(path) from None

    async def _buffer(self, path: Path, on_disk: Snapshot) -> str | None:
        """Return the client's text with the disk's line ends, or None if the texts are equal."""
        self._unsaved.pop(path, None)
        session = self._session()
        is_file_of_git = ".git" in path.parts
        if not session or not self._client.reads_files or path.suffix == SUFFIX or is_file_of_git:
            return None
        text = await self._client.read_file(session, self._named(path))
        if text is None or _unbroken(text) == _unbroken(on_disk.text):
            return None
        if "\r" not in text and "\r\n" in on_disk.text:
            text = await asyncio.to_thread(_with_line_ends, text, on_disk.text)
        self._unsaved[path] = text
        return text


def _is_text_of(text: str, large: Large) -> bool:
    """Return whether a file has this text, if line ends are ignored; blocks."""
    return _unbroken(large.read(0, large.size_b).decode("utf-8", "replace")) == _unbroken(text)


def _with_line_ends(text: str, like: str) -> str:
    """Return a text of lines that end with a line feed, with the line ends of a similar text.

    A line of both texts keeps its end, and a new line gets the end of the line before it.
    """
    if like.count("\r\n") == like.count("\n"):
        return text.replace("\n", "\r\n")
    old, new = like.split("\n"), text.split("\n")
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in old[:-1]]
    ends.append(ends[-1])
    made: list[str] = []
    at = 0
    same = [line.removesuffix("\r") for line in old]
    for block in changed_blocks(same, new):
        made += ends[at : block.a0]
        made += [made[-1] if made else ends[0]] * (block.b1 - block.b0)
        at = block.a1
    made += ends[at:]
    made[-1] = ""  # No line end follows the last line.
    return "".join(line + end for line, end in zip(new, made, strict=True))


def _unbroken(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _unknown(path: Path) -> EditRefused:
    return EditRefused(
        f"the client did not say what text it has of {path.name!r}; nothing was changed"
    )


def _moved(path: Path) -> TextMoved:
    return TextMoved(
        f"{path.name!r} was changed in the client meanwhile; nothing was edited; read_file it again"
    )
