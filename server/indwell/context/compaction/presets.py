"""The published compaction presets: the rungs of each ladder with their numbers (H18-H29). Data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

When: TypeAlias = Literal["always", "pays"]
"""``pays``: run only if the saving over the expected calls exceeds the rewrite of the cache."""


class Digest(msgspec.Struct, frozen=True, tag="digest"):
    """Keeps the lines of old results and calls that are most likely to be needed (H19).

    Attributes:
        tail_share: Share of the budget at the end of the conversation that stays unchanged.
        root: The aim is at most this number times the square root of the budget, in tokens, because
            the needs of a task grow slower than the window.
    """

    tail_share: float = 0.04
    root: float = 77.0


class Micro(msgspec.Struct, frozen=True, tag="micro"):
    """Replaces old results of over ``longer_than`` characters, except the newest ``keep`` (H19)."""

    keep: int = 3
    longer_than: int = 100


class Snip(msgspec.Struct, frozen=True, tag="snip"):
    """Keeps the first and last ``ends`` lines of results with many characters and lines (H20)."""

    characters: int = 1_500
    lines: int = 6
    ends: int = 3


class Summarise(msgspec.Struct, frozen=True, tag="summarise"):
    """Summarises all but the newest ``keep`` messages, if there are more than ``over`` (H25).

    Attributes:
        most_characters: The most characters that the summariser reads; 0 means all.
        most_of_message: The most characters of one message that the summariser reads; 0 means all.
    """

    over: int = 10
    keep: int = 8
    most_characters: int = 0
    most_of_message: int = 0


class Regions(msgspec.Struct, frozen=True, tag="regions"):
    """Summarises runs of compactable blocks before the protected tail, the largest first (H22).

    Attributes:
        tail_turns: The newest turns that stay; if one turn is too long, rounds.
        tail_tokens: Tokens that stay, if these are more; at most a quarter of the window.
    """

    tail_turns: int = 4
    tail_tokens: int = 20_000


class Collapse(msgspec.Struct, frozen=True, tag="collapse"):
    """Keeps a summary and the last ``keep`` messages, if above ``over``; else ``least`` (H29)."""

    over: int = 4
    keep: int = 4
    least: int = 2


class Trim(msgspec.Struct, frozen=True, tag="trim"):
    """Cuts the longest results, even the newest, down to their two ends (H29)."""


class Slide(msgspec.Struct, frozen=True, tag="slide"):
    """Drops the oldest exchanges."""


Layer: TypeAlias = Digest | Micro | Snip | Summarise | Regions | Collapse | Trim | Slide


class Rung(msgspec.Struct, frozen=True):
    """One rung of the ladder.

    Attributes:
        layer: The compaction layer.
        at: Share of the budget above which the layer may run.
        aim: Share of the budget that the layer aims at.
        when: Whether the layer runs only if this saves money.
        at_tokens: Prompt tokens above which the layer may run; 0 means that ``at`` applies.
    """

    layer: Layer
    at: float
    aim: float
    when: When = "always"
    at_tokens: int = 0


class Preset(msgspec.Struct, frozen=True):
    """A ladder, with the lowest rung first.

    Attributes:
        name: The name in the user's settings.
        rungs: The rungs in the order in which they are tried; each rung runs only while the prompt
            exceeds its aim.
        card: Whether a task card replaces removed messages (H27).
        repeats: Whether lines that the model reads again become pointers before sending
            (``repeats``).
        every_call: Whether the lowest rung runs before every call, for a prompt of any size.
    """

    name: str
    rungs: tuple[Rung, ...]
    card: bool = True
    repeats: bool = False
    every_call: bool = False


DEFAULT = Preset(
    "default",
    (
        Rung(Digest(), at=0.5, aim=0.45, when="pays"),
        Rung(Digest(), at=0.9, aim=0.45),
        Rung(Regions(), at=0.92, aim=0.5),
        Rung(Collapse(), at=0.95, aim=0.5),
        Rung(Trim(), at=0.97, aim=0.9),
    ),
    repeats=True,
)
LADDER_A = Preset(
    "ladder-a",
    (
        Rung(Snip(), at=0.5, aim=0.5),
        Rung(Summarise(over=10, keep=8, most_characters=15_000, most_of_message=400), 0.7, 0.5),
        Rung(Collapse(), at=0.9, aim=0.5),
    ),
    card=False,
)
AUTO_B = Preset(
    "auto-b",
    (
        Rung(Micro(keep=3), at=0.0, aim=0.0),
        Rung(Summarise(over=0, keep=0), at=0.9, aim=0.0, at_tokens=50_000),
        Rung(Slide(), at=0.95, aim=0.5),
    ),
    card=False,
    every_call=True,
)
REGIONS_D = Preset(
    "regions-d",
    (
        Rung(Regions(), at=0.7, aim=0.5),
        Rung(Collapse(), at=0.9, aim=0.5),
    ),
    card=False,
)
SLIDE = Preset("slide", (Rung(Slide(), at=1.0, aim=0.5),), card=False)
NONE = Preset("none", (), card=False)

PRESETS: Mapping[str, Preset] = {
    one.name: one for one in (DEFAULT, LADDER_A, AUTO_B, REGIONS_D, SLIDE, NONE)
}
