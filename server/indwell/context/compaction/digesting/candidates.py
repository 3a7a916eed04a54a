"""What of the old messages may become shorter, and what of it must stay (H23). Pure.

Calls and their results, texts of the workspace that were injected, and longer replies of the agent.
Never the user's words, pinned blocks, the harness's own reminders, or a summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indwell.context.compaction.digesting.choice import Piece
from indwell.context.compaction.digesting.lines import text_of
from indwell.context.compaction.digesting.uses import Uses
from indwell.context.compaction.view import View
from indwell.context.history import place_of
from indwell.messages import Block, Message, Text, ToolResult, ToolUse

LEAST_TEXT = 60  # tokens of a text that is worth shortening
MARKER = 30.0  # tokens of a marker with the path of a file
_TELLING = 20  # characters of a line that says more than "Done."
WORKSPACE = 2  # the trust tier of injected data


class Candidate(NamedTuple):
    """A block that may become shorter.

    Attributes:
        message: Index of its live message.
        live: As it is now.
        original: As it was at first.
        piece: Its original text, to choose lines from.
    """

    message: int
    live: Block
    original: Block
    piece: Piece


def candidates(view: View, whole: Sequence[Message], cut: int, uses: Uses) -> Iterator[Candidate]:
    """All of the live messages before ``cut``, in order.

    Args:
        view: Of the conversation.
        whole: Its transcript: lines are chosen from what the blocks were at first.
        cut: First message of the tail; a boundary.
        uses: Of the transcript.
    """
    messages, history = view.messages, view.conversation.history
    stop = place_of(messages, history, cut)
    said = set(_texts(whole[:stop]))
    for index in range(cut):
        begin = place_of(messages, history, index)
        end = place_of(messages, history, index + 1)
        # Ids repeat between rounds: of a range that exchanges were dropped from, the first counts.
        originals = {key(one): one for part in reversed(whole[begin:end]) for one in part.blocks}
        calls = any(isinstance(one, ToolUse) for one in messages[index].blocks)
        for block in messages[index].blocks:
            match block:
                case ToolUse(id=identifier):
                    original = originals.get(key(block), block)
                    pair = f"{index}:{identifier}"
                    piece = Piece(text_of(original), pair=pair, is_said=True)
                    yield Candidate(index, block, original, piece)
                case ToolResult(tool_use_id=identifier):
                    original = originals.get(key(block), block)
                    read, pair = uses.reads.get(identifier), f"{index - 1}:{identifier}"
                    piece = Piece(text_of(original), MARKER, pair=pair, read=read)
                    yield Candidate(index, block, original, piece)
                case Text() if _may_shorten(block) and block.text in said:
                    kept = _must_stay(block, with_calls=calls)
                    is_said = block.meta.source == "assistant"
                    piece = Piece(block.text, kept=kept, is_said=is_said)
                    yield Candidate(index, block, block, piece)


def key(block: Block) -> tuple[str, str]:
    """What tells a call and a result of one exchange apart."""
    match block:
        case ToolUse(id=identifier):
            return "use", identifier
        case ToolResult(tool_use_id=identifier):
            return "result", identifier
        case _:
            return "", ""


def _may_shorten(text: Text) -> bool:
    """Is it long enough, and whose may be shortened?"""
    meta = text.meta
    if meta.pinned or not meta.compactable or meta.tokens < LEAST_TEXT:
        return False
    return meta.source == "assistant" or (meta.tier == WORKSPACE and "\n" in text.text)


def _must_stay(text: Text, *, with_calls: bool) -> tuple[int, ...]:
    """The two lines of a tag; of a turn's last words a line that says that it was finished."""
    if text.meta.source != "assistant":
        return (0, text.text.count("\n"))
    if with_calls:
        return ()
    lines = text.text.split("\n")
    said = [number for number, line in enumerate(lines) if line.strip()]
    telling = (number for number in said if len(lines[number].strip()) >= _TELLING)
    return (next(telling, said[0]),)


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    """What was said as it was at first; a text that is none of these was shortened before."""
    for message in messages:
        yield from (block.text for block in message.blocks if isinstance(block, Text))
