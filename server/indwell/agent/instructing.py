"""Tells the model the instructions of the folders that its work comes into (H13)."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from indwell.agent import events
from indwell.agent.events import Listener
from indwell.agent.folder_instructions import (
    Found,
    Instruction,
    instruction_blocks,
    limit_of,
    told_paths,
)
from indwell.agent.prompt import Prompt
from indwell.agent.secrecy import hidden
from indwell.agent.session import Session
from indwell.context.conversation import queue
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.messages import Text
from indwell.policy.approvals import one_line
from indwell.prompt.instructions import FILE_NAME, instruction_words

MOST_NAMED = 5  # ignored files in one notice


async def own_blocks(session: Session, turn: int) -> tuple[Text, ...]:
    """The instructions of the project itself."""
    text = await hidden(session, await session.parts.instructions())
    if not text:
        return ()
    limit = limit_of(session.conversation.config.window)
    return (inject("instructions", instruction_words(text, limit=limit), turn=turn),)


async def tell_instructions(session: Session, turn: int, emit: Listener) -> None:
    """Let the request tell the instructions of the folders of the files that the model knows."""
    found, before = await _found(session), session.told_instructions
    if found.texts != before.texts:
        blocks = await _blocks(session, found, turn)
        session.conversation = queue(session.conversation, blocks)
    session.told_instructions = found
    new = [one for one in found.ignored if one not in before.ignored]
    if new:
        emit(events.Notice(turn, "warning", ignored_words(new)))


def marked_places(session: Session, prompt: Prompt) -> tuple[Path, ...]:
    """What the words are about; of a folder the file that may hold its instructions."""
    marked = (prompt.selection, *prompt.mentioned)
    names = [one.path for one in marked if one is not None]
    names += [f"{one.path}/{FILE_NAME}" for one in prompt.folders]
    found = []
    for name in names:
        with contextlib.suppress(ToolError):  # of no file, or of one outside
            found.append(session.parts.workspace.resolve(name))
    return tuple(found)


async def folder_blocks(session: Session, turn: int) -> tuple[Text, ...]:
    """What the next request would tell of them; looking tells nobody."""
    return await _blocks(session, await _found(session), turn)


def ignored_words(names: Sequence[str]) -> str:
    """What the user is told of files that are not as they were trusted."""
    shown = ", ".join(repr(one_line(name)) for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    listed = f"{shown} and {more} more" if more > 0 else shown
    files = "1 instruction file is" if len(names) == 1 else f"{len(names)} instruction files are"
    return (
        f"{files} ignored, new or changed since you trusted the folder: {listed}. Look at what "
        "they say; `indwell trust` lets them count."
    )


async def _found(session: Session) -> Found:
    told = told_paths(session.conversation)
    marked = () if session.under_way is None else session.under_way.marked
    return await session.parts.folder_instructions((*session.seen.paths(), *marked), told)


async def _blocks(session: Session, found: Found, turn: int) -> tuple[Text, ...]:
    texts = [Instruction(one.path, await hidden(session, one.text)) for one in found.texts]
    return instruction_blocks(session.conversation, Found(tuple(texts)), turn=turn)
