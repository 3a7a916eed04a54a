"""A summary drops a plan that no longer applies, and keeps the current plan word for word."""

from __future__ import annotations

import pytest

from indwell.context import conversation as talk
from indwell.context.compaction.presets import Regions
from indwell.context.compaction.step import CompactionFacts, CompactionStep, SummarySpan
from indwell.context.compaction.summarising.summary import apply_summary, without_stale
from indwell.context.injections import inject
from indwell.messages import Message, Source
from support.long_talks import code, empty, taken, turned, users_words, wanted


def plans(messages: tuple[Message, ...]) -> list[str]:
    blocks = (block for message in messages for block in message.blocks)
    texts = (getattr(one, "text", "") for one in blocks if one.meta.source == "plan")
    return [text.splitlines()[1] for text in texts]


@pytest.mark.parametrize(
    ("unpinned", "left"), [(frozenset[Source](), ["new"]), (frozenset[Source]({"plan"}), [])]
)
def test_only_user_text_and_the_current_plan_outlive_a_summary(
    unpinned: frozenset[Source], left: list[str]
) -> None:
    facts = CompactionFacts(unpinned=unpinned)
    now = talk.queue(empty(), (inject("plan", "old", turn=1),))
    now = turned(now, 1, [code(300)] * 3, words="Carry it out.", reply="One.")
    now = talk.queue(now, (inject("plan", "new", turn=2),))
    now = turned(now, 2, [code(300)] * 3, words="And this.", reply="Two.")
    for turn in range(3, 8):
        now = turned(now, turn, ["short"], reply="Ok.")
    assert plans(now.messages) == ["old", "new"]
    plan = wanted(Regions(tail_tokens=0), now, facts=facts)
    assert isinstance(plan, SummarySpan)
    step = apply_summary(now, plan, "It is done.")
    after = taken(now, without_stale(now.messages, step, facts))
    assert plans(after.messages) == left
    assert users_words(after.messages) == users_words(now.messages)
    nothing = CompactionStep("regions", ())
    assert without_stale(now.messages, nothing, facts) is nothing
