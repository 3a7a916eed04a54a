"""How full a conversation is: estimates, and what the endpoint counted (H16, H17)."""

from __future__ import annotations

import msgspec

from indwell.context.calibration import Calibration, is_plausible
from indwell.context.conversation import Conversation
from indwell.context.tally import extended, valid
from indwell.context.tokens import BLOCK_OVERHEAD, estimate_tokens, message_tokens, tools_tokens
from indwell.messages import Usage


def counted(conversation: Conversation) -> Conversation:
    """The same conversation, with a tally that holds all that no longer changes."""
    tally = extended(conversation.tally, conversation.messages)
    if tally is conversation.tally:
        return conversation
    return msgspec.structs.replace(conversation, tally=tally)


def estimated_tokens(conversation: Conversation) -> int:
    """The estimate of the whole prompt: a running sum, to which only the newest is added (H17)."""
    tally = valid(conversation.tally, conversation.messages)
    return (
        sum(block.meta.tokens + BLOCK_OVERHEAD for block in conversation.system)
        + tools_tokens(conversation.tools)
        + tally.tokens
        + sum(message_tokens(message) for message in conversation.messages[tally.n :])
    )


def prompt_tokens(conversation: Conversation) -> int:
    """How full the context is: what the endpoint counted, and an estimate of what came since."""
    estimate = estimated_tokens(conversation)
    return conversation.calibration.tokens(conversation.config.model, estimate)


def part_tokens(conversation: Conversation, text: str) -> int:
    """Tokens of a text, in the measure of ``prompt_tokens``."""
    ratio = conversation.calibration.ratio_of(conversation.config.model)
    return round(estimate_tokens(text) * ratio)


def calibrated(conversation: Conversation, sent: Conversation, usage: Usage) -> Conversation:
    """Take what the endpoint counted for the request made of ``sent``.

    Estimates teach nothing, nor do counts that cannot be (H16): what was known before stands.
    """
    if not usage.reported or not usage.input:
        return conversation
    estimated = estimated_tokens(sent)
    if not is_plausible(usage.input, estimated, sent.config.budget):
        return conversation
    calibration = Calibration(sent.config.model, usage.input, estimated)
    return msgspec.structs.replace(conversation, calibration=calibration)
