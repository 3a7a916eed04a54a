"""All but the newest messages become one summary (H25; designs A and B)."""

from __future__ import annotations

from indwell.context.compaction.exchanges import snapped
from indwell.context.compaction.preset import Summarise
from indwell.context.compaction.step import Action
from indwell.context.compaction.summarising.plans import plan_summary
from indwell.context.compaction.view import View


def summarise(layer: Summarise, view: View) -> Action | None:
    """A plan for the messages before the newest ``keep``, snapped to whole exchanges."""
    n = len(view.messages)
    if n <= layer.over:
        return None
    return plan_summary(
        "summarise",
        view,
        0,
        snapped(view.messages, n - layer.keep),
        most_characters=layer.most_characters,
        most_of_message=layer.most_of_message,
    )
