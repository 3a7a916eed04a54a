"""What the engine is told of the world when it decides: prices, sizes, what is still to come."""

from __future__ import annotations

import msgspec

from indwell.messages import Block, Source


class Rates(msgspec.Struct, frozen=True):
    """Prices of a model for a million tokens; the defaults are ratios that most lists share."""

    input: float = 1.0
    cached: float = 0.1
    cache_write: float = 1.25
    output: float = 5.0


class Facts(msgspec.Struct, frozen=True):
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
    rates: Rates = Rates()
    small: Rates | None = None
    is_cached: bool = True
    spill_folder: str = ""
    failed: frozenset[str] = frozenset()
    unpinned: frozenset[Source] = frozenset()
    force: bool = False

    def keeps(self, block: Block) -> bool:
        """Must it stay, word for word, whatever is cut around it?"""
        return block.meta.pinned and block.meta.source not in self.unpinned
