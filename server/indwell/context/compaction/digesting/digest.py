"""Old messages become digests: of all that is old, the lines most likely to be needed stay (H19).

All lines before the protected tail compete for the room that the aim leaves, so a text loses much
or little by what it is worth and not by where it stands. Lines are chosen from the originals: one
that was left out comes back when the agent names it again. An exchange of which nothing stays goes
as a whole, and a note says so. Nothing of the user's is touched.
"""

from __future__ import annotations

from indwell.context.compaction.digesting.candidates import candidates
from indwell.context.compaction.digesting.choice import chosen
from indwell.context.compaction.digesting.repeats import unfolded
from indwell.context.compaction.digesting.rewriting import rewritten
from indwell.context.compaction.digesting.uses import uses_of
from indwell.context.compaction.economy import LEAST_SHARE, growth, pays
from indwell.context.compaction.exchanges import freed, tokens_of
from indwell.context.compaction.outline import Outline
from indwell.context.compaction.preset import Digest
from indwell.context.compaction.prospect import can_pay, goal_of, tail_of
from indwell.context.compaction.step import Step
from indwell.context.compaction.view import View
from indwell.context.fullness import estimated_tokens
from indwell.context.history import transcript
from indwell.context.tokens import BLOCK_OVERHEAD


def digest(layer: Digest, view: View) -> Step | None:
    """Cut what is old down to the goal; None if there is nothing to gain, or it does not pay."""
    outline = Outline(view.conversation)
    if not view.must and not can_pay(layer, view, outline):
        return None
    cut = tail_of(view, outline, int(view.budget * layer.tail_share))
    history = view.conversation.history
    whole = transcript(view.messages, history)
    uses = uses_of(whole)
    found = tuple(candidates(view, whole, cut, uses))
    behind = unfolded(view.messages, history, cut)
    estimated = estimated_tokens(view.conversation) + view.facts.incoming
    fixed = estimated - sum(one.live.meta.tokens + BLOCK_OVERHEAD for one in found)
    fixed += sum(tokens_of([one]) - tokens_of([view.messages[at]]) for at, one in behind.items())
    live = {id(one.live) for one in found}
    shown = (one for message in view.messages for one in message.blocks if id(one) not in live)
    room = goal_of(layer, view) - fixed
    kept = chosen([one.piece for one in found], room, shown, uses)
    step = rewritten(view, cut, found, kept, behind)
    return step if step and (view.must or _pays(view, outline, step)) else None


def _pays(view: View, outline: Outline, step: Step) -> bool:
    """Does it, now that it is known what it frees?"""
    gain = freed(view.messages, step.splices)
    return gain >= LEAST_SHARE * view.budget and pays(
        freed=gain,
        rewritten=outline.whole.tokens + view.facts.incoming - gain,
        growth=growth(view.conversation),
        facts=view.facts,
    )
