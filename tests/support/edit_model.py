"""Runs random actions of a user on one file, and keeps the expected text in a string.

An action of the user changes the string in the same way. ``edit_machine`` adds the agent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from random import Random

from indwell.workspace.base import Workspace
from indwell.workspace.text import document_lines
from support.edit_texts import Texts, formatted
from support.fake_editor.buffer import Buffer, usual_ending, with_ending
from support.fake_editor.profiles import Profile
from support.near_editor import NearEditor


class EditModel:
    """A file in the fake editor, its user's actions, and the expected text.

    Args:
        path: The file; the model overwrites it.
        profile: The behaviour of the editor.
        random: The random generator for all choices.
        disk: The disk below the buffers; models may share a disk.

    Attributes:
        disk: The text that must be on disk.
        synced: The text that the editor believes to be on disk.
        text: The text that must be in the buffer; None while the file is closed.
        is_user_s: Whether the buffer has unsaved text of the user
        held: Edits that wait: the event that releases them, their version, and their result.
        tally: The number of times that each action happened.
        told: The actions so far, for the report of a failure.
    """

    def __init__(self, path: Path, profile: Profile, random: Random, disk: Workspace) -> None:
        self.path, self.random = path, random
        self.tally: Counter[str] = Counter()
        self.told: list[str] = []
        self._texts = Texts(random)
        self.editor = NearEditor(path.parent, profile, disk=disk)
        self.editor.desk.formatter = formatted
        self.disk = self._texts.file()
        self._write(self.disk)
        self.synced = self.disk
        self.text: str | None = None
        self.undo: list[str] = []
        self.redo: list[str] = []
        self.is_user_s = False
        self.held: list[tuple[asyncio.Event, int, str]] = []

    @property
    def buffer(self) -> Buffer:
        """Return the open buffer."""
        return self.editor.desk.buffers[self.path.as_uri()]

    def _agree(self) -> None:
        """Count nothing of the user as unsaved if buffer and disk have the same text."""
        if self.text is not None and with_ending(self.text, "\n") == with_ending(self.disk, "\n"):
            self.synced, self.is_user_s = self.disk, False

    async def _look(self) -> None:
        self.editor.desk.tell()
        await a_moment()
        assert self._on_disk() == self.disk, "the disk is not as the model says"
        document = self.editor.documents.get(self.path.as_uri())
        if self.text is None:
            assert document is None
            return
        assert self.buffer.text == self.text, "the buffer is not as the model says"
        assert document is not None
        assert document.text == self.text, "the server has another text than the editor"
        assert document.lines == document_lines(self.text)
        assert document.version == self.buffer.version

    async def _opens(self) -> None:
        behaviour = self.editor.desk.behaviour
        ending = usual_ending(self.disk) if behaviour.one_ending else ""
        self.editor.open(self.path)
        self.text = self.synced = with_ending(self.disk, ending)
        if ending and self.text != self.disk:
            self.synced = self.text  # The editor decided itself.
        self.undo, self.redo, self.is_user_s = [], [], False

    async def _types(self) -> None:
        at = self._texts.place(self._now())
        self._type(at, self._texts.token())

    async def _deletes(self) -> None:
        text = self._now()
        lines = document_lines(text)
        number = self.random.randrange(len(lines))
        start = sum(map(len, lines[:number]))
        end = start + len(lines[number])
        # The deletion joins no "\r" with a "\n".
        if start < end and text[start - 1 : start] != "\r":
            self.editor.type_text(self.buffer, start, end, "")
            self._took(text[:start] + text[end:])

    async def _replaces_all(self) -> None:
        text = with_ending(self._texts.file(), self.buffer.ending)
        self.editor.desk.rewrite(self.buffer, text)
        self._took(text)

    async def _undoes(self) -> None:
        self.editor.desk.undo(self.buffer)
        if self.undo:
            self.redo.append(self._now())
            self.text, self.is_user_s = self.undo.pop(), True

    async def _redoes(self) -> None:
        self.editor.desk.redo(self.buffer)
        if self.redo:
            self.undo.append(self._now())
            self.text, self.is_user_s = self.redo.pop(), True

    async def _saves(self) -> None:
        self.editor.desk.save(self.buffer)
        if self.editor.desk.behaviour.formats_on_save and formatted(self._now()) != self.text:
            self._took(formatted(self._now()))
        self.disk = self.synced = self._now()
        self.is_user_s = False

    async def _closes(self) -> None:
        await self._releases()
        self.editor.desk.close(self.buffer)
        self.text = None

    async def _is_changed_on_disk(self) -> None:
        self.disk += f"{self._texts.token()} of another program\n"
        self._write(self.disk)
        desk = self.editor.desk
        clean = self.text is not None and not self.buffer.dirty
        desk.noticed_disk()
        if clean and desk.behaviour.reloads:
            text = with_ending(self.disk, self.buffer.ending)
            if text != self.text:
                self._set(text)
            self.synced, self.is_user_s = text, False

    async def _releases(self) -> None:
        """Let the editor handle edits that it has not answered."""
        behaviour = self.editor.desk.behaviour
        for event, version, proposed in self.held:
            fits = self.buffer.version == version
            event.set()
            await a_moment()
            if fits and behaviour.takes and not behaviour.heeds_cancel:
                wanted = formatted(proposed) if self._formats() else proposed
                assert self.buffer.text == wanted, "an edit that fits was not applied whole"
                self._took(wanted)
                self.tally["applied late"] += 1
            else:
                assert self.buffer.text == self.text, "a stale edit was applied"
        self.held.clear()

    def _formats(self) -> bool:
        return self.text is not None and self.editor.desk.behaviour.formats_after_edit

    def _type(self, at: int, token: str) -> None:
        text = self._now()
        token = with_ending(token, self.buffer.ending)
        self.told.append(f"types {token!r} at {at}")
        self.editor.type_text(self.buffer, at, at, token)
        self._took(text[:at] + token + text[at:])

    def _took(self, text: str) -> None:
        """Record one change by the user or the editor."""
        self._set(text)
        self.is_user_s = True

    def _set(self, text: str) -> None:
        if self.text is None:
            self.disk = text
            return
        # Undo treats an agent's edit and a keystroke as two steps.
        self.undo = list(self.buffer.undo)
        self.redo = []
        self.text = text

    def _now(self) -> str:
        assert self.text is not None
        return self.text

    def _real(self) -> str:
        return self._on_disk() if self.text is None else self.buffer.text

    def _on_disk(self) -> str:
        return self.path.read_bytes().decode()

    def _write(self, text: str) -> None:
        self.path.write_bytes(text.encode())


async def a_moment() -> None:
    """Run the event loop until no task is ready."""
    for _ in range(5):
        await asyncio.sleep(0)
