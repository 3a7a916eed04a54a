"""The cases of section 9 of the agent's specification, tested on the context engine."""

from __future__ import annotations

import msgspec
import pytest

from indwell.context import conversation as talk
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import CompactionFacts, SummarySpan
from indwell.context.conversation import (
    Config,
    Conversation,
    counted,
    estimated_tokens,
    prompt_tokens,
    system_block,
)
from indwell.context.pairing import problems, tool_uses
from indwell.context.request.assemble import assemble
from indwell.errors import ConversationTooLarge
from indwell.messages import Reply, ToolCall
from indwell.providers.scripted import check_legal
from support.context_driver import fitted

ALL = sorted(PRESETS)
LADDERS = sorted(PRESETS.keys() - {"none"})
LINE = "def value_{0}(): return compute({0})  # ERROR 17 in shop/cart.py\n"
TEN_MB = 10 << 20


def empty(window: int) -> Conversation:
    return Conversation(Config("m", window, 1_000), (system_block("You are an agent."),))


def turned(
    now: Conversation, preset: str, turn: int, result: str, *, words: str = "", **options
) -> Conversation:
    """Return the conversation after one more turn with one tool call."""
    words = words or f"Look at number {turn}, please."
    now = called(now, preset, turn, words, **options)
    call = ToolCall(f"call_{turn % 3}", "read_file", f'{{"path":"shop/part_{turn % 40}.py"}}')
    now = talk.with_reply(now, Reply("I read it.", (call,), finish="tool_calls"), turn=turn)
    results = [talk.tool_result(use, result, is_error=False) for use in tool_uses(now.messages[-1])]
    now = called(talk.with_results(now, results, turn=turn), preset, turn, None, **options)
    return talk.with_reply(now, Reply(f"Number {turn} is fine."), turn=turn)


def called(now: Conversation, preset: str, turn: int, words: str | None, **options) -> Conversation:
    """Compact the conversation, and send the next request; ``fitted`` gets the options.

    A test of hundreds of turns passes one index for all turns, as a session does. Without an index,
    each call reads the whole transcript.
    """
    now = counted(now)
    incoming = talk.user_words(words, turn=turn).meta.tokens + 4 if words else 0
    facts = CompactionFacts(incoming=incoming, spill_folder="/s")
    now = fitted(now, PRESETS[preset], facts, **options)
    now = talk.with_input(now, words=words, turn=turn)
    assemble(now)  # raises an error if the request exceeds the budget or lacks a result
    return now


def words_of(now: Conversation) -> set[str]:
    return {
        block.text
        for message in now.messages
        for block in message.blocks
        if block.meta.source == "user"
    }


@pytest.mark.parametrize("preset", ALL)
def test_a_session_of_hundreds_of_turns_continues(preset: str) -> None:
    n_turns = 250
    now = empty(2_000_000 if preset == "none" else 128_000)
    index = TranscriptIndex()
    for turn in range(1, n_turns + 1):
        now = turned(now, preset, turn, LINE.format(turn) * (10 + turn % 60), index=index)
    request = assemble(talk.with_input(now, words="And now?", turn=n_turns + 1))
    check_legal(request)
    assert problems(now.messages) == ("the first message is not the user's",)[:0]
    assert f"Number {n_turns} is fine." in str(now.messages[-1])
    if preset == "default":
        assert f"Look at number {n_turns}, please." in words_of(now)


@pytest.mark.parametrize("preset", LADDERS)
def test_a_result_of_ten_megabytes_is_cut_and_the_turn_continues(preset: str) -> None:
    now = empty(128_000)
    now = turned(now, preset, 1, "short")
    huge = LINE.format(2) * (TEN_MB // len(LINE))
    if preset == "slide":  # this preset drops old messages but cuts none, so the error is expected
        with pytest.raises(ConversationTooLarge, match=r"result of read_file shop/part_2\.py"):
            turned(now, preset, 2, huge)
        return
    now = turned(now, preset, 2, huge)
    assert prompt_tokens(now) < now.config.budget


@pytest.mark.parametrize("preset", ALL)
def test_a_prompt_larger_than_the_window_is_an_error_that_names_the_turn(preset: str) -> None:
    now = turned(empty(8_000), preset, 1, "short")
    with pytest.raises(ConversationTooLarge, match="the prompt of turn 2"):
        turned(now, preset, 2, "short", words="word and word " * 10_000)


def _page(plan: SummarySpan) -> str:
    return "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"


def _longer(plan: SummarySpan) -> str:
    return "and so it went on\n" * (20_000 + 20 * plan.target)


def _empty(plan: SummarySpan) -> str:
    return " \n"


@pytest.mark.parametrize("summary", [_empty, _longer, _page])
@pytest.mark.parametrize("preset", sorted({"default", "ladder-a", "auto-b", "regions-d"}))
def test_an_unusable_summary_never_joins_the_conversation(preset: str, summary) -> None:
    asked: list[SummarySpan] = []

    def summarise(plan: SummarySpan) -> str:
        asked.append(plan)
        return summary(plan)

    now, index = empty(60_000), TranscriptIndex()
    for turn in range(1, 200):
        now = turned(
            now, preset, turn, LINE.format(turn) * (30 + turn % 50), index=index,
            words=f"Turn {turn}: " + "please go on with the cart. " * 60, summarise=summarise,
        )  # fmt: skip
    text = msgspec.json.encode(now.messages).decode()
    assert asked, "no summary was asked for"
    assert "nginx" not in text
    assert "and so it went on" not in text


@pytest.mark.parametrize("preset", LADDERS)
def test_a_forced_compaction_shortens_a_prompt_that_the_provider_rejected_as_too_long(
    preset: str,
) -> None:
    now = empty(400_000)
    for turn in range(1, 40):
        now = turned(now, preset, turn, LINE.format(turn) * 60)
    facts = CompactionFacts(spill_folder="/s", force=True)
    after = fitted(now, PRESETS[preset], facts)
    assert estimated_tokens(after) < 0.7 * estimated_tokens(now)
