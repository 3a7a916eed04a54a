"""Records which executable or loaded files of a folder the user trusts, by digest. Pure.

This module stores no text, only a digest of each line, for the diff.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec


class TrustedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A trusted file: the digest of its content, and a digest of each line of a short text."""

    digest: str
    lines: tuple[str, ...] = ()


class FolderAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The user's trust decision for a folder.

    Attributes:
        trusted: Whether the folder is trusted.
        at: The time of the decision; ISO 8601, UTC.
        files: The folder's executable and loaded files at that time, by name.
        is_left_out: Whether the user only decided to leave these files out, in an editor that asks
            about trust itself. Such an answer neither trusts the folder nor refuses trust.
    """

    trusted: bool
    at: str
    files: Mapping[str, TrustedFile] = {}
    is_left_out: bool = False


def seen(data: bytes, *, lines: tuple[str, ...] = ()) -> TrustedFile:
    """Record a file in its current state."""
    return TrustedFile(digest_of(data), tuple(map(line_digest, lines)))


def digest_of(data: bytes) -> str:
    """Return the digest that identifies a file's content."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def line_digest(line: str) -> str:
    """Return a line's digest, which is short and used only for diffs."""
    return hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
