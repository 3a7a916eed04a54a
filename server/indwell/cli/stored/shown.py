"""Shows a stored session turn by turn, or rebuilds one of its requests, from the log."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape

from indwell.agent.core import events
from indwell.cli.stored.sessions import whole_id
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.output import cost_words
from indwell.errors import SessionError
from indwell.policy.approvals import short_line, visible
from indwell.providers.wires.dialect import Dialect
from indwell.providers.wires.encoder import RequestEncoder, digest_of
from indwell.service.sessions.recorded_turns import (
    RecordedCall,
    RecordedTurn,
    by_call,
    ending_words,
    events_of,
    named_text,
)
from indwell.sessions.conversation_restore import Rebuilt, rebuilt
from indwell.sessions.overview import Overview, overview
from indwell.sessions.records import Wire
from indwell.sessions.storage.store import SessionStore
from indwell.settings.paths import state_folder

LINE_CHARACTERS = 200  # characters of a call's arguments or of its result's first line


class _Shown(msgspec.Struct, frozen=True):
    """A session as JSON."""

    overview: Overview
    turns: tuple[RecordedTurn, ...]


def show_session(given: str, *, as_json: bool) -> int:
    """Print a session of this folder; returns 0.

    Raises:
        UserError: It does not exist, or cannot be read.
    """
    store = SessionStore(state_folder(os.environ), Path.cwd())
    session = whole_id(given, store.ids())
    reading = store.open(session)
    seen, turns = overview(session, reading), events_of(reading.records)
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


def _turn(console: Console, turn: RecordedTurn) -> None:
    ending = ending_words(turn)
    _line(console, f"\n[bold]Turn {turn.turn}[/]  [dim]{escape(turn.at)}  {escape(ending)}[/]")
    for one in by_call(turn.events):
        if markup := _markup(one):
            _line(console, markup)


def _markup(told: events.Event | RecordedCall) -> str:
    """A call or an event as markup; nothing in it can control the terminal."""
    match told:
        case RecordedCall(started=started, result=result, is_error=is_error):
            said = "no result" if result is None else result.strip().partition("\n")[0]
            called = f"{started.name} {started.arguments}"
            colour = "red" if is_error else "dim"
            return (
                f"[cyan]▸[/] {escape(short_line(called, LINE_CHARACTERS))}\n"
                f"{''.join(map(_inner, told.inner))}"
                f"  [{colour}]{escape(short_line(said, LINE_CHARACTERS))}[/]"
            )
        case events.TurnStarted(words=text) | events.Steered(text=text):
            return f"[bold]you:[/] {escape(visible(text))}"
        case events.TextAdded(text=text):
            return escape(visible(text))
        case events.TurnFinished(message=message):
            return f"[red]{escape(visible(message))}[/]" if message else ""
        case _:
            kind, text = named_text(told)
            line = short_line(f"{kind}: {text}", LINE_CHARACTERS)
            return f"[dim]{escape(line)}[/]" if kind else ""


def _inner(call: RecordedCall) -> str:
    """The calls of a sub-agent, as lines of the call that ran it."""
    done = call.finished
    said = "not ended" if done is None else (done.message or done.figure).partition("\n")[0]
    colour = "red" if call.is_error else "dim"
    called = f"{call.started.name} {call.started.target}"
    return (
        f"  [cyan]▸[/] {escape(short_line(called, LINE_CHARACTERS))}"
        f"  [{colour}]{escape(short_line(said, LINE_CHARACTERS))}[/]\n"
    )


def _line(console: Console, markup: str) -> None:
    console.print(markup, emoji=False, soft_wrap=True)


class Replayed(msgspec.Struct, frozen=True):
    """A rebuilt request, as JSON.

    Attributes:
        session: The session's id.
        turn: The turn that sent it.
        number: Its number in the session.
        attempts: How often it was sent.
        sent: Digest of the bytes sent last; empty if not recorded.
        digest: Digest of the rebuilt bytes.
        equal: Are both the same bytes? None if the sent bytes are not recorded.
        notices: Parts of the earlier conversation that cannot be read.
        body: The rebuilt request.
    """

    session: str
    turn: int
    number: int
    attempts: int
    sent: str
    digest: str
    equal: bool | None
    notices: tuple[str, ...]
    body: msgspec.Raw


def replay_request(given: str, number: str, *, as_json: bool) -> int:
    """Print request ``number`` of a session of this folder.

    Returns 0 if the bytes equal those sent, or no digest is recorded; 1 if they differ.

    Raises:
        UserError: The request cannot be rebuilt.
    """
    store = SessionStore(state_folder(os.environ), Path.cwd())
    session = whole_id(given, store.ids())
    reading = store.open(session)
    replayed = replay(session, rebuilt(reading.records, number_of(number)))
    if as_json:
        sys.stdout.write(json_line(replayed) + "\n")
    else:
        sys.stdout.write(bytes(replayed.body).decode() + "\n")
        for notice in (*reading.notices, *replayed.notices):
            print(notice, file=sys.stderr)
        print(verdict(replayed), file=sys.stderr)
    return 1 if replayed.equal is False else 0


def number_of(text: str) -> int:
    """Parse the number of a request.

    Raises:
        SessionError: ``text`` is not such a number.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):  # noqa: PLR2004
        raise SessionError(f"{text!r} is not the number of a request; the first request is 1")
    return int(text)


def replay(session: str, request: Rebuilt) -> Replayed:
    """Rebuild the bytes of a request.

    Raises:
        SessionError: The log does not say how they were made, or in an unreadable way.
    """
    last = request.attempts[-1] if request.attempts else None
    body = RequestEncoder().encode(request.request, _dialect(last))
    sent, digest = last.digest if last else "", digest_of(body)
    return Replayed(
        session=session,
        turn=request.turn,
        number=request.number,
        attempts=len(request.attempts),
        sent=sent,
        digest=digest,
        equal=digest == sent if sent else None,
        notices=request.notices,
        body=msgspec.Raw(body),
    )


def verdict(replayed: Replayed) -> str:
    """The result of the comparison, in a sentence."""
    what = f"request {replayed.number} (turn {replayed.turn}, {len(bytes(replayed.body)):,} bytes)"
    match replayed.equal:
        case True:
            return f"{what}: equal to the bytes that were sent (digest {replayed.digest})"
        case False:
            return (
                f"{what}: differs from the bytes that were sent (digest {replayed.digest}, sent "
                f"was {replayed.sent}); "
                "the log is damaged, or this version of Indwell writes requests differently"
            )
        case None:
            return f"{what}: the log does not record the bytes that were sent"


def _dialect(attempt: Wire | None) -> Dialect:
    if attempt is None:
        return Dialect()
    try:
        return msgspec.json.decode(attempt.dialect, type=Dialect)
    except msgspec.DecodeError as error:
        raise SessionError(
            f"how request {attempt.number} was written cannot be read ({error}); "
            "a newer Indwell may have written it"
        ) from error
