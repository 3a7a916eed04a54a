"""Sends the project's instructions with a prompt, and a folder's when the agent works there.

Only files that the user trusted in their present state apply; the user is told once about any other
file. The nearest file takes precedence, so each is sent when the agent works in its folder, and
again when it
changes: at the end, because what was sent stays unchanged.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.permission.redaction import hidden
from indwell.bounds.rules import Trust
from indwell.bounds.secrets import visible_place
from indwell.context.conversation import Conversation, sent_texts, state_of
from indwell.context.injections import inject
from indwell.errors import ToolError
from indwell.files.listing import exists
from indwell.files.reading import read_bytes
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Text
from indwell.policy.approvals import one_line
from indwell.policy.paths import is_inside
from indwell.prompt.reminders import (
    FILE_NAME,
    LIMIT,
    gone_words,
    instruction_words,
    no_room_words,
)
from indwell.settings.model import Settings
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

SHARE = 8  # all instructions together take at most an eighth of the window
CHARS = 3  # characters per token of prose, at least
LEAST = 200  # characters; a file that would be cut shorter is only named

_PATH = lazy_pattern(r'<project-instructions path="([^"]+)">')


class Instruction(NamedTuple):
    """A file of instructions: its path as shown, and its text."""

    path: str
    text: str


class FoundInstructions(NamedTuple):
    """The files that apply where the agent works, outermost first; ``ignored`` were not trusted."""

    texts: tuple[Instruction, ...] = ()
    ignored: tuple[str, ...] = ()


NOTHING = FoundInstructions()


def limit_of(window: int) -> int:
    """Return the characters that one file may have in a window of so many tokens."""
    return min(LIMIT, window // SHARE * CHARS)


def told_paths(conversation: Conversation) -> tuple[str, ...]:
    """Return the folders' files that the conversation shows or is about to show."""
    return tuple(_told(conversation))


def instruction_blocks(
    conversation: Conversation, found: FoundInstructions, *, turn: int
) -> tuple[Text, ...]:
    """Return blocks for the news in ``found``: files not shown yet, changed or invalid."""
    told = _told(conversation)
    room = conversation.config.window // SHARE - _tokens(conversation)
    limit = limit_of(conversation.config.window)
    blocks = []
    for path, text in found.texts:
        block = _fitting(path, text, limit, room, turn)
        if told.get(_shown(path)) in {block.text, _block(path, text, limit, turn).text}:
            continue
        room -= block.meta.tokens
        blocks.append(block)
    present = {_shown(one.path) for one in found.texts}
    for path, text in told.items():
        gone = _inject(path, gone_words(path), turn)
        if path not in present and text != gone.text:
            blocks.append(gone)
    return tuple(blocks)


def _fitting(path: str, text: str, limit: int, room: int, turn: int) -> Text:
    """Return as much of a file as the tokens allow; otherwise only the path."""
    while limit >= LEAST:
        block = _block(path, text, limit, turn)
        if block.meta.tokens <= room:
            return block
        limit = min(limit, len(text)) // 2
    return _inject(path, no_room_words(path), turn)


def _block(path: str, text: str, limit: int, turn: int) -> Text:
    folder = path.removesuffix(f"/{FILE_NAME}")
    return _inject(path, instruction_words(text, folder=folder, limit=limit), turn)


def _inject(path: str, words: str, turn: int) -> Text:
    return inject("instructions", words, turn=turn, attributes={"path": path})


def _shown(path: str) -> str:
    """Return a path as its block shows it, with consecutive blanks as one."""
    match = _PATH.match(_inject(path, "", 0).text)
    return path if match is None else html.unescape(match[1])


def _told(conversation: Conversation) -> Mapping[str, str]:
    """Return the newest text of each file."""
    newest, _ = sent_texts(conversation)
    texts = dict(newest) | {state_of(one): one.text for one in conversation.pending}
    found = ((_PATH.match(text), text) for text in texts.values())
    return {html.unescape(match[1]): text for match, text in found if match is not None}


def _tokens(conversation: Conversation) -> int:
    """Count the tokens of all instructions in the conversation, outdated ones included."""
    sent = (block for message in conversation.messages for block in message.blocks)
    return sum(
        block.meta.tokens
        for block in (*sent, *conversation.pending)
        if isinstance(block, Text) and block.meta.source == "instructions"
    )


MOST_NAMED = 5  # ignored files in one notice


class Instructions:
    """The instructions of one session.

    Args:
        own: Returns those of the project itself; empty if missing.
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
    """Tell the user which files differ from their trusted text."""
    shown = ", ".join(repr(one_line(name)) for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    listed = f"{shown} and {more} more" if more > 0 else shown
    files = "1 instruction file is" if len(names) == 1 else f"{len(names)} instruction files are"
    return (
        f"{files} ignored, new or changed since you trusted the folder: {listed}. Look at what "
        "they say; `indwell trust` lets them count."
    )


MOST_B = 1 << 20  # bytes; a longer file is not read at all; see also ``instructions.LIMIT``
MOST_FOLDERS = 1_000  # folders examined for a request; a millisecond or two


class ProjectInstructions:
    """Finds and reads the instructions of a workspace.

    A file counts only as it was trusted, unless its folder is trusted whatever it holds. No deny
    rule may hide it, and it may have no other name, which could be that of a secret file.

    Args:
        workspace: The user's files.
        settings: Returns the current settings.
        trust: The user's trust in its folders.
    """

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Settings], trust: Trust
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._trust = trust

    async def own(self) -> str:
        """Return the project's own instructions; empty if none count."""
        root = self._workspace.roots[0]
        return await self._text(root, root / FILE_NAME) or ""

    async def of_folders(self, files: Sequence[Path], told: Sequence[str]) -> FoundInstructions:
        """Return the instructions of the folders above ``files``, and old ones; outermost first.

        Args:
            files: Absolute, resolved paths.
            told: Instruction files that the model has, as shown.
        """
        first, *others = self._workspace.roots
        above = {path.parent for path in files if path.parent != first}
        above |= {(first / name).parent for name in told}
        if not above:
            return NOTHING
        places = await asyncio.to_thread(_present, tuple(above), (first, *others))
        apart = self._trust.now((first, *others)).restricted
        texts, ignored = [], []
        for root, path in places:
            if is_inside(str(path), apart):
                continue
            text = await self._text(root, path)
            shown = display(path, self._workspace.roots)
            if text is None:
                ignored.append(shown)
            elif text.strip():
                texts.append(Instruction(shown, text))
        return FoundInstructions(tuple(texts), tuple(ignored))

    async def _text(self, root: Path, path: Path) -> str | None:
        """Return the editor's text or the trusted text; None if the file may not count."""
        workspace, trust = self._workspace, self._trust
        if not trust.is_trusted(root):
            return None
        try:
            real = visible_place(path, workspace.roots, self._settings().deny)
            if real is None:
                return None
            data = await asyncio.to_thread(read_bytes, real, [root], MOST_B)
            if trust.is_whole(root):
                return (await workspace.read(real)).text
        except ToolError:
            return None
        name = path.relative_to(root).as_posix()
        return data.decode("utf-8-sig", "replace") if trust.obeys(root, name, data) else None


def _present(folders: Iterable[Path], roots: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Return instruction files between a root and each of ``folders``, with that root. Blocks."""
    found: dict[Path, Path] = {}
    for folder in folders:
        inside = [root for root in roots if folder.is_relative_to(root)]
        if not inside:
            continue
        root = max(inside, key=lambda one: len(one.parts))
        at = folder
        while at not in found:
            found[at] = root
            if at == root:
                break
            at = at.parent
        if len(found) > MOST_FOLDERS:
            break
    own = roots[0]  # its file goes with the first words
    ordered = sorted(found, key=lambda one: (len(one.parts), one))
    paths = ((found[one], one / FILE_NAME) for one in ordered if one != own)
    return [(root, path) for root, path in paths if exists(path)]
