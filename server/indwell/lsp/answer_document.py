"""The answers of a session in one document, the newest first, for editors that read it anew."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from indwell.agent.session import Session
from indwell.errors import SessionError, ToolError
from indwell.files import write_atomic

MOST_ANSWERS = 20  # that stay readable below the newest; the session's log has all
RULE = "\n\n---\n\n"


class AnswerDocument:
    """One file a session, so that one window is enough (``experimental.indwell.reread``)."""

    def __init__(self) -> None:
        self._session = ""
        self._answers: tuple[str, ...] = ()
        self._path: Path | None = None

    async def add(self, session: Session, answer: str) -> Path:
        """Put an answer above the others; gives where they stand.

        Raises:
            SessionError: The disk does not take it.
        """
        if session.id != self._session:
            self._session, self._answers, self._path = session.id, (), None
        self._answers = (answer.rstrip("\n"), *self._answers[: MOST_ANSWERS - 1])
        text = RULE.join(self._answers) + "\n"
        if self._path is None:
            self._path = await session.parts.spill("answers.md", text)
            return self._path
        path, data = self._path, text.encode("utf-8", "replace")
        try:
            await asyncio.to_thread(partial(write_atomic, path, data, [path.parent]))
        except (ToolError, OSError) as error:
            raise SessionError(
                f"the answer could not be written to {str(path)!r} ({error}); make room there"
            ) from error
        return path
