"""Chooses which folders' instruction files the model should read next. Pure.

The nearest file takes precedence, so each is sent when the agent works in its folder, and again
when it changes: at the end, because what was sent stays unchanged.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import NamedTuple

from indwell.context.conversation import Conversation, sent_texts
from indwell.context.injections import inject
from indwell.context.tally import state_of
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Text
from indwell.prompt.instructions import (
    FILE_NAME,
    LIMIT,
    gone_words,
    instruction_words,
    no_room_words,
)

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
    """Return as much of a file as the tokens allow; otherwise only where it is."""
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
