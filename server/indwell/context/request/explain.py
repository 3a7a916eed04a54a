"""Explains the next request block by block. Pure.

A conversation of 10,000 blocks takes 50 ms, so call ``explain`` in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.context.compaction.ladder import layer_name, trigger
from indwell.context.compaction.presets import Preset
from indwell.context.conversation import Conversation, prompt_tokens
from indwell.context.history import group_start, group_stop, place_of, transcript
from indwell.context.request.assemble import place_anchors
from indwell.context.tokens import BLOCK_OVERHEAD, tools_tokens
from indwell.messages import (
    Anchors,
    Block,
    Image,
    Message,
    Meta,
    Text,
    Thinking,
    Tier,
    ToolResult,
    ToolUse,
)

EXCERPT = 200  # the limit of characters for a block's excerpt, which fills two lines of a panel

State: TypeAlias = Literal["sent", "new", "waiting"]
"""Whether a block was sent with the last request, is new, or waits for the next prompt."""


class BlockFacts(msgspec.Struct, frozen=True):
    """One block of the next request.

    Attributes:
        message: The index of the block's message, or -1 for tools and system.
        role: The role of the block's message, or ``tools`` or ``system``.
        kind: The kind of the block; ``tools`` for all tool specs together.
        source: The source of the block.
        tier: The trust level of the block.
        tokens: The estimated tokens of the block.
        turn: The turn that added the block, or 0 for tools and system.
        pinned: Whether compaction must keep the block.
        compactable: Whether compaction may shorten the block.
        anchor: Whether the request marks the block's end as the end of a prefix to cache.
        state: Whether the block was sent before.
        altered: Whether compaction changed the block.
        first: The first message of the transcript that the block represents, or -1 for tools and
            system.
        last: The last message of the transcript that the block represents.
        why: One sentence that explains the block.
        excerpt: The beginning of the block's text.
    """

    message: int
    role: Literal["tools", "system", "user", "assistant"]
    kind: str
    source: str
    tier: Tier
    tokens: int
    turn: int
    pinned: bool
    compactable: bool
    anchor: bool
    state: State
    altered: bool
    first: int
    last: int
    why: str
    excerpt: str


class Headroom(msgspec.Struct, frozen=True):
    """The number of tokens until a rung of the compaction preset may run.

    Attributes:
        layer: The name of the rung's layer.
        at: The prompt tokens above which the rung may run.
        left: The tokens that are left until the rung may run; negative if it may run now.
        pays: Whether the rung runs only if that saves money.
    """

    layer: str
    at: int
    left: int
    pays: bool


class Explained(msgspec.Struct, frozen=True):
    """The explanation of the next request.

    Attributes:
        tokens: The tokens of the whole prompt, by the endpoint's count where known.
        blocks: The blocks in the order of the request.
        by_source: The estimated tokens of each source.
        by_tier: The estimated tokens of each trust level; JSON requires strings as keys.
        headroom: The tokens left until each rung may run, in the preset's order.
    """

    tokens: int
    blocks: tuple[BlockFacts, ...]
    by_source: Mapping[str, int]
    by_tier: Mapping[str, int]
    headroom: tuple[Headroom, ...]


def ladder_words(preset: Preset, headroom: Sequence[Headroom]) -> tuple[str, ...]:
    """Return lines for people: the preset, and the size from which each rung may run."""
    if not headroom:
        return (f"compaction: {preset.label}",)
    rungs = ", ".join(f"{one.layer} from {one.at:,}" for one in headroom)
    return (f"compaction: {preset.label}; {rungs} tokens on",)


def explain(
    conversation: Conversation,
    preset: Preset,
    *,
    n_waiting: int = 0,
    n_characters: int | None = EXCERPT,
) -> Explained:
    """Explain the next request.

    Args:
        conversation: The conversation, with all queued blocks already in its last message.
        preset: The compaction preset in use.
        n_waiting: The number of blocks at the end of the last message that were not sent yet.
        n_characters: The limit of characters for each block's excerpt, or None for no limit.
    """
    anchors = place_anchors(conversation)
    whole = (*_fixed(conversation, anchors), *_of_messages(conversation, anchors, n_waiting))
    blocks = [_cut(one, n_characters) for one in whole]
    by_source: dict[str, int] = {}
    by_tier: dict[str, int] = {}
    for block in blocks:
        if block.kind == "thinking":
            continue  # reasoning is not sent back to the model
        spent = block.tokens + BLOCK_OVERHEAD * (block.kind != "tools")
        by_source[block.source] = by_source.get(block.source, 0) + spent
        by_tier[str(block.tier)] = by_tier.get(str(block.tier), 0) + spent
    tokens = prompt_tokens(conversation)
    headroom = tuple(
        Headroom(
            layer=layer_name(rung.layer),
            at=int(trigger(rung, conversation.config.budget)),
            left=int(trigger(rung, conversation.config.budget)) - tokens,
            pays=rung.when == "pays",
        )
        for rung in preset.rungs
    )
    return Explained(tokens, tuple(blocks), by_source, by_tier, headroom)


def _fixed(conversation: Conversation, anchors: Anchors) -> list[BlockFacts]:
    found = []
    state: State = (
        "sent" if any(one.role == "assistant" for one in conversation.messages) else "new"
    )
    if conversation.tools:
        listed = "\n".join(f"{one.name}: {one.description}" for one in conversation.tools)
        meta = Meta(
            0,
            "system",
            tools_tokens(conversation.tools, conversation.config.model),
            pinned=True,
            compactable=False,
        )
        row = _facts(meta, "tools", "tools", listed, state, anchor=anchors.tools)
        found.append(msgspec.structs.replace(row, source="schemas"))
    last = len(conversation.system) - 1
    for number, block in enumerate(conversation.system):
        marked = anchors.system and number == last
        found.append(_facts(block.meta, "system", "text", block.text, state, anchor=marked))
    return found


def _of_messages(conversation: Conversation, anchors: Anchors, n_waiting: int) -> list[BlockFacts]:
    messages, history = conversation.messages, conversation.history
    whole, n_known = transcript(messages, history), len(history.places)
    places = [*history.places, *range(place_of(messages, history, n_known), len(whole) + 1)]
    marked = set(anchors.messages)
    n_sent = next(
        (at for at in range(len(messages) - 1, -1, -1) if messages[at].role == "assistant"), 0
    )
    found = []
    for index, message in enumerate(messages):
        first = places[group_start(history, index)]
        stop = places[group_stop(history, index + 1)]
        originals = whole[first:stop] if index < n_known else (message,)
        same = {id(block) for one in originals for block in one.blocks}
        n_blocks = len(message.blocks)
        for number, block in enumerate(message.blocks):
            is_waiting = index == len(messages) - 1 and number >= n_blocks - n_waiting
            state: State = "waiting" if is_waiting else "sent" if index < n_sent else "new"
            row = _facts(
                block.meta,
                message.role,
                str(block.__struct_config__.tag),
                _text(block),
                state,
                anchor=index in marked and number == n_blocks - 1,
                altered=not _is_original(block, same, originals),
                span=(index, first, max(stop - 1, first)),
            )
            found.append(row)
    return found


def _is_original(block: Block, same: set[int], originals: tuple[Message, ...]) -> bool:
    """Return whether compaction left the block unchanged: the same object, or the same text."""
    return id(block) in same or any(block == one for message in originals for one in message.blocks)


def _facts(
    meta: Meta,
    role: Literal["tools", "system", "user", "assistant"],
    kind: str,
    text: str,
    state: State,
    *,
    anchor: bool,
    altered: bool = False,
    span: tuple[int, int, int] = (-1, -1, -1),
) -> BlockFacts:
    message, first, last = span
    return BlockFacts(
        message=message,
        role=role,
        kind=kind,
        source=meta.source,
        tier=meta.tier,
        tokens=meta.tokens,
        turn=meta.turn,
        pinned=meta.pinned,
        compactable=meta.compactable,
        anchor=anchor,
        state=state,
        altered=altered,
        first=first,
        last=last,
        why=_why(meta, kind, altered=altered, span=span),
        excerpt=text,
    )


def _cut(block: BlockFacts, n_characters: int | None) -> BlockFacts:
    if n_characters is None or len(block.excerpt) <= n_characters:
        return block
    return msgspec.structs.replace(block, excerpt=f"{block.excerpt[:n_characters]} …")


def _why(meta: Meta, kind: str, *, altered: bool, span: tuple[int, int, int]) -> str:
    _, first, last = span
    if kind == "tools":
        return "the tools that the model may call; the same in every request"
    if meta.source == "compactor":
        return f"replaces messages {first} to {last} of the transcript after a compaction"
    if altered and meta.source not in {"task_card", "reminder"}:
        return f"shortened by compaction; message {first} of the transcript has the whole text"
    return _REASONS.get(meta.source, "part of the conversation") + (
        "; pinned, so never compacted" if meta.pinned and meta.source != "system" else ""
    )


_REASONS: Mapping[str, str] = {
    "system": "the system prompt; the same bytes for the whole session",
    "user": "the user's own words; never compacted",
    "assistant": "text and tool calls of the model",
    "tool": "the result of a tool call",
    "hook": "text that a hook added",
    "reminder": "a reminder by Indwell",
    "environment": "the state of the workspace; sent again after a change",
    "ide_selection": "the selection in the editor; can be detached",
    "ide_opened": "the open file in the editor; can be detached",
    "mention": "a file that the user's words mention",
    "attached": "an attachment by the user",
    "diagnostics": "problems that the editor reports",
    "changed_file": "a file changed since the model saw it",
    "instructions": "instructions of the project's files",
    "skill": "a skill that was loaded",
    "skill_list": "the skills of this folder, for the model to choose from",
    "own_skill_list": "changes of your skills since the session began",
    "agent_list": "the sub-agents that this folder names, for the model to choose from",
    "tool_list": "tools added or removed since the session began",
    "server_tools": "the tools of your MCP servers, for the model to choose from",
    "memory": "remembered facts that fit your prompt",
    "plan": "the plan that the user approved, word for word",
    "todo": "the list of steps that the model keeps, after a compaction",
    "task_card": "the task card: facts that survive every compaction",
}


def _text(block: Block) -> str:
    match block:
        case Text(text=text) | ToolResult(text=text) | Thinking(text=text):
            return text
        case ToolUse(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case Image(media_type=media_type):
            return media_type
