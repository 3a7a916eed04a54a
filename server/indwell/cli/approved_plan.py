"""``indwell run --approve-plan``: the plan of a session is carried out, as its document has it."""

from __future__ import annotations

import asyncio

import msgspec

from indwell.agent.features.plan.board import APPROVED
from indwell.agent.features.plan.feature import board_of, written_plan
from indwell.agent.session import Session
from indwell.context.plan import next_state
from indwell.settings.model import Settings


def carrying_out(settings: Settings) -> Settings:
    """The settings of a turn that carries a plan out: ``review`` where they only let it read."""
    if settings.mode != "plan":
        return settings
    return msgspec.structs.replace(settings, mode="review")


async def approve(session: Session, words: str) -> str:
    """Approve the plan; gives the words of the turn, with what the user added to them.

    Raises:
        UserError: There is no plan to approve, or its document cannot be one.
    """
    board = board_of(session)
    next_state(board.plan.state, "approve")
    text = await asyncio.to_thread(written_plan, board.plan)
    board.approve(text)
    return "\n\n".join(filter(None, (APPROVED, words.strip())))
