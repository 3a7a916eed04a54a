"""Turns of a session's log as they stand in a chat document. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.lsp.chat.call_line import call_line
from indwell.lsp.chat.folded import details, fence
from indwell.lsp.chat.layout import YOU, turn_line
from indwell.lsp.chat.neutral import Neutral, quoted
from indwell.sessions.inner_calls import InnerCall
from indwell.sessions.transcript import Piece, TurnView

MOST_CHARACTERS = 200_000  # that are put back; the rest stands in the transcript
_RESULT = 4_000  # of a tool's result


def restored(turns: Sequence[TurnView], session: str) -> str:
    """These turns, oldest first; of many the newest, and where the others are."""
    shown: list[str] = []
    room = MOST_CHARACTERS
    for turn in reversed(turns):
        text = _turn(turn)
        room -= len(text)
        if room < 0 and shown:
            break
        shown.append(text)
    n_left = len(turns) - len(shown)
    note = ""
    if n_left:
        note = (
            f"> The session goes on; {n_left} earlier turns are in its transcript "
            f"(`indwell sessions show {session}`).\n\n"
        )
    return note + "\n\n".join(reversed(shown))


def own_words(words: str) -> str:
    """The user's words as they are put into a document by us."""
    shown = Neutral()
    return (shown.feed(words.strip()) + shown.finish()).strip()


def _turn(turn: TurnView) -> str:
    parts = [YOU, own_words(turn.words), turn_line(turn.turn)]
    parts += filter(None, map(_piece, turn.pieces[1:]))
    if turn.left:
        parts.append("> The conversation was taken back, and goes on without this turn.")
    if turn.ending == "cancelled":
        parts.append("> Stopped.")
    elif turn.message:
        parts.append(quoted(turn.message))
    cost = "cost unknown" if turn.cost is None else f"${turn.cost:.4f}"
    ended = turn.ending or "not ended"
    parts.append(f"*{ended} · {turn.usage.input:,} tokens in, {turn.usage.output:,} out · {cost}*")
    return "\n\n".join(parts)


def _piece(piece: Piece) -> str:
    match piece.kind:
        case "user":
            return f"> **You, meanwhile:**\n{quoted(piece.text)}"
        case "assistant":
            return own_words(piece.text)
        case "thinking":
            n_words = len(piece.text.split())
            return details(f"Thinking · {n_words} words", fence(piece.text, "text"))
        case "tool":
            state = " failed" if piece.is_error else "" if piece.is_answered else " not answered"
            result = piece.text[:_RESULT]
            body = (
                fence(piece.arguments, "json"),
                *map(_inner, piece.inner),
                fence(result) if result.strip() else "",
            )
            return details(f"{piece.source}{state}", *body)
        case "notice":
            return quoted(piece.text)
        case _:
            return ""


def _inner(call: InnerCall) -> str:
    """What a sub-agent did, as it stood there when it did it."""
    figure = "failed" if call.failed else call.figure if call.is_ended else "not ended"
    parts = (
        quoted(call.failed) if call.failed else "",
        fence(call.diff, "diff") if call.diff else "",
    )
    return details(call_line(call.tool, call.target, figure, call.seconds), *parts)
