"""Runs of what may be folded, before the protected tail; the largest first (H22, H23, design D)."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from indwell.context.compaction.exchanges import snapped, tail_start
from indwell.context.compaction.preset import Regions
from indwell.context.compaction.step import Action
from indwell.context.compaction.summarising.plans import SUMMARY_SHARE, is_users_words, plan_summary
from indwell.context.compaction.view import View
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.messages import Block, Message, Text, ToolResult

_SMALL, _LARGE = 1_000, 10_000  # characters of a result: low and high priority (H22)
_FEWEST = 4  # a run that frees less than one part in so many of what is missing is no call worth
_TRIED = 3  # the weightiest runs; a lighter one hardly frees more


class _Run(NamedTuple):
    start: int
    stop: int
    weight: float


def regions(layer: Regions, view: View) -> Action | None:
    """Plan a summary of the weightiest run; of all before the tail, if the runs are all small.

    A run lies between the user's words and older summaries. The assistant's words stay.
    """
    if not view.to_free and not view.facts.force:
        return None
    messages = view.messages
    stop = tail_start(
        messages,
        turns=layer.tail_turns,
        tokens=layer.tail_tokens,
        window=view.budget,
    )
    runs = sorted(_runs(messages, stop), key=lambda run: (-run.weight, run.start))
    wanted = view.to_free // _FEWEST
    for run in runs[:_TRIED]:
        plan = plan_summary("regions", view, run.start, run.stop, keep_replies=True)
        if plan and (SUMMARY_SHARE - 1) * plan.target >= wanted:
            return plan
    start = next((at for at in range(stop) if messages[at].role == "assistant"), stop)
    return plan_summary("regions", view, start, stop, keep_replies=True)


def _runs(messages: tuple[Message, ...], stop: int) -> list[_Run]:
    """Runs of whole exchanges that begin with a reply and end before or at the user's words."""
    ends = [at for at in range(stop) if any(map(_divides, messages[at].blocks))]
    edges = [*(at + 1 for at in ends), stop]
    runs = ((start, snapped(messages, end)) for start, end in pairwise(edges))
    weighed = (
        _Run(start, end, sum(map(_weight, messages[start:end])))
        for start, end in runs
        if start < end and messages[start].role == "assistant"
    )
    return [run for run in weighed if run.weight]


def _divides(block: Block) -> bool:
    return is_users_words(block) or block.meta.source == "compactor"


def _weight(message: Message) -> float:
    return sum(map(_block_weight, message.blocks))


def _block_weight(block: Block) -> float:
    tokens = block.meta.tokens + BLOCK_OVERHEAD
    match block:
        case ToolResult(text=text) if len(text) > _LARGE:
            return tokens * 2.0
        case ToolResult(text=text) if len(text) < _SMALL:
            return tokens * 0.5
        case Text(meta=meta) if meta.source == "assistant":
            return 0.0
        case _:
            return float(tokens)
