"""Records as lines of bytes, and back; a line that is none says so."""

from __future__ import annotations

import json
from typing import cast

import msgspec

from indwell.review.records import Record

_READER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Damaged(Exception):
    """A line that is no record."""


def encoded(record: Record) -> bytes:
    """One line, without a line feed."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:  # half characters, as undecodable bytes stand in texts and names
        return json.dumps(msgspec.to_builtins(record)).encode()


def decoded(line: bytes) -> Record:
    """The record of a line.

    Raises:
        Damaged: It holds none.
    """
    try:
        return _READER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _odd(line)


def _odd(line: bytes) -> Record:
    """A record with half characters, which the quick reader does not take."""
    try:
        record = msgspec.convert(json.loads(line), type=Record)
    except (ValueError, RecursionError) as error:
        raise Damaged from error
    return cast("Record", record)
