"""A page of facts: Markdown that people edit, one ``- fact`` a line (memory). Pure.

Whatever else stands in it stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from indwell.errors import ToolError

FACT_CHARACTERS = 300  # a fact is one sentence; of longer lines that people wrote the rest is cut
MOST_FACTS = 500  # of one page that are looked at; ranking so many takes 5 ms
PAGE_LIMIT_B = 1 << 20  # a larger file is no page of ours

Scope: TypeAlias = Literal["workspace", "user"]
"""What a fact is about: this workspace, or the user wherever they work."""

_FACT = re.compile(r"\s{0,3}[-*+][ \t]+(?P<text>\S.*)")
_NOTE = re.compile(r"<!-- (?P<day>\d{4}-\d\d-\d\d)(?: session (?P<session>[\w-]{1,64}))? -->")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_SUBJECT: dict[Scope, str] = {"workspace": "this workspace", "user": "you"}


class Fact(msgspec.Struct, frozen=True):
    """Something worth knowing in later sessions.

    Attributes:
        text: One line.
        scope: What it is about.
        day: ISO date of when it was kept; empty if the user wrote it by hand.
        session: In which it was proposed; empty if in none.
        is_cut: Its line is longer.
    """

    text: str
    scope: Scope = "workspace"
    day: str = ""
    session: str = ""
    is_cut: bool = False


class Entry(NamedTuple):
    """A fact, and which line of the page it is, 0-based."""

    line: int
    fact: Fact


def new_page(scope: Scope) -> str:
    """A page before its first fact."""
    return (
        f"# What Indwell remembers of {_SUBJECT[scope]}\n\n"
        "One fact a line. Nothing came here without your yes; change and delete lines as you "
        "like.\n\n"
    )


def entries(page: str, scope: Scope) -> tuple[Entry, ...]:
    """The facts of a page, in its order."""
    found: list[Entry] = []
    is_code = False
    for number, line in enumerate(_lines(page)):
        if _FENCE.match(line):
            is_code = not is_code
        match = None if is_code else _FACT.fullmatch(line.rstrip())
        if match is None:
            continue
        text, day, session = match["text"], "", ""
        at = text.rfind("<!--")
        note = _NOTE.fullmatch(text, at) if at >= 0 else None
        if note is not None:
            text, day, session = text[:at], note["day"], note["session"] or ""
        text = " ".join(text.split())
        if text:
            is_cut = len(text) > FACT_CHARACTERS
            fact = Fact(text[:FACT_CHARACTERS], scope, day, session, is_cut)
            found.append(Entry(number, fact))
        if len(found) == MOST_FACTS:
            break
    return tuple(found)


def fact_line(fact: Fact) -> str:
    """A fact as it stands in a page; when it was kept stands in a comment behind it."""
    session = f" session {fact.session}" if fact.session else ""
    return f"- {fact.text} <!-- {fact.day}{session} -->" if fact.day else f"- {fact.text}"


def with_fact(page: str, fact: Fact, instead_of: str = "") -> str:
    """The page with one more fact; in the place of another one if there is one that reads so.

    Raises:
        ToolError: Nobody would find it there.
    """
    old = next((one for one in entries(page, fact.scope) if one.fact.text == instead_of), None)
    if old is not None:
        return _changed(page, lambda number, line: _same_end(fact_line(fact), line, number, old))
    end = "\r\n" if "\r\n" in page else "\n"
    gap = "" if not page or page.endswith("\n") else end
    longer = f"{page}{gap}{fact_line(fact)}{end}"
    if fact.text not in (one.fact.text for one in entries(longer, fact.scope)):
        raise ToolError(_why_not_found(page, fact.scope))
    return longer


def without(page: str, scope: Scope, texts: frozenset[str]) -> str:
    """The page without the facts that read so."""
    gone = {one.line for one in entries(page, scope) if one.fact.text in texts}
    return _changed(page, lambda number, line: "" if number in gone else line)


def _why_not_found(page: str, scope: Scope) -> str:
    if len(entries(page, scope)) == MOST_FACTS:
        return f"it holds {MOST_FACTS} facts, and more are not looked at; forget some first"
    return "a block of code in it has no end, and what stands in one is no fact; end it first"


def _lines(page: str) -> list[str]:
    """With their ends, which are those that an editor knows."""
    return _LINE.findall(page)


def _changed(page: str, change: Callable[[int, str], str]) -> str:
    return "".join(change(number, line) for number, line in enumerate(_lines(page)))


def _same_end(new: str, line: str, number: int, old: Entry) -> str:
    """The new line in place of the old one, with its line break; another line as it is."""
    if number != old.line:
        return line
    return new + line[len(line.rstrip("\r\n")) :]
