"""The inputs of a compaction decision (facts, a view of the conversation) and its results."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from indwell.context.conversation import Conversation, prompt_tokens
from indwell.context.history import MessageSplice, place_of, transcript
from indwell.messages import Block, Message, Source


class SpilledText(msgspec.Struct, frozen=True):
    """A text that was cut, to be written to disk before the step is applied (H21).

    Attributes:
        name: The file name in the session's spill folder.
        text: The whole text.
    """

    name: str
    text: str


class CompactionStep(msgspec.Struct, frozen=True):
    """A rewrite that is ready to be applied.

    Attributes:
        layer: The name of the layer that made it.
        splices: Ascending and not overlapping; their indices count before any of them is applied.
        spills: Texts to write before the step is applied.
        note: What the user is told; empty if nothing is worth telling.
    """

    layer: str
    splices: tuple[MessageSplice, ...]
    spills: tuple[SpilledText, ...] = ()
    note: str = ""


class SummaryPlan(msgspec.Struct, frozen=True):
    """A summary to be written by a model or by extraction; ``apply_summary`` makes the step.

    Attributes:
        layer: The name of the layer that wants it.
        start: The first live message that the summary replaces.
        stop: The index behind the last one.
        source: The originals of those messages, never a summary (H26).
        kept: Blocks that stay word for word: the user's words and pinned blocks.
        range: The replaced range in words, for the summary's head, such as ``turns 3 to 17``.
        target: Tokens that the summary should have: a fifth of the region's.
        most_characters: Characters of the source's text that a summariser may see; 0: all.
        most_of_message: Characters of one message that it may see; 0: all.
        spills: Texts to write before the step is applied: the user's words that no longer fit.
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
    spills: tuple[SpilledText, ...] = ()


Action: TypeAlias = CompactionStep | SummaryPlan


class View(msgspec.Struct, frozen=True):
    """The inputs of one layer's decision.

    Attributes:
        conversation: The conversation before the step.
        facts: Facts that the conversation does not hold.
        tokens: Tokens of the next prompt, with what will join it.
        goal: Tokens that the layer should leave at most.
        must: Whether the layer has to reach the goal; otherwise it acts only if that pays.
    """

    conversation: Conversation
    facts: CompactionFacts
    tokens: int
    goal: int
    must: bool

    @property
    def messages(self) -> tuple[Message, ...]:
        """The live messages."""
        return self.conversation.messages

    @property
    def budget(self) -> int:
        """Tokens that a prompt may have."""
        return self.conversation.config.budget

    @property
    def to_free(self) -> int:
        """Tokens above the goal; 0 if the goal is reached."""
        return max(0, self.tokens - self.goal)

    def originals(self, start: int, stop: int) -> tuple[Message, ...]:
        """Return what the live messages from ``start`` to ``stop`` were before any compaction."""
        history = self.conversation.history
        whole = transcript(self.messages, history)
        begin = place_of(self.messages, history, start)
        return whole[begin : place_of(self.messages, history, stop)]


def full_tokens(conversation: Conversation, facts: CompactionFacts) -> int:
    """Return the tokens of the next prompt."""
    return prompt_tokens(conversation) + facts.incoming


class TokenRates(msgspec.Struct, frozen=True):
    """Prices of a model per million tokens; the defaults are ratios that most price lists share."""

    input: float = 1.0
    cached: float = 0.1
    cache_write: float = 1.25
    output: float = 5.0


class CompactionFacts(msgspec.Struct, frozen=True):
    """Facts for a decision that the conversation does not hold.

    Attributes:
        incoming: Tokens of words and injections that will join before the next call.
        rates: Prices of the main model.
        small: Prices of the model that writes summaries, if there is another one.
        is_cached: Whether a cache holds the prefix that was sent last.
        spill_folder: The folder of spill files, as the model can pass it to ``read_file``.
        failed: Layers that gained too little since the last change, and are not tried again.
        unpinned: Sources whose blocks are outdated, so that they may be cut although they are
            pinned.
        force: Whether the provider refused the size: the hard rungs run whatever was counted.
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
        """Must the block stay word for word, whatever is cut around it?"""
        return block.meta.pinned and block.meta.source not in self.unpinned
