"""``indwell sessions import``: conversations that other tools recorded become sessions of ours."""

from __future__ import annotations

import asyncio
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import msgspec

from indwell.cli.replay.files import GZIP, STDIN, named_notes, stdin_pieces
from indwell.cli.terminal.json_line import json_line
from indwell.errors import SessionError, UserError
from indwell.files.append_log import pieces_of
from indwell.policy.approvals import one_line
from indwell.sessions.imports import Recorded, imported_records, recorded_sessions
from indwell.sessions.log_lines import whole_lines
from indwell.sessions.storage.store import SessionStore, timestamp
from indwell.settings.paths import state_folder

MOST_B = 2 << 30  # bytes of a file, unpacked; the recorded sessions we know have 30 MB
MOST_REASONS = 3  # of what was left out of a file with no conversation, in its sentence
_PIECE_B = 1 << 20  # that are unpacked at once
_GZIP = 31  # zlib's word for gzip's header and any window


class Imported(msgspec.Struct, frozen=True):
    """A session that came from elsewhere.

    Attributes:
        session: Its id here.
        source: The file, and the name that it has there.
        messages: Of its conversation.
        notes: What was mended or left out.
    """

    session: str
    source: str
    messages: int
    notes: tuple[str, ...]


def import_sessions(files: Sequence[str], *, as_json: bool) -> int:
    """Import all conversations of ``files`` into this folder's sessions; 1 if a file cannot be.

    ``-`` is stdin. What was left out of a file is told on stderr.
    """
    done: list[Imported] = []
    notes: list[str] = []
    failed: dict[str, str] = {}
    for file in files:
        try:
            store = SessionStore(state_folder(os.environ), Path.cwd())
            done += imported_file(store, file, notes)
        except UserError as error:
            failed[file] = str(error)
    if as_json:
        sys.stdout.write(json_line({"imported": done, "failed": failed}) + "\n")
    else:
        for one in done:
            mended = f"; {'; '.join(one.notes)}" if one.notes else ""
            print(f"{one.session}\t{one.messages} messages\t{one.source}{mended}")
    for sentence in (*notes, *(() if as_json else failed.values())):
        print(one_line(sentence), file=sys.stderr)
    return 1 if failed else 0


def imported_file(store: SessionStore, file: str, notes: list[str]) -> tuple[Imported, ...]:
    """Make a session of each conversation in a file, one after the other.

    Args:
        store: Where they go.
        file: Its path; ``-`` is stdin.
        notes: Hears what was left out of no session's record, a sentence each.

    Raises:
        SessionError: It cannot be read, holds none, or a session cannot be written.
    """
    done: list[Imported] = []
    left: list[str] = []
    path = Path("stdin") if file == STDIN else Path(file)
    try:
        for one in recorded_sessions(_lines(file), name=path.name.partition(".")[0]):
            if one.messages:
                done.append(_written(store, path, one))
            else:
                left += named_notes(one)
    except (OSError, zlib.error) as error:
        so_far = f"; what stood before that is imported ({len(done)})" if done else ""
        raise SessionError(f"{file!r} cannot be read ({error}){so_far}; check it") from error
    if not done:
        why = "".join(f"; {note}" for note in left[:MOST_REASONS])
        raise SessionError(
            f"{file!r} holds no conversation; give a JSONL file whose lines have `messages`, "
            f"or are messages{why}"
        )
    notes += left
    return tuple(done)


def _written(store: SessionStore, path: Path, recorded: Recorded) -> Imported:
    now = datetime.now(UTC)
    session, log = store.create(model="", now=now)

    async def write() -> None:
        for record in imported_records(recorded, source=path.name, at=timestamp(now)):
            log.append(record)
        await log.close()

    asyncio.run(write())
    return Imported(session, f"{path.name}: {recorded.id}", len(recorded.messages), recorded.notes)


def _lines(file: str) -> Iterator[bytes]:
    """The lines of a file, which may be packed with gzip; one that is too long is none."""
    for line, size in whole_lines(_unpacked(file)):
        yield line if len(line) == size else b"too long"


def _unpacked(file: str) -> Iterator[bytes]:
    n_bytes = 0
    raw = stdin_pieces() if file == STDIN else pieces_of(Path(file).resolve())
    first = next(raw, b"")
    is_packed = first.startswith(GZIP) or file.endswith(".gz")
    whole = chain((first,), raw)
    for piece in _inflated(whole) if is_packed else whole:
        n_bytes += len(piece)
        if n_bytes > MOST_B:
            raise SessionError(f"{file!r} has over {MOST_B >> 30} GB; split it")
        yield piece


def _inflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What gzip packed, of one member or several, never much of it at once.

    Raises:
        zlib.error: It is not gzip's, or ends in the middle.
    """
    unpack = zlib.decompressobj(_GZIP)
    for piece in pieces:
        rest = piece
        while rest:
            if unpack.eof:
                unpack = zlib.decompressobj(_GZIP)
            yield unpack.decompress(rest, _PIECE_B)
            rest = unpack.unused_data if unpack.eof else unpack.unconsumed_tail
    yield unpack.flush()
    if not unpack.eof:
        raise zlib.error("it ends in the middle")
