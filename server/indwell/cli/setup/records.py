"""The records of what setup wrote where: a small private file for each, in the state folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from indwell.cli.setup.placing import Record
from indwell.errors import ToolError
from indwell.files.append_log import make_private_folder, read_bytes_private
from indwell.files.atomic import write_atomic
from indwell.files.user_files import delete_exactly


def read(state: Path, path: Path) -> Record | None:
    """The record of the file at ``path``; None if there is none that can be read."""
    try:
        record = msgspec.json.decode(read_bytes_private(_place(state, path)), type=Record)
    except (OSError, msgspec.DecodeError):  # nothing is known then, and nothing is taken out
        return None
    return record if record.path == str(path) else None


def keep(state: Path, path: Path, record: Record | None) -> str:
    """Keep the record, or forget it; gives what went wrong, for people, or an empty text."""
    place = _place(state, path)
    try:
        if record is not None:
            make_private_folder(place.parent)
            write_atomic(place, msgspec.json.encode(record), (place.parent,))
        elif place.exists():
            delete_exactly(place, (place.parent,), read_bytes_private(place))
    except (OSError, ToolError) as error:
        return str(error)
    return ""


def _place(state: Path, path: Path) -> Path:
    name = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return state.resolve() / "setup" / f"{name}.json"
