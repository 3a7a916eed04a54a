"""Defines a compaction step, and decides whether it saves more than it costs. Pure.

Once the first threshold is exceeded, each call needs this decision, which is mostly no. The
decision needs only sums, and reads no texts, so the time hardly grows with the conversation. A
cached prompt costs a tenth of the full price. A cut saves that tenth in every later call, but the
text after the first cut is sent once at the full price.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import sqrt
from operator import attrgetter
from typing import Protocol, TypeAlias

import msgspec

from indwell.context.compaction.presets import Digest, Preset, Rung
from indwell.context.conversation import (
    STRIDE,
    Conversation,
    Sums,
    Tally,
    added,
    estimated_tokens,
    extended,
    prompt_tokens,
)
from indwell.context.history import MessageSplice, is_boundary, last_exchange, place_of, transcript
from indwell.context.tokens import message_tokens
from indwell.messages import Block, Message, Source

KEPT_SHARE = 2  # the user may keep at most half of the budget unchanged
EVERYTHING = 1 << 60  # an index after all messages

GROWN = 0.02
"""After a decision against compaction, the prompt must grow by this share of the budget before the
next decision. The decision about a prompt of a million tokens takes a second. In a fifth of the
recorded sessions, cost and kept text differ by at most 0.2 % from those with a decision before each
call.
"""


class SpilledFile(Protocol):
    """A file that must be written to disk before a step is applied."""

    @property
    def name(self) -> str:
        """The file name in the session's spill folder."""
        ...

    @property
    def text(self) -> str:
        """The whole text, which may be built only now."""
        ...


class SpilledText(msgspec.Struct, frozen=True):
    """A cut text that must be written to disk before the step is applied.

    Attributes:
        name: The file name in the session's spill folder.
        text: The whole text.
    """

    name: str
    text: str


class CompactionStep(msgspec.Struct, frozen=True):
    """A rewrite that is ready to be applied.

    Attributes:
        layer: The name of the layer that made the step.
        splices: The replacements, in order and without overlap; indices refer to the messages
            before the step.
        spills: Files to write to disk before the step is applied.
        note: The notice for the user; may be empty.
    """

    layer: str
    splices: tuple[MessageSplice, ...]
    spills: tuple[SpilledFile, ...] = ()
    note: str = ""


class SummarySpan(msgspec.Struct, frozen=True):
    """A planned summary, for a model or for extraction; ``apply_summary`` makes the step.

    Attributes:
        layer: The name of the layer that asks for the summary.
        start: The first live message that the summary replaces.
        stop: The index after the last replaced message.
        source: The originals of the replaced messages, never a summary.
        kept: The blocks that are kept word for word: the user's text and pinned blocks.
        range: A description of the replaced range, such as ``turns 3 to 17``.
        target: The wanted tokens of the summary: a fifth of the replaced tokens.
        most_characters: The limit of characters that a summariser reads; 0 means no limit.
        most_of_message: The limit of characters for one message; 0 means no limit.
        spills: Texts to write to disk before the step is applied: the user's text that does not
            fit.
    """

    layer: str
    start: int
    stop: int
    source: tuple[Message, ...]
    kept: tuple[Block, ...]
    range: str
    target: int
    most_characters: int = 0
    most_of_message: int = 0
    spills: tuple[SpilledFile, ...] = ()


Action: TypeAlias = CompactionStep | SummarySpan


class View(msgspec.Struct, frozen=True):
    """What one layer needs to decide whether it acts.

    Attributes:
        conversation: The conversation before the step.
        facts: Prices and other inputs that are not in the conversation.
        tokens: The tokens of the next prompt, with the text that the next call adds.
        goal: The limit of tokens that the layer should leave.
        must: Whether the layer must reach the goal; otherwise the layer acts only if this saves
            money.
        changeable: The index after the last message that the layer may change; the last rungs may
            change all messages.
    """

    conversation: Conversation
    facts: CompactionFacts
    tokens: int
    goal: int
    must: bool
    changeable: int = EVERYTHING

    @property
    def messages(self) -> tuple[Message, ...]:
        """The live messages of the conversation."""
        return self.conversation.messages

    @property
    def budget(self) -> int:
        """The limit of tokens for a prompt."""
        return self.conversation.config.budget

    @property
    def to_free(self) -> int:
        """The number of tokens above the goal, or 0 if the goal is reached."""
        return max(0, self.tokens - self.goal)

    def originals(self, start: int, stop: int) -> tuple[Message, ...]:
        """Return the uncompacted originals of the live messages from ``start`` to ``stop``."""
        history = self.conversation.history
        whole = transcript(self.messages, history)
        begin = place_of(self.messages, history, start)
        return whole[begin : place_of(self.messages, history, stop)]


def full_tokens(conversation: Conversation, facts: CompactionFacts) -> int:
    """Return the tokens of the next prompt."""
    return prompt_tokens(conversation) + facts.incoming


class TokenRates(msgspec.Struct, frozen=True):
    """A model's prices per million tokens; the defaults are the usual ratios between prices."""

    input: float = 1.0
    cached: float = 0.1
    cache_write: float = 1.25
    output: float = 5.0


class CompactionFacts(msgspec.Struct, frozen=True):
    """The inputs of a decision that are not in the conversation, such as prices.

    Attributes:
        incoming: The tokens that the next call adds.
        rates: The prices of the main model.
        small: The prices of the model that writes summaries, or None for the main model.
        is_cached: Whether a cache holds the prefix that was sent last.
        spill_folder: The folder of spill files, as the model can pass it to ``read_file``.
        failed: The layers that recently saved too little, and are not tried.
        unpinned: The sources whose pinned blocks are outdated and may be cut.
        force: Whether compaction is forced, because the provider refused the prompt's size.
    """

    incoming: int = 0
    rates: TokenRates = TokenRates()
    small: TokenRates | None = None
    is_cached: bool = True
    spill_folder: str = ""
    failed: frozenset[str] = frozenset()
    unpinned: frozenset[Source] = frozenset()
    force: bool = False

    def keeps(self, block: Block) -> bool:
        """Return whether the block must be kept word for word."""
        return block.meta.pinned and block.meta.source not in self.unpinned


class NothingPays(msgspec.Struct, frozen=True):
    """Records that no step saves money, and that no other action is due.

    Attributes:
        tokens: The tokens of the prompt at the decision, with the text that the call added.
        budget: The limit of tokens for a prompt at the decision.
        is_cached: Whether the prompt was in a cache at the decision.
    """

    tokens: int
    budget: int
    is_cached: bool


def refusal(
    conversation: Conversation, preset: Preset, facts: CompactionFacts
) -> NothingPays | None:
    """Return the record that no step was found, or None if that may change with the next call."""
    tokens, asked = _asked(conversation, preset, facts)
    if facts.force or preset.every_call or any(rung.when != "pays" for rung in asked):
        return None
    return NothingPays(tokens, conversation.config.budget, facts.is_cached)


def nothing_pays(
    conversation: Conversation,
    preset: Preset,
    facts: CompactionFacts,
    before: NothingPays | None = None,
) -> bool:
    """Return whether sums alone show, without reading texts, that no compaction step is possible.

    For rungs that must save money, the result follows from bounds or from a recent decision. The
    decision is made again when the prompt has grown by ``GROWN`` of its budget.
    """
    now = refusal(conversation, preset, facts)
    if now is None:
        return False
    if before is not None and 0 <= now.tokens - before.tokens < GROWN * now.budget:
        same = msgspec.structs.replace(before, tokens=now.tokens)
        if same == now:
            return True
    return nothing_can_pay(conversation, preset, facts)


def nothing_can_pay(conversation: Conversation, preset: Preset, facts: CompactionFacts) -> bool:
    """Return whether ``ladder.next_action`` would certainly find no step now."""
    if facts.force or preset.every_call:
        return False
    tokens, asked = _asked(conversation, preset, facts)
    outline = Outline(conversation) if asked else None
    kept = kept_from(conversation, preset) if asked else 0
    return outline is None or all(
        rung.when == "pays"
        and isinstance(rung.layer, Digest)
        and not can_pay(rung.layer, _view(conversation, rung, facts, tokens, kept), outline)
        for rung in asked
    )


def can_pay(layer: Digest, view: View, outline: Outline) -> bool:
    """Return whether a step that removes as much as possible would save money."""
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    goal = goal_of(layer, view)
    loose = outline.before(tail_of(view, outline, int(view.budget * layer.tail_share))).loose
    freed = min(loose, max(0.0, estimated - goal))
    return freed >= LEAST_SHARE * view.budget and pays(
        freed=freed,
        rewritten=outline.whole.tokens + view.facts.incoming - freed,
        growth=growth(view.conversation),
        facts=view.facts,
    )


def goal_of(layer: Digest, view: View) -> float:
    """Return the estimated tokens that the prompt should have after compaction."""
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    scale = estimated / view.tokens if view.tokens else 1.0
    return min(view.goal, layer.root * sqrt(view.budget)) * scale


def kept_from(conversation: Conversation, preset: Preset) -> int:
    """Return the first message that the preset's ``keep_turns`` and ``keep_tokens`` protect."""
    messages = conversation.messages
    start = len(messages)
    if not (messages and (preset.keep_turns or preset.keep_tokens)):
        return start
    outline = Outline(conversation)
    if preset.keep_turns:
        turns = {messages[-1].turn}
        while start and len(turns | {messages[start - 1].turn}) <= preset.keep_turns:
            start -= 1
            turns.add(messages[start].turn)
    if preset.keep_tokens:
        start = min(start, outline.tail(preset.keep_tokens))
    start = max(start, outline.tail(conversation.config.budget // KEPT_SHARE))
    last = last_exchange(messages)
    while start < last and not is_boundary(messages, start):
        start += 1
    return min(start, last)


def tail_of(view: View, outline: Outline, tokens: int) -> int:
    """Return the first message of the unchanged tail, which has at least the last exchange."""
    last = last_exchange(view.messages)
    start = min(outline.tail(tokens), view.changeable)
    while start < last and not is_boundary(view.messages, start):
        start += 1
    return min(start, last)


def _asked(
    conversation: Conversation, preset: Preset, facts: CompactionFacts
) -> tuple[int, tuple[Rung, ...]]:
    """Return the tokens of the next prompt, and the rungs that its size allows."""
    tokens = prompt_tokens(conversation) + facts.incoming
    budget = conversation.config.budget
    return tokens, tuple(one for one in preset.rungs if tokens > (one.at_tokens or one.at * budget))


def _view(
    conversation: Conversation, rung: Rung, facts: CompactionFacts, tokens: int, kept: int
) -> View:
    """Return the inputs for the decision of a rung that must save money."""
    goal = int(rung.aim * conversation.config.budget)
    return View(
        conversation=conversation,
        facts=facts,
        tokens=tokens,
        goal=goal,
        must=False,
        changeable=kept,
    )


# The growth is averaged over 160 messages; fewer than 4 model calls count as 4.
RECENT, LEAST_CALLS = 160, 4


LEAST_SHARE = 0.1  # an optional step must free at least this share of the budget


def pays(*, freed: float, rewritten: float, growth: float, facts: CompactionFacts) -> bool:
    """Return whether freeing these tokens now is cheaper than waiting to free more at once.

    The conversation grows and is compacted again and again; the best growth in between is the
    economic order quantity (Harris 1913). A rewrite costs ``rewritten * (write - cached)``, however
    much it frees. Each token that waits to be freed costs ``cached`` in each call. Over ``freed /
    growth`` calls the sum is least where ``freed ** 2 == 2 * rewritten * growth * (write - cached)
    / cached``.

    Args:
        freed: The number of tokens by which every later call is shorter.
        rewritten: The number of tokens after the first cut, counted after the step.
        growth: The number of tokens that a call adds to the conversation.
        facts: The prices, and whether the prompt is in a cache. For a free model on this machine,
            the usual price ratios approximate the time.
    """
    if not facts.is_cached:
        return freed > 0
    rates = facts.rates if facts.rates.input or facts.rates.cached else TokenRates()
    rewrite = max(0.0, rewritten) * max(0.0, rates.cache_write - rates.cached)
    return freed > 0 and freed**2 * rates.cached >= 2 * rewrite * growth


def growth(conversation: Conversation) -> float:
    """Return the tokens that a model call adds, averaged over the newest ``RECENT`` messages."""
    history = conversation.history
    newest = conversation.messages[len(history.places) :][-RECENT:]
    before = history.originals[-(RECENT - len(newest)) :] if len(newest) < RECENT else ()
    tokens = sum(map(message_tokens, (*before, *newest)))
    return tokens / max(LEAST_CALLS, (len(before) + len(newest)) / 2)


_TOKENS = attrgetter("tokens")


class Outline:
    """Computes sums over any part of a conversation's messages, in O(log n).

    Args:
        conversation: The conversation; messages that the tally lacks are visited once.
    """

    def __init__(self, conversation: Conversation) -> None:
        self._messages: Sequence[Message] = conversation.messages
        self._tally: Tally = extended(conversation.tally, conversation.messages)
        self.whole = self.before(len(conversation.messages))

    def before(self, index: int) -> Sums:
        """Return the sums of the messages before ``index``."""
        if index >= self._tally.n:
            return self._walked(self._tally.sums, self._tally.n, index)
        place = index // STRIDE
        return self._walked(self._tally.places[place], place * STRIDE, index)

    def tail(self, tokens: int) -> int:
        """Return the first message of the longest tail that has at most this many tokens."""
        wanted = self.whole.tokens - tokens
        places = self._tally.places
        place = max(0, bisect_left(places, wanted, key=_TOKENS) - 1)
        at, sums = (place * STRIDE, places[place]) if places else (0, Sums())
        while at < len(self._messages) and sums.tokens < wanted:
            sums = added(sums, self._messages[at])
            at += 1
        return at

    def _walked(self, sums: Sums, start: int, stop: int) -> Sums:
        for message in self._messages[start:stop]:
            sums = added(sums, message)
        return sums
