"""``indwell sessions replay-request``: a request of the past, made again from the log."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from indwell.cli.json_line import json_line
from indwell.cli.sessions import whole_id
from indwell.errors import SessionError, UserError
from indwell.providers.chat.dialect import Dialect
from indwell.providers.chat.request import RequestEncoder, digest_of
from indwell.sessions.rebuilding import Rebuilt, rebuilt
from indwell.sessions.records import Wire
from indwell.sessions.store import SessionStore
from indwell.settings.places import state_folder


class Replayed(msgspec.Struct, frozen=True):
    """A request made again, as JSON.

    Attributes:
        session: Whose.
        turn: In which it went out.
        number: Of it in the session.
        attempts: How often it was sent.
        sent: Digest of what was sent last; empty if nobody knows.
        digest: Of what was made again.
        equal: Are they the same bytes? None if nobody knows what was sent.
        notices: What could not be read of the conversation before it.
        body: What was made again.
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

    Gives 0 if it is what was sent, or nobody knows that; 1 if it is not, or cannot be made again.
    """
    try:
        store = SessionStore(state_folder(os.environ), Path.cwd())
        session = whole_id(given, store.ids())
        reading = store.open(session)
        replayed = replay(session, rebuilt(reading.records, number_of(number)))
    except UserError as error:
        print(str(error), file=sys.stderr)
        return 1
    if as_json:
        sys.stdout.write(json_line(replayed) + "\n")
    else:
        sys.stdout.write(bytes(replayed.body).decode() + "\n")
        for notice in (*reading.notices, *replayed.notices):
            print(notice, file=sys.stderr)
        print(verdict(replayed), file=sys.stderr)
    return 1 if replayed.equal is False else 0


def number_of(text: str) -> int:
    """The number of a request.

    Raises:
        SessionError: ``text`` is none.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text)):  # noqa: PLR2004
        raise SessionError(f"{text!r} is no number of a request; the first one is 1")
    return int(text)


def replay(session: str, request: Rebuilt) -> Replayed:
    """Make the bytes of a request again.

    Raises:
        SessionError: The log says in no readable way how they were made.
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
    """What came of it, in a sentence."""
    what = f"request {replayed.number} (turn {replayed.turn}, {len(bytes(replayed.body)):,} bytes)"
    match replayed.equal:
        case True:
            return f"{what}: the bytes that were sent (digest {replayed.digest})"
        case False:
            return (
                f"{what}: not what was sent (digest {replayed.digest}, sent was {replayed.sent}); "
                "the log is damaged, or this Indwell writes requests in another way"
            )
        case None:
            return f"{what}: the log does not say what bytes were sent"


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
