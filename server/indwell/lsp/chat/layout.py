"""Finds the parts of a chat document (session, turns, draft), and plans its edits. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from indwell.lazy_pattern import lazy_pattern

YOU = "## You"
WAITING = "## You · waiting"
_TURN = "## Indwell · turn "
_MOST_DIGITS = 9

SESSION = lazy_pattern(r"<!-- indwell: session ([0-9a-z][0-9a-z-]{0,63}) -->[ \t]*")
_SQUEEZED = 48  # The last 48 non-blank characters identify the end of a text.
_WINDOW = 600  # The last 600 characters of a text are searched for non-blank characters.

Kind: TypeAlias = Literal["you", "waiting", "turn"]


class Heading(NamedTuple):
    """A heading of the chat, from ``start`` up to ``end``, after the heading's line break."""

    kind: Kind
    turn: int
    start: int
    end: int


class TextSplice(NamedTuple):
    """New text for the characters from ``start`` up to ``stop``."""

    start: int
    stop: int
    text: str


class ChatDraft(NamedTuple):
    """The text that the user is writing.

    Attributes:
        heading: The heading above the text.
        start: The offset at which the text begins, without blanks.
        stop: The offset at which the text ends.
    """

    heading: Heading
    start: int
    stop: int


class Section(NamedTuple):
    """The text below a turn's heading; more text of the turn is inserted at ``end``."""

    heading: Heading
    end: int


Plan: TypeAlias = Callable[[str], Sequence[TextSplice]]
"""Returns the edits for a text; may be none."""


def turn_line(turn: int) -> str:
    """Return the heading of a turn."""
    return f"{_TURN}{turn}"


def session_line(session: str) -> str:
    """Return a document's first line, which names the session."""
    return f"<!-- indwell: session {session} -->"


def session_of(text: str) -> str:
    """Return the session that the first line names, or an empty text if there is no session."""
    found = SESSION.fullmatch(text[: _line_end(text, 0)].rstrip("\r").removeprefix("\ufeff"))
    return found[1] if found else ""


def headings(text: str) -> Iterator[Heading]:
    """Yield all headings of the chat, in order."""
    at = 0 if text.startswith("## ") else text.find("\n## ") + 1
    while at or text.startswith("## "):
        found = _heading(text, at)
        if found is not None:
            yield found
        at = text.find("\n## ", at) + 1
        if not at:
            return


def backwards(text: str) -> Iterator[Heading]:
    """Yield all headings of the chat, beginning with the last."""
    stop = len(text)
    while (at := text.rfind("\n## ", 0, stop)) >= 0:
        found = _heading(text, at + 1)
        if found is not None:
            yield found
        stop = at + 1
    if text.startswith("## ") and (found := _heading(text, 0)) is not None:
        yield found


def draft_of(text: str) -> ChatDraft | None:
    """Return the draft to send, or None if the last heading is not the user's."""
    last = next(backwards(text), None)
    if last is None or last.kind != "you":
        return None
    start, stop = last.end, len(text)
    while start < stop and text[start].isspace():
        start += 1
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return ChatDraft(last, start, stop)


def section_of(text: str, turn: int, near: int | None = None) -> Section | None:
    """Return the newest section of a turn.

    Args:
        text: The text of the document.
        turn: The number of the turn.
        near: The last known offset of the turn's heading, which is tried first.
    """
    found = None
    if near is not None and (near == 0 or text[near - 1 : near] == "\n"):
        found = _heading(text, near)
    if found is None or (found.kind, found.turn) != ("turn", turn):
        found = next((one for one in backwards(text) if one.turn == turn), None)
    if found is None:
        return None
    after = next_heading(text, found.end)
    end = len(text) if after is None else after.start
    least = found.start + len(turn_line(turn))
    while end > least and text[end - 1].isspace():
        end -= 1
    return Section(found, end)


def ends_alike(text: str, end: int, written: str) -> bool:
    """Return whether ``text[:end]`` closes with the same characters as ``written``.

    White space does not count, because editors wrap lines, indent, and strip blanks.
    """
    there = "".join(text[max(0, end - _WINDOW) : end].split())[-_SQUEEZED:]
    ours = "".join(written[-_WINDOW:].split())[-_SQUEEZED:]
    least = min(len(there), len(ours))
    return bool(least) and there[-least:] == ours[-least:]


def start_of_end(text: str, end: int, written: str) -> int | None:
    """Return where ``written`` begins if ``text[:end]`` ends with ``written``, or None.

    White space does not count, as in ``ends_alike``.
    """
    at = end
    for one in reversed("".join(written.split())):
        while at and text[at - 1].isspace():
            at -= 1
        if not at or text[at - 1] != one:
            return None
        at -= 1
    return at


def spliced(text: str, splices: Sequence[TextSplice]) -> str:
    """Apply splices that do not overlap, in ascending order."""
    pieces, at = [], 0
    for start, stop, new in sorted(splices, key=lambda one: one[:2]):
        pieces += [text[at:start], new]
        at = stop
    return "".join((*pieces, text[at:]))


def line_break(text: str) -> str:
    """Return the line break that a document's first line uses."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def edited(text: str, splices: Sequence[TextSplice]) -> str:
    """Return the text with the splices applied, in the text's own line breaks."""
    end = line_break(text)
    if end == "\n":
        return spliced(text, splices)
    return spliced(text, [one._replace(text=in_breaks(one.text, end)) for one in splices])


def in_breaks(text: str, end: str) -> str:
    """Return the text with every line break replaced by ``end``."""
    return text.replace("\r\n", "\n").replace("\n", end)


def bound(text: str, session: str) -> tuple[TextSplice, ...]:
    """Return the splices that make the first line name a session."""
    line = session_line(session)
    end = _line_end(text, 0)
    first = text[:end].rstrip("\r")
    if SESSION.fullmatch(first.removeprefix("\ufeff")):
        return () if first == line else (TextSplice(0, len(first), line),)
    return (TextSplice(0, 0, f"{line}\n\n"),)


def noted(text: str, note: str) -> tuple[TextSplice, ...]:
    """Return the splices that insert a note above the draft."""
    draft = draft_of(text)
    if draft is None:
        return (TextSplice(len(text), len(text), f"\n\n{note}\n\n{YOU}\n\n"),)
    return (TextSplice(draft.heading.start, draft.heading.start, f"{note}\n\n"),)


def content_end(text: str, heading: Heading) -> int:
    """Return the offset at which the text below a heading ends, without blanks."""
    after = next_heading(text, heading.end)
    end = len(text) if after is None else after.start
    while end > heading.end and text[end - 1].isspace():
        end -= 1
    return end


def next_heading(text: str, start: int) -> Heading | None:
    """Return the first heading of the chat after an offset."""
    at = start if text.startswith("## ", start) else text.find("\n## ", max(0, start - 1)) + 1
    while at > 0 or text.startswith("## ", at):
        found = _heading(text, at)
        if found is not None and at >= start:
            return found
        at = text.find("\n## ", at) + 1
        if not at:
            return None
    return None


def _heading(text: str, start: int) -> Heading | None:
    end = _line_end(text, start)
    line = text[start : min(end, start + 80)].rstrip()
    after = min(end + 1, len(text))
    if line == YOU:
        return Heading("you", 0, start, after)
    if line == WAITING:
        return Heading("waiting", 0, start, after)
    number = line.removeprefix(_TURN)
    if number != line and number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS:
        return Heading("turn", int(number), start, after)
    return None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def begun(text: str, words: str, section: str, shown: str) -> tuple[TextSplice, ...]:
    """Insert a turn's section below the prompt that the turn answers.

    The prompt is searched below its own heading, then at the beginning of the draft. If the
    document lacks the prompt, the prompt is inserted above the draft.

    Args:
        text: The text of the document.
        words: The prompt as it was in the document when it was sent.
        section: The heading and the present text of the turn.
        shown: The prompt as inserted, without any line that looks like a heading of the chat.
    """
    waiting = _waiting(text, words)
    if waiting is not None:
        return _answered(text, waiting, words, section)
    draft = draft_of(text)
    if draft is None:
        return (
            TextSplice(len(text), len(text), f"\n\n{YOU}\n\n{shown}\n\n{section}\n\n{YOU}\n\n"),
        )
    if words and text.startswith(words, draft.start):
        stop = draft.start + len(words)
        return (TextSplice(stop, stop, f"\n\n{section}\n\n{YOU}\n\n"),)
    at = draft.heading.start
    return (TextSplice(at, at, f"{YOU}\n\n{shown}\n\n{section}\n\n"),)


def queued(text: str, words: str) -> tuple[TextSplice, ...]:
    """Move a queued prompt below a new heading, and leave an empty draft after it."""
    draft = draft_of(text)
    if draft is None or not text.startswith(words, draft.start):
        return ()
    stop = draft.start + len(words)
    return (
        TextSplice(draft.heading.start, draft.heading.start + len(YOU), WAITING),
        TextSplice(stop, stop, f"\n\n{YOU}\n\n"),
    )


def waits(text: str, words: str) -> bool:
    """Return whether the prompt is below its own heading."""
    return _waiting(text, words) is not None


def withdrawn(text: str, words: str) -> tuple[TextSplice, ...]:
    """Move a queued prompt back into the draft."""
    waiting = _waiting(text, words)
    if waiting is None:
        return given_back(text, words)
    # take the whole text below the heading
    words = text[waiting.end : content_end(text, waiting)].lstrip()
    after = next_heading(text, waiting.end)
    stop = len(text) if after is None else after.start
    rest = spliced(text, (gone := TextSplice(waiting.start, stop, ""),))
    moved = len(text) - len(rest)
    back = _put_back(rest, words)
    return (gone, *(TextSplice(a + moved, b + moved, new) for a, b, new in back))


def given_back(text: str, words: str) -> tuple[TextSplice, ...]:
    """Insert text at the beginning of the draft, unless the draft already begins with this text."""
    draft = draft_of(text)
    if draft is None:
        return _put_back(text, words)
    return () if text.find(words, draft.start) >= 0 else _put_back(text, words)


def _put_back(text: str, words: str) -> tuple[TextSplice, ...]:
    draft = draft_of(text)
    if draft is None:
        return (TextSplice(len(text), len(text), f"\n\n{YOU}\n\n{words}\n"),)
    gap = "\n\n" if draft.stop > draft.start else "\n"
    at = draft.heading.end
    before = "\n" if text[at - 1] == "\n" else "\n\n"
    return (TextSplice(at, draft.start, f"{before}{words}{gap}"),)


def cleared(text: str, words: str) -> tuple[TextSplice, ...]:
    """Remove text from the beginning of the draft; keep a draft that begins differently."""
    draft = draft_of(text)
    if draft is None or not text.startswith(words, draft.start):
        return ()
    stop = draft.start + len(words)
    while stop < len(text) and text[stop].isspace():
        stop += 1
    return (TextSplice(draft.start, stop, ""),)


def _waiting(text: str, words: str) -> Heading | None:
    """Return the heading of a queued prompt, which may be followed by other prompts."""
    if not words:
        return None
    found = None
    for heading in headings(text):
        if heading.kind != "waiting":
            continue
        content = text[heading.end : content_end(text, heading)].strip()
        if content == words:
            return heading
        if found is None and words in content:
            found = heading
    return found


def _answered(text: str, waiting: Heading, words: str, section: str) -> tuple[TextSplice, ...]:
    """Insert the turn below its queued prompt; move the user's other text to the draft."""
    start, stop = waiting.end, content_end(text, waiting)
    at = text.index(words, start)
    around = (text[start:at].strip(), text[at + len(words) : stop].strip())
    beside = "\n\n".join(filter(None, around))
    title = TextSplice(waiting.start, waiting.start + len(WAITING), YOU)
    if not beside:
        return (title, TextSplice(stop, stop, f"\n\n{section}"))
    moved = (title, TextSplice(start, stop, f"\n{words}\n\n{section}"))
    return (*moved, *_put_back(text, beside))
