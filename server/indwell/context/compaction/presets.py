"""The presets by name: published designs as they are, and ours (H18-H29)."""

from __future__ import annotations

from collections.abc import Mapping

from indwell.context.compaction.preset import (
    Collapse,
    Digest,
    Micro,
    Preset,
    Regions,
    Rung,
    Slide,
    Snip,
    Summarise,
    Trim,
)

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
    estimator="thirds",
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
    estimator="by_script",
)
SLIDE = Preset("slide", (Rung(Slide(), at=1.0, aim=0.5),), card=False)
NONE = Preset("none", (), card=False)

PRESETS: Mapping[str, Preset] = {
    one.name: one for one in (DEFAULT, LADDER_A, AUTO_B, REGIONS_D, SLIDE, NONE)
}
