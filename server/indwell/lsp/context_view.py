"""What the next request would contain, block by block: tier, source, tokens, cache marks. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.context.anchors import place_anchors
from indwell.context.conversation import Conversation, prompt_tokens, queue, with_input
from indwell.context.injections import inject
from indwell.context.tokens import estimate_tokens
from indwell.lsp.prompting import Attached, opened_id, selection_id, words_of
from indwell.lsp.protocol_views import AttachedRow, BlockRow, ContextResult
from indwell.messages import Block, Image, Text, Thinking, ToolResult, ToolUse

PREVIEW_CHARACTERS = 200  # of a block; two lines of a panel


def context_of(
    session: str | None, conversation: Conversation | None, attached: Attached, model: str
) -> ContextResult:
    """Lay open what would be sent if the user said something now.

    Args:
        session: Its id; None before the first turn, when nothing but what is attached is known.
        conversation: Of the session.
        attached: What would go with the next prompt.
        model: The one of the next turn.
    """
    rows = attached_rows(attached)
    if conversation is None:
        used = sum(row.tokens for row in rows)
        return ContextResult(session, model, None, None, used, None, (), rows)
    next_ = with_input(queue(conversation, _blocks(attached)), words=None, turn=0)
    blocks = _rows(next_)
    config = next_.config
    used = prompt_tokens(next_)  # what the endpoint said, where it said something
    share = round(used / config.budget, 4) if config.budget > 0 else None
    return ContextResult(session, model, config.window, config.budget, used, share, blocks, rows)


def attached_rows(attached: Attached) -> tuple[AttachedRow, ...]:
    """What goes with the next prompt, with the ids to detach it by."""
    opened, marked = attached.opened, attached.selection
    opened_text, marked_text = words_of(attached)
    rows = []
    if marked is not None:
        label = f"{marked.path}:{marked.first_line}-{marked.last_line}"
        tokens = estimate_tokens(marked_text)
        rows.append(AttachedRow(selection_id(marked), "selection", label, tokens))
    if opened is not None:
        tokens = estimate_tokens(opened_text)
        rows.append(AttachedRow(opened_id(opened), "opened", opened.path, tokens))
    return tuple(rows)


def _blocks(attached: Attached) -> Sequence[Text]:
    opened, marked = words_of(attached)
    found = [inject("ide_opened_file", opened, turn=0)] if opened else []
    return [*found, inject("ide_selection", marked, turn=0)] if marked else found


def _rows(conversation: Conversation) -> tuple[BlockRow, ...]:
    anchors = place_anchors(conversation)
    last_system = len(conversation.system) - 1
    rows = []
    if conversation.tools:
        text = "\n".join(f"{one.name}: {one.description}" for one in conversation.tools)
        tokens = sum(
            estimate_tokens(one.name + one.description + one.parameters)
            for one in conversation.tools
        )
        rows.append(
            BlockRow(
                role="tools",
                kind="tools",
                source="schemas",
                tier=0,
                tokens=tokens,
                turn=0,
                pinned=True,
                anchor=anchors.tools,
                preview=_preview(text),
            )
        )
    rows += [
        _row("system", one, anchor=anchors.system and place == last_system)
        for place, one in enumerate(conversation.system)
    ]
    for place, message in enumerate(conversation.messages):
        last = len(message.blocks) - 1
        rows += [
            _row(message.role, block, anchor=place in anchors.messages and number == last)
            for number, block in enumerate(message.blocks)
        ]
    return tuple(rows)


def _row(role: str, block: Block, *, anchor: bool) -> BlockRow:
    meta = block.meta
    return BlockRow(
        role=role,  # type: ignore[arg-type] # a message's role, or "system"
        kind=str(block.__struct_config__.tag),
        source=meta.source,
        tier=meta.tier,
        tokens=meta.tokens,
        turn=meta.turn,
        pinned=meta.pinned,
        anchor=anchor,
        preview=_preview(_text(block)),
    )


def _text(block: Block) -> str:
    match block:
        case Text(text=text) | ToolResult(text=text) | Thinking(text=text):
            return text
        case ToolUse(name=name, arguments=arguments):
            return f"{name} {arguments}"
        case Image(media_type=media_type):
            return media_type


def _preview(text: str) -> str:
    return text if len(text) <= PREVIEW_CHARACTERS else text[:PREVIEW_CHARACTERS] + " …"
