"""The messages with the chosen lines: shortened blocks, exchanges that go, a note. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from indwell.context.compaction.cuts import spill_name, spill_path
from indwell.context.compaction.digesting.candidates import Candidate
from indwell.context.compaction.digesting.shortened import (
    short_injection,
    short_reply,
    short_result,
    short_use,
)
from indwell.context.compaction.left_out import is_note, left_out
from indwell.context.compaction.step import Spill, Step
from indwell.context.compaction.view import View
from indwell.context.history import Splice
from indwell.messages import Block, Message, Text, ToolResult, ToolUse

LEAST_CALL = 100  # tokens of a call that is worth shortening


def rewritten(
    view: View,
    cut: int,
    found: Sequence[Candidate],
    kept: Sequence[set[int]],
    behind: Mapping[int, Message],
) -> Step | None:
    """The step that leaves what was chosen; None if that changes nothing.

    Args:
        view: Of the conversation.
        cut: First message of the tail; a boundary.
        found: All candidates before it.
        kept: Numbers of the lines that stay, for each of them.
        behind: Messages of the tail that read differently as well, by index.
    """
    rewrite = _Rewrite(view, found, kept)
    changed, gone = rewrite.messages(cut, behind)
    spills = list(rewrite.spills)
    if rewrite.dropped or any(is_note(one) for part in view.messages[:cut] for one in part.blocks):
        folder = view.facts.spill_folder
        note, files = left_out(view.conversation, cut, rewrite.dropped, folder)
        there = max(at for at, one in changed.items() if one.role == "user" and at < cut)
        host = changed[there]
        changed[there] = Message(host.role, (*host.blocks, note), host.turn)
        spills += files
    splices = [
        Splice(at, at + 1, (message,))
        for at, message in changed.items()
        if message.blocks != view.messages[at].blocks
    ]
    splices += (Splice(at, at + 2, ()) for at in gone)
    if not splices:
        return None
    return Step("digest", tuple(sorted(splices, key=lambda one: one.start)), tuple(spills))


class _Rewrite:
    """Goes through the messages before the tail, and gathers what must be kept in files.

    Attributes:
        spills: Of blocks that a marker stands in.
        dropped: Originals that leave no marker in their place.
    """

    def __init__(self, view: View, found: Sequence[Candidate], kept: Sequence[set[int]]) -> None:
        self._view = view
        self._alive = {one.piece.pair for one, numbers in zip(found, kept, strict=True) if numbers}
        self._found = {
            id(one.live): (one, numbers) for one, numbers in zip(found, kept, strict=True)
        }
        self.spills: list[Spill] = []
        self.dropped: list[Block] = []

    def messages(
        self, cut: int, behind: Mapping[int, Message]
    ) -> tuple[dict[int, Message], list[int]]:
        """Messages as they will read, by index, and where exchanges begin that go as a whole.

        What the agent said beside calls that went moves to the front of its next reply.
        """
        changed = dict(behind)
        gone: list[int] = []
        moved: tuple[Block, ...] = ()
        index = 0
        while index < cut:
            message = self._view.messages[index]
            blocks = self._blocks(message)
            if message.role == "user":
                changed[index] = _with(message, blocks or message.blocks)
                index += 1
                continue
            if not any(isinstance(one, ToolUse) for one in message.blocks):
                changed[index] = _with(message, moved + blocks)
                moved, index = (), index + 1
                continue
            pair = self._view.messages[index + 1]  # of calls before the tail, the results are too
            results = self._blocks(pair)
            said = tuple(one for one in blocks if _is_said(one))
            if not results:
                gone.append(index)
                moved += said
            else:
                if not said and not moved and not any(isinstance(one, ToolUse) for one in blocks):
                    # Something else stands beside the results, and a reply may not be empty.
                    blocks, results = self._stub(message, pair, results)
                changed[index] = _with(message, moved + blocks)
                changed[index + 1] = _with(pair, results)
                moved = ()
            index += 2
        if moved:
            message = behind.get(cut, self._view.messages[cut])
            changed[cut] = _with(message, moved + message.blocks)
        return changed, gone

    def _blocks(self, message: Message) -> tuple[Block, ...]:
        """What stays of a message, without an older note."""
        shorter = (self._shorter(one) for one in message.blocks if not is_note(one))
        return tuple(one for one in shorter if one is not None)

    def _shorter(self, block: Block) -> Block | None:
        found = self._found.get(id(block))
        if found is None:
            return block
        one, numbers = found
        if one.piece.pair and one.piece.pair not in self._alive:
            self.dropped.append(one.original)
            return None
        return self._with_lines(one, numbers)

    def _with_lines(self, one: Candidate, numbers: set[int]) -> Block | None:
        """A block with its chosen lines; whole if nearly all of them stay."""
        original, lines = one.original, one.piece.text.split("\n")
        if len(numbers) >= sum(1 for line in lines if line.strip()):
            return original
        match original:
            case Text(meta=meta) if meta.source == "assistant":
                self.dropped.append(original)
                return short_reply(original, lines, numbers) if numbers else None
            case Text(text=text):
                name = spill_name(original.meta.source, text)
                shorter: Block = short_injection(original, lines, numbers, self._path(name))
            case ToolUse(id=identifier, arguments=text):
                if original.meta.tokens < LEAST_CALL:
                    return original
                name = spill_name(identifier, text)
                shorter = short_use(original, lines, numbers, self._path(name))
            case ToolResult(tool_use_id=identifier, text=text):
                name = spill_name(identifier, text)
                shorter = short_result(original, lines, numbers, self._path(name))
            case _:
                return original
        if shorter.meta.tokens >= original.meta.tokens:
            return original
        self.spills.append(Spill(name, text))
        return shorter

    def _stub(
        self, message: Message, pair: Message, results: tuple[Block, ...]
    ) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        """The last call and its result without a line, and what else there is."""
        use = next(one for one in reversed(message.blocks) if isinstance(one, ToolUse))
        answer = next(
            one for one in pair.blocks if isinstance(one, ToolResult) and one.tool_use_id == use.id
        )
        short = [self._with_lines(self._found[id(one)][0], set()) for one in (use, answer)]
        call, result = (one for one in short if one is not None)
        return (call,), (result, *results)

    def _path(self, name: str) -> str:
        return spill_path(self._view.facts.spill_folder, name)


def _with(message: Message, blocks: tuple[Block, ...]) -> Message:
    return Message(message.role, blocks, message.turn)


def _is_said(block: Block) -> bool:
    return isinstance(block, Text) and bool(block.text.strip())
