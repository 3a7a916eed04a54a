"""Sends the project's instructions with a prompt, and a folder's when the agent works there.

Only files that the user trusted as they are count; the user hears once of a file that does not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.features.instructions.folders import (
    NOTHING,
    FoundInstructions,
    Instruction,
    instruction_blocks,
    limit_of,
    told_paths,
)
from indwell.agent.permission.redaction import hidden
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.messages import Text
from indwell.policy.approvals import one_line
from indwell.prompt.instructions import FILE_NAME, instruction_words

MOST_NAMED = 5  # ignored files in one notice


class Instructions:
    """The instructions of one session.

    Args:
        own: Returns those of the project itself; empty if there are none.
        of_folders: Returns those of the folders with these files, given the instruction files that
            the conversation already shows.
    """

    def __init__(
        self,
        own: Callable[[], Awaitable[str]],
        of_folders: Callable[[Sequence[Path], Sequence[str]], Awaitable[FoundInstructions]],
    ) -> None:
        self._own = own
        self._of_folders = of_folders
        self._told = NOTHING

    def feature(self) -> Feature[Session]:
        """Return the instructions as a feature of their session."""
        return Feature(
            name="instructions",
            prompt_blocks=self._blocks,
            remind=self._remind,
            for_child=lambda: Instructions(self._own, self._of_folders).feature(),
        )

    async def _blocks(self, moment: Moment[Session], _prompt: Prompt) -> tuple[Text, ...]:
        """Return the instructions of the project itself."""
        session = moment.session
        text = await hidden(session, await self._own())
        if not text:
            return ()
        limit = limit_of(session.conversation.config.window)
        return (inject("instructions", instruction_words(text, limit=limit), turn=moment.turn),)

    async def _remind(self, moment: Moment[Session]) -> Reminder:
        """Return the instructions of folders whose files the model has read."""
        session, before = moment.session, self._told
        known = told_paths(session.conversation)
        found = await self._of_folders((*session.seen.paths(), *_marked(session)), known)
        blocks: tuple[Text, ...] = ()
        if found.texts != before.texts:
            texts = [Instruction(one.path, await hidden(session, one.text)) for one in found.texts]
            blocks = instruction_blocks(
                session.conversation, FoundInstructions(tuple(texts)), turn=moment.turn
            )

        def told() -> None:
            self._told = found
            new = [one for one in found.ignored if one not in before.ignored]
            if new:
                moment.emit(Notice(moment.turn, "warning", ignored_words(new)))

        return Reminder(blocks, told)


def _marked(session: Session) -> tuple[Path, ...]:
    """Return the files that the turn's words concern; of a folder, its instruction file."""
    prompt = None if session.under_way is None else session.under_way.prompt
    if prompt is None:
        return ()
    marked = (prompt.selection, *prompt.mentioned)
    names = [one.path for one in marked if one is not None]
    names += [f"{one.path}/{FILE_NAME}" for one in prompt.folders]
    found = []
    for name in names:
        with contextlib.suppress(ToolError):  # no file, or one outside
            found.append(session.parts.workspace.resolve(name))
    return tuple(found)


def ignored_words(names: Sequence[str]) -> str:
    """Tell the user which files differ from what was trusted."""
    shown = ", ".join(repr(one_line(name)) for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    listed = f"{shown} and {more} more" if more > 0 else shown
    files = "1 instruction file is" if len(names) == 1 else f"{len(names)} instruction files are"
    return (
        f"{files} ignored, new or changed since you trusted the folder: {listed}. Look at what "
        "they say; `indwell trust` lets them count."
    )
