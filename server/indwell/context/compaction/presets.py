"""Defines the compaction presets: the rungs of each ladder with their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from indwell.errors import SettingsError

When: TypeAlias = Literal["always", "pays"]
"""When a layer runs. ``pays``: if the expected calls save more than rewriting the cache costs."""


class Digest(msgspec.Struct, frozen=True, tag="digest"):
    """Keeps the lines of old results and calls that are most likely to be needed.

    Attributes:
        tail_share: The share of the budget at the conversation's end that stays unchanged.
        root: The aim in tokens is at most this factor times the square root of the budget, because
            a task needs less than a large window.
    """

    tail_share: float = 0.02
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
        keep_turns: The number of newest turns that only the last rungs may cut.
        keep_tokens: The number of newest tokens that only the last rungs may cut. Both together
            keep at most half of the budget.
    """

    name: str
    rungs: tuple[Rung, ...]
    card: bool = True
    repeats: bool = False
    every_call: bool = False
    keep_turns: int = 0
    keep_tokens: int = 0

    @property
    def label(self) -> str:
        """The name of the preset for people, with what the user keeps unchanged."""
        kept = [f"{self.keep_turns:,} turns"] if self.keep_turns else []
        kept += [f"{self.keep_tokens:,} tokens"] if self.keep_tokens else []
        return f"{self.name}, keeps the newest {' and '.join(kept)}" if kept else self.name


DEFAULT = Preset(
    "default",
    (
        Rung(Digest(), at=0.46, aim=0.45, when="pays"),
        Rung(Digest(), at=0.93, aim=0.45),
        Rung(Regions(), at=0.95, aim=0.5),
        Rung(Collapse(), at=0.97, aim=0.5),
        Rung(Trim(), at=0.98, aim=0.9),
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
ALIASES: Mapping[str, str] = {"ladder-50-70-90": "ladder-a"}
"""Maps other names of presets in the user's settings to ``PRESETS``."""


def adjusted(
    name: str,
    *,
    thresholds: Sequence[float] = (),
    aim: float | None = None,
    keep_turns: int = 0,
    keep_tokens: int = 0,
) -> Preset:
    """Return a preset with the user's values in place of its own.

    Args:
        name: The name of the preset, or an alias.
        thresholds: The shares of the budget above which the rungs may run, the lowest first; later
            rungs keep the values of the preset.
        aim: The share of the budget at which the rungs aim, except ``Trim``.
        keep_turns: See ``Preset``.
        keep_tokens: See ``Preset``.

    Raises:
        SettingsError: The values contradict each other or the preset.
    """
    preset = PRESETS[ALIASES.get(name, name)]
    n_rungs = len(preset.rungs)
    if len(thresholds) > n_rungs:
        raise SettingsError(
            f"compaction_thresholds has {len(thresholds)} values, and the preset {name!r} has "
            f"{n_rungs} step{'s' if n_rungs != 1 else ''}; leave the last ones out"
        )
    rungs = [
        _rung(rung, thresholds[at] if at < len(thresholds) else None, aim)
        for at, rung in enumerate(preset.rungs)
    ]
    shares = [one.at for one in rungs]
    if thresholds and (shares != sorted(set(shares))):
        shown = ", ".join(f"{one:g}" for one in shares)
        raise SettingsError(
            f"the thresholds of the preset {name!r} would be {shown}; each must be above the one "
            "before, so raise the later values of compaction_thresholds"
        )
    low = next((one for one in rungs if 0 < one.at <= one.aim and one.aim != one.at), None)
    if low is not None and aim is not None:
        raise SettingsError(
            f"compaction_aim = {aim:g} is not below the threshold {low.at:g}, so nothing would be "
            "shortened there; choose a lower value"
        )
    return msgspec.structs.replace(
        preset,
        rungs=tuple(rungs),
        every_call=preset.every_call and not thresholds,
        keep_turns=keep_turns,
        keep_tokens=keep_tokens,
    )


def _rung(rung: Rung, at: float | None, aim: float | None) -> Rung:
    if aim is not None and not isinstance(rung.layer, Trim):
        rung = msgspec.structs.replace(rung, aim=aim)
    if at is not None:
        own = rung.aim if aim is not None else min(rung.aim, at)
        rung = msgspec.structs.replace(rung, at=at, at_tokens=0, aim=own)
    return rung
