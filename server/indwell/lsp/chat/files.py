"""Chat documents on disk: found, made, and finished where the editor has closed them. Blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from indwell.errors import ToolError, UserError
from indwell.files import list_folder, newest_first, read_bytes, write_atomic
from indwell.lsp.chat.layout import session_of
from indwell.service.mentions.chat_names import FOLDER, IGNORE, IGNORED, SUFFIX, chat_name

MOST_LOOKED_AT = 500  # chats, the newest first
LIMIT_B = 16 << 20  # of one chat
_LINE_B = 400  # of its beginning, which names the session
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def chats_folder(root: Path) -> Path:
    """Where the chats of a workspace lie."""
    return root.joinpath(*FOLDER)


def chat_of(root: Path, session: str) -> Path | None:
    """The newest chat in the folder that names a session."""
    for path in newest_first(_chats(root))[:MOST_LOOKED_AT]:
        try:
            head = read_bytes(path, [root], LIMIT_B)[:_LINE_B].decode("utf-8", "replace")
        except ToolError:
            continue
        if session_of(head) == session:
            return path
    return None


def new_chat(root: Path, day: str, text: str) -> Path:
    """Make a chat with a name of its own.

    Raises:
        UserError: It cannot be written.
    """
    assert _DAY.fullmatch(day), "a day is a name"
    folder = chats_folder(root)
    taken = frozenset(path.name for path in _chats(root))
    try:
        if not (folder / IGNORE).exists():
            write_atomic(folder / IGNORE, IGNORED, [root], parents=True, create=True)
        path = folder / chat_name(day, taken)
        return write_atomic(path, text.encode("utf-8", "replace"), [root], create=True)
    except (ToolError, OSError) as error:
        raise UserError(f"a chat cannot be made in {folder} ({error})") from error


def made_chat(path: Path, roots: Sequence[Path], text: str) -> None:
    """Make a chat of a given name, unless it is there.

    Raises:
        UserError: It cannot be written.
    """
    if path.exists():
        return
    try:
        write_atomic(path, text.encode("utf-8", "replace"), roots, parents=True, create=True)
    except (ToolError, OSError) as error:
        raise UserError(f"the chat {str(path)!r} cannot be made ({error})") from error


def changed_on_disk(
    path: Path, roots: Sequence[Path], plan: Callable[[str], str], *, expected: str | None = None
) -> bool:
    """Change a closed chat; False if it is not as expected, or cannot be read or written.

    Args:
        path: Its file.
        roots: Folders that it must lie in.
        plan: What a text should read.
        expected: The text that it must have, line breaks aside; None for any.
    """
    try:
        data = read_bytes(path, roots, LIMIT_B)
        text = data.decode("utf-8")
        if expected is not None and _unbroken(text) != _unbroken(expected):
            return False
        changed = plan(text)
        if changed != text:
            write_atomic(path, changed.encode("utf-8", "replace"), roots, expected=data)
    except (ToolError, OSError, UnicodeDecodeError):
        return False
    return True


def _chats(root: Path) -> tuple[Path, ...]:
    folder = chats_folder(root)
    try:
        entries = list_folder(folder, [root])
    except ToolError:
        return ()
    return tuple(
        folder / one.name for one in entries if one.name.endswith(SUFFIX) and not one.is_folder
    )


def _unbroken(text: str) -> str:
    return text.replace("\r\n", "\n")
