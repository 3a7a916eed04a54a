"""Tool results that are cut: found, shortened, and kept whole in a spill file (H21)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.context.calls import call_of
from indwell.context.compaction.step import Spill, Step
from indwell.context.compaction.view import View
from indwell.context.history import Splice, place_of, transcript
from indwell.context.tokens import estimate_tokens
from indwell.messages import Block, Message, ToolResult, ToolUse

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_STAMP_BYTES = 10  # of a digest, 16 characters; two texts with the same 5 are found in a second
_MOST_OF_TOOL = 64  # characters of a tool's name, as providers bound it; a model may write others
_NAME_LENGTH = 10  # of a call's id in a file's name: its end, for all begin alike

Shorten: TypeAlias = Callable[[str], str]
"""From the path of the spill file to the text that stands in place of the result."""


class Place(NamedTuple):
    """A result and where it stands: in message ``among`` as block ``at``; ``use`` is its call."""

    among: int
    at: int
    result: ToolResult
    use: ToolUse


class Cut(NamedTuple):
    """What becomes of one result."""

    place: Place
    shorten: Shorten


def results_of(messages: Sequence[Message], start: int, stop: int) -> tuple[Place, ...]:
    """The results of the messages from ``start`` to ``stop``, oldest first."""
    found: list[Place] = []
    for index in range(max(1, start), stop):
        uses = {one.id: one for one in messages[index - 1].blocks if isinstance(one, ToolUse)}
        found += (
            Place(index, at, block, uses[block.tool_use_id])
            for at, block in enumerate(messages[index].blocks)
            if isinstance(block, ToolResult) and block.tool_use_id in uses
        )
    return tuple(found)


def called(use: ToolUse) -> str:
    """A call in a few words: its tool and what it was about."""
    main, name = call_of(use).main, _UNSAFE.sub("_", use.name)[:_MOST_OF_TOOL]
    return f"{name} {main}" if main else name


def spill_name(identifier: str, text: str) -> str:
    """A file name for a text that is cut; ids of calls may repeat, so its stamp joins it."""
    safe = _UNSAFE.sub("-", identifier)[-_NAME_LENGTH:].strip("-") or "text"
    return f"{safe}-{stamp(text)}.txt"


def stamp(text: str) -> str:
    """What tells a text from others in a file's name, and can hardly be forged.

    In one case only: there are file systems that do not tell capitals from small letters.
    """
    data = text.encode("utf-8", "surrogatepass")
    digest = hashlib.blake2b(data, digest_size=_STAMP_BYTES).digest()
    return base64.b32encode(digest).decode().lower()


def spill_path(folder: str, name: str) -> str:
    """Where a spill stands, as the model can name it to ``read_file``."""
    return f"{folder.rstrip('/')}/{name}" if folder else name


def cut_step(layer: str, view: View, cuts: Iterable[Cut]) -> Step | None:
    """The step that makes the cuts; None if not one of them saves anything.

    What goes to the spill file is the result as the tool gave it, not what an earlier cut left. It
    is handed on with each cut, also where the text seems to name the file already: a tool can write
    such words, and in a fork it is another folder's file. Who writes leaves what is there alone.
    """
    whole: tuple[Message, ...] | None = None
    spills: dict[str, Spill] = {}
    blocks: dict[int, list[Block]] = {}
    for (index, at, result, _), shorten in cuts:
        if whole is None:
            whole = transcript(view.messages, view.conversation.history)
        original = _original(view, whole, index, result)
        name = spill_name(result.tool_use_id, original)
        shorter = with_text(result, shorten(spill_path(view.facts.spill_folder, name)))
        if shorter.meta.tokens >= result.meta.tokens or len(shorter.text) >= len(result.text):
            continue
        spills[name] = Spill(name, original)
        blocks.setdefault(index, list(view.messages[index].blocks))[at] = shorter
    if not blocks:
        return None
    splices = tuple(
        Splice(index, index + 1, (with_blocks(view.messages[index], blocks[index]),))
        for index in sorted(blocks)
    )
    return Step(layer, splices, tuple(spills.values()))


def with_text(result: ToolResult, text: str) -> ToolResult:
    """The same result with another text, counted."""
    meta = msgspec.structs.replace(result.meta, tokens=estimate_tokens(text))
    return msgspec.structs.replace(result, text=text, meta=meta)


def with_blocks(message: Message, blocks: Iterable[Block]) -> Message:
    """The same message with other blocks."""
    return Message(message.role, tuple(blocks), message.turn)


def _original(view: View, whole: Sequence[Message], index: int, result: ToolResult) -> str:
    """The text that the tool gave; a message that was never compacted holds it."""
    history = view.conversation.history
    if index >= len(history.places):
        return result.text
    start, stop = (place_of(view.messages, history, at) for at in (index, index + 1))
    for message in whole[start:stop]:
        for block in message.blocks:
            if isinstance(block, ToolResult) and block.tool_use_id == result.tool_use_id:
                return block.text
    return result.text
