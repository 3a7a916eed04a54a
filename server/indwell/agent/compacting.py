"""Compaction that the user asks for: a turn of its own, with no words to the model (H32)."""

from __future__ import annotations

from indwell.agent.events import Listener
from indwell.agent.fit import fit
from indwell.agent.session import Session
from indwell.agent.turn_state import TurnState
from indwell.context.conversation import prompt_tokens
from indwell.sessions.records import Ending

COMPACT = "/compact"


def is_compact(words: str) -> bool:
    """Do these words ask for compaction, and for nothing else?"""
    return len(words) < 3 * len(COMPACT) and words.strip().lower() == COMPACT


async def compact_now(session: Session, turn: TurnState, emit: Listener) -> tuple[Ending, str]:
    """Shorten the conversation from the lowest rung on, and say what came of it.

    The words are no prompt.
    """
    turn.draft = ""
    before = prompt_tokens(session.conversation)
    preset = session.parts.preset
    if not preset.rungs:
        return "done", (
            f'nothing is shortened with `compaction = "{preset.name}"`; choose another preset in '
            "the settings"
        )
    if not await fit(session, turn, 0, emit, force=True):
        return "done", (
            f"nothing can be shortened: the conversation has {before:,} tokens, and what is old in "
            "it is short already"
        )
    after = prompt_tokens(session.conversation)
    return "done", f"the conversation is shorter now: {after:,} tokens instead of {before:,}"
