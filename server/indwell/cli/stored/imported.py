"""``indwell sessions import``: turns conversations that other tools recorded into sessions."""

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

MOST_B = 2 << 30  # bytes of an unpacked file; known recordings have up to 30 MB
MOST_REASONS = 3  # omissions that the error about a file without a conversation lists
_PIECE_B = 1 << 20  # bytes that are unpacked at once
_GZIP = 31  # zlib's code for a gzip header and any window size


class Imported(msgspec.Struct, frozen=True):
    """An imported session.

    Attributes:
        session: Its new id.
        source: The file, and the conversation's name in it.
        messages: Number of messages in its conversation.
        notes: Repairs and omissions.
    """

    session: str
    source: str
    messages: int
    notes: tuple[str, ...]


def import_sessions(files: Sequence[str], *, as_json: bool) -> int:
    """Import all conversations of ``files`` into this folder's sessions; 1 if a file fails.

    ``-`` is stdin. Omissions are reported on stderr.
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
    """Import each conversation of a file as a session, one after the other.

    Args:
        store: Receives the sessions.
        file: Its path; ``-`` is stdin.
        notes: Called with a sentence for each omission that belongs to no session.

    Raises:
        SessionError: The file cannot be read, holds no conversation, or a session cannot be
            written.
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
        so_far = f"; the conversations before it are imported ({len(done)})" if done else ""
        raise SessionError(f"{file!r} cannot be read ({error}){so_far}; check it") from error
    if not done:
        why = "".join(f"; {note}" for note in left[:MOST_REASONS])
        raise SessionError(
            f"{file!r} has no conversation; give a JSONL file whose lines are messages, or have "
            f"`messages`{why}"
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
    """The lines of a plain or gzip file, without lines that are too long."""
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
    """Yield the unpacked bytes of one or more gzip members in small pieces.

    Raises:
        zlib.error: The data is not gzip, or is truncated.
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
        raise zlib.error("it is truncated")
