"""One record, one line of JSON: written so that people can read it, read so that damage is data.

This module knows no disk. Text stands as UTF-8, not as escapes; what is no whole record is skipped
and said, and the rest is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, get_args

import msgspec

from indwell.context.untrusted_text import scalar_text
from indwell.sessions.records import Record, Repaired, SessionStarted

FORMAT = 1
"""The newest log format that this version knows."""

MOST_LINE_B = 64 << 20
"""Bytes of a line that are read: no record is as long, and a file may be one line of a gigabyte."""

BULKY = tuple(
    f'{{"type":"{kind}",'.encode()
    for kind in ("said", "intent", "prefixed", "sent", "wire", "compacted", "callEnded")
)
"""How the lines begin that make a log long; who does not need them passes over them undecoded."""

_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(Record))
_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class LogReading(NamedTuple):
    """What a log gave.

    Attributes:
        records: Those that could be read, in order.
        notices: What could not, one sentence each, for the user.
        damage: Those of ``notices`` that no ``Repaired`` record in the log has told yet.
    """

    records: tuple[Record, ...]
    notices: tuple[str, ...]
    damage: tuple[str, ...] = ()


class _Head(msgspec.Struct, frozen=True):
    type: str


def encode(record: Record) -> bytes:
    """Write a record as one line, with its line feed.

    Text of a model or an editor may hold lone surrogates, which UTF-8 cannot: they become U+FFFD,
    and a second line (``Repaired``) says so and where.
    """
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:
        whole, places = _without_surrogates(msgspec.to_builtins(record), "")
        repaired = Repaired(
            what=f"lone surrogates became U+FFFD in the line above, at {', '.join(places)}",
            at=scalar_text(record.at),
        )
        return msgspec.json.encode(whole) + b"\n" + msgspec.json.encode(repaired) + b"\n"


def decode(data: bytes) -> LogReading:
    """Read a log that is in memory; see ``read``."""
    return read((data,))


def read(pieces: Iterable[bytes], *, passing: tuple[bytes, ...] = ()) -> LogReading:
    """Read a log that comes in pieces, however it ends.

    A last line without its line feed counts if it is whole: the kill came between the two. NUL
    bytes around a line are those of a file system that had made room for what it never wrote.

    Args:
        pieces: The bytes, cut anywhere.
        passing: Lines that begin so and end as an object does are neither decoded nor given.
    """
    records: list[Record] = []
    damage: list[str] = []
    strangers: Counter[str] = Counter()
    for number, (line, size) in enumerate(whole_lines(pieces), start=1):
        if not size or (line.startswith(passing) and line.endswith(b"}")):
            continue
        try:
            records.append(_DECODER.decode(line.strip(b"\0")))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            kind = _kind(line)
            if kind is None or kind in _KINDS:
                damage.append(
                    f"line {number} of the session's log is cut off or damaged ({size:,} "
                    "bytes); it stays there, and the session goes on without it"
                )
            else:
                strangers[kind] += 1
    told = {record.what for record in records if isinstance(record, Repaired)}
    untold = tuple(sentence for sentence in damage if sentence not in told)
    return LogReading(tuple(records), untold + _newer(records, strangers), untold)


def newest_format(records: Iterable[Record]) -> int:
    """The newest format that a log says it is written in."""
    formats = (record.format for record in records if isinstance(record, SessionStarted))
    return max(formats, default=FORMAT)


def whole_lines(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Each line with its size in bytes; of one that is too long only the beginning is kept."""
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
    """The record type that a line names; None if it is no JSON object with one."""
    try:
        return msgspec.json.decode(line, type=_Head).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _without_surrogates(value: Any, place: str) -> tuple[Any, tuple[str, ...]]:  # noqa: ANN401 -- any JSON
    """Make every text of a JSON value encodable; also says where one had to change."""
    match value:
        case str():
            whole = scalar_text(value)
            return whole, (place,) if whole != value else ()
        case dict():
            inside = {
                key: _without_surrogates(item, f"{place}.{key}".removeprefix("."))
                for key, item in value.items()
            }
            places = tuple(where for _, found in inside.values() for where in found)
            return {key: item for key, (item, _) in inside.items()}, places
        case list() | tuple():
            items = [
                _without_surrogates(item, f"{place}[{index}]") for index, item in enumerate(value)
            ]
            return [item for item, _ in items], tuple(
                where for _, found in items for where in found
            )
        case _:
            return value, ()
