"""Recordings read for ``indwell replay``: files, packed or not, or stdin; damage is told."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from indwell.errors import UserError
from indwell.files.append_log import PIECE_B, pieces_of
from indwell.sessions.imports import Recorded, recorded_sessions
from indwell.sessions.log_lines import whole_lines

STDIN = "-"
GZIP = b"\x1f\x8b"  # what packed files begin with
_UNPACKED_B = 64 << 10  # bytes at a time: so much in front of a damage is lost with it


def read_sessions(file: str) -> tuple[tuple[Recorded, ...], tuple[str, ...]]:
    """The conversations of a ``.jsonl`` or ``.jsonl.gz`` file or of stdin, and what was left out.

    Raises:
        UserError: It cannot be read.
    """
    trouble: list[str] = []
    name = "stdin" if file == STDIN else Path(file).name.partition(".")[0]
    pieces = stdin_pieces() if file == STDIN else pieces_of(Path(file).resolve())
    try:
        found = tuple(recorded_sessions(_lines(_unpacked(pieces, trouble)), name=name))
    except OSError as error:
        raise UserError(f"{file!r} cannot be read: {error.strerror or error}") from error
    notes = [note for one in found for note in named_notes(one)]
    return tuple(one for one in found if one.messages), (*notes, *trouble)


def named_notes(one: Recorded) -> Iterator[str]:
    """What was mended or left out, each with the name of the conversation or file."""
    return (f"{one.id}: {note}" for note in one.notes)


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines; one that is far too long is none."""
    for line, size in whole_lines(pieces):
        yield line if len(line) == size else b"too long"


def _unpacked(pieces: Iterator[bytes], trouble: list[str]) -> Iterator[bytes]:
    """The bytes, unpacked if they are packed; where they are damaged they end, and that is told."""
    first = next(pieces, b"")
    if not first.startswith(GZIP):
        yield first
        yield from pieces
        return
    unpack = zlib.decompressobj(wbits=31)
    n_bytes = 0
    rest = first
    while rest or (rest := next(pieces, b"")):
        if unpack.eof:  # several packed files, one behind the other, are one
            unpack = zlib.decompressobj(wbits=31)
        try:
            piece = unpack.decompress(rest, _UNPACKED_B)
        except zlib.error as error:
            trouble.append(f"the packed file is damaged behind {n_bytes:,} bytes ({error})")
            return
        n_bytes += len(piece)
        rest = unpack.unconsumed_tail or unpack.unused_data.lstrip(b"\0")
        yield piece
    yield unpack.flush()
    if not unpack.eof:
        trouble.append(f"the packed file is cut off behind {n_bytes:,} bytes")


def stdin_pieces() -> Iterator[bytes]:
    """What comes on stdin, as it comes."""
    while piece := sys.stdin.buffer.read(PIECE_B):
        yield piece
