"""Shortens old messages to the lines that are most likely to be needed. Pure.

All lines before the protected tail compete for the space that the goal leaves, so lines are removed
by value, not by position. Lines are chosen from the original texts, so a removed line comes back
when the agent uses its names again. An exchange without chosen lines is dropped, and a note reports
the dropped calls. The user's text never changes.

Candidates are calls and their results, injected texts of the workspace, and longer replies of the
agent. The user's text, pinned blocks, Indwell's own reminders and summaries are never candidates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import msgspec

from indwell.context.compaction.cuts import spill_name, spill_path
from indwell.context.compaction.digesting.line_choice import LineChooser, ReducibleText, chosen
from indwell.context.compaction.digesting.lines import is_numbered
from indwell.context.compaction.digesting.repeats import unfolded
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.presets import Digest
from indwell.context.compaction.step import (
    LEAST_SHARE,
    CompactionStep,
    Outline,
    SpilledFile,
    SpilledText,
    View,
    can_pay,
    goal_of,
    growth,
    pays,
    tail_of,
)
from indwell.context.compaction.transcripts import TranscriptParts, is_note, left_out
from indwell.context.conversation import estimated_tokens
from indwell.context.file_work import call_of
from indwell.context.history import MessageSplice, freed, place_of, tokens_of, transcript
from indwell.context.tokens import BLOCK_OVERHEAD, estimate_tokens
from indwell.messages import Block, Message, Text, ToolResult, ToolUse

# Old lines have at least this share of the budget's tokens above ``SMALL_BUDGET``, even if one huge
# result at the conversation's end is already larger than the goal. In a small window, the huge
# result and old lines together would soon need the next digest.
LEAST_ROOM = 0.04
SMALL_BUDGET = 32_000


def digest(
    layer: Digest,
    view: View,
    index: TranscriptIndex | None = None,
    *,
    choose: LineChooser = chosen,
) -> CompactionStep | None:
    """Shorten old messages to the goal; return None if the step saves nothing or costs too much.

    Args:
        layer: The goal, and the size of the protected tail.
        view: The conversation, and the inputs of the decision.
        index: The index of the session; without an index, all messages are read.
        choose: Chooses the lines to keep.
    """
    outline = Outline(view.conversation)
    if not view.must and not can_pay(layer, view, outline):
        return None
    cut = tail_of(view, outline, int(view.budget * layer.tail_share))
    if not view.must and not _pays(view, outline, most_freed(view.messages[:cut])):
        return None
    index = index or TranscriptIndex()
    index.grow(transcript(view.messages, view.conversation.history))
    rewrite = _rewrite(layer, view, cut, index, choose)
    step = _step(view, cut, rewrite, index.parts)
    if step is None or view.must:
        return step
    return step if _pays(view, outline, freed(view.messages, step.splices)) else None


class _Rewrite(NamedTuple):
    """The messages after a digest.

    Attributes:
        changed: The messages that may have changed, by index.
        gone: The starts of exchanges to drop.
        spills: The texts of blocks that now contain a marker.
        dropped: The original blocks that were removed without a marker.
    """

    changed: dict[int, Message]
    gone: list[int]
    spills: list[SpilledText]
    dropped: list[Block]


def _rewrite(
    layer: Digest, view: View, cut: int, index: TranscriptIndex, choose: LineChooser
) -> _Rewrite:
    """Choose the lines to keep, and rewrite the messages; the candidates are freed on return."""
    found = tuple(candidates(view, cut, index))
    behind = unfolded(view.messages, view.conversation.history, cut)
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    fixed = estimated - sum(one.live.meta.tokens + BLOCK_OVERHEAD for one in found)
    fixed += sum(tokens_of([one]) - tokens_of([view.messages[at]]) for at, one in behind.items())
    least = LEAST_ROOM * max(0, view.budget - SMALL_BUDGET)
    room = max(goal_of(layer, view) - fixed, min(least, (view.budget - fixed) / 4))
    kept = choose(found, room, _shown(view, found), index.uses)
    writer = _Writer(view, found, kept)
    changed, gone = writer.messages(cut, behind)
    return _Rewrite(changed, gone, writer.spills, writer.dropped)


def _shown(view: View, found: Sequence[Candidate]) -> list[Block]:
    """Return the blocks that stay unchanged."""
    live = {id(one.live) for one in found}
    # The step replaces the note of an earlier digest, so names in that note are not shown.
    blocks = (one for message in view.messages for one in message.blocks if not is_note(one))
    return [one for one in blocks if id(one) not in live]


def most_freed(messages: Sequence[Message]) -> int:
    """Return the tokens of all blocks that a digest of these messages may shorten or drop.

    No digest frees more tokens. Most decisions end with this sum, and read no text.
    """
    return sum(
        block.meta.tokens + BLOCK_OVERHEAD
        for message in messages
        for block in message.blocks
        if not _stays(block)
    )


def _stays(block: Block) -> bool:
    """Return whether each digest keeps the block, perhaps in another message."""
    match block:
        case ToolUse() | ToolResult():
            return False
        case Text():
            return _is_said(block) and not is_note(block) and not _may_shorten(block)
        case _:
            return True


def _pays(view: View, outline: Outline, gain: int) -> bool:
    """Return whether a step that frees ``gain`` tokens saves money."""
    return gain >= LEAST_SHARE * view.budget and pays(
        freed=gain,
        rewritten=outline.whole.tokens + view.facts.incoming - gain,
        growth=growth(view.conversation),
        facts=view.facts,
    )


LEAST_TEXT = 60  # shorter texts, in tokens, are not worth shortening
# the tokens of a marker that replaces removed lines and names the file with these lines
MARKER = 30.0
_TELLING = 20  # a line with more characters says more than "Done."
WORKSPACE = 2  # the trust tier of injected data


class Candidate(ReducibleText, frozen=True, gc=False, kw_only=True):
    """A block that may become shorter.

    The source is the block before any compaction.

    Attributes:
        live: The block as it is now.
    """

    live: Block


def candidates(view: View, cut: int, index: TranscriptIndex) -> Iterator[Candidate]:
    """Return all candidates of the live messages before ``cut``, in order.

    Args:
        view: The conversation, and the inputs of the decision.
        cut: The first message of the protected tail, which starts an exchange.
        index: The index of the transcript with the original blocks.
    """
    messages, history = view.messages, view.conversation.history
    stop = place_of(messages, history, cut)
    # Call ids may repeat in later exchanges.
    pairs = defaultdict[str, int](count(1).__next__)
    for at in range(cut):
        begin, end = place_of(messages, history, at), place_of(messages, history, at + 1)
        calls = any(isinstance(one, ToolUse) for one in messages[at].blocks)
        if messages[at].role == "assistant":
            pairs.clear()
        for block in messages[at].blocks:
            match block:
                case ToolUse(id=identifier):
                    # In a range with dropped exchanges, the first block with an id is used.
                    original = index.original(block, begin, end)
                    yield Candidate(original, pair=pairs[identifier], is_said=True, live=block)
                case ToolResult(tool_use_id=identifier):
                    original = index.original(block, begin, end)
                    read, pair = index.uses.reads.get(identifier), pairs[identifier]
                    yield Candidate(original, MARKER, pair=pair, read=read, live=block)
                case Text() if _may_shorten(block) and index.has_text(block.text, stop):
                    kept = _must_stay(block, with_calls=calls)
                    is_said = block.meta.source == "assistant"
                    yield Candidate(block, kept=kept, is_said=is_said, live=block)


def _may_shorten(text: Text) -> bool:
    """Return whether the block is long, and comes from a source whose texts may be shortened."""
    meta = text.meta
    if meta.pinned or not meta.compactable or meta.tokens < LEAST_TEXT:
        return False
    return meta.source == "assistant" or (meta.tier == WORKSPACE and "\n" in text.text)


def _must_stay(text: Text, *, with_calls: bool) -> tuple[int, ...]:
    """Return the lines that must be kept: those with a tag, and the report of completion."""
    if text.meta.source != "assistant":
        return (0, text.text.count("\n"))
    if with_calls:
        return ()
    lines = text.text.split("\n")
    said = [number for number, line in enumerate(lines) if line.strip()]
    telling = (number for number in said if len(lines[number].strip()) >= _TELLING)
    return (next(telling, said[0]),)


LEAST_CALL = 100  # shorter calls, in tokens, are not worth shortening


def _step(view: View, cut: int, rewrite: _Rewrite, parts: TranscriptParts) -> CompactionStep | None:
    """Build the step with the rewritten messages; return None if the step changes nothing."""
    changed, spills = rewrite.changed, list[SpilledFile](rewrite.spills)
    if rewrite.dropped or any(is_note(one) for part in view.messages[:cut] for one in part.blocks):
        folder = view.facts.spill_folder
        note, files = left_out(view.conversation, cut, rewrite.dropped, folder, parts)
        there = max(at for at, one in changed.items() if one.role == "user" and at < cut)
        host = changed[there]
        changed[there] = Message(host.role, (*host.blocks, note), host.turn)
        spills += files
    splices = [
        MessageSplice(at, at + 1, (message,))
        for at, message in changed.items()
        if message.blocks != view.messages[at].blocks
    ]
    splices += (MessageSplice(at, at + 2, ()) for at in rewrite.gone)
    if not splices:
        return None
    splices.sort(key=lambda one: one.start)
    return CompactionStep("digest", tuple(splices), tuple(spills))


class _Writer:
    """Rewrites the messages before the tail, and collects the removed texts for files.

    Attributes:
        spills: The texts of blocks that now contain a marker.
        dropped: The original blocks that were removed without a marker.
    """

    def __init__(
        self, view: View, found: Sequence[Candidate], kept: Sequence[Collection[int]]
    ) -> None:
        self._view, self._found, self._kept = view, found, kept
        self._alive = {one.pair for one, numbers in zip(found, kept, strict=True) if numbers}
        self._at = 0  # the next candidate; candidates and blocks have the same order
        self.spills: list[SpilledText] = []
        self.dropped: list[Block] = []

    def messages(
        self, cut: int, behind: Mapping[int, Message]
    ) -> tuple[dict[int, Message], list[int]]:
        """Return the changed messages by index, and the starts of exchanges to drop.

        The agent's text next to dropped calls moves to the front of the agent's next reply.
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
            # The results of the calls are also before the protected tail.
            pair = self._view.messages[index + 1]
            results = self._blocks(pair)
            said = tuple(one for one in blocks if _is_said(one))
            if not results:
                gone.append(index)
                moved += said
            else:
                if not said and not moved and not any(isinstance(one, ToolUse) for one in blocks):
                    # The message has other blocks next to the results, and no reply may be empty.
                    blocks, results = self._stub(message, pair, results)
                changed[index] = _with(message, moved + blocks)
                changed[index + 1] = _with(pair, results)
                moved = ()
            index += 2
        assert self._at == len(self._found), (self._at, len(self._found))
        if moved:
            message = behind.get(cut, self._view.messages[cut])
            changed[cut] = _with(message, moved + message.blocks)
        return changed, gone

    def _blocks(self, message: Message) -> tuple[Block, ...]:
        """Return the blocks of a message to keep, without an older note."""
        shorter = (self._shorter(one) for one in message.blocks if not is_note(one))
        return tuple(one for one in shorter if one is not None)

    def _shorter(self, block: Block) -> Block | None:
        at = self._at
        if at == len(self._found) or self._found[at].live is not block:
            return block
        self._at += 1
        one = self._found[at]
        if one.pair and one.pair not in self._alive:
            self.dropped.append(one.source)
            return None
        return self._with_lines(one, self._kept[at])

    def _with_lines(self, one: Candidate, numbers: Collection[int]) -> Block | None:
        """Return a block with its chosen lines; the complete block if nearly all were chosen."""
        original, kept = one.source, kept_lines(one.text, numbers)
        if len(numbers) >= kept.n_said:
            return original
        match original:
            case Text(meta=meta) if meta.source == "assistant":
                self.dropped.append(original)
                return short_reply(original, kept) if numbers else None
            case Text(text=text):
                name = spill_name(original.meta.source, text)
                shorter: Block = short_injection(original, kept, self._path(name))
            case ToolUse(id=identifier, arguments=text):
                if original.meta.tokens < LEAST_CALL:
                    return original
                name = spill_name(identifier, text)
                shorter = short_use(original, kept, self._path(name))
            case ToolResult(tool_use_id=identifier, text=text):
                name = spill_name(identifier, text)
                shorter = short_result(original, kept, self._path(name))
            case _:
                return original
        if shorter.meta.tokens >= original.meta.tokens:
            return original
        self.spills.append(SpilledText(name, text))
        return shorter

    def _stub(
        self, message: Message, pair: Message, results: tuple[Block, ...]
    ) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
        """Keep the last call and its result, with empty contents; also return the other blocks."""
        use = next(one for one in reversed(message.blocks) if isinstance(one, ToolUse))
        answer = next(
            one for one in pair.blocks if isinstance(one, ToolResult) and one.tool_use_id == use.id
        )
        visited = self._found[: self._at]
        both = (
            next(one for one in reversed(visited) if one.live is block) for block in (use, answer)
        )
        call, result = (short for one in both if (short := self._with_lines(one, ())) is not None)
        return (call,), (result, *results)

    def _path(self, name: str) -> str:
        return spill_path(self._view.facts.spill_folder, name)


def _with(message: Message, blocks: tuple[Block, ...]) -> Message:
    if blocks == message.blocks:
        return message
    return Message(message.role, blocks, message.turn)


def _is_said(block: Block) -> bool:
    return isinstance(block, Text) and bool(block.text.strip())


_GAP = "…"


class KeptLines(NamedTuple):
    """The lines of a text that are kept.

    Attributes:
        n: The number of all lines.
        n_said: The number of lines that are not blank.
        lines: The kept lines in order, by 0-based number.
    """

    n: int = 0
    n_said: int = 0
    lines: Mapping[int, str] = {}


def kept_lines(text: str, numbers: Collection[int]) -> KeptLines:
    """Return the lines with these numbers; a list of all lines would need much memory."""
    kept, wanted = dict[int, str](), set(numbers)
    number, n_said, start = 0, 0, 0
    while start <= len(text):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        n_said += bool(line.strip())
        if number in wanted:
            kept[number] = line
        number, start = number + 1, start + len(line) + 1
    return KeptLines(number, n_said, kept)


def short_result(result: ToolResult, kept: KeptLines, path: str) -> ToolResult:
    """Return a result with the kept lines."""
    text = "\n".join((_marker(kept, path), *_with_gaps(kept)))
    meta = msgspec.structs.replace(result.meta, tokens=estimate_tokens(text))
    return msgspec.structs.replace(result, text=text, meta=meta)


def short_use(use: ToolUse, kept: KeptLines, path: str) -> ToolUse:
    """Return a call with the kept lines of the arguments, in a form that no tool accepts."""
    call = call_of(use)
    shown: dict[str, object] = {"path": call.path} if call.path else {"about": call.main}
    shown["shortened"] = f"{len(use.arguments):,} characters; all: {path}"
    if kept.lines:
        shown["lines"] = "\n".join(_with_gaps(kept))
    arguments = msgspec.json.encode(shown).decode()
    tokens = estimate_tokens(use.name + arguments)
    meta = msgspec.structs.replace(use.meta, tokens=tokens)
    return msgspec.structs.replace(use, arguments=arguments, meta=meta)


def short_injection(text: Text, kept: KeptLines, path: str) -> Text:
    """Shorten an injected text to the kept lines, and to the two lines of its tag."""
    first, *rest = _with_gaps(kept)
    return _with_text(text, "\n".join((first, _marker(kept, path), *rest)))


def short_reply(text: Text, kept: KeptLines) -> Text:
    """Return a reply with the kept lines, without a marker that the model would imitate."""
    end = [] if kept.n - 1 in kept.lines else [_GAP]
    return _with_text(text, "\n".join((*_with_gaps(kept), *end)))


def _with_text(block: Text, text: str) -> Text:
    meta = msgspec.structs.replace(block.meta, tokens=estimate_tokens(text))
    return msgspec.structs.replace(block, text=text, meta=meta)


def _marker(kept: KeptLines, path: str) -> str:
    n_left_out = kept.n - len(kept.lines)
    return f"[{n_left_out:,} of {kept.n:,} lines left out; all: {path}]"


def _with_gaps(kept: KeptLines) -> list[str]:
    shown: list[str] = []
    before = -1
    for number, line in kept.lines.items():
        if number != before + 1 and not is_numbered(line):
            shown.append(_GAP)
        shown.append(line)
        before = number
    return shown
