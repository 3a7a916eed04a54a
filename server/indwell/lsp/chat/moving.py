"""Where the user's words go in a chat: into a turn's section, aside to wait, and back. Pure."""

from __future__ import annotations

from indwell.lsp.chat.layout import (
    WAITING,
    YOU,
    Heading,
    Splice,
    content_end,
    draft_of,
    headings,
    next_heading,
    spliced,
)


def begun(text: str, words: str, section: str, shown: str) -> tuple[Splice, ...]:
    """Put a turn's section below the words that it answers.

    They are found where they wait, or at the beginning of what the user is writing; what is typed
    behind them is the next draft. Where they are not any more, they are put in above the draft.

    Args:
        text: Of the document.
        words: As they stood in the document when they were sent.
        section: Heading and all that there is of the turn.
        shown: The words as they are put in, with no line of ours among them.
    """
    waiting = _waiting(text, words)
    if waiting is not None:
        return _answered(text, waiting, words, section)
    draft = draft_of(text)
    if draft is None:
        return (Splice(len(text), len(text), f"\n\n{YOU}\n\n{shown}\n\n{section}\n\n{YOU}\n\n"),)
    if words and text.startswith(words, draft.start):
        stop = draft.start + len(words)
        return (Splice(stop, stop, f"\n\n{section}\n\n{YOU}\n\n"),)
    at = draft.heading.start
    return (Splice(at, at, f"{YOU}\n\n{shown}\n\n{section}\n\n"),)


def queued(text: str, words: str) -> tuple[Splice, ...]:
    """Let the words wait under a heading of their own, with room for the next below."""
    draft = draft_of(text)
    if draft is None or not text.startswith(words, draft.start):
        return ()
    stop = draft.start + len(words)
    return (
        Splice(draft.heading.start, draft.heading.start + len(YOU), WAITING),
        Splice(stop, stop, f"\n\n{YOU}\n\n"),
    )


def waits(text: str, words: str) -> bool:
    """Do the words stand under a heading of their own?"""
    return _waiting(text, words) is not None


def withdrawn(text: str, words: str) -> tuple[Splice, ...]:
    """Words that waited go back into the draft."""
    waiting = _waiting(text, words)
    if waiting is None:
        return given_back(text, words)
    words = text[waiting.end : content_end(text, waiting)].lstrip()  # all that stands there now
    after = next_heading(text, waiting.end)
    stop = len(text) if after is None else after.start
    rest = spliced(text, (gone := Splice(waiting.start, stop, ""),))
    moved = len(text) - len(rest)
    back = _put_back(rest, words)
    return (gone, *(Splice(a + moved, b + moved, new) for a, b, new in back))


def given_back(text: str, words: str) -> tuple[Splice, ...]:
    """Put words at the beginning of the draft, unless it has them."""
    draft = draft_of(text)
    if draft is None:
        return _put_back(text, words)
    return () if text.find(words, draft.start) >= 0 else _put_back(text, words)


def _put_back(text: str, words: str) -> tuple[Splice, ...]:
    draft = draft_of(text)
    if draft is None:
        return (Splice(len(text), len(text), f"\n\n{YOU}\n\n{words}\n"),)
    gap = "\n\n" if draft.stop > draft.start else "\n"
    at = draft.heading.end
    before = "\n" if text[at - 1] == "\n" else "\n\n"
    return (Splice(at, draft.start, f"{before}{words}{gap}"),)


def cleared(text: str, words: str) -> tuple[Splice, ...]:
    """Take words out of the draft, which begins with them; nothing happens if it does not."""
    draft = draft_of(text)
    if draft is None or not text.startswith(words, draft.start):
        return ()
    stop = draft.start + len(words)
    while stop < len(text) and text[stop].isspace():
        stop += 1
    return (Splice(draft.start, stop, ""),)


def _waiting(text: str, words: str) -> Heading | None:
    """Where words wait: alone, or among others that the user wrote beside them since."""
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


def _answered(text: str, waiting: Heading, words: str, section: str) -> tuple[Splice, ...]:
    """Words that waited get their turn; what the user wrote beside them goes to the draft."""
    start, stop = waiting.end, content_end(text, waiting)
    at = text.index(words, start)
    around = (text[start:at].strip(), text[at + len(words) : stop].strip())
    beside = "\n\n".join(filter(None, around))
    title = Splice(waiting.start, waiting.start + len(WAITING), YOU)
    if not beside:
        return (title, Splice(stop, stop, f"\n\n{section}"))
    moved = (title, Splice(start, stop, f"\n{words}\n\n{section}"))
    return (*moved, *_put_back(text, beside))
