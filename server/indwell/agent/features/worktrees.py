"""Answers ``/worktree``: the user's commands for sessions that work in a copy of the folder."""

from __future__ import annotations

from typing import Protocol

from indwell.agent.core.feature import Feature
from indwell.agent.core.session import Session

NAME = "worktree"


class WorktreeBook(Protocol):
    """Carries out the user's commands for worktrees."""

    async def answer(self, words: str, session: str = "") -> str | None:
        """Carry out the words after ``/worktree``; return None if they are no command.

        Raises:
            UserError: The command cannot be carried out.
        """
        ...


class SharedWorktrees:
    """The worktrees of the folder, for the commands that the user writes in one session.

    Attributes:
        book: The worktrees; None in a process that offers no worktrees.
        session: The id of the session.
    """

    def __init__(self) -> None:
        self.book: WorktreeBook | None = None
        self.session = ""

    def feature(self) -> Feature[Session]:
        """Return the feature that answers the command; no model sees the command."""
        return Feature(
            name=NAME,
            door=self,
            commands=lambda: (NAME,),
            answer_words=self._answer,
            for_child=lambda: None,
        )

    async def _answer(self, words: str) -> str | None:
        command, _, rest = words.strip().partition(" ")
        if self.book is None or command.lower() != f"/{NAME}":
            return None
        return await self.book.answer(rest.strip(), self.session) or USAGE


USAGE = (
    "write `/worktree` for the list, `/worktree new`, or `diff`, `merge`, `remove` or `discard` "
    "with a name such as w3f9a"
)
