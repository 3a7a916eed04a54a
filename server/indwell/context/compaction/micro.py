"""Old tool results become placeholders (H19, design B): all but the newest few, whatever it costs.

This rewrites the cached prefix before every call; ``digest`` is the layer that asks what it pays.
"""

from __future__ import annotations

from functools import partial

from indwell.context.compaction.cuts import Cut, Place, called, cut_step, results_of
from indwell.context.compaction.preset import Micro
from indwell.context.compaction.step import Action
from indwell.context.compaction.view import View

_MARK = "[earlier result of "


def micro(layer: Micro, view: View) -> Action | None:
    """Replace results older than the newest ``keep`` and longer than ``longer_than`` characters."""
    places = results_of(view.messages, 0, len(view.messages))
    old = places[: max(0, len(places) - layer.keep)]
    return cut_step(
        "micro",
        view,
        (
            Cut(place, partial(_placeholder, place))
            for place in old
            if len(place.result.text) > layer.longer_than and not _is_placeholder(place)
        ),
    )


def _is_placeholder(place: Place) -> bool:
    """Was it replaced before? A tool that imitates the mark only keeps its own short text."""
    return place.result.text.startswith(_MARK)


def _placeholder(place: Place, path: str) -> str:
    length = len(place.result.text)
    return f"{_MARK}{called(place.use)}: {length:,} characters, in {path}]"
