"""Creates random texts of a user, an agent and a file for ``edit_machine``."""

from __future__ import annotations

from random import Random

from indwell.errors import ToolError
from indwell.tools.editing.replace import Replacement, apply
from support.fake_editor.buffer import with_ending

SPICE = ("", "😀", "é", "e\u0301", "\u2028", "\x85", "\f", "🝳x", "\n", "\r\n", "\n\n")


def formatted(text: str) -> str:
    """Return the text as the user's formatter writes it: one space instead of two."""
    return text.replace("  ", " ")


class Texts:
    """Creates texts; every text that a test must find again is unique."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._numbers = 0
        self._typed: list[str] = []

    def replacement(self, line: str) -> str:
        """Return the agent's replacement for a line."""
        self._numbers += 1
        mine = f"<a{self._numbers}>"
        return self._random.choice((mine, f"{line}{mine}", f"{mine}  {line}\nmore {mine}", ""))

    def token(self) -> str:
        """Return a text of the user that occurs in no other text."""
        self._numbers += 1
        self._typed.append(f"[u{self._numbers}{self._random.choice(SPICE)}]")
        return self._typed[-1]

    def typed_in(self, text: str, ending: str) -> list[str]:
        """Return the typed texts that are still whole in ``text``."""
        typed = [with_ending(token, ending) for token in self._typed]
        return [token for token in typed if token in text]

    def file(self) -> str:
        """Return the text of a file, with one kind of line ending or several."""
        ending = self._random.choice(("\n", "\n", "\r\n", "mixed"))
        lines = []
        for _ in range(self._random.choice((0, 1, 3, 8, 20))):
            self._numbers += 1
            end = self._random.choice(("\n", "\r\n")) if ending == "mixed" else ending
            words = self._random.choice(("", "  ", "😀 é  ", "def total(items):", "\t\f"))
            lines.append(f"{words}line {self._numbers};{end}")
        text = "".join(lines)
        return text.rstrip("\r\n") if self._random.random() < 0.2 else text

    def place(self, text: str) -> int:
        """Return a cursor position that neither splits a line end nor joins two of them."""
        at = self._random.choice((0, len(text), self._random.randint(0, len(text))))
        return at - 1 if text[max(at - 1, 0) : at] == "\r" else at


def without(text: str, tokens: list[str]) -> str:
    """Return the text without these typed texts."""
    for token in tokens:
        text = text.replace(token, "")
    return text


def made_on(text: str, edits: tuple[Replacement, ...]) -> set[str]:
    """Return all allowed results of the edits on a text that has changed since.

    A change that the user has also made counts as done. If the old text occurs several times, each
    occurrence is allowed that has the same lines around it.
    """
    made = {text}
    for edit in edits:
        made = {after for before in made for after in _one_made_on(before, edit)}
    return made


def _one_made_on(text: str, edit: Replacement) -> set[str]:
    try:
        return {apply(text, (edit,), "x")}
    except ToolError:
        if edit.old not in text:
            return {text} if edit.new in text else set()
    made = set()
    for at in [at for at in range(len(text)) if text.startswith(edit.old, at)]:
        head, tail = text[:at], text[at + len(edit.old) :]
        made |= {head + edit.new + tail, head + with_ending(edit.new, "\r\n") + tail}
        if not edit.new:  # An edit that deletes a whole line also deletes the line end.
            made |= {head + tail.removeprefix("\n"), head + tail.removeprefix("\r\n")}
    return made
