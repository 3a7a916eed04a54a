"""Translates the arguments of ``grep`` into options of ripgrep and a choice of files. Pure."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from indwell.tools.searching.patterns import SearchPlan, path_matcher, plan
from indwell.tools.searching.ripgrep_output import MAX_SHOWN, OPTIONS, Mode

_ALWAYS = ("--with-filename", "--null", "--crlf")  # the last: $ also before a carriage return


class GrepQuery(msgspec.Struct, frozen=True):
    """One question.

    Attributes:
        pattern: A regular expression, or plain text.
        glob: Which files count; all if empty. With ``!`` in front, which do not.
        mode: What is wanted of them.
        beside: Lines around each match.
        ignore_case: Whether case does not count.
        is_plain: The pattern is plain text.
    """

    pattern: str
    glob: str = ""
    mode: Mode = "lines"
    beside: int = 0
    ignore_case: bool = False
    is_plain: bool = False

    @property
    def plan(self) -> SearchPlan:
        """How the files are found, seen from where ``glob`` starts."""
        if self.glob.startswith("!"):
            return SearchPlan(matches=self.wanted)
        return plan(self.glob) if self.glob else SearchPlan()

    @property
    def wanted(self) -> Callable[[str], bool]:
        """Does the file of this name count?"""
        if not self.glob:
            return lambda _: True
        matches = path_matcher(self.glob.removeprefix("!"))
        return (lambda name: not matches(name)) if self.glob.startswith("!") else matches

    @property
    def in_files(self) -> tuple[str, ...]:
        """Options for a search in files."""
        if self.mode != "lines":
            return (*self._options, *OPTIONS[self.mode])
        return (
            *self._options,
            *OPTIONS["lines"],
            f"--max-count={MAX_SHOWN + 1}",
            *((f"--context={self.beside}",) if self.beside else ()),
        )

    @property
    def in_text(self) -> tuple[str, ...]:
        """Options for a search in text from standard input: always by line."""
        return (*self._options, *OPTIONS["lines"], "--text", "--", "-")

    @property
    def _options(self) -> tuple[str, ...]:
        return (
            *_ALWAYS,
            *(("--ignore-case",) if self.ignore_case else ()),
            *(("--fixed-strings",) if self.is_plain else ()),
            f"--regexp={self.pattern}",
        )
