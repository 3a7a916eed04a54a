"""Chooses which folders' instruction files the model should read next. Pure.

The nearest file counts, so each is told when work comes into its folder, and again when it changes:
behind all that was sent, for what was sent stays as it is.
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

SHARE = 8  # one part in so many of the window is the most that all instructions take together
CHARS = 3  # a token of prose in any language has about as many, or more
LEAST = 200  # characters; what would be cut shorter is only named

_PATH = lazy_pattern(r'<project-instructions path="([^"]+)">')


class Instruction(NamedTuple):
    """A file of instructions: its path, as shown, and its text."""

    path: str
    text: str


class FoundInstructions(NamedTuple):
    """What counts where the agent works, outermost first; ``ignored`` is not as it was trusted."""

    texts: tuple[Instruction, ...] = ()
    ignored: tuple[str, ...] = ()


NOTHING = FoundInstructions()


def limit_of(window: int) -> int:
    """Characters of one file, in a window of so many tokens."""
    return min(LIMIT, window // SHARE * CHARS)


def told_paths(conversation: Conversation) -> tuple[str, ...]:
    """Files of folders that the conversation was told of, or is about to be."""
    return tuple(_told(conversation))


def instruction_blocks(
    conversation: Conversation, found: FoundInstructions, *, turn: int
) -> tuple[Text, ...]:
    """What is new of ``found``: files that were not told of, that changed, that count no more."""
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
    """As much of a file as there are tokens for; else only where it is."""
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
    """A path as its block names it, which may not be all of it: of two blanks one is left."""
    match = _PATH.match(_inject(path, "", 0).text)
    return path if match is None else html.unescape(match[1])


def _told(conversation: Conversation) -> Mapping[str, str]:
    """The newest text on each file."""
    newest, _ = sent_texts(conversation)
    texts = dict(newest) | {state_of(one): one.text for one in conversation.pending}
    found = ((_PATH.match(text), text) for text in texts.values())
    return {html.unescape(match[1]): text for match, text in found if match is not None}


def _tokens(conversation: Conversation) -> int:
    """Of all instructions in the conversation, also of those that are out of date: they stay."""
    sent = (block for message in conversation.messages for block in message.blocks)
    return sum(
        block.meta.tokens
        for block in (*sent, *conversation.pending)
        if isinstance(block, Text) and block.meta.source == "instructions"
    )
