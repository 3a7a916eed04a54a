"""The hard step: a summary and the newest messages; where these are too large, less (H29)."""

from __future__ import annotations

from functools import partial

from indwell.context.compaction.cuts import Cut, Place, called, cut_step, results_of
from indwell.context.compaction.exchanges import freed, last_exchange, snapped, tokens_of
from indwell.context.compaction.preset import Collapse
from indwell.context.compaction.snip import head_and_tail
from indwell.context.compaction.step import Action, Step
from indwell.context.compaction.summarising.plans import plan_summary
from indwell.context.compaction.view import View

_ROOMS = (16_000, 8_000, 4_000, 2_000, 1_000, 400)  # characters that a result may keep, by need
_SUMMARY_SHARE = 4  # a summary of less than this part of what is to go is not what helps
_FORCED_SHARE = 10  # who must shorten what seems to fit frees at least one part in so many


def collapse(layer: Collapse, view: View) -> Action | None:
    """Plan a summary of all but the newest messages; if that gives nothing, cut the results."""
    messages = view.messages
    if not messages:
        return None
    keep = layer.keep if len(messages) > layer.over else layer.least
    stop = min(snapped(messages, len(messages) - keep), last_exchange(messages))
    plan = plan_summary("collapse", view, 0, stop)
    if plan is None:
        return cut_results(view)
    if tokens_of(messages[:stop]) < view.to_free // _SUMMARY_SHARE:
        return cut_results(view) or plan
    return plan


def cut_results(view: View, layer: str = "collapse") -> Step | None:
    """Cut the longest results, no deeper than the goal needs; None if there is nothing to cut."""
    places = results_of(view.messages, 0, len(view.messages))
    wanted = max(view.to_free, view.tokens // _FORCED_SHARE if view.facts.force else 0)
    best: Step | None = None
    for room in _ROOMS:
        step = cut_step(
            layer,
            view,
            (
                Cut(place, partial(_shortened, place, room))
                for place in places
                if len(place.result.text) > room * 5 // 4
            ),
        )
        best = step or best
        if step and freed(view.messages, step.splices) >= wanted:
            break
    return best


def _shortened(place: Place, room: int, path: str) -> str:
    more = f" of {called(place.use)}; all of it is in {path}"
    return head_and_tail(place.result.text, room, more)
