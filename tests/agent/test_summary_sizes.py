"""The model that writes a summary is chosen by token counts on the endpoint's scale."""

from __future__ import annotations

import msgspec
import pytest

from indwell.agent.compaction.summary import sizes_of
from indwell.context.compaction.presets import Collapse
from indwell.context.compaction.step import CompactionFacts, SummarySpan, TokenRates
from indwell.context.compaction.summarising.summary import SummarySizes, readers
from indwell.context.conversation import Conversation, estimated_tokens
from indwell.context.tokens import Calibration
from support.long_talks import code, empty, turned, wanted

TALK = turned(empty(60_000), 1, [code(200)] * 8)


def counted(model: str, ratio: float) -> Conversation:
    """Return a conversation for which the endpoint counts ``ratio`` tokens per estimated token."""
    estimated = estimated_tokens(TALK)
    calibration = Calibration(model, round(estimated * ratio), estimated)
    return msgspec.structs.replace(TALK, calibration=calibration)


def sizes(now: Conversation) -> SummarySizes:
    plan = wanted(Collapse(), now)
    assert isinstance(plan, SummarySpan)
    plan = msgspec.structs.replace(plan, target=2_000)
    return sizes_of(now, plan, small_window=200_000, whole=True)


@pytest.mark.parametrize("ratio", [0.9, 1.4, 1.8])
def test_the_part_to_summarise_is_counted_on_the_same_scale_as_the_prefix(ratio: float) -> None:
    plain, now = sizes(TALK), sizes(counted("m", ratio))
    assert now.prefix == pytest.approx(plain.prefix * ratio, abs=2)
    assert now.region == pytest.approx(plain.region * ratio, rel=0.01)
    assert now.instructions == pytest.approx(plain.instructions * ratio, rel=0.1)


def test_an_endpoint_that_counts_more_does_not_make_the_small_model_look_cheaper() -> None:
    plain, now = sizes(TALK), sizes(counted("m", 1.8))
    per_token = (plain.prefix * 0.1 + plain.instructions) / plain.region
    near = TokenRates(input=per_token * 1.05, cached=0.1, cache_write=1.0, output=5.0)
    assert readers(plain, CompactionFacts(small=near))[0] == "main"
    assert readers(now, CompactionFacts(small=near))[0] == "main"


def test_a_token_count_of_another_model_is_ignored() -> None:
    assert sizes(counted("another", 1.8)) == sizes(TALK)
