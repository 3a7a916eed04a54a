"""What the editor shows the model: the selection with its text, the opened file without it.

Pure: paths come in as they should be shown, text as the buffer holds it. The words stand here so
that a selection reads the same from every source (``docs/context.md``).
"""

from __future__ import annotations

import re

import msgspec

SELECTION_LIMIT = 12_000  # characters: about 3,500 tokens; above it head and tail are shown
_HEAD = 8_000  # characters of a long selection that are shown from its start
_TAIL = 3_000  # and from its end
MESSAGE_LIMIT = 600  # characters of one diagnostic's message
ORIGIN_LIMIT = 80  # of the names of the server and the rule that report it
DIAGNOSTICS_LIMIT = 20  # problems listed at once
PATH_LIMIT = 1_000  # of a path, which some systems let grow to 4,096 bytes

_PLAIN = re.compile(r"[\w./@+=~:\\-]+")


class Problem(msgspec.Struct, frozen=True):
    """One diagnostic; lines are 1-based, inclusive."""

    line: int
    severity: str
    message: str
    source: str = ""
    code: str = ""
    last_line: int = 0

    @property
    def label(self) -> str:
        """One line, with where it comes from."""
        origin = " ".join(f"{self.source} {self.code}".split())[:ORIGIN_LIMIT]
        message = " ".join(self.message.split())
        if len(message) > MESSAGE_LIMIT:
            message = message[:MESSAGE_LIMIT] + " …"
        return f"line {self.line}: {self.severity}: {message}" + (f" [{origin}]" if origin else "")


class Selection(msgspec.Struct, frozen=True):
    """What the user marked.

    Attributes:
        path: As shown to the model, relative to the workspace where it lies in it.
        first_line: 1-based.
        last_line: 1-based, inclusive.
        text: The exact text.
        unsaved: The buffer differs from the disk.
        problems: Diagnostics that touch these lines.
        note: Anything that weakens it, such as its age; empty if it is exact.
    """

    path: str
    first_line: int
    last_line: int
    text: str
    unsaved: bool = False
    problems: tuple[Problem, ...] = ()
    note: str = ""


class OpenedFile(msgspec.Struct, frozen=True):
    """The file the user looks at; never its contents. ``size`` is in bytes of UTF-8."""

    path: str
    language: str
    size: int
    unsaved: bool = False


def selection_words(selection: Selection) -> str:
    """The body of ``<ide_selection>``: path, lines, state, exact text, problems."""
    return _marked_words(selection, "selected")


def mention_words(mentioned: Selection) -> str:
    """The body of ``<mentioned-file>``: lines of a file that the user named among the words."""
    return _marked_words(mentioned, "mentioned")


def _marked_words(selection: Selection, verb: str) -> str:
    lines = (
        f"line {selection.first_line}"
        if selection.first_line == selection.last_line
        else f"lines {selection.first_line}-{selection.last_line}"
    )
    head = f"The user {verb} {lines} of {_named(selection.path)}"
    head += " (not saved yet)" if selection.unsaved else ""
    head += f" ({selection.note})" if selection.note else ""
    parts = [f"{head}:", bounded_text(selection)]
    if selection.problems:
        parts += ["Problems reported there:", problem_lines(selection.problems)]
    return "\n".join(parts)


def bounded_text(selection: Selection) -> str:
    """The selected text, or its head and tail and where the rest can be read."""
    text = selection.text
    if len(text) <= SELECTION_LIMIT:
        return text
    head, tail = text[:_HEAD], text[-_TAIL:]
    left_out = len(text) - _HEAD - _TAIL
    first = selection.first_line + head.count("\n")
    # Whole lines end with a line end of their own: it belongs to the last line.
    last = selection.last_line - tail.removesuffix("\n").count("\n")
    return (
        f"{head}\n[… {left_out:,} characters left out here; read_file {_named(selection.path)} "
        f"from line {first} to {last} has them …]\n{tail}"
    )


def opened_words(opened: OpenedFile) -> str:
    """The body of ``<ide_opened_file>``."""
    state = ", not saved yet" if opened.unsaved else ""
    kind = f"{opened.language}, " if opened.language else ""
    return (
        f"The user looks at {_named(opened.path)} ({kind}{opened.size:,} bytes{state}). "
        "It may or may not matter for the task."
    )


def problem_lines(problems: tuple[Problem, ...]) -> str:
    """One line a problem, bounded."""
    shown = [f"- {problem.label}" for problem in problems[:DIAGNOSTICS_LIMIT]]
    if len(problems) > DIAGNOSTICS_LIMIT:
        shown.append(f"- and {len(problems) - DIAGNOSTICS_LIMIT} more")
    return "\n".join(shown)


def _named(path: str) -> str:
    """A path among words: in quotes if it could be read as more than a name, and bounded."""
    if len(path) > PATH_LIMIT:
        path = f"{path[: PATH_LIMIT // 2]}…{path[-PATH_LIMIT // 2 :]}"
    return path if _PLAIN.fullmatch(path) else f"'{' '.join(path.split())}'"
