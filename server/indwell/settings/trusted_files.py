"""Which executable or obeyed files of a folder the user has trusted, by digest. Pure.

No text is kept: of each line only a digest, for the diff.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec


class TrustedFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file as it was trusted: the digest of all of it, and of each line if it is a short text."""

    digest: str
    lines: tuple[str, ...] = ()


class FolderAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the user said of a folder.

    Attributes:
        trusted: Is it trusted?
        at: When that was said; ISO 8601, UTC.
        files: What was executable or obeyed in it then, by name.
    """

    trusted: bool
    at: str
    files: Mapping[str, TrustedFile] = {}


def seen(data: bytes, *, lines: tuple[str, ...] = ()) -> TrustedFile:
    """A file as it is now."""
    return TrustedFile(digest_of(data), tuple(map(line_digest, lines)))


def digest_of(data: bytes) -> str:
    """What a file's whole content is known by."""
    return hashlib.blake2b(data, digest_size=32).hexdigest()


def line_digest(line: str) -> str:
    """What a line is known by, for a diff; too short to be relied on for anything else."""
    return hashlib.blake2b(line.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
