"""A session as Markdown to read: words, replies, calls with their results. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.lsp.virtual.fences import bounded, contained, fenced, folded, inline
from indwell.policy.approvals import short_line
from indwell.sessions.inner_calls import InnerCall
from indwell.sessions.overview import Overview
from indwell.sessions.transcript import Piece, TurnView

RESULT_CHARACTERS = 4_000  # of a call's result; the session's log has all of it
ARGUMENT_CHARACTERS = 4_000
WORDS_CHARACTERS = 40_000  # of one piece of what somebody said
MOST_CHARACTERS = 2_000_000  # of the document; some editors take seconds for more
LINE_CHARACTERS = 200


def transcript_markdown(
    seen: Overview, turns: Sequence[TurnView], notices: Sequence[str] = ()
) -> str:
    """The whole document, the oldest turn first; of a very long one the newest turns.

    Args:
        seen: What the session is.
        turns: All of them.
        notices: What is wrong with its log.
    """
    head = [f"# Session {seen.id}\n", _facts(seen), *(f"> {inline(one)}\n" for one in notices)]
    shown: list[str] = []
    room = MOST_CHARACTERS
    for turn in reversed(turns):
        text = _turn(turn)
        room -= len(text)
        if room < 0 and shown:
            break
        shown.append(text)
    n_left = len(turns) - len(shown)
    if n_left:
        head.append(f"_{n_left} older turns are not shown; `indwell sessions show` prints them._\n")
    if not turns:
        head.append("_Nothing was said yet._\n")
    return "\n".join([*head, *reversed(shown)])


def _facts(seen: Overview) -> str:
    n_turns = "1 turn" if seen.turns == 1 else f"{seen.turns} turns"
    cost = "cost unknown" if seen.cost is None else f"${seen.cost:.4f}"
    return f"{inline(seen.model)} · {n_turns} · {cost} · began {inline(seen.at)}\n"


def _turn(turn: TurnView) -> str:
    ending: str = turn.ending or "not ended"
    if turn.left:
        ending = f"{ending}, left behind"
    lines = [f"## Turn {turn.turn}\n", f"_{inline(turn.at)} · {inline(ending)}_\n"]
    lines += [_piece(one) for one in turn.pieces]
    if turn.message:
        lines.append(f"> {inline(short_line(turn.message, LINE_CHARACTERS * 5))}\n")
    return "\n".join(lines)


def _piece(piece: Piece) -> str:
    """One thing; the model's words are Markdown already, everybody else's are only quoted."""
    text = bounded(piece.text, WORDS_CHARACTERS)
    match piece.kind:
        case "user":
            lines = contained(text).rstrip("\n").split("\n")
            return "\n".join(["**You**\n", *(f"> {one}".rstrip() for one in lines), ""])
        case "assistant":
            return contained(text)
        case "tool":
            return _call(piece)
        case "thinking":
            return folded("Reasoning", fenced(text))
        case _:
            named = f"{piece.kind} {piece.source}".strip()
            if "\n" in text:
                return folded(named, fenced(text))
            return f"_{inline(named)}:_ {inline(text)}\n"


def _call(piece: Piece) -> str:
    how = ": failed" if piece.is_error else "" if piece.is_answered else ": no result"
    called = short_line(f"{piece.source} {piece.arguments}", LINE_CHARACTERS)
    blocks = [fenced(bounded(piece.arguments, ARGUMENT_CHARACTERS), "json")]
    blocks += map(_inner, piece.inner)
    if piece.is_answered:
        blocks.append(fenced(bounded(piece.text, RESULT_CHARACTERS)))
    return folded(f"{called}{how}", "\n".join(blocks))


def _inner(call: InnerCall) -> str:
    """What a sub-agent did; what it got as a result stayed with it."""
    figure = "failed" if call.failed else call.figure if call.is_ended else "not ended"
    how = f": {figure}" if figure else ""
    line = f"{short_line(f'{call.tool} {call.target}', LINE_CHARACTERS)}{how}"
    blocks = [fenced(call.failed)] if call.failed else []
    if call.diff:
        blocks.append(fenced(bounded(call.diff, RESULT_CHARACTERS), "diff"))
    return folded(line, "\n".join(blocks)) if blocks else f"{inline(line)}\n"
