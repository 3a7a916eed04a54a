"""Pictures in a conversation: what a tool shows, and words for a model that takes none. Pure."""

from __future__ import annotations

import msgspec

from indwell.context.conversation import Conversation
from indwell.context.tally import Tally
from indwell.context.tokens import IMAGE_TOKENS, estimate_tokens
from indwell.messages import Block, Image, Message, Meta, Text, ToolUse


def tool_picture(use: ToolUse, media_type: str, data: str) -> Image:
    """The block of a picture that a tool shows; data of tier 3, as the result before it."""
    meta = Meta(tier=3, source="tool", tokens=IMAGE_TOKENS, turn=use.meta.turn, tool_use_id=use.id)
    return Image(media_type=media_type, data=data, meta=meta)


def attached_picture(label: str, media_type: str, data: str, *, turn: int) -> Image:
    """The block of a picture that the user attached; data of tier 2: what it shows is anybody's."""
    meta = Meta(tier=2, source="attached", tokens=IMAGE_TOKENS, turn=turn)
    return Image(media_type=media_type, data=data, meta=meta, label=label)


def without_pictures(conversation: Conversation) -> Conversation:
    """The conversation for a model that takes no pictures: a word stands where each one was."""
    if not any(map(_has_picture, conversation.messages)):
        return conversation
    messages = tuple(
        msgspec.structs.replace(message, blocks=tuple(map(_described, message.blocks)))
        for message in conversation.messages
    )
    return msgspec.structs.replace(conversation, messages=messages, tally=Tally())


def _has_picture(message: Message) -> bool:
    return any(isinstance(block, Image) for block in message.blocks)


def _described(block: Block) -> Block:
    if not isinstance(block, Image):
        return block
    words = f"(a picture, {block.media_type}, stood here; the model in use takes none)"
    tokens = estimate_tokens(words)
    return Text(text=words, meta=msgspec.structs.replace(block.meta, tokens=tokens))
