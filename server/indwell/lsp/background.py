"""The background commands of a session: listed and stopped by the user, in any editor."""

from __future__ import annotations

import msgspec
from lsprotocol import types

from indwell.agent.features.background.board import Board
from indwell.agent.features.background.words import list_words
from indwell.errors import ToolError, UserError
from indwell.lsp import protocol_commands as commands
from indwell.lsp.host import Host
from indwell.policy.approvals import short_line

TITLE_CHARACTERS = 40  # of a command on a button
CLOSE = "Let them run"


async def commands_of(host: Host, params: commands.CommandsParams) -> commands.CommandsResult:
    """Those of a session, after one was stopped if that was asked for.

    Those of a session that is not open ended with it.

    Raises:
        UserError: There is none to stop by that id.
    """
    session = host.sessions.current
    if session is None or params.session not in {None, session.id}:
        if params.stop is not None:
            raise UserError("that session is not open, so none of its background commands runs")
        return commands.CommandsResult(params.session, ())
    board = session.parts.features.door(Board)
    if params.stop is not None:
        await _stop(board, params.stop)
    rows = msgspec.to_builtins(board.event().commands)
    return commands.CommandsResult(session.id, tuple(rows))


async def offer_stops(host: Host) -> None:
    """Show what runs, with a button to stop each; for editors that have nothing of their own."""
    session = host.sessions.current
    board = session.parts.features.door(Board) if session is not None else Board()
    running = board.running
    if not running:
        host.client.show(types.MessageType.Info, "Indwell: no background commands run")
        return
    rows = [(one.id, one.state_words(board.now), one.text) for one in running]
    buttons = {f"Stop {one.id}: {short_line(one.text, TITLE_CHARACTERS)}": one for one in running}
    words = f"Indwell: these commands run in the background:\n{list_words(rows)}"
    titles = (CLOSE, *buttons)
    chosen = await host.client.choose(words, titles, host.settings.answer_timeout_s)
    if chosen in buttons:
        await board.stop(buttons[chosen], "user")


async def _stop(board: Board, name: str) -> None:
    try:
        one = board.get(name)
    except ToolError as error:
        raise UserError(str(error)) from error
    await board.stop(one, "user")
