"""Virtual documents as read-only files, for editors that ask for no texts."""

from __future__ import annotations

import asyncio
import hashlib
import re
from pathlib import Path

from indwell.errors import ToolError, UserError
from indwell.files import read_own
from indwell.files.shown import write_shown
from indwell.lsp.virtual.uris import Base, Diff, NextRequest, Transcript, Virtual, uri_of

N_KEPT = 40  # of all folders together; the newest ones
_PLAIN = re.compile(r"[^\w.+-]+")
_NAME_CHARACTERS = 80


async def keep(folder: Path, document: Virtual, text: str, *, is_reread: bool) -> Path:
    """Write a document for reading only; gives where it stands.

    The same text has the same name, and another text another: an editor that has a file open does
    not look at it again when it is asked to show it. Where it does (``is_reread``), the same
    document keeps its name.

    Raises:
        UserError: The disk does not take it.
    """
    data = text.encode("utf-8", "surrogatepass")
    path = folder / name_of(document, b"" if is_reread else data)
    try:
        return await asyncio.to_thread(_write, path, data)
    except OSError as error:
        raise UserError(
            f"the document could not be written to {str(folder)!r} ({error.strerror}); make room "
            "there and try again"
        ) from error


def name_of(document: Virtual, data: bytes) -> str:
    """A file's name: a digest of what it is, then what it is called; with the ending it has."""
    uri = uri_of(document).encode("utf-8", "surrogateescape")
    digest = hashlib.blake2b(uri + b"\0" + data, digest_size=4).hexdigest()
    called = _PLAIN.sub("-", _called(document)).encode("ascii", "replace").decode()
    return f"{digest}-{called.replace('?', '-')[-_NAME_CHARACTERS:]}"


def _called(document: Virtual) -> str:
    match document:
        case Base(path=path):
            return f"base-{path.rpartition('/')[2]}"
        case Diff(path=path):
            return f"{path.rpartition('/')[2] or 'all'}.diff"
        case NextRequest():
            return "next-request.md"
        case Transcript(session=session):
            return f"{session}.md"


def _write(path: Path, data: bytes) -> Path:
    if not _holds(path, data):
        write_shown(path, data, n_kept=N_KEPT)
    return path


def _holds(path: Path, data: bytes) -> bool:
    try:
        return read_own(path, len(data) + 1) == data
    except (OSError, ToolError):
        return False
