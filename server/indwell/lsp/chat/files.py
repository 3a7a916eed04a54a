"""Finds and creates chat documents on disk, and adds missing turns to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from indwell.errors import ToolError, UserError, reason
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.reading import read_bytes
from indwell.files.listing import list_folder, newest_first
from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.chat import layout
from indwell.lsp.chat.layout import TextSplice, edited, session_of
from indwell.lsp.chat.rendering import own_words, restored
from indwell.service.mentions import FOLDER, IGNORE, IGNORED, SUFFIX, chat_name
from indwell.service.sessions.recorded_turns import RecordedTurn

NOT_ENDED = (
    "> Not ended: the server that ran this turn was stopped, or it still runs in another editor. "
    "What it did is in the session."
)
_KNOWN_BY = 60  # The last 60 non-blank characters identify the end of an answer.


def new_text(session: str = "", turns: Sequence[RecordedTurn] = ()) -> str:
    """Return the text of a new chat: its session's turns, and a heading for the user."""
    first = f"{layout.session_line(session)}\n\n" if session else ""
    before = f"{restored(turns, session)}\n\n" if turns else ""
    return f"{first}{before}{layout.YOU}\n\n"


def caught_up(text: str, turns: Sequence[RecordedTurn], session: str, running: int = 0) -> str:
    """Add the turns that a document lacks, without removing text.

    Args:
        text: The document.
        turns: All turns of the document's session.
        session: The id of the document's session.
        running: The number of the running turn, which ``turns`` lacks, or 0 if no turn runs.
    """
    found = [one for one in layout.headings(text) if one.kind == "turn"]
    last = found[-1].turn if found else 0
    known = {one.turn for one in found}
    ended = [one for one in turns if one.turn != running and not one.left]
    cut = next((one for one in ended if found and one.turn == last), None)
    if cut is not None:
        text = _with_end(text, cut)
    missing = [one for one in ended if one.turn > last and one.turn not in known]
    if not missing:
        return text
    draft = layout.draft_of(text)
    body = restored(missing, session)
    if draft is None:
        at = len(text)
        return edited(text, (TextSplice(at, at, f"\n\n{body}\n\n{layout.YOU}\n\n"),))
    at = draft.heading.start
    return edited(text, (TextSplice(at, at, f"{body}\n\n"),))


def _with_end(text: str, turn: RecordedTurn) -> str:
    """Complete the answer of a turn whose section was cut off."""
    if turn.finished is None:
        return _with_note(text, turn.turn)
    answer = turn.finished.answer
    section = layout.section_of(text, turn.turn)
    if section is None or not answer.strip():
        return text
    there = "".join(text[section.heading.end : section.end].split())
    wanted = own_words(answer)
    if "".join(wanted.split())[-_KNOWN_BY:] in there:
        return text
    at = section.end
    more = f"\n\n> The end of this turn, from the session:\n\n{wanted}\n\n*{turn.finished.ending}*"
    return edited(text, (TextSplice(at, at, more),))


def _with_note(text: str, turn: int) -> str:
    """Add a note to a turn that never ended, if the note is missing."""
    section = layout.section_of(text, turn)
    if section is None or NOT_ENDED in text[section.heading.start : section.end]:
        return text
    return edited(text, (TextSplice(section.end, section.end, f"\n\n{NOT_ENDED}"),))


MOST_LOOKED_AT = 500  # the limit of chats that are searched for a session, newest first
LIMIT_B = 16 << 20  # the limit of bytes for a chat
_LINE_B = 400  # The first 400 bytes of a chat name the session.
_DAY = lazy_pattern(r"\d{4}-\d{2}-\d{2}")


def chats_folder(root: Path) -> Path:
    """Return the folder of a workspace's chats."""
    return root.joinpath(*FOLDER)


def chat_of(root: Path, session: str) -> Path | None:
    """Return the newest chat in the folder that names a session."""
    for path in newest_first(_chats(root))[:MOST_LOOKED_AT]:
        try:
            head = read_bytes(path, [root], LIMIT_B)[:_LINE_B].decode("utf-8", "replace")
        except ToolError:
            continue
        if session_of(head) == session:
            return path
    return None


def new_chat(root: Path, day: str, text: str) -> Path:
    """Create a chat with a new name.

    Raises:
        UserError: The chat cannot be written.
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
        raise UserError(f"cannot create a chat in {folder} ({reason(error)})") from error


def made_chat(path: Path, roots: Sequence[Path], text: str) -> None:
    """Create a chat with a given name, unless it exists.

    Raises:
        UserError: The chat cannot be written.
    """
    if path.exists():
        return
    try:
        write_atomic(path, text.encode("utf-8", "replace"), roots, parents=True, create=True)
    except (ToolError, OSError) as error:
        raise UserError(f"cannot create the chat {quoted(path)} ({reason(error)})") from error


def changed_on_disk(
    path: Path, roots: Sequence[Path], plan: Callable[[str], str], *, expected: str | None = None
) -> bool:
    """Change the file of a closed chat; return False if it has another text or cannot be written.

    Args:
        path: The file.
        roots: Folders that must contain the file.
        plan: Returns the new text for a text.
        expected: The text that the file must have, apart from line breaks; None allows any text.
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
