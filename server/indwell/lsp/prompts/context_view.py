"""Lists the blocks of the next request with tier, source, tokens and cache marks. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.agent.requests.request_blocks import NOTHING, Forthcoming
from indwell.context.compaction.presets import Preset
from indwell.context.conversation import Conversation, queue, with_input
from indwell.context.injections import inject
from indwell.context.request.cache_health import Health, named
from indwell.context.request.explain import EXCERPT, BlockFacts, explain
from indwell.context.tokens import estimate_tokens
from indwell.lsp.messages.context import (
    AttachedRow,
    BlockRow,
    ContextResult,
    HeadroomRow,
    HealthRow,
)
from indwell.lsp.prompts.prompting import PromptAttachments, opened_id, selection_id, words_of
from indwell.messages import Text


def context_of(
    session: str | None,
    conversation: Conversation | None,
    attached: PromptAttachments,
    model: str,
    preset: Preset,
    *,
    health: Health | None = None,
    coming: Forthcoming = NOTHING,
    is_whole: bool = False,
) -> ContextResult:
    """List what the next request would send; call this in a thread.

    Args:
        session: The session's id; None before the first turn, when only attachments are known.
        conversation: The session's conversation.
        attached: What the next prompt would contain besides its words.
        model: The model of the next turn.
        preset: The compaction preset in force.
        health: The statistics of the session; None before the first turn.
        coming: The reminders of the next request.
        is_whole: Whether the rows contain whole texts instead of previews.
    """
    rows = attached_rows(attached)
    if conversation is None:
        used = sum(row.tokens for row in rows)
        return ContextResult(
            session, model, None, None, used, None, preset.name, (), {}, {}, (), rows, None
        )
    blocks = (*coming.before, *_blocks(attached), *coming.behind)
    queued = queue(conversation, blocks)
    next_ = with_input(queued, words=None, turn=0)
    n_shown = None if is_whole else EXCERPT
    told = explain(next_, preset, n_waiting=len(queued.pending), n_characters=n_shown)
    config = next_.config
    share = round(told.tokens / config.budget, 4) if config.budget > 0 else None
    return ContextResult(
        session=session,
        model=model,
        window=config.window,
        budget=config.budget,
        used=told.tokens,
        share=share,
        preset=preset.name,
        headroom=tuple(
            HeadroomRow(layer=one.layer, at=one.at, left=one.left, pays=one.pays)
            for one in told.headroom
        ),
        sources=told.by_source,
        tiers=told.by_tier,
        blocks=tuple(map(_row, told.blocks)),
        attached=rows,
        health=_health(health) if health else None,
    )


def attached_rows(attached: PromptAttachments) -> tuple[AttachedRow, ...]:
    """The attachments of the next prompt, with the ids by which they are detached."""
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


def _blocks(attached: PromptAttachments) -> Sequence[Text]:
    opened, marked = words_of(attached)
    found = [inject("ide_opened_file", opened, turn=0)] if opened else []
    return [*found, inject("ide_selection", marked, turn=0)] if marked else found


def _health(health: Health) -> HealthRow:
    return HealthRow(named(health.turn), named(health.session), health.misses)


def _row(block: BlockFacts) -> BlockRow:
    return BlockRow(
        message=block.message,
        role=block.role,
        kind=block.kind,
        source=block.source,
        tier=block.tier,
        tokens=block.tokens,
        turn=block.turn,
        pinned=block.pinned,
        compactable=block.compactable,
        anchor=block.anchor,
        state=block.state,
        altered=block.altered,
        first=block.first,
        last=block.last,
        why=block.why,
        preview=block.excerpt,
    )
