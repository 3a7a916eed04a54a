"""Runs random actions of a user and an agent on one file, and compares with a simple model.

The model is a string. An action of the user changes the string exactly. An edit of the agent
changes the string as proposed, or not at all. Text that the user typed meanwhile must occur once.
The machine runs on ``support.virtual_time``.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

from lsprotocol import types

from indwell.errors import ToolError
from indwell.tools.base import ToolContext, ToolTable
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.editing.replace import Replacement, apply
from indwell.tools.editing.write import make_write_file
from indwell.tools.known_texts import KnownTexts
from indwell.tools.read import make_read_file
from indwell.workspace.base import Workspace
from indwell.workspace.text import document_lines
from support.edit_model import EditModel, a_moment
from support.edit_texts import formatted, made_on, without
from support.fake_editor.buffer import with_ending
from support.fake_editor.profiles import Profile

TOOLS = ToolTable([make_read_file(), make_edit_file(), make_write_file()])


class EditMachine(EditModel):
    """One file with a user and an agent, and the model of the allowed results."""

    def __init__(self, path: Path, profile: Profile, random: Random, disk: Workspace) -> None:
        super().__init__(path, profile, random, disk)
        self.seen = KnownTexts()
        self.context = ToolContext(
            workspace=self.editor.workspace,
            seen=self.seen,
            spill=self._no_spill,
            on_output=lambda _text: None,
        )
        self.is_sure = True  # The agent believes that its last edit was applied as proposed.

    async def step(self) -> None:
        """Run one random event, and check everything."""
        if self.text is None:
            choices = {"opens": 4, "reads": 2, "edits": 3, "writes": 1, "is_changed_on_disk": 1}
        else:
            choices = {
                "types": 6,
                "deletes": 1,
                "replaces_all": 1,
                "undoes": 2,
                "redoes": 1,
                "saves": 2,
                "closes": 1,
                "is_changed_on_disk": 1,
                "settles": 1,
                "reads": 4,
                "edits": 8,
                "writes": 1,
                "edits_in_a_race": 5,
                "edits_unanswered": 1,
                "releases": 2,
            }
        (name,) = self.random.choices(list(choices), list(choices.values()))
        self.told.append(name)
        self._agree()
        await getattr(self, f"_{name}")()
        if not self.editor.desk.behaviour.late or self.random.random() < 0.7:
            await self._look()

    async def finish(self) -> None:
        """Release delayed events, and check a last time."""
        await self._releases()
        await self._look()
        await self.editor.leave()

    async def _settles(self) -> None:
        before = self.disk
        self.editor.desk.tell()
        settlement = await self.editor.workspace.settle()
        now = self._on_disk()
        if now != before:
            assert not self.is_user_s, "the user's unsaved text went to disk"
            assert before == self.synced, "another program's text was overwritten"
            assert with_ending(now, "\n") == with_ending(self._now(), "\n")
            assert settlement.saved == (self.path,)
            self.disk = self.synced = now
            self.tally["put on disk"] += 1

    async def _reads(self) -> None:
        self.editor.desk.tell()
        await self._call("read_file", path=self.path.name)
        assert self.seen.text(self.path) == (self.disk if self.text is None else self.text)

    async def _edits(self) -> None:
        await self._edit(race=False)

    async def _edits_in_a_race(self) -> None:
        await self._edit(race=True)

    async def _writes(self) -> None:
        await self._edit(race=self.random.random() < 0.2, whole=True)

    async def _edits_unanswered(self) -> None:
        """Let the editor keep the edit unanswered until the server has stopped waiting."""
        behaviour = self.editor.desk.behaviour
        if behaviour.versions == "any" or self.editor.desk._untold or self.held:
            return
        if not behaviour.takes and behaviour.refusal == "true":
            return  # An accepted edit without a change blocks the next edit.
        found = self._some_edits()
        known = self.seen.text(self.path)
        if found is None or known != self.text:
            return
        release = asyncio.Event()

        async def wait(_edit: types.WorkspaceEdit) -> None:
            await release.wait()

        n_sent, version = len(self.editor.sent), self.buffer.version
        self.editor.moments.before = wait
        problem = await self._call("edit_file", path=self.path.name, edits=found)
        assert problem is not None, "an edit that nobody applied was told as done"
        assert self.buffer.text == self.text
        wanted = apply(known, _edits(found), "x")
        held = len(self.editor.sent) - n_sent
        assert held == 1, f"sent {held} times while nobody answered"
        self.held.append((release, version, with_ending(wanted, self.buffer.ending)))
        self.editor.moments.before = _nothing
        self.tally["unanswered"] += 1

    async def _edit(self, *, race: bool, whole: bool = False) -> None:
        """Edit the file as the agent knows it, and compare with all allowed results."""
        if self.random.random() < 0.6:
            await self._reads()
        known, found = self.seen.text(self.path), self._some_edits()
        if known is None or found is None:
            await self._write_over(known)
            return
        if self.random.random() < 0.7:
            self.editor.desk.tell()
        is_told = not self.editor.desk._untold
        before, edits = self._real(), _edits(found)
        wanted = apply(known, edits, "x")
        raced: list[str] = []
        # If the editor ignores versions, an edit that crosses a keystroke may change any part.
        if race and self.editor.desk.behaviour.versions != "any":
            self._set_race(raced)
        if whole:
            problem = await self._call("write_file", path=self.path.name, content=wanted)
        else:
            problem = await self._call("edit_file", path=self.path.name, edits=found)
        self.editor.moments.before = self.editor.moments.after = _nothing
        await a_moment()
        after = self._real()
        plain = after
        for token in raced:
            assert after.count(token) == 1, f"the keystroke {token!r} is lost"
            plain = plain.replace(token, "")
        self._judge(before, plain, known, edits, whole=whole)
        # The user made the same change.
        is_so = before == wanted or made_on(before, edits) == {before}
        is_so |= not is_told  # The server could not know about the change.
        self._compare(problem, changed=plain != before, is_so=is_so, raced=raced)
        if problem is not None and known == before and is_told and not raced and not self.held:
            assert not self._must_work(), f"refused for no reason: {problem}"
        self._keep(after, raced)

    def _keep(self, after: str, raced: list[str]) -> None:
        """Make the buffer's text after an edit the expected text."""
        if self.text is None:
            self.disk = after
        elif after != self.text:
            is_formatted = len(self.buffer.undo) > len(self.undo) + 1 and not raced
            self._set(after)
            self.is_user_s = self.is_user_s or bool(raced) or is_formatted
            assert self._on_disk() == self.disk, "an edit of a buffer went to disk"

    def _compare(
        self, problem: str | None, *, changed: bool, is_so: bool, raced: list[str]
    ) -> None:
        """Compare the tool's error message with what happened."""
        self.tally[("raced, " if raced else "") + ("applied" if changed else "refused")] += 1
        if problem is None and not changed and not is_so:
            assert not self.is_sure, "told as done, and nothing was"
            self.tally["told as done and to be read, and nothing was"] += 1
        if problem is not None and changed:
            assert raced or self._formats(), f"told as not done, and it was: {problem}"
            self.tally["told as not done and to be read, and it was"] += 1

    async def _write_over(self, known: str | None) -> None:
        """Write a whole file whose text the agent does not know, or of which no part is unique."""
        self.editor.desk.tell()
        before = self._real()
        problem = await self._call("write_file", path=self.path.name, content="over all\n")
        await a_moment()
        after = self._real()
        assert problem is None or after == before, f"told as not done, and it was: {problem}"
        if problem is None:
            assert known == before, "written over what was not read"
            assert after in self._as_written({"over all\n"}, whole=True)
            self._set(after)

    def _judge(
        self, before: str, after: str, known: str, edits: tuple[Replacement, ...], *, whole: bool
    ) -> None:
        """Check that ``after`` is ``before``, ``before`` with the edit, or a merge of both."""
        allowed = {before, *made_on(before, edits)}
        wanted = made_on(known, edits)
        if known == before:
            allowed |= wanted
        allowed = self._as_written(allowed, whole=whole)
        if after in allowed:
            return
        # Without the text that the user typed since, the file must equal the agent's proposal.
        ending = self.buffer.ending if self.text is not None else ""
        typed = [one for one in self._texts.typed_in(before, ending) if one not in known]
        assert without(before, typed) == known, f"neither {before!r} nor an edit of it: {after!r}"
        assert all(after.count(one) == 1 for one in typed), "a keystroke is lost"
        proposed = self._as_written(wanted, whole=whole)
        assert without(after, typed) in proposed, f"not what was proposed: {after!r}"
        self.tally["merged"] += 1

    def _as_written(self, texts: set[str], *, whole: bool) -> set[str]:
        """Return the texts with the line endings of the file or the editor, and formatted."""
        if whole:
            texts = texts | {with_ending(one, "\r\n") for one in texts}
        if self.text is not None:
            texts = texts | {with_ending(one, self.buffer.ending) for one in texts}
        return texts | {formatted(one) for one in texts} if self._formats() else texts

    def _set_race(self, raced: list[str]) -> None:
        """Let the user type during the edit: before the edit's check, or right after."""

        async def type_once(_edit: types.WorkspaceEdit) -> None:
            token = with_ending(self._texts.token(), self.buffer.ending)
            raced.append(token)
            text = self.buffer.text
            at = self._texts.place(text)
            self.told.append(f"types {token!r} at {at}")
            self.editor.type_text(self.buffer, at, at, token)
            self.editor.moments.before = self.editor.moments.after = _nothing

        if self.random.random() < 0.6:
            self.editor.moments.before = type_once
        else:
            self.editor.moments.after = type_once

    def _must_work(self) -> bool:
        behaviour = self.editor.desk.behaviour
        return self.text is None or (behaviour.takes and not self._formats())

    async def _call(self, tool: str, **arguments: Any) -> str | None:
        """Call a tool of the agent; return its error."""
        call = TOOLS.bind(tool, json.dumps(arguments))
        try:
            outcome = await call.run(self.context)
        except ToolError as error:
            self.told.append(f"{tool} {arguments}: {error}")
            return str(error)
        self.told.append(f"{tool} {arguments}: {outcome.text}")
        self.is_sure = all(change.verified for change in outcome.changes)
        return outcome.text if outcome.is_error else None

    def _some_edits(self) -> list[dict[str, str]] | None:
        """Return one or two edits of text that the agent knows; None if it knows no unique text."""
        known = self.seen.text(self.path)
        if not known:
            return None
        lines = [line.rstrip("\r\n") for line in document_lines(known)]
        unique = [line for line in lines if line.strip() and known.count(line) == 1]
        if not unique:
            return None
        chosen = self.random.sample(unique, min(len(unique), self.random.choice((1, 1, 2))))
        edits = [{"old": line, "new": self._texts.replacement(line)} for line in chosen]
        try:
            apply(known, _edits(edits), "x")
        except ToolError:  # One edit's text is part of the other edit's result.
            return edits[:1]
        return edits

    async def _no_spill(self, _label: str, _text: str) -> Path:
        raise AssertionError


async def _nothing(_edit: types.WorkspaceEdit) -> None:
    """Do nothing while the edit is applied."""


def _edits(found: list[dict[str, str]]) -> tuple[Replacement, ...]:
    return tuple(Replacement(old=one["old"], new=one["new"]) for one in found)
