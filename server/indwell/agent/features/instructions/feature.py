"""Sends instruction files to the model: the project's with a prompt, a folder's later.

The user is told once about untrusted files. The nearest file takes precedence, so each file is sent
when the agent works in the file's folder, and again after a change. New blocks are added at the
end, because sent blocks never change.
"""

from __future__ import annotations

import contextlib
import html
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.context.conversation import Conversation, sent_texts, state_of
from indwell.context.injections import inject
from indwell.context.untrusted_text import one_line
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Text
from indwell.prompt.instruction_files import FILE_NAME
from indwell.prompt.reminders import (
    LIMIT,
    gone_words,
    instruction_words,
    no_room_words,
)

SHARE = 8  # all instructions together may take an eighth of the context window
CHARS = 3  # A token of prose has at least 3 characters.
LEAST = 200  # a file that would be cut to fewer characters is only named

_PATH = lazy_pattern(r'<project-instructions path="([^"]+)">')


class Instruction(NamedTuple):
    """A file of instructions.

    Attributes:
        path: The file's path as shown to people and the model.
        text: The file's text.
        folder: The folder that the instructions apply to, as shown, or empty for the whole project.
        globs: Patterns of the files that the instructions apply to, or empty for all files.
    """

    path: str
    text: str
    folder: str = ""
    globs: tuple[str, ...] = ()


class FoundInstructions(NamedTuple):
    """The instruction files that apply, outermost first; ``ignored`` lists untrusted files."""

    texts: tuple[Instruction, ...] = ()
    ignored: tuple[str, ...] = ()


NOTHING = FoundInstructions()


def limit_of(window: int) -> int:
    """Return the limit of characters for one file in a context window of this size."""
    return min(LIMIT, window // SHARE * CHARS)


def told_paths(conversation: Conversation) -> tuple[str, ...]:
    """Return the paths of the folders' instruction files that were sent or queued."""
    return tuple(_told(conversation))


def instruction_blocks(
    conversation: Conversation, found: FoundInstructions, *, turn: int
) -> tuple[Text, ...]:
    """Return blocks for the new, changed and removed instruction files in ``found``."""
    told = _told(conversation)
    room = conversation.config.window // SHARE - _tokens(conversation)
    limit = limit_of(conversation.config.window)
    blocks = []
    for one in found.texts:
        block = _fitting(one, limit, room, turn)
        if told.get(_shown(one.path)) in {block.text, _block(one, limit, turn).text}:
            continue
        room -= block.meta.tokens
        blocks.append(block)
    present = {_shown(one.path) for one in found.texts}
    for path, text in told.items():
        gone = _inject(path, gone_words(path), turn)
        if path not in present and text != gone.text:
            blocks.append(gone)
    return tuple(blocks)


def _fitting(one: Instruction, limit: int, room: int, turn: int) -> Text:
    """Return as much of a file as the limit of tokens allows; at least the path."""
    while limit >= LEAST:
        block = _block(one, limit, turn)
        if block.meta.tokens <= room:
            return block
        limit = min(limit, len(one.text)) // 2
    return _inject(one.path, no_room_words(one.path), turn)


def _block(one: Instruction, limit: int, turn: int) -> Text:
    name = one.path.removeprefix(f"{one.folder}/") if one.folder else one.path
    words = instruction_words(one.text, folder=one.folder, limit=limit, name=name, globs=one.globs)
    return _inject(one.path, words, turn)


def _inject(path: str, words: str, turn: int) -> Text:
    return inject("instructions", words, turn=turn, attributes={"path": path})


def _shown(path: str) -> str:
    """Return a path with consecutive blanks joined, as the path appears in a block."""
    match = _PATH.match(_inject(path, "", 0).text)
    return path if match is None else html.unescape(match[1])


def _told(conversation: Conversation) -> Mapping[str, str]:
    """Return the newest text of each instruction file in the conversation, by path."""
    newest, _ = sent_texts(conversation)
    texts = dict(newest) | {state_of(one): one.text for one in conversation.pending}
    found = ((_PATH.match(text), text) for text in texts.values())
    return {html.unescape(match[1]): text for match, text in found if match is not None}


def _tokens(conversation: Conversation) -> int:
    """Count the tokens of all instructions in the conversation, including outdated instructions."""
    sent = (block for message in conversation.messages for block in message.blocks)
    return sum(
        block.meta.tokens
        for block in (*sent, *conversation.pending)
        if isinstance(block, Text) and block.meta.source == "instructions"
    )


MOST_NAMED = 5  # the limit of ignored files that one notice names


class Instructions:
    """Sends the instructions of one session.

    Args:
        own: Returns the instructions of the project itself, or empty if there is no file.
        of_folders: Returns the instructions for folders of given files. The second argument names
            the instruction files that the conversation already shows.
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
        """Return the feature that sends the instructions of one session."""
        return Feature(
            name="instructions",
            prompt_blocks=self._blocks,
            remind=self._remind,
            for_child=lambda: Instructions(self._own, self._of_folders).feature(),
        )

    async def _blocks(self, moment: Moment[Session], _prompt: Prompt) -> tuple[Text, ...]:
        """Return a block with the instructions of the project itself."""
        session = moment.session
        text = await session.hidden(await self._own())
        if not text:
            return ()
        limit = limit_of(session.conversation.config.window)
        return (inject("instructions", instruction_words(text, limit=limit), turn=moment.turn),)

    async def _remind(self, moment: Moment[Session]) -> Reminder:
        """Return a reminder with the instructions of folders whose files the model has read."""
        session, before = moment.session, self._told
        known = told_paths(session.conversation)
        found = await self._of_folders((*session.seen.paths(), *_marked(session)), known)
        blocks: tuple[Text, ...] = ()
        if found.texts != before.texts:
            texts = [one._replace(text=await session.hidden(one.text)) for one in found.texts]
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
    """Return the files that the prompt names; for a folder, the folder's instruction file."""
    prompt = None if session.under_way is None else session.under_way.prompt
    if prompt is None:
        return ()
    marked = (prompt.selection, *prompt.mentioned)
    names = [one.path for one in marked if one is not None]
    names += [f"{one.path}/{FILE_NAME}" for one in prompt.folders]
    found = []
    for name in names:
        # A file that is missing or outside the workspace is skipped.
        with contextlib.suppress(ToolError):
            found.append(session.parts.workspace.resolve(name))
    return tuple(found)


def ignored_words(names: Sequence[str]) -> str:
    """Return a notice about instruction files that differ from the trusted text."""
    shown = ", ".join(repr(one_line(name)) for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    listed = f"{shown} and {more} more" if more > 0 else shown
    is_one = len(names) == 1
    files = "1 instruction file is" if is_one else f"{len(names)} instruction files are"
    untrusted = "it as it is now" if is_one else "them as they are now"
    them = "it" if is_one else "them"
    return (
        f"{files} ignored, because you have not trusted {untrusted}: {listed}. Read {them}; "
        f"`indwell trust`, in an editor the command `indwell.trust`, lets Indwell use {them}."
    )
