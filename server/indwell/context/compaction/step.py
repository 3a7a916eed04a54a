"""What compaction decides on (facts, a view of the conversation) and what it wants done next."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from indwell.context.conversation import Conversation, prompt_tokens
from indwell.context.history import MessageSplice, place_of, transcript
from indwell.messages import Block, Message, Source


class SpilledText(msgspec.Struct, frozen=True):
    """A text that was cut, to be on disk before the step is taken (H21).

    Attributes:
        name: File name in the session's spill folder.
        text: All of it.
    """

    name: str
    text: str


class CompactionStep(msgspec.Struct, frozen=True):
    """A rewrite that is ready.

    Attributes:
        layer: Name of the layer that made it.
        splices: Ascending, not overlapping; indices before any of them is made.
        spills: Written before the step is taken.
        note: What the user is told; empty if nothing is worth a word.
    """

    layer: str
    splices: tuple[MessageSplice, ...]
    spills: tuple[SpilledText, ...] = ()
    note: str = ""


class SummaryPlan(msgspec.Struct, frozen=True):
    """A summary that a model (or extraction) writes; ``summary.apply_summary`` makes the step.

    Attributes:
        layer: Name of the layer that wants it.
        start: First live message that it stands for.
        stop: The one behind the last.
        source: What it is made of: the originals, never a summary (H26).
        kept: Blocks that stay word for word: the user's words, pinned ones.
        range: What it stands for, in words for its head, such as ``turns 3 to 17``.
        target: Tokens that it should have: a fifth of the region's.
        most_characters: Of the source's text that a summariser may see; 0: all.
        most_of_message: The same for one message; 0: all.
        spills: Written before its step is taken: words of the user that no longer fit.
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
    """What a layer decides on.

    Attributes:
        conversation: The value before.
        facts: Of the world.
        tokens: Of the next prompt, what will join it included.
        goal: Tokens that the layer should leave at most.
        must: True: it has to reach the goal; False: only if it pays.
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
        """Tokens above the goal; 0 if it is reached."""
        return max(0, self.tokens - self.goal)

    def originals(self, start: int, stop: int) -> tuple[Message, ...]:
        """The messages that the live ones from ``start`` to ``stop`` were before any compaction."""
        history = self.conversation.history
        whole = transcript(self.messages, history)
        begin = place_of(self.messages, history, start)
        return whole[begin : place_of(self.messages, history, stop)]


def full_tokens(conversation: Conversation, facts: CompactionFacts) -> int:
    """Tokens of the next prompt."""
    return prompt_tokens(conversation) + facts.incoming


class TokenRates(msgspec.Struct, frozen=True):
    """Prices of a model for a million tokens; the defaults are ratios that most lists share."""

    input: float = 1.0
    cached: float = 0.1
    cache_write: float = 1.25
    output: float = 5.0


class CompactionFacts(msgspec.Struct, frozen=True):
    """Arguments of a decision that no conversation holds.

    Attributes:
        incoming: Tokens of the words and injections that will join before the next call.
        rates: Of the main model.
        small: Of the model that writes summaries, if there is another one.
        is_cached: Does a cache hold the prefix that was sent last?
        spill_folder: Where spills stand, as the model can name it to ``read_file``.
        failed: Layers that gained too little since the last change, and are not tried again.
        unpinned: Sources whose blocks no longer hold, so that they go like all else.
        force: The provider says that it does not fit: the hard rungs run whatever is counted.
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
        """Must it stay, word for word, whatever is cut around it?"""
        return block.meta.pinned and block.meta.source not in self.unpinned
