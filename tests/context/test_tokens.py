from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.tokens import (
    SAMPLED_FROM,
    estimate_tokens,
    message_tokens,
    request_tokens,
)
from indwell.messages import Thinking
from support.requests import READ, assistant, meta, request, user

RECORDS = json.loads((Path(__file__).parent / "token_counts.json").read_text("utf-8"))
"""Texts of many kinds with their true o200k counts, by ``benchmarks/tokens.py --fixture``."""


@pytest.mark.parametrize("record", RECORDS, ids=[record["kind"] for record in RECORDS])
def test_no_kind_of_text_is_far_below_its_true_count_or_far_above(record: dict[str, str]) -> None:
    error = estimate_tokens(record["text"]) / int(record["tokens"]) - 1
    assert -0.1 <= error <= 0.4


def test_over_all_kinds_the_estimate_errs_slightly_high() -> None:
    true = sum(record["tokens"] for record in RECORDS)
    assert 1.0 <= sum(estimate_tokens(record["text"]) for record in RECORDS) / true <= 1.1


def test_nothing_costs_nothing_and_anything_costs_something() -> None:
    assert estimate_tokens("") == 0
    assert [estimate_tokens(text) for text in ("x", " ", "\n", "\ud800", "\u4e16")] >= [1] * 5


@given(st.text(), st.text())
def test_more_text_never_costs_less(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more) + 1


def test_a_long_text_is_sampled_and_gets_the_same_count() -> None:
    lines = "".join(f"{number:,} bottles of beer on the wall\n" for number in range(20_000))
    assert len(lines) > 5 * SAMPLED_FROM
    parts = [lines[at : at + SAMPLED_FROM] for at in range(0, len(lines), SAMPLED_FROM)]
    assert estimate_tokens(lines) == pytest.approx(sum(map(estimate_tokens, parts)), rel=0.01)


def test_reasoning_does_not_count_for_it_is_not_sent_back() -> None:
    thought = assistant(Thinking("hm " * 500, meta("hm " * 500, "assistant")), "ok")
    assert message_tokens(thought) == message_tokens(assistant("ok"))


def test_a_request_counts_system_tools_and_messages() -> None:
    bare = request(user("go"))
    whole = request(user("go"), system=("Be exact.",), tools=(READ,))
    schema = estimate_tokens(READ.name + READ.description + READ.parameters)
    assert request_tokens(whole) - request_tokens(bare) == estimate_tokens("Be exact.") + 4 + schema
