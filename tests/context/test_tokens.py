from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.context.conversation import (
    Config,
    Conversation,
    calibrated,
    prompt_tokens,
    system_block,
    with_input,
)
from indwell.context.tokens import (
    SAMPLED_FROM,
    estimate_tokens,
    family_of,
    message_tokens,
    request_tokens,
)
from indwell.messages import Thinking, ToolSpec, Usage
from support.requests import READ, assistant, meta, request, user

RECORDS = json.loads((Path(__file__).parent / "token_counts.json").read_text("utf-8"))
"""Texts of many kinds with their true o200k counts, by ``benchmarks/tokens.py --fixture``."""


@pytest.mark.parametrize("record", RECORDS, ids=[record["kind"] for record in RECORDS])
def test_no_kind_of_text_is_far_below_its_true_count_or_far_above(record: dict[str, str]) -> None:
    error = estimate_tokens(record["text"]) / int(record["tokens"]) - 1
    assert -0.1 <= error <= 0.4


def test_over_all_kinds_of_text_the_estimate_is_slightly_high() -> None:
    true = sum(record["tokens"] for record in RECORDS)
    assert 1.0 <= sum(estimate_tokens(record["text"]) for record in RECORDS) / true <= 1.1


def test_only_an_empty_text_is_estimated_at_zero_tokens() -> None:
    assert estimate_tokens("") == 0
    assert [estimate_tokens(text) for text in ("x", " ", "\n", "\ud800", "\u4e16")] >= [1] * 5


@given(st.text(), st.text())
def test_a_longer_text_never_has_fewer_estimated_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text) <= estimate_tokens(text + more) + 1


def test_sampling_a_long_text_gives_the_same_estimate_as_counting_its_parts() -> None:
    lines = "".join(f"{number:,} bottles of beer on the wall\n" for number in range(20_000))
    assert len(lines) > 5 * SAMPLED_FROM
    parts = [lines[at : at + SAMPLED_FROM] for at in range(0, len(lines), SAMPLED_FROM)]
    assert estimate_tokens(lines) == pytest.approx(sum(map(estimate_tokens, parts)), rel=0.01)


def test_reasoning_is_not_counted_because_it_is_not_sent_back() -> None:
    thought = assistant(Thinking("hm " * 500, meta("hm " * 500, "assistant")), "ok")
    assert message_tokens(thought) == message_tokens(assistant("ok"))


def test_a_request_counts_system_tools_and_messages() -> None:
    bare = request(user("go"))
    whole = request(user("go"), system=("Be exact.",), tools=(READ,))
    schema = estimate_tokens(READ.name + READ.description + READ.parameters)
    assert request_tokens(whole) - request_tokens(bare) == estimate_tokens("Be exact.") + 4 + schema


PROMPTS = json.loads((Path(__file__).parent / "family_counts.json").read_text("utf-8"))
"""First prompts with their true tokens, by ``benchmarks/calibration.py --families``."""


def first_prompt(prompt: dict[str, Any], model: str) -> Conversation:
    tools = tuple(
        ToolSpec(
            one["function"]["name"],
            one["function"]["description"],
            msgspec.json.encode(one["function"]["parameters"]).decode(),
        )
        for one in prompt["tools"]
    )
    begun = Conversation(Config(model, 32_000, 4_000), (system_block(prompt["system"]),), tools)
    return with_input(begun, words=prompt["words"], turn=1)


@pytest.mark.parametrize("prompt", PROMPTS, ids=["lean", "full"])
@pytest.mark.parametrize(("family", "model"), [
    ("qwen3", "qwen3:8b"), ("qwen3", "Qwen/Qwen2.5-Coder-7B-Instruct"), ("llama3_1", "llama3.1:8b"),
    ("gemma3", "gemma-3-12b-it-Q4_K_M.gguf"), ("mistral-small", "devstral:24b@local"),
])  # fmt: skip
def test_a_first_prompt_of_a_local_model_is_estimated_within_a_tenth(prompt, family, model) -> None:
    true = prompt["tokens"][family]
    assert prompt_tokens(first_prompt(prompt, model)) == pytest.approx(true, rel=0.1)
    assert prompt_tokens(first_prompt(prompt, "gpt-5")) != pytest.approx(true, rel=0.05)


def test_a_reported_token_count_does_not_inflate_estimates_of_later_text() -> None:
    prompt, model = PROMPTS[0], "qwen3:8b"
    asked = first_prompt(prompt, model)
    told = calibrated(asked, asked, Usage(input=prompt["tokens"]["qwen3"]))
    text = PROMPTS[1]["words"]
    grown = prompt_tokens(with_input(told, words=text, turn=2)) - prompt_tokens(told)
    assert grown == pytest.approx(estimate_tokens(text), rel=0.1)


def test_the_name_of_an_endpoint_does_not_choose_the_model_family() -> None:
    assert family_of("phi4@llama") == family_of("gpt-5") != family_of("llama3.1@work")
    assert family_of("codellama") == family_of("gpt-5"), "an older vocabulary"


def test_the_panel_estimates_tokens_as_the_server_does() -> None:
    """A unit test of the VS Code extension compares the same figures with its estimates."""
    path = Path(__file__).parents[2] / "vscode-extension/test/unit/shared/token-figures.json"
    figures = json.loads(path.read_text("utf-8"))
    found = [estimate_tokens(one["text"] * one["times"]) for one in figures]
    assert found == [one["tokens"] for one in figures]
