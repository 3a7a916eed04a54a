"""``indwell sessions show``: one session, turn by turn, as its log tells it; nothing is changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from indwell.cli.json_line import json_line
from indwell.cli.sessions import whole_id
from indwell.cli.terminal import cost_words
from indwell.errors import UserError
from indwell.policy.approvals import short_line, visible
from indwell.sessions.inner_calls import InnerCall
from indwell.sessions.overview import Overview, overview
from indwell.sessions.store import SessionStore
from indwell.sessions.transcript import Piece, TurnView, transcript
from indwell.settings.places import state_folder

LINE_CHARACTERS = 200  # of a call's arguments or the first line of its result


class _Shown(msgspec.Struct, frozen=True):
    """A session as JSON."""

    overview: Overview
    turns: tuple[TurnView, ...]


def show_session(given: str, *, as_json: bool) -> int:
    """Print a session of this folder; 0 done, 1 if there is none or it cannot be read."""
    try:
        store = SessionStore(state_folder(os.environ), Path.cwd())
        session = whole_id(given, store.ids())
        reading = store.open(session)
    except UserError as error:
        print(str(error), file=sys.stderr)
        return 1
    seen, turns = overview(session, reading), transcript(reading.records)
    if as_json:
        sys.stdout.write(json_line(_Shown(seen, turns)) + "\n")
        return 0
    console = Console(highlight=False)
    _line(console, f"[bold]{seen.id}[/]  {escape(seen.model)}  {cost_words(seen.cost)}")
    for notice in reading.notices:
        _line(console, f"[yellow]{escape(visible(notice))}[/]")
    for turn in turns:
        _turn(console, turn)
    return 0


def _turn(console: Console, turn: TurnView) -> None:
    ending: str = turn.ending or "not ended"
    if turn.left:
        ending = f"{ending}, left behind"
    _line(console, f"\n[bold]Turn {turn.turn}[/]  [dim]{escape(turn.at)}  {escape(ending)}[/]")
    for piece in turn.pieces:
        _line(console, _markup(piece))
    if turn.message:
        _line(console, f"[red]{escape(visible(turn.message))}[/]")


def _markup(piece: Piece) -> str:
    """A piece as one text; nothing in it can drive the terminal."""
    match piece.kind:
        case "user":
            return f"[bold]you:[/] {escape(visible(piece.text))}"
        case "assistant":
            return escape(visible(piece.text))
        case "tool":
            said = piece.text.strip().partition("\n")[0] if piece.is_answered else "no result"
            called = f"{piece.source} {piece.arguments}"
            colour = "red" if piece.is_error else "dim"
            return (
                f"[cyan]▸[/] {escape(short_line(called, LINE_CHARACTERS))}\n"
                f"{''.join(map(_inner, piece.inner))}"
                f"  [{colour}]{escape(short_line(said, LINE_CHARACTERS))}[/]"
            )
        case _:
            line = short_line(f"{piece.kind}: {piece.text}", LINE_CHARACTERS)
            return f"[dim]{escape(line)}[/]"


def _inner(call: InnerCall) -> str:
    """What a sub-agent did, as lines of its call."""
    said = (call.failed or call.figure).partition("\n")[0] if call.is_ended else "not ended"
    colour = "red" if call.failed else "dim"
    return (
        f"  [cyan]▸[/] {escape(short_line(f'{call.tool} {call.target}', LINE_CHARACTERS))}"
        f"  [{colour}]{escape(short_line(said, LINE_CHARACTERS))}[/]\n"
    )


def _line(console: Console, markup: str) -> None:
    console.print(markup, emoji=False, soft_wrap=True)
