"""What a session has and its chat document has not: put in where it belongs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.lsp.chat import layout
from indwell.lsp.chat.layout import Splice, edited
from indwell.lsp.chat.restored import own_words, restored
from indwell.sessions.transcript import TurnView

NOT_ENDED = (
    "> Not ended: the server that ran this turn was stopped, or it still runs in another editor. "
    "What it did is in the session."
)
_KNOWN_BY = 60  # characters, blanks aside, that an answer's end is known by


def new_text(session: str = "", turns: Sequence[TurnView] = ()) -> str:
    """A chat as it begins: what was said in its session, and room for the user's words."""
    first = f"{layout.session_line(session)}\n\n" if session else ""
    before = f"{restored(turns, session)}\n\n" if turns else ""
    return f"{first}{before}{layout.YOU}\n\n"


def caught_up(text: str, turns: Sequence[TurnView], session: str, running: int = 0) -> str:
    """A document with the turns that ended without it; nothing of it is taken away.

    Args:
        text: It.
        turns: All of its session.
        session: It.
        running: The turn that runs and is none of these; 0 if none does.
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
        return edited(text, (Splice(at, at, f"\n\n{body}\n\n{layout.YOU}\n\n"),))
    at = draft.heading.start
    return edited(text, (Splice(at, at, f"{body}\n\n"),))


def _with_end(text: str, turn: TurnView) -> str:
    """The answer of a turn whose section was cut off, if its end is not there."""
    if turn.ending is None:
        return _with_note(text, turn.turn)
    answer = next((one.text for one in reversed(turn.pieces) if one.kind == "assistant"), "")
    section = layout.section_of(text, turn.turn)
    if section is None or not answer.strip():
        return text
    there = "".join(text[section.heading.end : section.end].split())
    wanted = own_words(answer)
    if "".join(wanted.split())[-_KNOWN_BY:] in there:
        return text
    at = section.end
    more = f"\n\n> The end of this turn, from the session:\n\n{wanted}\n\n*{turn.ending}*"
    return edited(text, (Splice(at, at, more),))


def _with_note(text: str, turn: int) -> str:
    """A turn that never ended says so, once."""
    section = layout.section_of(text, turn)
    if section is None or NOT_ENDED in text[section.heading.start : section.end]:
        return text
    return edited(text, (Splice(section.end, section.end, f"\n\n{NOT_ENDED}"),))
