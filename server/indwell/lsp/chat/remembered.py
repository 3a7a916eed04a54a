"""Which draft of a chat its user is known to have typed: by digests in the state folder. Blocks.

So that one's own chat, saved with words at its end and opened again, asks nothing.
"""

from __future__ import annotations

from pathlib import Path

from indwell.errors import ToolError
from indwell.files import read_bytes, write_atomic
from indwell.workspace.base import digest

_FOLDER = "chat-drafts"
_LIMIT_B = 1_000


def remembered(state: Path, chat: Path) -> str:
    """The digest of the draft that was saved last; empty if none is known."""
    try:
        return read_bytes(_place(state, chat), [state], _LIMIT_B).decode("ascii", "replace")
    except (ToolError, OSError):
        return ""


def remember(state: Path, chat: Path, draft: str) -> None:
    """Keep the digest of a draft; where that cannot be, its user is asked."""
    place, data = _place(state, chat), draft.encode("ascii", "replace")
    try:
        known = remembered(state, chat).encode("ascii", "replace")
        if known == data:
            return
        if known:
            write_atomic(place, data, [state], expected=known)
        else:
            write_atomic(place, data, [state], parents=True, create=True)
    except (ToolError, OSError):
        return


def _place(state: Path, chat: Path) -> Path:
    return state / _FOLDER / f"{digest(str(chat))}.txt"
