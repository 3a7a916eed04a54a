"""Reads recordings for ``indwell replay`` from plain or gzip files or stdin; reports damage."""

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
GZIP = b"\x1f\x8b"  # the first bytes of gzip files
_UNPACKED_B = 64 << 10  # bytes at a time: up to this much before a damaged place is lost


def read_sessions(file: str) -> tuple[tuple[Recorded, ...], tuple[str, ...]]:
    """The conversations of a ``.jsonl`` or ``.jsonl.gz`` file or of stdin, and notes on omissions.

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
    """Notes on repairs and omissions, each with the name of the conversation or file."""
    return (f"{one.id}: {note}" for note in one.notes)


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield whole lines; skip lines that are far too long."""
    for line, size in whole_lines(pieces):
        yield line if len(line) == size else b"too long"


def _unpacked(pieces: Iterator[bytes], trouble: list[str]) -> Iterator[bytes]:
    """Yield the bytes, unpacked from gzip; at damage stop and report it."""
    first = next(pieces, b"")
    if not first.startswith(GZIP):
        yield first
        yield from pieces
        return
    unpack = zlib.decompressobj(wbits=31)
    n_bytes = 0
    rest = first
    while rest or (rest := next(pieces, b"")):
        if unpack.eof:  # several gzip files in a row form one file
            unpack = zlib.decompressobj(wbits=31)
        try:
            piece = unpack.decompress(rest, _UNPACKED_B)
        except zlib.error as error:
            trouble.append(f"the gzip file is damaged after {n_bytes:,} bytes ({error})")
            return
        n_bytes += len(piece)
        rest = unpack.unconsumed_tail or unpack.unused_data.lstrip(b"\0")
        yield piece
    yield unpack.flush()
    if not unpack.eof:
        trouble.append(f"the gzip file is cut off after {n_bytes:,} bytes")


def stdin_pieces() -> Iterator[bytes]:
    """Yield the bytes of stdin as they arrive."""
    while piece := sys.stdin.buffer.read(PIECE_B):
        yield piece
