"""How much of a turn stands in a document, and what is put in next. Pure.

A plan is made of the newest text, perhaps several times; what it would have written counts only
when it is committed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from indwell.lsp.chat import layout, moving
from indwell.lsp.chat.layout import Section, Splice, edited, in_breaks, line_break

State: TypeAlias = Literal["new", "there", "changed", "gone"]
"""Of the section: not put in yet, as it was written, not as it was written, taken out."""


class Asked(NamedTuple):
    """The words that a turn answers: as they stood in the document, and fit to be put in."""

    words: str
    shown: str


_KNOWN_BY = 40  # characters at its end that a piece is known by


class _Planned(NamedTuple):
    written: str
    near: int | None
    state: State
    cleared: int


class Writing:
    """One turn in one document.

    Args:
        turn: Its number.
        asked: What it answers.
        session: That the first line shall name; empty if it does.
    """

    def __init__(self, turn: int, asked: Asked, session: str) -> None:
        self._turn, self._asked, self._session = turn, asked, session
        self._now = _Planned("", None, "new", 0)
        self._planned = self._now
        self._was_there = False
        self._delivered: list[str] = []
        self._is_doubtful = self._is_planned = False

    @property
    def state(self) -> State:
        """As it was found last."""
        return self._planned.state

    @property
    def written(self) -> str:
        """What of the turn stands there, as far as we put it in."""
        return self._now.written

    def delivered(self, words: str) -> None:
        """The running turn has these words; they leave the draft."""
        self._delivered.append(words)

    def reopened(self) -> None:
        """The document was opened anew: what stands there is to be found out."""
        self._was_there |= self._now.state != "new"
        self._now = self._now._replace(state="new", near=None)

    def commit(self) -> None:
        """What was planned last is written."""
        self._now, self._is_doubtful, self._is_planned = self._planned, False, False

    def doubt(self) -> None:
        """What was planned last was not taken; perhaps it still comes."""
        self._is_doubtful = True

    def plan(
        self, text: str, whole: str, *, is_last: bool = False, back: tuple[str, ...] = ()
    ) -> str:
        """What the document should read.

        Args:
            text: That it reads.
            whole: All of the turn so far, from its heading on.
            is_last: Nothing more comes.
            back: Words that go back into the draft.
        """
        self._is_doubtful |= self._is_planned  # it was sent, and nobody knows what became of it
        self._is_planned = True
        if self._now.state == "new":
            text = self._first(text, whole, is_last=is_last)
        else:
            text = self._next(text, whole, is_last=is_last)
        end = line_break(text)
        for words in self._delivered[self._now.cleared :]:
            text = edited(text, moving.cleared(text, in_breaks(words, end)))
        self._planned = self._planned._replace(cleared=len(self._delivered))
        for words in reversed(back):
            text = edited(text, moving.given_back(text, in_breaks(words, end)))
        if is_last and layout.draft_of(text) is None:
            at = len(text)
            text = edited(text, (Splice(at, at, f"\n\n{layout.YOU}\n\n"),))
        return text

    def _first(self, text: str, whole: str, *, is_last: bool) -> str:
        if self._session:
            text = edited(text, layout.bound(text, self._session))
        found = layout.section_of(text, self._turn) if self._was_there else None
        if found is not None:
            there = text[found.heading.start : found.end].replace("\r\n", "\n")
            if whole.startswith(there):
                self._now = self._now._replace(written=there)
            return self._next(text, whole, is_last=is_last)
        text = edited(text, moving.begun(text, self._asked.words, whole, self._asked.shown))
        section = layout.section_of(text, self._turn)
        near = section.heading.start if section else None
        self._planned = self._now._replace(written=whole, near=near, state="there")
        return text

    def _next(self, text: str, whole: str, *, is_last: bool) -> str:
        section = layout.section_of(text, self._turn, self._now.near)
        if section is None:
            self._planned = self._now._replace(state="gone")
            return text
        near, written = section.heading.start, self._now.written
        if self._is_doubtful:
            written = self._come(text, section, whole)
        new, state = whole[len(written) :], "there"
        if not layout.ends_alike(text, section.end, written):
            self._planned = self._now._replace(near=near, state="changed")
            if not is_last or not new.strip():
                return text
            new, state = "\n\n" + new.strip(), "changed"
        self._planned = _Planned(whole, near, state, self._now.cleared)  # type: ignore[arg-type]
        return edited(text, (Splice(section.end, section.end, new),))

    def _come(self, text: str, section: Section, whole: str) -> str:
        """What stands there by now, if an edit that was given up has come after all."""
        written = self._now.written
        last = text[max(section.heading.start, section.end - _KNOWN_BY) : section.end]
        last = last.replace("\r\n", "\n")
        at = whole.find(last, max(0, len(written) - _KNOWN_BY))
        return whole[: at + len(last)] if at + len(last) > len(written) and at >= 0 else written
