"""``indwell sessions``: lists, shows, deletes and forks sessions; rebuilds requests."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from indwell.agent.core import events
from indwell.cli.terminal.interruptible_work import wait_for
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.output import cost_words
from indwell.cli.terminal.telling import tell, told
from indwell.context.untrusted_text import one_line, short_line, visible
from indwell.errors import SessionError, UnknownSession, UserError
from indwell.prepared_types import prepared
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
from indwell.service.sessions.stored_sessions import gone_words, recent, size_words
from indwell.service.user_settings import read_settings
from indwell.sessions.conversation_restore import Rebuilt, rebuilt
from indwell.sessions.forking import fork_session
from indwell.sessions.overview import Overview, overview
from indwell.sessions.records import Wire
from indwell.sessions.storage.automatic_deletion import held_b, record_of
from indwell.sessions.storage.retention import Stored, delete, session_ids, stored
from indwell.sessions.storage.store import SessionStore, folder_name
from indwell.settings.paths import state_folder

_MOST_WIDTH = 18  # the limit of characters for a cell other than the id and the last cell


def list_sessions(*, all_folders: bool, as_json: bool, limit: int | None) -> int:
    """Print ``limit`` sessions, newest first; return 0.

    Raises:
        UserError: The state folder cannot be read.
    """
    here = Path.cwd().resolve()
    folder = None if all_folders else folder_name(here)
    state = state_folder(os.environ)
    found = stored(state, folder=folder, limit=limit)
    n_older = len(session_ids(state, folder=folder)) - len(found)
    if as_json:
        sys.stdout.write(json_line(found) + "\n")
    elif found:
        console = Console(highlight=False)
        if console.is_terminal:
            _print_table(console, found, with_folder=all_folders)
        else:  # programs get plain lines without a header
            for one in found:
                print("\t".join(_cells(one, with_folder=all_folders)))
        if n_older > 0:
            tell(f"{n_older} older; `--limit 0` lists all", file=sys.stderr)
        print_room(state, is_terminal=console.is_terminal)
    else:
        where = (
            "on this machine"
            if all_folders
            else f"for {one_line(str(here))}; `--all` shows other folders'"
        )
        tell(f"there are no sessions {where}")
    return 0


def print_room(state: Path, *, is_terminal: bool) -> None:
    """Report recent deletions, and at a terminal the disk space of the sessions."""
    lines = [gone_words(recent(record_of(state).gone, datetime.now(UTC)))]
    if is_terminal:
        with contextlib.suppress(UserError):  # sessions are listed even if the settings are invalid
            lines.append(size_words(held_b(state), read_settings(os.environ).settings))
    for line in filter(None, lines):
        tell(line, file=sys.stderr)


def delete_sessions(ids: Sequence[str], *, as_json: bool) -> int:
    """Delete sessions; return 0 if all are deleted, otherwise 1.

    Args:
        ids: Full ids, or unique beginnings of ids.
        as_json: Whether to print JSON.
    """
    gone: list[str] = []
    failed: dict[str, str] = {}
    for given in ids:
        session = given
        try:
            state = state_folder(os.environ)
            session = whole_id(given, session_ids(state))
            delete(state, session)
        except UserError as error:
            failed[session] = str(error)
        else:
            gone.append(session)
    if as_json:
        sys.stdout.write(json_line({"deleted": gone, "failed": failed}) + "\n")
    else:
        for sentence in failed.values():
            tell(sentence, file=sys.stderr)
        if gone:
            tell(f"deleted: {', '.join(gone)}")
    return 1 if failed else 0


def whole_id(given: str, known: Sequence[str]) -> str:
    """Return the only id that begins with ``given``, or ``given`` if no id does. Pure.

    Raises:
        UnknownSession: Several ids begin with ``given``.
    """
    near = [one for one in known if one.startswith(given)] if given else []
    if given in near or not near:
        return given
    if len(near) > 1:
        raise UnknownSession(f"{len(near)} sessions begin with {given!r}; give more characters")
    return near[0]


def _print_table(console: Console, found: Sequence[Stored], *, with_folder: bool) -> None:
    """Print aligned cells; long cells are shortened, except for the id."""
    folder = ("folder",) if with_folder else ()
    rows = [("session", "turns", "cost", "model", *folder, "words")]
    rows += [_cells(one, with_folder=with_folder) for one in found]
    widths = [min(max(map(cell_len, column)), _MOST_WIDTH) for column in zip(*rows, strict=True)]
    widths[0] = max(cell_len(row[0]) for row in rows)
    for number, row in enumerate(rows):
        line = Text(style="" if number else "bold")
        for at, (cell, width) in enumerate(zip(row, widths, strict=True)):
            shown = Text(cell)
            if 0 < at < len(row) - 1:
                shown.truncate(width, overflow="ellipsis")
            shown.pad_right(width - shown.cell_len)
            line = line + shown + Text("  ")
        line.rstrip()
        line.truncate(max(console.width, widths[0]), overflow="ellipsis")
        console.print(line, soft_wrap=True)


def _cells(one: Stored, *, with_folder: bool) -> tuple[str, ...]:
    seen = one.overview
    folder = (one.workspace,) if with_folder else ()
    held = " ".join(filter(None, (seen.model, "imported" if seen.imported else "")))
    cells = (one.id, str(seen.turns), cost_words(seen.cost), held, *folder, seen.title)
    return tuple(one_line(cell) for cell in cells)


def fork(given: str, turn: int | None, *, as_json: bool) -> int:
    """Fork a session of this folder; return 0.

    Args:
        given: The session's id, or the first characters of the id.
        turn: The last turn to copy, or None for the last finished turn.
        as_json: Whether to print JSON.

    Raises:
        UserError: The session cannot be forked.
    """
    store = SessionStore(state_folder(os.environ), Path.cwd())
    made = wait_for(fork_session(store, whole_id(given, store.ids()), turn, now=datetime.now(UTC)))
    if as_json:
        sys.stdout.write(json_line(made._asdict()) + "\n")
        return 0
    for notice in made.notices:
        tell(notice, file=sys.stderr)
    print(f"{made.session}\tfork of {made.origin}, as it was after turn {made.turn}")
    tell(f'resume it: `indwell run --resume {made.session} "…"`', file=sys.stderr)
    return 0


# the limit of characters for a call's arguments or the first line of its result
LINE_CHARACTERS = 200


class _Shown(msgspec.Struct, frozen=True):
    """A session as JSON."""

    overview: Overview
    turns: tuple[RecordedTurn, ...]


def show_session(given: str, *, as_json: bool) -> int:
    """Print a session of this folder; return 0.

    Raises:
        UserError: The session does not exist, or cannot be read.
    """
    store = SessionStore(state_folder(os.environ), Path.cwd())
    session = whole_id(given, store.ids())
    reading = store.open(session)
    seen, turns = overview(session, reading), events_of(reading.records)
    if as_json:
        sys.stdout.write(json_line(_Shown(seen, turns)) + "\n")
        return 0
    console = Console(highlight=False)
    _line(console, f"[bold]{seen.id}[/]  {escape(one_line(seen.model))}  {cost_words(seen.cost)}")
    for notice in reading.notices:
        _line(console, f"[yellow]{escape(visible(notice))}[/]")
    for turn in turns:
        _turn(console, turn)
    return 0


def _turn(console: Console, turn: RecordedTurn) -> None:
    title, ending = told(f"Turn {turn.turn}"), told(ending_words(turn))
    at = one_line(turn.at)
    _line(console, f"\n[bold]{title}[/]  [dim]{escape(at)}  {escape(visible(ending))}[/]")
    for one in by_call(turn.events):
        if markup := _markup(one):
            _line(console, markup)


def _markup(one: events.Event | RecordedCall) -> str:
    """Return a call or an event as rich markup, without control characters for the terminal."""
    match one:
        case RecordedCall(started=started, result=result, is_error=is_error):
            said = "no result" if result is None else result.strip().partition("\n")[0]
            called = f"{started.name} {started.arguments}"
            colour = "red" if is_error else "dim"
            return (
                f"[cyan]▸[/] {escape(short_line(called, LINE_CHARACTERS))}\n"
                f"{''.join(map(_inner, one.inner))}"
                f"  [{colour}]{escape(short_line(said, LINE_CHARACTERS))}[/]"
            )
        case events.TurnStarted(words=text) | events.Steered(text=text):
            return f"[bold]{told('you')}:[/] {escape(visible(text))}"
        case events.TextAdded(text=text):
            return escape(visible(text))
        case events.TurnFinished(message=message):
            return f"[red]{escape(visible(message))}[/]" if message else ""
        case _:
            kind, text = named_text(one)
            line = short_line(f"{kind}: {text}", LINE_CHARACTERS)
            return f"[dim]{escape(line)}[/]" if kind else ""


def _inner(call: RecordedCall) -> str:
    """Return a sub-agent's calls as lines below the call that started the sub-agent."""
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
        turn: The turn that sent the request.
        number: The request's number in the session.
        attempts: The number of times the request was sent.
        sent: The digest of the bytes that were sent last, or empty if not recorded.
        digest: The digest of the rebuilt bytes.
        equal: Whether sent and rebuilt bytes are equal, or None if the sent bytes are not recorded.
        notices: Sentences about unreadable parts of the earlier conversation.
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

    The result is 1 if the bytes differ from the recorded digest, otherwise 0.

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
            tell(notice, file=sys.stderr)
        tell(verdict(replayed), file=sys.stderr)
    return 1 if replayed.equal is False else 0


def number_of(text: str) -> int:
    """Parse the number of a request.

    Raises:
        SessionError: ``text`` is not a request's number.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):  # noqa: PLR2004
        raise SessionError(f"{text!r} is not the number of a request; the first request is 1")
    return int(text)


def replay(session: str, request: Rebuilt) -> Replayed:
    """Rebuild the bytes of a request.

    Raises:
        SessionError: The log does not record how the request was made, or the record is unreadable.
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
    """Return the result of the comparison in one sentence."""
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
        return msgspec.json.decode(attempt.dialect, type=prepared(Dialect))
    except msgspec.DecodeError as error:
        raise SessionError(
            f"how request {attempt.number} was written cannot be read ({error}); "
            "a newer Indwell may have written it"
        ) from error
