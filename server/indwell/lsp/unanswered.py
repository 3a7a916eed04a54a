"""Edits that the editor has not answered: it may still apply them, so nothing is sent twice.

An editor that checks versions applies at most one of two edits of one version. One that does not
would apply both. So the first of them stands in the way of the next, until the text has it, or it
is answered: by a no, or by a yes and a text that has moved. What the user types meanwhile says
nothing of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from indwell.errors import EditRefused
from indwell.lsp.documents import Document, Documents
from indwell.lsp.workspace_edits import QUICK
from indwell.workspace.comparing.diff import line_edits

MOST = 50  # that are remembered: each holds its texts


@dataclass(slots=True, eq=False)
class Asked:
    """An edit that was sent.

    Attributes:
        document: What it is of.
        path: Its file.
        edit: As it was sent.
        version: That it is bound to.
        before: The text that it is of.
        expected: The text that it makes.
        answer: Of the editor; nobody waits for it for ever.
        looked_at: The version of the document whose text was looked at last.
    """

    document: Document
    path: Path
    edit: types.WorkspaceEdit
    version: int
    before: str
    expected: str
    answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]
    looked_at: int | None = None


class Unanswered:
    """What was given up: the editor took too long, or told of no change; or the turn was stopped.

    Args:
        documents: What the editor has open.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._asked: list[Asked] = []
        self._applied: dict[Path, None] = {}  # in this order

    def add(self, asked: Asked) -> None:
        """Wait no more for this one, and remember it."""
        self._asked = [*self._asked[1 - MOST :], asked]

    async def check(self, document: Document) -> None:
        """Let an edit of this document pass, unless an earlier one may still be applied.

        Raises:
            EditRefused: It may.
        """
        await self._settle()
        for asked in self._asked:
            if asked.document is document:
                name = repr(asked.path.name)
                fate = f"has not answered an earlier edit of {name}"
                if asked.answer.done():
                    fate = f"took an earlier edit of {name}, but has told of no change,"
                raise EditRefused(
                    f"the editor {fate} and may still apply it, so this one was not sent; go on "
                    "with something else, or let the user look what the editor waits for (closing "
                    "and opening the file ends it)"
                )

    async def applied(self) -> tuple[Path, ...]:
        """Files whose text got an edit that was given up; each is told once."""
        await self._settle()
        told, self._applied = self._applied, {}
        return tuple(told)

    async def _settle(self) -> None:
        """See what became of each, before anybody edits its document again."""
        for asked in tuple(self._asked):
            document = asked.document
            if self._documents.get(document.uri) is not document or _is_no(asked.answer):
                self._forget(asked)
                continue
            version, is_yes = document.version, asked.answer.done()
            if version == asked.version or (version == asked.looked_at and not is_yes):
                continue  # it may still come
            is_taken = await was_taken(asked, document.text)
            asked.looked_at = version
            if (is_taken or is_yes) and self._forget(asked) and is_taken:
                self._applied[asked.path] = None

    def _forget(self, asked: Asked) -> bool:
        """Its fate is known; False if somebody else has seen to that while we looked."""
        was_there = asked in self._asked
        self._asked = [one for one in self._asked if one is not asked]
        return was_there


async def was_taken(asked: Asked, now: str) -> bool:
    """Does a text, to which an edit was sent and in which somebody typed, have the edit?

    It does if the proposed text is closer to it than the text before. (Neovim drops an edit of an
    older version than its own, and answers that it was applied.) In doubt the answer is no: then
    the text is read and merged again, which makes no edit twice.
    """
    if now == asked.expected:
        return True
    if len(asked.before) + len(now) < QUICK:
        return _is_closer(asked.before, asked.expected, now)
    return await asyncio.to_thread(_is_closer, asked.before, asked.expected, now)


def _is_closer(before: str, expected: str, now: str) -> bool:
    taken_away, put_in = _difference(expected, now)
    if 10 * taken_away > 9 * len(expected):
        return False  # too little of it is left to tell
    return taken_away + put_in < sum(_difference(before, now))


def _difference(one: str, other: str) -> tuple[int, int]:
    """How many characters have to be taken away, and put in."""
    edits = line_edits(one, other)
    return sum(edit.stop - edit.start for edit in edits), sum(len(edit.text) for edit in edits)


def _is_no(answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]) -> bool:
    if not answer.done():
        return False
    if answer.cancelled() or answer.exception() is not None:
        return True
    result = answer.result()
    return result is not None and not result.applied


def seen(answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]) -> None:
    """Where the text decides, an error in the answer is no matter."""
    if not answer.cancelled():
        answer.exception()
