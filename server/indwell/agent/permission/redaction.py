"""Removes secrets from tool results and logs, and keeps redaction marks out of files."""

from __future__ import annotations

import asyncio

import msgspec

from indwell.agent.core.session import Session
from indwell.errors import ToolError
from indwell.policy.approvals import Question
from indwell.policy.paths import matches_any
from indwell.policy.rules import Widening
from indwell.secrets import MARK, has_mark, values_in
from indwell.settings.model import SECRETS
from indwell.tools.base import Call, Outcome

MOST_NOTED = 100_000  # characters of a secret file; a `.env` is shorter
AT_ONCE = 10_000  # characters searched on the event loop, in half a millisecond


async def kept_back(session: Session, outcome: Outcome) -> Outcome:
    """The outcome with secrets removed from its text; changed files stay as they are."""
    text = await hidden(session, outcome.text)
    return outcome if text is outcome.text else msgspec.structs.replace(outcome, text=text)


async def hidden(session: Session, text: str) -> str:
    """The text with secrets removed; the same object if it has none."""
    hide = session.parts.secrets.hide
    return hide(text) if len(text) <= AT_ONCE else await asyncio.to_thread(hide, text)


def remember(session: Session, call: Call, widening: Widening, outcome: Outcome) -> None:
    """Note the values of a secret file that the user let the model see (SEC-07)."""
    is_read = any(matches_any(path, SECRETS) for path in call.facts.paths)
    if widening.shows_secrets or (call.effect == "read" and is_read):
        session.asked.shown_secrets |= values_in(outcome.text[:MOST_NOTED])


def carrying(session: Session, question: Question, arguments: str) -> Question:
    """The question, with a warning if the call contains a value of a secret file (SEC-07)."""
    if not any(secret in arguments for secret in session.asked.shown_secrets):
        return question
    reason = f"{question.reason}; it holds a value from a secret file that the model was shown"
    uncovered = question.uncovered or "it carries a secret that the model was shown"
    return msgspec.structs.replace(question, reason=reason, uncovered=uncovered)


def check_no_marks(call: Call) -> None:
    """Refuse to write a redaction mark, which would overwrite a secret the model never saw.

    Raises:
        ToolError: The arguments contain a mark.
    """
    if call.effect != "read" and has_mark(call.arguments):
        raise ToolError(
            f"the arguments hold {MARK + ' …]'!r}, which stands for a secret that you are not "
            "shown; it would be lost, so nothing was done. Leave those lines as they are and "
            "change only what is around them"
        )
