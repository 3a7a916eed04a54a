"""Reads session logs: one JSON record per line, tolerant of damaged lines. Pure.

A line that is not a whole record is skipped with a notice, and all other lines of the log are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple, get_args

import msgspec

from indwell.compatibility import VERSIONS
from indwell.prepared_types import prepared
from indwell.sessions.records import Record, Repaired, SessionStarted

FORMAT = VERSIONS["session"]
"""The newest log format this version can read."""

MOST_LINE_B = 64 << 20
"""The limit of bytes for one line.

No record is as long, but a damaged file may have a huge line.
"""

BULKY = tuple(
    f'{{"type":"{kind}",'.encode()
    for kind in ("said", "intent", "prefixed", "sent", "wire", "compacted", "callEnded")
)
"""Prefixes of the lines of large records; readers that do not need these records skip the lines."""

_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(Record))


class LogReading(NamedTuple):
    """The result of reading a log.

    Attributes:
        records: The valid records, in order.
        notices: A sentence for the user about each unreadable part.
        damage: The ``notices`` that no ``Repaired`` record in the log mentions yet.
    """

    records: tuple[Record, ...]
    notices: tuple[str, ...]
    damage: tuple[str, ...] = ()


class _Head(msgspec.Struct, frozen=True):
    type: str


def decode(data: bytes) -> LogReading:
    """Read a log held in memory; see ``read``."""
    return read((data,))


def read(pieces: Iterable[bytes], *, passing: tuple[bytes, ...] = ()) -> LogReading:
    """Read a log from pieces of bytes, even if the end of the log is damaged.

    A complete last line without a line feed is read, because a process may be killed between the
    line and the line feed. NUL bytes around a line are removed: after a crash, file systems leave
    such bytes in unwritten space.

    Args:
        pieces: The bytes, split anywhere.
        passing: Prefixes of lines to skip undecoded, if the line also ends with ``}``.
    """
    records: list[Record] = []
    damage: list[str] = []
    strangers: Counter[str] = Counter()
    decode_record = _decoder().decode
    for number, (line, size) in enumerate(whole_lines(pieces), start=1):
        if not size or (line.startswith(passing) and line.endswith(b"}")):
            continue
        try:
            records.append(decode_record(line.strip(b"\0")))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            kind = _kind(line)
            if kind is None or kind in _KINDS:
                damage.append(
                    f"line {number} of the session's log is cut off or damaged ({size:,} bytes); "
                    "it stays in the file, and the session continues without it"
                )
            else:
                strangers[kind] += 1
    told = {record.what for record in records if isinstance(record, Repaired)}
    untold = tuple(sentence for sentence in damage if sentence not in told)
    return LogReading(tuple(records), untold + _newer(records, strangers), untold)


def newest_format(records: Iterable[Record]) -> int:
    """Return the newest format version that a log names."""
    formats = (record.format for record in records if isinstance(record, SessionStarted))
    return max(formats, default=FORMAT)


def whole_lines(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield each line with its size in bytes; a line that is too long is cut."""
    begun: list[bytes] = []
    size = 0
    for piece in pieces:
        first, *others = piece.split(b"\n")
        if size <= MOST_LINE_B:
            begun.append(first)
        size += len(first)
        if others:
            yield b"".join(begun), size
            *whole, last = others
            for line in whole:
                yield line, len(line)
            begun, size = [last], len(last)
    if size:
        yield b"".join(begun), size


def _newer(records: list[Record], strangers: Counter[str]) -> tuple[str, ...]:
    formats = {record.format for record in records if isinstance(record, SessionStarted)}
    notices = [
        f"the session was written by a newer Indwell (format {number}, this one knows {FORMAT}); "
        "update Indwell if something is missing"
        for number in sorted(formats)
        if number > FORMAT
    ]
    if strangers:
        kinds = ", ".join(f"{count} {kind[:40]!r}" for kind, count in sorted(strangers.items()))
        notices.append(
            f"records of a newer Indwell were skipped ({kinds}); update Indwell to read them"
        )
    return tuple(notices)


def _kind(line: bytes) -> str | None:
    """Return the record type in a line, or None if the line is not a JSON object with a type."""
    try:
        return msgspec.json.decode(line, type=prepared(_Head)).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


@cache
def _decoder() -> msgspec.json.Decoder[Record]:
    """Return the decoder of records, created at first use because creation takes 1.5 ms."""
    return msgspec.json.Decoder(prepared(Record))
