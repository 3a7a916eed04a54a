"""Old results become digests: of all that is old, the lines most likely to be needed stay (H19).

All lines before the protected tail compete for the room that the aim leaves, so a text loses much
or little by what it is worth and not by where it stands. Lines are chosen from the originals: one
that was left out comes back when the agent names it again. An exchange of which nothing stays goes
as a whole, and a marker says so. Nothing of the user's is touched.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indwell.context.calls import call_of
from indwell.context.compaction.cuts import spill_name, spill_path
from indwell.context.compaction.economy import LEAST_SHARE, pays
from indwell.context.compaction.exchanges import tail_start, tokens_of
from indwell.context.compaction.left_out import left_out
from indwell.context.compaction.preset import Digest
from indwell.context.compaction.shortened import short_result, short_use
from indwell.context.compaction.step import Spill, Splice, Step
from indwell.context.compaction.view import View
from indwell.context.compaction.worth import (
    Line,
    Uses,
    argument_texts,
    freshness,
    lines_of,
    uses_of,
    worth,
)
from indwell.context.conversation import estimated_tokens
from indwell.context.history import place_of, transcript
from indwell.context.tokens import message_tokens
from indwell.messages import Block, Message, Text, ToolResult, ToolUse

_RESULT_HEAD = 45  # tokens of a marker and of the call that a result needs
_LEAST = 100  # tokens below which shortening a block is not worth a marker


class _Piece(NamedTuple):
    """A block that may become shorter.

    Attributes:
        message: Index of its live message.
        block: As it was at first.
        live: Tokens that it has now.
        lines: All of its lines.
        factor: What they are worth beside those of other pieces.
        head: Tokens of the marker that it needs as soon as one line stays.
    """

    message: int
    block: Block
    live: int
    lines: tuple[Line, ...]
    factor: float
    head: int


def digest(layer: Digest, view: View) -> Step | None:
    """Cut what is old down to the goal; None if there is nothing to gain, or it does not pay."""
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    scale = estimated / view.tokens if view.tokens else 1.0
    goal = int(view.goal * scale)
    fixed = estimated - tokens_of(view.messages) - view.facts.incoming
    if not view.must and not _may_pay(view, estimated - goal, goal - fixed):
        return None
    tail = int(view.budget * layer.tail_share)
    cut = tail_start(view.messages, turns=1, tokens=tail, window=view.budget)
    most = _most_freed(view.messages[:cut])
    if not view.must and not _may_pay(view, most, estimated - fixed - most):
        return None
    whole = transcript(view.messages, view.conversation.history)
    pieces = tuple(_pieces(layer, view, whole, cut, uses := uses_of(whole)))
    room = goal - (estimated - sum(piece.live for piece in pieces))
    kept = _chosen(pieces, room, uses)
    step = _step(view, whole, cut, pieces, kept)
    if step is None:
        return None
    freed = sum(
        sum(map(message_tokens, view.messages[one.start : one.stop])) - tokens_of(one.messages)
        for one in step.splices
    )
    if freed <= 0 or (not view.must and not _may_pay(view, freed, estimated - fixed - freed)):
        return None
    return step


def _most_freed(messages: Sequence[Message]) -> int:
    """Tokens of all that could go from these messages; quick to say."""
    return sum(
        max(0, block.meta.tokens - _RESULT_HEAD)
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolUse | ToolResult)
    )


def _may_pay(view: View, freed: float, rewritten: float) -> bool:
    if freed < LEAST_SHARE * view.budget:
        return False
    return pays(freed=freed, rewritten=max(0.0, rewritten), facts=view.facts)


def _pieces(
    layer: Digest, view: View, whole: Sequence[Message], cut: int, uses: Uses
) -> Iterator[_Piece]:
    """Every block before the tail that may become shorter, as it was at first."""
    history = view.conversation.history
    calls: dict[str, ToolUse] = {}
    for index in range(cut):
        begin = place_of(view.messages, history, index)
        end = place_of(view.messages, history, index + 1)
        # Ids repeat between rounds: of a range that exchanges were dropped from, the first counts.
        range_ = reversed(whole[begin:end])
        originals = {_key(block): block for one in range_ for block in one.blocks}
        for block in view.messages[index].blocks:
            if not isinstance(block, ToolUse | ToolResult):
                continue
            original = originals.get(_key(block), block)
            if isinstance(original, ToolUse):
                calls[original.id] = original
                text = "\n".join(argument_texts(original.arguments))
                age = uses.n_rounds - uses.used.get(original.id, 0)
                if original.meta.tokens >= _LEAST:
                    factor = layer.call_worth * freshness(age)
                    yield _Piece(index, original, block.meta.tokens, lines_of(text), factor, 0)
            elif isinstance(original, ToolResult):
                factor = _factor(layer, calls.get(original.tool_use_id), uses)
                lines = lines_of(original.text)
                yield _Piece(index, original, block.meta.tokens, lines, factor, _RESULT_HEAD)


def _factor(layer: Digest, use: ToolUse | None, uses: Uses) -> float:
    """What the lines of a result are worth beside those of others."""
    if use is None:
        return 0.1
    age = uses.n_rounds - uses.used.get(use.id, 0)
    call = call_of(use)
    if call.kind != "read" or uses.newest_read.get(call.path) != use.id:
        return freshness(age)
    whole = layer.read_worth if age <= layer.read_grace else 1.0
    return freshness(age) * (layer.edited_worth if call.path in uses.edited else 1.5) * whole


def _chosen(pieces: Sequence[_Piece], room: int, uses: Uses) -> dict[int, set[int]]:
    """Numbers of the lines that stay, by the number of their piece; most worth a token first."""
    heap = [
        (-worth(line, uses) * piece.factor / (line.tokens + 3), at, number, line.tokens)
        for at, piece in enumerate(pieces)
        for number, line in enumerate(piece.lines)
        if line.text.strip()
    ]
    heapq.heapify(heap)
    kept: dict[int, set[int]] = {}
    left = float(room)
    while heap and left > 0:
        _, at, number, tokens = heapq.heappop(heap)
        price = tokens + 1 + (0 if at in kept else pieces[at].head)
        if price <= left:
            kept.setdefault(at, set()).add(number)
            left -= price
    return kept


def _step(
    view: View,
    whole: Sequence[Message],
    cut: int,
    pieces: Sequence[_Piece],
    kept: dict[int, set[int]],
) -> Step | None:
    """The splices that leave what was chosen."""
    alive = {pieces[at].message for at, numbers in kept.items() if numbers}
    gone = frozenset(_gone(view.messages, cut, alive))
    spills: dict[str, Spill] = {}
    short: dict[int, dict[tuple[str, str], Block]] = {}
    for at, piece in enumerate(pieces):
        if not {piece.message, piece.message - 1} & gone:
            block = _shortened(view, piece, kept.get(at, set()), spills)
            short.setdefault(piece.message, {})[_key(piece.block)] = block
    changed: dict[int, Message] = {}
    for index, blocks_here in short.items():
        message = view.messages[index]
        blocks = tuple(blocks_here.get(_key(one), one) for one in message.blocks)
        if blocks != message.blocks:
            changed[index] = Message(message.role, blocks, message.turn)
    if gone:
        index, marked, spill = left_out(view, whole, cut, gone, changed)
        changed[index] = marked
        spills[spill.name] = spill
    splices = [Splice(at, at + 1, (message,)) for at, message in changed.items()]
    splices += [Splice(at, at + 2, ()) for at in gone]
    if not splices:
        return None
    ordered = tuple(sorted(splices, key=lambda one: one.start))
    return Step("digest", ordered, tuple(spills.values()))


def _gone(messages: Sequence[Message], cut: int, alive: set[int]) -> Iterator[int]:
    """Where an exchange begins of which nothing stays: calls and results, and not a word said."""
    index = 0
    while index + 1 < cut:
        reply, results = messages[index], messages[index + 1]
        if not alive & {index, index + 1} and _may_go(reply, results):
            yield index
            index += 1
        index += 1


def _shortened(view: View, piece: _Piece, kept: set[int], spills: dict[str, Spill]) -> Block:
    """The block with its chosen lines; whole if all that matters of it stays."""
    n_said = sum(1 for line in piece.lines if line.text.strip())
    block = piece.block
    shorter: Block
    match block:
        case ToolUse(id=identifier, arguments=text):
            name = spill_name(identifier, text)
            path = spill_path(view.facts.spill_folder, name)
            shorter = short_use(block, piece.lines, kept, path)
        case ToolResult(tool_use_id=identifier, text=text):
            name = spill_name(identifier, text)
            path = spill_path(view.facts.spill_folder, name)
            shorter = short_result(block, piece.lines, kept, path)
        case _:
            return block
    if len(kept) >= n_said or shorter.meta.tokens >= block.meta.tokens:
        return block
    spills[name] = Spill(name, text)
    return shorter


def _may_go(message: Message, pair: Message) -> bool:
    """Is this an exchange that holds nothing but calls and their results?"""
    is_exchange = message.role == "assistant" and all(
        isinstance(one, ToolUse) or not _is_said(one) for one in message.blocks
    )
    return is_exchange and all(isinstance(one, ToolResult) for one in pair.blocks)


def _is_said(block: Block) -> bool:
    return isinstance(block, Text) and bool(block.text.strip())


def _key(block: Block) -> tuple[str, str]:
    """What tells a call and a result of one exchange apart."""
    match block:
        case ToolUse(id=identifier):
            return "use", identifier
        case ToolResult(tool_use_id=identifier):
            return "result", identifier
        case _:
            return "", ""
