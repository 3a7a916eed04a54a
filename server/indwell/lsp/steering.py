"""Words to the turn that runs, or is about to."""

from __future__ import annotations

from indwell.agent.words import is_blank
from indwell.errors import UserError
from indwell.lsp import protocol
from indwell.service.turns.tickets import Ticket

OPENING_S = 1.0  # for words to a turn that is about to begin; a session opens in a quarter of it


async def steered(
    running: Ticket | None, params: protocol.SteerParams, within_s: float, *, numbered: bool = False
) -> protocol.SteerResult:
    """Give words to the running turn.

    Args:
        running: It, if one runs.
        params: The words, and for which session they are meant.
        within_s: Seconds that it may take to begin.
        numbered: They were typed below a question's numbered options.

    Raises:
        UserError: None runs, or not in that session, or too much waits for it already.
    """
    if is_blank(params.text):
        raise UserError("there are no words to steer with; write what should be done")
    if running is not None:
        await running.begins(within_s)
    if running is None or running.session is None or running.ended.is_set():
        raise UserError("no turn is running; send the words with indwell/prompt instead")
    session = running.session
    if params.session not in {None, session.id}:
        raise UserError(
            f"no turn is running in session {params.session!r}; send the words with "
            "indwell/prompt instead"
        )
    is_choice = session.steer(params.text, numbered=numbered)
    return protocol.SteerResult(
        session=session.id, turn=running.number, delivered=True, is_choice=is_choice
    )
