from __future__ import annotations

import pytest

from indwell.context import conversation as talk
from indwell.context.conversation import (
    Config,
    Conversation,
    calibrated,
    estimated_tokens,
    prompt_tokens,
    with_input,
)
from indwell.context.request.assemble import assemble
from indwell.context.tokens import HIGHEST, LOWEST, Calibration, is_plausible
from indwell.messages import Reply, Usage
from support.requests import assistant, result, use, user

SENT = Conversation(Config("small", 10_000, 500), (), messages=(user("go " * 200),))
GROWN = Conversation(
    Config("small", 10_000, 500),
    (),
    messages=(*SENT.messages, assistant(use()), user(result("text " * 100))),
)


@pytest.mark.parametrize(
    ("reported", "ratio"),
    [(0, 1.0), (1_000, 1.0), (1_300, 1.3), (100, LOWEST), (9_000, HIGHEST)],
)
def test_the_calibration_ratio_is_limited_on_both_sides(reported: int, ratio: float) -> None:
    assert Calibration("small", reported, 1_000).ratio == ratio


def test_the_counted_part_is_exact_and_only_later_parts_are_estimated() -> None:
    known = Calibration("small", reported=1_200, estimated=1_000)
    assert [known.tokens("small", estimate) for estimate in (1_000, 1_500)] == [1_200, 1_800]


def test_a_fixed_extra_of_the_endpoint_stays_and_does_not_grow() -> None:
    known = Calibration("small", reported=5_000, estimated=1_000)
    assert known.tokens("small", 1_100) == 5_000 + 200


def test_after_a_compaction_the_whole_prompt_is_estimated_with_the_ratio() -> None:
    assert Calibration("small", reported=1_200, estimated=1_000).tokens("small", 500) == 600


def test_calibration_does_not_affect_estimates_for_another_model() -> None:
    assert Calibration("small", reported=1_200, estimated=1_000).tokens("large", 1_500) == 1_500


def test_a_reported_token_count_calibrates_later_estimates() -> None:
    learnt = calibrated(GROWN, SENT, Usage(input=estimated_tokens(SENT) + 50))
    grown = estimated_tokens(GROWN) - estimated_tokens(SENT)
    ratio = learnt.calibration.ratio
    assert ratio > 1
    assert prompt_tokens(learnt) == estimated_tokens(SENT) + 50 + round(grown * ratio)


@pytest.mark.parametrize("usage", [Usage(input=900, reported=False), Usage()])
def test_an_estimated_usage_does_not_change_the_calibration(usage: Usage) -> None:
    assert calibrated(GROWN, SENT, usage) is GROWN


@pytest.mark.parametrize(
    ("reported", "estimated", "room", "answer"),
    [
        (3_000, 3_000, 23_808, True),
        (300, 3_000, 23_808, True),
        (299, 3_000, 23_808, False),  # in JSON, `true` would count as 1
        (9_000 + 5_952, 3_000, 23_808, True),
        (9_000 + 5_953, 3_000, 23_808, False),
        (40_000, 3_000, 23_808, False),
        (17_000, 3_000, 200_000, True),
        (17_001, 3_000, 200_000, False),
        (24_000, 20_000, 23_808, False),  # the endpoint accepted the request, so it fits
        (24_000, 24_000, 23_808, True),
        (10**400, 3_000, 23_808, False),
    ],
)
def test_an_impossible_token_count_is_ignored(reported, estimated, room, answer) -> None:
    assert is_plausible(reported, estimated, room) == answer


@pytest.mark.parametrize("reported", [1, 40_000, 10**30])
def test_whatever_the_endpoint_reports_the_next_prompt_can_still_be_sent(reported) -> None:
    sent = Conversation(Config("small", 32_000, 8_192), (), messages=(user("go " * 200),))
    learnt = calibrated(sent, sent, Usage(input=reported, output=5))
    assert learnt is sent
    answered = talk.with_reply(learnt, Reply(text="well", finish="stop"), turn=1)
    assert assemble(with_input(answered, words="go on", turn=2)).tokens > 0


def test_an_impossible_count_keeps_the_previous_calibration() -> None:
    known = calibrated(SENT, SENT, Usage(input=estimated_tokens(SENT) + 50))
    assert calibrated(known, SENT, Usage(input=10**9)).calibration == known.calibration
