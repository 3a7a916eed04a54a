"""Edits that the editor has not answered: it may still apply them, so nothing is sent twice.

An editor that checks versions applies at most one of two edits of one version. One that does not
would apply both. So the first of them stands in the way of the next, until it is answered or the
text has moved; then the text says what became of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from lsprotocol import types

from indwell.errors import EditRefused
from indwell.lsp.documents import LONG, Document, Documents
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
    """

    document: Document
    path: Path
    edit: types.WorkspaceEdit
    version: int
    before: str
    expected: str
    answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]


class Unanswered:
    """What was given up, because the editor took too long or the turn was stopped.

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
            if asked.document is document and not asked.answer.done():
                raise EditRefused(
                    f"the editor has not answered an earlier edit of {asked.path.name!r} and may "
                    "still apply it, so this one was not sent; go on with something else, or let "
                    "the user look what the editor waits for (closing and opening the file ends it)"
                )

    async def applied(self) -> tuple[Path, ...]:
        """Files whose text got an edit that was given up; each is told once."""
        await self._settle()
        told, self._applied = self._applied, {}
        return tuple(told)

    async def _settle(self) -> None:
        """See what became of those whose text has moved, before anybody edits it again."""
        for asked in tuple(self._asked):
            if asked not in self._asked:
                continue  # somebody else has seen to it while we looked
            document = asked.document
            is_open = self._documents.get(document.uri) is document
            is_moved = document.version != asked.version
            is_refused = asked.answer.done() and not _is_yes(asked.answer)
            if is_open and not is_moved and not is_refused:
                continue  # it may still come
            self._asked.remove(asked)
            if is_open and is_moved and not is_refused and await was_taken(asked, document.text):
                self._applied[asked.path] = None


async def was_taken(asked: Asked, now: str) -> bool:
    """Does a text, to which an edit was sent and in which somebody typed, have the edit?

    It does if the proposed text is closer to it than the text before. (Neovim drops an edit of an
    older version than its own, and answers that it was applied.) In doubt the answer is no: then
    the text is read and merged again, which makes no edit twice.
    """
    if now == asked.expected:
        return True
    if len(asked.before) + len(now) < LONG:
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


def _is_yes(answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]) -> bool:
    if answer.cancelled() or answer.exception() is not None:
        return False
    result = answer.result()
    return result is None or result.applied


def seen(answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]) -> None:
    """Where the text decides, an error in the answer is no matter."""
    if not answer.cancelled():
        answer.exception()
