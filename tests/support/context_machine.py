"""Applies random operations and compaction to a conversation, and compares it with its log.

Each operation changes the engine's conversation, and the list of all messages (the oracle). After
each operation the machine compares the conversation with the list. ``test_random_operations.py``
lets hypothesis choose the operations, ``faults/context_operations.py`` a random generator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from random import Random

import msgspec

from indwell.agent.core.session import added_messages
from indwell.context import conversation as talk
from indwell.context.compaction.digesting.transcript_index import TranscriptIndex
from indwell.context.compaction.ladder import next_action
from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import (
    Action,
    CompactionFacts,
    CompactionStep,
    SummarySpan,
    TokenRates,
)
from indwell.context.compaction.summarising.fallback import simulated
from indwell.context.conversation import (
    Config,
    Conversation,
    Tally,
    calibrated,
    counted,
    estimated_tokens,
    prompt_tokens,
    system_block,
)
from indwell.context.injections import Kind, inject, is_oversize, oversize_words
from indwell.context.pairing import tool_uses
from indwell.messages import Image, Message, Meta, Reply, ToolUse, Usage
from indwell.sessions import log_lines
from indwell.sessions.conversation_restore import folded, join
from indwell.sessions.records import CompactionRecord, MessageRecord, Record
from indwell.sessions.storage.writer import encode
from support import context_texts as texts
from support.context_checks import (
    KEEPS_WORDS,
    check_groups,
    check_request,
    check_results,
    check_step,
    check_task,
    check_whole,
    check_words,
)
from support.context_driver import fitted
from support.requests import READ

WINDOWS = (4_000, 6_000, 8_000, 16_000, 32_000, 64_000, 128_000)
KINDS: tuple[Kind, ...] = (
    "reminder", "environment", "ide_selection", "ide_opened_file", "diagnostics", "changed_file",
    "prompt_hook", "skill", "instructions",
)  # fmt: skip
# This fraction of decisions is computed twice, because a decision takes as long as all other work.
DECIDED_TWICE = 0.05
AT = "2026-11-21T09:00:00.000+00:00"
ERROR_PAGE = "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body></body></html>"


class ContextMachine:
    """One session.

    Args:
        dice: The random generator; the same seed gives the same session.
        preset: Name of the ladder to begin with.
        window: Tokens to begin with.
        huge: Probability that a result has 10 MB.

    Attributes:
        oracle: All messages of the session.
        records: The session's log.
        said: The user's messages, which must not change.
        task: The newest prompt.
        spills: The files in the spill folder.
        tally: The number of each operation.
        has_words: Whether every preset so far promised to keep the user's messages
    """

    def __init__(self, dice: Random, preset: str, window: int, *, huge: float = 0.0) -> None:
        self.dice, self.huge = dice, huge
        self.preset = PRESETS[preset]
        config = Config("small", window, max_output=min(2_000, window // 4))
        system = (system_block("You are an agent. " * 20),)
        self.conversation = Conversation(config, system, (READ,))
        self.oracle: list[Message] = []
        self.records: list[Record] = []
        self.said: list[str] = []
        self.task = ""
        self.spills: dict[str, str] = {}
        self.tally: Counter[str] = Counter()
        self.has_words = preset in KEEPS_WORDS
        self.turn = 0
        self.index = TranscriptIndex()

    def prompt(self, *, rounds: int = 1, force: bool = False) -> None:
        """Run a user's turn: a prompt, then some model calls with their results."""
        self.turn += 1
        words: str | None = texts.prompt(self.dice)
        for _ in range(rounds):
            if not self.call(words, force=force):
                return
            words = None
            uses = tool_uses(self.conversation.messages[-1])
            if not uses:
                break
            self.answer(uses)
        self.check()

    def call(self, words: str | None, *, force: bool = False) -> bool:
        """Compact and send the conversation, and add the reply; False if nothing was sent."""
        dice = self.dice
        steered = (texts.prompt(dice),) if dice.random() < 0.1 else ()
        said = tuple(map(self.spilled_words, (() if words is None else (words,)) + steered))
        joining = talk.with_input(self.conversation, words=None, turn=self.turn, steered=said)
        if joining.messages == self.conversation.messages and not self._is_users():
            return False
        incoming = estimated_tokens(joining) - estimated_tokens(self.conversation)
        self.compact(incoming=incoming, force=force)
        sending = talk.with_input(self.conversation, words=None, turn=self.turn, steered=said)
        self.tally["calls"] += 1
        if not check_request(sending, self.preset.name):
            self.tally["too large"] += 1
            return False
        if dice.random() < 0.05:
            self.tally["not answered"] += 1
            return False
        self.said += [talk.user_words(one, turn=1).text for one in said]
        if words is not None:
            self.task = self.said[-len(said)]
        if dice.random() < 0.3:
            counted = round(estimated_tokens(sending) * dice.uniform(0.6, 1.5))
            sending = calibrated(sending, sending, Usage(input=counted))
        reply: Reply = texts.reply(dice)
        self._advance(sending)
        self._advance(talk.with_reply(self.conversation, reply, turn=self.turn))
        self.tally["replies"] += 1
        return True

    def answer(self, uses: tuple[ToolUse, ...]) -> None:
        """Add results for all calls, or only for the first ones, as after a cancellation."""
        dice = self.dice
        n_done = dice.randrange(len(uses) + 1) if dice.random() < 0.1 else len(uses)
        results = [
            talk.tool_result(use, texts.result(dice, huge=self.huge), is_error=dice.random() < 0.1)
            for use in uses[:n_done]
        ]
        dice.shuffle(results)
        pictures = ()
        if dice.random() < 0.02:
            meta = Meta(3, "tool", 1_600, self.turn, uses[0].id)
            pictures = (Image("image/png", "iVBORw0KGgo=" * 40, meta),)
        answered = talk.with_results(self.conversation, results, turn=self.turn, pictures=pictures)
        self._advance(answered)
        self.tally["results"] += len(results)
        self.tally["cancelled"] += n_done < len(uses)

    def queue(self) -> None:
        """Queue an event that the next request reports to the model."""
        kind = self.dice.choice(KINDS)
        block = inject(kind, texts.text(self.dice, 3_000), turn=self.turn + 1)
        self.conversation = talk.queue(self.conversation, (block,))
        self.tally["queued"] += 1

    def compact(self, *, incoming: int = 0, force: bool = False) -> None:
        """Compact; check each step, and compute some decisions twice and compare them."""
        dice = self.dice
        facts = CompactionFacts(
            incoming=incoming,
            small=TokenRates(0.1, 0.01, 0.125, 0.5) if dice.random() < 0.5 else None,
            is_cached=dice.random() < 0.8,
            spill_folder="/state/spills",
            force=force,
        )
        if dice.random() < DECIDED_TWICE:
            first = next_action(self.conversation, self.preset, facts)
            again = next_action(self.conversation, self.preset, facts, self.index)
            assert without_kept(first, self.spills) == without_kept(again, self.spills), (
                "another decision with the index of the session"
            )
        self.conversation = fitted(
            self.conversation,
            self.preset,
            facts,
            summarise=self._summary,
            watch=self._watch,
            index=self.index,
        )
        self.tally["fits"] += 1

    def restore(self) -> None:
        """Restore the conversation from the bytes of the session's log."""
        reading = log_lines.decode(b"".join(map(encode, self.records)))
        assert reading.notices == ()
        past = folded(reading.records)
        now = self.conversation
        assert past.notices == ()
        assert past.messages == now.messages, "the log folds to other messages"
        assert past.history == now.history, "the log folds to another history"
        self.conversation = counted(
            msgspec.structs.replace(
                now, messages=past.messages, history=past.history, tally=Tally()
            )
        )
        self.tally["restored"] += 1

    def switch(self) -> None:
        """Switch to another ladder and another window."""
        if self.dice.random() < 0.5:
            self.preset = PRESETS[self.dice.choice(sorted(PRESETS))]
            self.has_words = self.has_words and self.preset.name in KEEPS_WORDS
        window = self.dice.choice(WINDOWS)
        config = msgspec.structs.replace(
            self.conversation.config, window=window, max_output=min(2_000, window // 4)
        )
        self.conversation = msgspec.structs.replace(self.conversation, config=config)
        self.tally["switches"] += 1

    def spilled_words(self, words: str) -> str:
        """Write a text that is too long for one message to a file, as sessions do (H12)."""
        if not is_oversize(words, self.conversation.config.window):
            return words
        name = f"/state/spills/prompt-{len(self.spills)}.txt"
        self.spills[name] = words
        return oversize_words(words, name)

    def check(self) -> None:
        """Check the conversation between two operations."""
        check_whole(self.conversation, self.oracle)
        if self.has_words:
            check_words(self.conversation, self.said, self.spills)
            if self.task:
                check_task(self.conversation, self.task)

    def _is_users(self) -> bool:
        messages = self.conversation.messages
        return bool(messages) and messages[-1].role == "user"

    def _advance(self, after: Conversation) -> None:
        for message in added_messages(self.conversation.messages, after.messages):
            join(self.oracle, message)
            self.records.append(MessageRecord(message, AT))
        self.conversation = counted(after)

    def _summary(self, plan: SummarySpan) -> str:
        self.tally["summaries"] += 1
        kind = self.dice.random()
        if kind < 0.1:
            return self.dice.choice(("", "  \n", ERROR_PAGE, "Internal Server Error", "null"))
        if kind < 0.2:
            return texts.text(self.dice, 1_000) + "and so on\n" * 20 * (plan.target + 100)
        return simulated(plan, self.dice.uniform(0.05, 0.6))

    def _watch(
        self, before: Conversation, action: Action, step: CompactionStep, after: Conversation
    ) -> None:
        check_step(before, action, step, after, self.spills)
        self.spills.update((spill.name, spill.text) for spill in step.spills)
        names = tuple(spill.name for spill in step.spills)
        n_before, n_after = prompt_tokens(before), prompt_tokens(after)
        self.records.append(
            CompactionRecord(self.turn, step.layer, step.splices, n_before, n_after, names, AT,
                      len(before.messages), step.note)
        )  # fmt: skip
        check_whole(after, self.oracle)
        check_results(after)
        check_groups(after)
        self.tally[f"{self.preset.name}: {step.layer}"] += 1


def without_kept(action: Action | None, spills: Collection[str]) -> Action | None:
    """Return the action without files that are on disk, which an index does not write again."""
    if action is None:
        return None
    files = tuple(one for one in action.spills if one.name not in spills)
    return msgspec.structs.replace(action, spills=files)


def random_step(machine: ContextMachine) -> None:
    """Run one operation that the machine's random generator chooses."""
    dice = machine.dice
    match dice.choices(range(6), (60, 15, 10, 10, 5, 4))[0]:
        case 0:
            machine.prompt(rounds=dice.choice((1, 2, 3, 8)))
        case 1:
            machine.queue()
        case 2:
            machine.compact(force=dice.random() < 0.3)
        case 3:
            machine.prompt(force=True)
        case 4:
            machine.switch()
        case _:
            machine.restore()
    machine.check()
