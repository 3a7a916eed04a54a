"""The configuration of one editor as data: its text with gaps for the command. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

PLAIN = ("indwell", "serve", "--stdio")
"""The command as the documentation pages show it."""

_GAP = re.compile("@(?:COMMAND|PROGRAM|ARGUMENTS)@")


class Configuration(msgspec.Struct, frozen=True):
    """What an editor needs.

    Attributes:
        editor: For people.
        page: The documentation page, which shows ``blocks`` word for word.
        language: Of the blocks, as a Markdown fence names it.
        blocks: The text, in parts that stand apart on the page; the first is enough.
        words: How a list of strings is written in ``language``.
        word: How one string is.
        comment: What begins a comment in ``language``; empty if there is none.
        next_steps: What to do when it is in place.
    """

    editor: str
    page: str
    language: str
    blocks: tuple[str, ...]
    words: Callable[[Sequence[str]], str]
    word: Callable[[str], str]
    comment: str
    next_steps: tuple[str, ...]

    def shown(self, command: Sequence[str] = PLAIN) -> tuple[str, ...]:
        """The blocks with a command, its arguments behind it."""
        filled = {
            "@COMMAND@": self.words(command),
            "@PROGRAM@": self.word(command[0]),
            "@ARGUMENTS@": self.words(command[1:]),
        }
        # In one go: what is filled in may look like a gap itself.
        return tuple(_GAP.sub(lambda gap: filled[gap[0]], block) for block in self.blocks)

    def text(self, command: Sequence[str] = PLAIN) -> str:
        """All blocks, one after the other."""
        return "\n".join(self.shown(command))
