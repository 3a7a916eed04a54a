"""Reads conversations that other tools recorded; ``indwell sessions import`` stores them."""

from __future__ import annotations

import asyncio
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell
from indwell.context.untrusted_text import one_line
from indwell.errors import SessionError, UserError
from indwell.files.append_log import PIECE_B, pieces_of
from indwell.sessions.imports import Recorded, imported_records, recorded_sessions
from indwell.sessions.log_lines import whole_lines
from indwell.sessions.storage.store import SessionStore, timestamp
from indwell.settings.paths import state_folder

STDIN = "-"
GZIP = b"\x1f\x8b"  # the first bytes of gzip files
# 64 KB are unpacked at a time; at most 64 KB before damaged bytes are lost.
_UNPACKED_B = 64 << 10


def read_sessions(file: str) -> tuple[tuple[Recorded, ...], tuple[str, ...]]:
    """Read the conversations of a ``.jsonl`` or ``.jsonl.gz`` file, or of stdin, with notes.

    Raises:
        UserError: The file cannot be read.
    """
    trouble: list[str] = []
    name = "stdin" if file == STDIN else Path(file).name.partition(".")[0]
    pieces = stdin_pieces() if file == STDIN else pieces_of(Path(file).resolve())
    try:
        found = tuple(recorded_sessions(_lines(_readable(pieces, trouble)), name=name))
    except OSError as error:
        raise UserError(f"{file!r} cannot be read: {error.strerror or error}") from error
    notes = [note for one in found for note in named_notes(one)]
    return tuple(one for one in found if one.messages), (*notes, *trouble)


def named_notes(one: Recorded) -> Iterator[str]:
    """Yield notes on repairs and omissions, with the name of the conversation or file."""
    return (f"{one.id}: {note}" for note in one.notes)


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield complete lines; skip lines that are far too long."""
    for line, size in whole_lines(pieces):
        yield line if len(line) == size else b"too long"


def _readable(pieces: Iterator[bytes], trouble: list[str]) -> Iterator[bytes]:
    """Yield the unpacked bytes; at damaged bytes, stop and report the damage."""
    n_bytes = 0
    try:
        for piece in _unpacked(pieces):
            n_bytes += len(piece)
            yield piece
    except _Truncated:
        trouble.append(f"the gzip file is cut off after {n_bytes:,} bytes")
    except zlib.error as error:
        trouble.append(f"the gzip file is damaged after {n_bytes:,} bytes ({error})")


class _Truncated(zlib.error):
    """A gzip file is incomplete."""


def _unpacked(pieces: Iterator[bytes], *, is_packed: bool = False) -> Iterator[bytes]:
    """Yield the bytes, unpacked if they begin like a gzip file, or if ``is_packed``.

    Raises:
        zlib.error: The gzip file is damaged, or its end is missing.
    """
    first = next(pieces, b"")
    if not (is_packed or first.startswith(GZIP)):
        yield first
        yield from pieces
        return
    unpack = zlib.decompressobj(wbits=31)
    rest = first
    while rest or (rest := next(pieces, b"")):
        if unpack.eof:  # several gzip files in a row are one file
            unpack = zlib.decompressobj(wbits=31)
        piece = unpack.decompress(rest, _UNPACKED_B)
        rest = unpack.unconsumed_tail or unpack.unused_data.lstrip(b"\0")
        yield piece
    yield unpack.flush()
    if not unpack.eof:
        raise _Truncated("it is truncated")


def stdin_pieces() -> Iterator[bytes]:
    """Yield the bytes of stdin as they arrive."""
    while piece := sys.stdin.buffer.read(PIECE_B):
        yield piece


MOST_B = 2 << 30  # the limit of bytes for an unpacked file; known recordings have up to 30 MB
MOST_REASONS = 3  # the limit of omissions that an error about a file without a conversation lists


class Imported(msgspec.Struct, frozen=True):
    """An imported session.

    Attributes:
        session: The new id of the session.
        source: The file, and the conversation's name in it.
        messages: The number of messages in the conversation.
        notes: Sentences about repairs and omissions.
    """

    session: str
    source: str
    messages: int
    notes: tuple[str, ...]


def import_sessions(files: Sequence[str], *, as_json: bool) -> int:
    """Import conversations of ``files`` as this folder's sessions; return 1 after an error.

    A file named ``-`` is stdin. Omissions are reported on stderr.
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
            repairs = f"; {'; '.join(one.notes)}" if one.notes else ""
            print(f"{one.session}\t{one.messages} messages\t{one.source}{repairs}")
    for sentence in (*notes, *(() if as_json else failed.values())):
        tell(one_line(sentence), file=sys.stderr)
    return 1 if failed else 0


def imported_file(store: SessionStore, file: str, notes: list[str]) -> tuple[Imported, ...]:
    """Import each conversation of a file as a session, one after the other.

    Args:
        store: Receives the sessions.
        file: The file's path; ``-`` is stdin.
        notes: Called with a sentence for each omission that belongs to no session.

    Raises:
        SessionError: The file cannot be read, holds no conversation, or a session cannot be
            written.
    """
    done: list[Imported] = []
    left: list[str] = []
    path = Path("stdin") if file == STDIN else Path(file)
    try:
        for one in recorded_sessions(_lines(_bounded(file)), name=path.name.partition(".")[0]):
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


def _bounded(file: str) -> Iterator[bytes]:
    """Yield the file's bytes, unpacked.

    Raises:
        OSError: The file cannot be read.
        SessionError: The content is larger than ``MOST_B``.
        zlib.error: The file is damaged.
    """
    n_bytes = 0
    raw = stdin_pieces() if file == STDIN else pieces_of(Path(file).resolve())
    for piece in _unpacked(raw, is_packed=file.endswith(".gz")):
        n_bytes += len(piece)
        if n_bytes > MOST_B:
            raise SessionError(f"{file!r} has over {MOST_B >> 30} GB; split it")
        yield piece
