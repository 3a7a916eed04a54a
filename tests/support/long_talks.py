"""Creates conversations with calls and results, and the changes by a layer, in a short notation."""

from __future__ import annotations

from collections.abc import Iterable

from indwell.context import conversation as talk
from indwell.context.compaction.ladder import act, take
from indwell.context.compaction.presets import Layer
from indwell.context.compaction.step import (
    Action,
    CompactionFacts,
    CompactionStep,
    SummarySpan,
    View,
    full_tokens,
)
from indwell.context.compaction.summarising.summary import apply_summary
from indwell.context.conversation import Config, Conversation, estimated_tokens, system_block
from indwell.context.history import transcript
from indwell.context.pairing import problems, tool_uses
from indwell.messages import Message, Reply, Text, ToolCall, ToolResult

FOLDER = "/state/spill"
FACTS = CompactionFacts(spill_folder=FOLDER)


def empty(window: int = 30_000) -> Conversation:
    return Conversation(Config("m", window, 1_000), (system_block("Be."),))


def code(lines: int, name: str = "f") -> str:
    return "\n".join(f"{n}\tdef {name}_{n}(): return {n}" for n in range(1, lines + 1))


def turned(
    now: Conversation, turn: int, results: Iterable[str], *, words: str = "", reply: str = ""
) -> Conversation:
    """Add a turn with one round for each of ``results``, which are texts of files."""
    now = talk.with_input(now, words=words or f"Do number {turn}.", turn=turn)
    for round_, text in enumerate(results):
        call = ToolCall(f"c{round_}", "read_file", f'{{"path":"src/t{turn}_{round_}.py"}}')
        said = f"I look at {turn}.{round_}."
        now = talk.with_reply(now, Reply(said, (call,), finish="tool_calls"), turn=turn)
        use = tool_uses(now.messages[-1])[0]
        now = talk.with_results(now, (talk.tool_result(use, text, is_error=False),), turn=turn)
    if reply:
        now = talk.with_reply(now, Reply(reply), turn=turn)
    return now


def viewed(now: Conversation, *, goal: int = 0, facts: CompactionFacts = FACTS) -> View:
    return View(now, facts, full_tokens(now, facts), goal, must=True)


def wanted(
    layer: Layer, now: Conversation, *, goal: int = 0, facts: CompactionFacts = FACTS
) -> Action | None:
    return act(layer, viewed(now, goal=goal, facts=facts))


def summarised(now: Conversation, plan: SummarySpan, text: str = "It is done.") -> Conversation:
    return taken(now, apply_summary(now, plan, text))


def taken(now: Conversation, step: CompactionStep) -> Conversation:
    """Apply a step and return the conversation; check that the step keeps all promises."""
    after = take(now, step)
    assert problems(after.messages) == ()
    assert transcript(after.messages, after.history) == transcript(now.messages, now.history)
    assert estimated_tokens(after) < estimated_tokens(now)
    return after


def users_words(messages: Iterable[Message]) -> list[str]:
    return [
        block.text
        for message in messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "user"
    ]


def results(messages: Iterable[Message]) -> list[str]:
    return [
        block.text
        for message in messages
        for block in message.blocks
        if isinstance(block, ToolResult)
    ]
