"""What the user typed as an answer goes to the model as the user's own words."""

from __future__ import annotations

import msgspec

from indwell.agent.session import Session
from indwell.errors import UserError
from indwell.tools.base import Outcome


def deliver(session: Session, outcome: Outcome) -> Outcome:
    """Let the next request have the words; the outcome says so if they cannot be taken."""
    if not outcome.said:
        return outcome
    try:
        session.steer(outcome.said)
    except UserError as error:
        text = f"the user's answer could not be taken ({error})"
        return msgspec.structs.replace(outcome, text=text, is_error=True, said="")
    return outcome
