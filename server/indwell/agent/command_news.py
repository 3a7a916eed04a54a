"""What a turn has to do with background commands: it hears of them, and covers what they change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from indwell.agent.background.words import ended_words, lost_words, untold_words
from indwell.agent.covering import cover_beside, uncover_beside
from indwell.agent.events import Listener, Notice
from indwell.agent.hunks import tell_hunks
from indwell.agent.session import Session
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.sandbox.gate import gate_words, still_in_the_way, take_untold
from indwell.sandbox.meanwhile import look_again
from indwell.sessions.told import CommandSet

BETWEEN = (
    "{names} in the background. What changes on disk until the next turn is not listed for "
    "review, and a rewind does not take it back: nobody could tell your changes from the command's"
)


@asynccontextmanager
async def with_commands(session: Session, turn: int, emit: Listener) -> AsyncIterator[None]:
    """A turn, while background commands may run, or be begun."""
    board, parts = session.parts.background, session.parts
    if session.helping is not None:  # they are those of the one that it works for
        yield
        return

    async def cover(call_id: str) -> None:
        if parts.coverage is not None:
            await cover_beside(session, turn, emit, call_id)

    def note(name: str, text: str, runs: bool) -> None:  # noqa: FBT001 - as the board calls it
        parts.log.append(CommandSet(session.turns, name, text, runs, session.timestamp()))

    board.turn, board.hear, board.note = turn, emit, note
    board.cover, board.uncover = cover, partial(_look_at_all, session)
    try:
        for one in board.running:
            if one.is_covered:
                await cover(one.call_id)
        for words in take_untold(parts.workspace.roots):
            emit(Notice(turn, "warning", words))
        yield
        await look_again()  # not if it was stopped: that is answered at once
        if standing := await still_in_the_way(parts.workspace.roots):
            emit(Notice(turn, "warning", gate_words(standing)))
    finally:
        board.hear = None
        await uncover_beside(session)
        tell_hunks(session, emit)
        names = [one.id for one in board.running if one.is_covered]
        if names and parts.coverage is not None and not board.is_told:
            board.is_told = True
            emit(Notice(turn, "info", BETWEEN.format(names=_run_on(names))))


def remind_of_commands(session: Session, turn: int) -> None:
    """Let the request say which have ended since the last one, once each."""
    board = session.parts.background
    if session.helping is not None:
        return
    board.settle_down()
    said = [lost_words(board.lost)] if board.lost else []
    for name in board.lost:
        board.note(name, "", False)  # noqa: FBT003 - it does not run
    board.lost = ()
    untold = [one for one in board.running if not one.is_told]
    if untold:
        said.append(untold_words([one.id for one in untold]))
    for one in untold:
        one.is_told = True
    news = [one for one in board.commands if not one.runs and not one.is_known]
    if news:
        said.append(ended_words([(one.id, one.state_words(board.now)) for one in news]))
    for one in news:
        one.is_known = True
        board.note(one.id, one.text, False)  # noqa: FBT003 - as above
    blocks = tuple(inject("reminder", words, turn=turn) for words in said)
    session.conversation = talk.queue(session.conversation, blocks)


def _run_on(names: list[str]) -> str:
    return f"{', '.join(names)} {'runs' if len(names) == 1 else 'run'} on"


async def _look_at_all(session: Session) -> None:
    """No background command that can change files runs any more: look at what they did."""
    await uncover_beside(session)
    if session.parts.git is not None:
        await session.parts.git.settle()
