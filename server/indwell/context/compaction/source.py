"""The text that a summariser reads: the originals, as data, within limits (H25)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from indwell.context.compaction.exchanges import boundaries, tokens_of
from indwell.context.compaction.step import SummaryPlan
from indwell.context.tags import neutralise
from indwell.messages import Block, Image, Message, Text, Thinking, ToolResult, ToolUse

_TAG = "transcript"
_IMITATION = re.compile(rf"<(?=[\s/]*{_TAG}\b)", re.IGNORECASE)
_CHARACTERS_A_TOKEN = 3  # a text of so many characters is hardly ever more than one token


def source_text(plan: SummaryPlan) -> str:
    """What a summariser reads of the plan's source, in one tag that nothing in it can close."""
    parts = [shown(message, plan.most_of_message) for message in plan.source]
    text = "\n\n".join(part for part in parts if part)
    if plan.most_characters:
        text = text[: plan.most_characters]
    return as_data(text)


def as_data(text: str) -> str:
    """Originals in one tag that nothing in them can close."""
    safe = _IMITATION.sub("&lt;", neutralise(text))
    return f"<{_TAG}>\n{safe}\n</{_TAG}>"


def pieces(plan: SummaryPlan, most_tokens: int) -> tuple[SummaryPlan, ...]:
    """Sibling plans whose sources a summariser takes, cut between exchanges, in order.

    Their texts, joined, are one summary of the whole plan. An exchange that is too large by itself
    is shown in part.
    """
    if plan.most_characters or tokens_of(plan.source) <= most_tokens:
        return (plan,)
    groups = list(_groups(plan.source, most_tokens))
    whole = max(1, tokens_of(plan.source))
    return tuple(
        msgspec.structs.replace(
            plan,
            source=group,
            target=max(1, plan.target * tokens_of(group) // whole),
            most_characters=0
            if tokens_of(group) <= most_tokens
            else most_tokens * _CHARACTERS_A_TOKEN,
            most_of_message=0
            if tokens_of(group) <= most_tokens
            else most_tokens * _CHARACTERS_A_TOKEN // len(group),
        )
        for group in groups
    )


def _groups(source: Sequence[Message], most_tokens: int) -> Iterator[tuple[Message, ...]]:
    cuts = boundaries(source, 0, len(source))
    if cuts[-1] != len(source):
        cuts = (*cuts, len(source))
    start, held = cuts[0], 0
    for before, at in pairwise(cuts):
        more = tokens_of(source[before:at])
        if before > start and held + more > most_tokens:
            yield tuple(source[start:before])
            start, held = before, 0
        held += more
    yield tuple(source[start:])


def shown(message: Message, most: int = 0) -> str:
    """A message as text, cut at ``most`` characters if that is not 0; empty if it says nothing."""
    text = "\n".join(filter(None, map(_block, message.blocks)))
    if most and len(text) > most:
        return f"{text[:most]} […]"
    return text


def _block(block: Block) -> str:
    match block:
        case Text(text=text, meta=meta):
            return f"[{meta.source.replace('_', ' ')}]\n{text}"
        case ToolUse(name=name, arguments=arguments):
            return f"[call of {name}]\n{arguments}"
        case ToolResult(text=text, is_error=is_error):
            return f"[{'error' if is_error else 'result'}]\n{text}"
        case Image():
            return "[a picture]"
        case Thinking():
            return ""
