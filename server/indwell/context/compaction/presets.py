"""Defines the compaction presets: the rungs of each ladder with their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

When: TypeAlias = Literal["always", "pays"]
"""When a layer runs. ``pays``: if the expected calls save more than rewriting the cache costs."""


class Digest(msgspec.Struct, frozen=True, tag="digest"):
    """Keeps the lines of old results and calls that are most likely to be needed.

    Attributes:
        tail_share: The share of the budget at the conversation's end that stays unchanged.
        root: The aim in tokens is at most this factor times the square root of the budget, because
            a task needs less than a large window.
    """

    tail_share: float = 0.04
    root: float = 77.0


class Micro(msgspec.Struct, frozen=True, tag="micro"):
    """Replaces old results of over ``longer_than`` characters, except the newest ``keep``."""

    keep: int = 3
    longer_than: int = 100


class Snip(msgspec.Struct, frozen=True, tag="snip"):
    """Keeps the first and last ``ends`` lines of results with many characters and lines."""

    characters: int = 1_500
    lines: int = 6
    ends: int = 3


class Summarise(msgspec.Struct, frozen=True, tag="summarise"):
    """Summarises all but the newest ``keep`` messages, if there are more than ``over``.

    Attributes:
        most_characters: The limit of characters that the summariser reads; 0 means no limit.
        most_of_message: The limit of characters for one message; 0 means no limit.
    """

    over: int = 10
    keep: int = 8
    most_characters: int = 0
    most_of_message: int = 0


class Regions(msgspec.Struct, frozen=True, tag="regions"):
    """Summarises runs of compactable blocks before the protected tail, the largest first.

    Attributes:
        tail_turns: The number of newest turns to keep; of a turn that is too long, the number of
            rounds.
        tail_tokens: The least number of tokens to keep; at most a quarter of the window.
    """

    tail_turns: int = 4
    tail_tokens: int = 20_000


class Collapse(msgspec.Struct, frozen=True, tag="collapse"):
    """Keeps a summary and the last ``keep`` messages, or ``least`` messages below ``over``."""

    over: int = 4
    keep: int = 4
    least: int = 2


class Trim(msgspec.Struct, frozen=True, tag="trim"):
    """Cuts the longest results, even the newest, to their beginning and end."""


class Slide(msgspec.Struct, frozen=True, tag="slide"):
    """Drops the oldest exchanges."""


Layer: TypeAlias = Digest | Micro | Snip | Summarise | Regions | Collapse | Trim | Slide


class Rung(msgspec.Struct, frozen=True):
    """One rung of the ladder.

    Attributes:
        layer: The compaction layer.
        at: The share of the budget above which the layer may run.
        aim: The share of the budget that the layer aims at.
        when: Whether the layer runs always, or only if that saves money.
        at_tokens: The prompt tokens above which the layer may run; 0 means that ``at`` applies.
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
        card: Whether a task card replaces removed messages.
        repeats: Whether lines that the model reads again become references before sending.
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
