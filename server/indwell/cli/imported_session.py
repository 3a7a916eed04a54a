"""``indwell sessions import``: conversations that other tools recorded become sessions of ours."""

from __future__ import annotations

import asyncio
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.errors import SessionError, UserError
from indwell.files.pieces import pieces_of
from indwell.sessions.foreign import Recorded, recorded_sessions
from indwell.sessions.importing import imported_records
from indwell.sessions.lines import whole_lines
from indwell.sessions.store import SessionStore, timestamp
from indwell.settings.places import state_folder

MOST_B = 2 << 30  # bytes of a file, unpacked; the recorded sessions we know have 30 MB
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
    """Import all conversations of ``files`` into this folder's sessions; 1 if a file cannot be."""
    done: list[Imported] = []
    failed: dict[str, str] = {}
    for file in files:
        try:
            store = SessionStore(state_folder(os.environ), Path.cwd())
            done += imported_file(store, Path(file))
        except UserError as error:
            failed[file] = str(error)
    if as_json:
        out = msgspec.json.encode({"imported": done, "failed": failed}).decode()
        sys.stdout.write(out + "\n")
    else:
        for one in done:
            mended = f"; {'; '.join(one.notes)}" if one.notes else ""
            print(f"{one.session}\t{one.messages} messages\t{one.source}{mended}")
        for sentence in failed.values():
            print(sentence, file=sys.stderr)
    return 1 if failed else 0


def imported_file(store: SessionStore, path: Path) -> tuple[Imported, ...]:
    """Make a session of each conversation in a file, one after the other.

    Raises:
        SessionError: It cannot be read, holds none, or a session cannot be written.
    """
    done: list[Imported] = []
    try:
        for one in recorded_sessions(_lines(path), name=path.name.partition(".")[0]):
            if one.messages:
                done.append(_written(store, path, one))  # noqa: PERF401 - counted on an error
    except (OSError, zlib.error) as error:
        so_far = f"; what stood before that is imported ({len(done)})" if done else ""
        raise SessionError(f"{str(path)!r} cannot be read ({error}){so_far}; check it") from error
    if not done:
        raise SessionError(
            f"{str(path)!r} holds no conversation; give a JSONL file whose lines have `messages`, "
            "or are messages"
        )
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


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, which may be packed with gzip; one that is too long is none."""
    for line, size in whole_lines(_unpacked(path)):
        yield line if len(line) == size else b"too long"


def _unpacked(path: Path) -> Iterator[bytes]:
    n_bytes = 0
    raw = pieces_of(path.resolve())
    for piece in _inflated(raw) if path.suffix == ".gz" else raw:
        n_bytes += len(piece)
        if n_bytes > MOST_B:
            raise SessionError(f"{str(path)!r} has over {MOST_B >> 30} GB; split it")
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
