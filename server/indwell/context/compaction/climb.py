"""The ladder before one model call, from its first action to its last: it always ends. Pure.

Each layer acts at most ``MOST_RUNS`` times, and one that gains next to nothing not again; so there
are never more than ``MOST_RUNS`` actions a layer, whatever they are.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from indwell.context.compaction.engine import next_action
from indwell.context.compaction.facts import Facts
from indwell.context.compaction.preset import Preset
from indwell.context.compaction.step import Action
from indwell.context.conversation import Conversation

MOST_RUNS = 3
"""Of one layer before one call. A layer takes what it can reach in its first; more are for a run of
old exchanges between the user's words after another, and wider steps have more to give then."""
LEAST_STEP = 0.01  # of the prompt; a layer whose step gains less has nothing more to give now
FORCED_AIM = 0.5  # of what there was; the hard rungs aim at half (H18)


class Climb(msgspec.Struct, frozen=True):
    """How far it has come.

    Attributes:
        begun: Tokens of the whole prompt at the beginning, what will join it included.
        force: Must it get shorter, whatever is counted? Until half of what there was is left.
        out: Layers that are not asked any more.
        runs: How often each layer has acted.
    """

    begun: int
    force: bool = False
    out: frozenset[str] = frozenset()
    runs: Mapping[str, int] = {}


def next_step(
    climb: Climb, conversation: Conversation, preset: Preset, facts: Facts
) -> Action | None:
    """What should be done next; None if it is done. Of ``facts``, ``failed`` and ``force`` are set.

    Under force the conversation is looked at as if it filled the window: so the aims of all rungs
    lie below what there is.
    """
    known = msgspec.structs.replace(facts, failed=climb.out, force=climb.force)
    limit = climb.begun if climb.force else 0
    return next_action(_narrowed(conversation, limit), preset, known)


def climbed(climb: Climb, layer: str, *, before: int, gain: int) -> Climb:
    """After an action of ``layer`` on a prompt of ``before`` tokens that gained ``gain`` of them.

    An action that was not taken gained nothing.
    """
    runs = {**climb.runs, layer: climb.runs.get(layer, 0) + 1}
    is_out = runs[layer] >= MOST_RUNS or gain < max(1.0, LEAST_STEP * before)
    return Climb(
        begun=climb.begun,
        force=climb.force and before - gain > FORCED_AIM * climb.begun,
        out=climb.out | {layer} if is_out else climb.out,
        runs=runs,
    )


def _narrowed(conversation: Conversation, limit: int) -> Conversation:
    """As if a prompt could have ``limit`` tokens; 0: as it is.

    What the window's size decides stays, such as the room for the user's words.
    """
    config = conversation.config
    if not 0 < limit < config.budget:
        return conversation
    config = msgspec.structs.replace(config, max_output=config.window - limit)
    return msgspec.structs.replace(conversation, config=config)
