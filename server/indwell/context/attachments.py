"""Formats context from the editor and the user's attachments for the model. Pure.

Callers pass paths in the form for the model, and text in the form of the buffer. All sources use
the functions of this module, so a selection always has the same form.

Attached text counts as data (tier 2), whether it comes from a terminal, a web page or a language
server.
"""

from __future__ import annotations

import msgspec

from indwell.context.injections import inject
from indwell.context.request.assemble import attached_picture
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Block

# The limit of characters, about 3,500 tokens; a longer selection is cut to head and tail.
SELECTION_LIMIT = 12_000
_HEAD = 8_000  # the number of characters shown from the start of a long selection
_TAIL = 3_000  # the number of characters shown from the end of a long selection
MESSAGE_LIMIT = 600  # the limit of characters for one diagnostic's message
# the limit of characters for the names of the server and rule that report a diagnostic
ORIGIN_LIMIT = 80
DIAGNOSTICS_LIMIT = 20  # the limit of diagnostics in one list
PATH_LIMIT = 1_000  # the limit of characters for a path; some systems allow 4,096 bytes

_PLAIN = lazy_pattern(r"[\w./@+=~:\\-]+")


class Problem(msgspec.Struct, frozen=True):
    """A diagnostic from a checker; line numbers are 1-based and inclusive."""

    line: int
    severity: str
    message: str
    source: str = ""
    code: str = ""
    last_line: int = 0

    @property
    def label(self) -> str:
        """The diagnostic on one line, with its source."""
        origin = " ".join(f"{self.source} {self.code}".split())[:ORIGIN_LIMIT]
        message = " ".join(self.message.split())
        if len(message) > MESSAGE_LIMIT:
            message = message[:MESSAGE_LIMIT] + " …"
        return f"line {self.line}: {self.severity}: {message}" + (f" [{origin}]" if origin else "")


class Selection(msgspec.Struct, frozen=True):
    """The text that the user selected.

    Attributes:
        path: The path as shown to the model; relative to the workspace if the file is inside.
        first_line: The first selected line, 1-based.
        last_line: The last selected line, 1-based.
        text: The exact text.
        unsaved: Whether the buffer differs from the disk.
        problems: The diagnostics that touch the selected lines.
        note: Why the selection may be wrong, such as its age, or empty if the selection is exact.
    """

    path: str
    first_line: int
    last_line: int
    text: str
    unsaved: bool = False
    problems: tuple[Problem, ...] = ()
    note: str = ""


class OpenedFile(msgspec.Struct, frozen=True):
    """The file in the active editor, without its contents; ``size`` is in bytes of UTF-8."""

    path: str
    language: str
    size: int
    unsaved: bool = False


def selection_words(selection: Selection) -> str:
    """Return the text inside ``<ide_selection>``: path, lines, state, exact text, problems."""
    return _marked_words(selection, "selected")


def mention_words(mentioned: Selection) -> str:
    """Return the text inside ``<mentioned-file>``: lines of a file that the user mentioned."""
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


def is_cut(selection: Selection) -> bool:
    """Return whether the model gets only the head and the tail of the text."""
    return len(selection.text) > SELECTION_LIMIT


def bounded_text(selection: Selection) -> str:
    """Return the selected text; cut a long text to head and tail, with a note on the rest."""
    text = selection.text
    if not is_cut(selection):
        return text
    head, tail = text[:_HEAD], text[-_TAIL:]
    left_out = len(text) - _HEAD - _TAIL
    first = selection.first_line + head.count("\n")
    # If complete lines are selected, the final line break belongs to the last line.
    last = selection.last_line - tail.removesuffix("\n").count("\n")
    return (
        f"{head}\n[… {left_out:,} characters left out here; read_file {_named(selection.path)} "
        f"from line {first} to {last} has them …]\n{tail}"
    )


def opened_words(opened: OpenedFile) -> str:
    """Return the text inside ``<ide_opened_file>``."""
    state = ", not saved yet" if opened.unsaved else ""
    kind = f"{opened.language}, " if opened.language else ""
    return (
        f"The user looks at {_named(opened.path)} ({kind}{opened.size:,} bytes{state}). "
        "It may or may not matter for the task."
    )


def problem_lines(problems: tuple[Problem, ...]) -> str:
    """Return one line for each problem, up to the limit."""
    shown = [f"- {problem.label}" for problem in problems[:DIAGNOSTICS_LIMIT]]
    if len(problems) > DIAGNOSTICS_LIMIT:
        shown.append(f"- and {len(problems) - DIAGNOSTICS_LIMIT} more")
    return "\n".join(shown)


def _named(path: str) -> str:
    """Return a path for use in a sentence: shortened, and quoted if it looks like prose."""
    if len(path) > PATH_LIMIT:
        path = f"{path[: PATH_LIMIT // 2]}…{path[-PATH_LIMIT // 2 :]}"
    return path if _PLAIN.fullmatch(path) else f"'{' '.join(path.split())}'"


STATE_MENTIONS = (
    ("changes", "what git would commit, or the changes of the tree"),
    ("problems", "all problems that the editor shows"),
)
"""Mentions that name no file, each with a description of the attached text."""

FILES_LIMIT = 30  # the limit of files with problems in one list


class NamedPicture(msgspec.Struct, frozen=True):
    """A picture with its displayed name; ``data`` is base64."""

    label: str
    media_type: str
    data: str


class PastedText(msgspec.Struct, frozen=True):
    """A text from a terminal, or a pasted text."""

    label: str
    text: str


class Listing(msgspec.Struct, frozen=True):
    """The names of the files below a folder; ``n_more`` more files are not named."""

    path: str
    names: tuple[str, ...]
    n_more: int = 0


class FileProblems(msgspec.Struct, frozen=True):
    """The problems of one file from the editor."""

    path: str
    problems: tuple[Problem, ...]


def picture_blocks(pictures: tuple[NamedPicture, ...], *, turn: int) -> tuple[Block, ...]:
    """Return the blocks of pictures, each after a text block that names the picture."""
    blocks: list[Block] = []
    for number, one in enumerate(pictures, start=1):
        words = f"Picture {number} of {len(pictures)} that the user attached stands below."
        blocks.append(inject("attached", words, turn=turn, attributes={"name": one.label}))
        blocks.append(attached_picture(one.label, one.media_type, one.data, turn=turn))
    return tuple(blocks)


def listing_words(listing: Listing) -> str:
    """Return the text inside ``<mentioned-file>`` for a folder."""
    head = f"The user mentioned the folder {listing.path!r}. Files in it, ignored ones aside:"
    more = (f"… and {listing.n_more:,} more",) if listing.n_more else ()
    return "\n".join((head, *(listing.names or ("(none)",)), *more))


def reported_words(reported: tuple[FileProblems, ...]) -> str:
    """Return the text inside ``<ide_diagnostics>`` for several files."""
    parts = [f"{one.path}:\n{problem_lines(one.problems)}" for one in reported[:FILES_LIMIT]]
    n_more = len(reported) - FILES_LIMIT
    return "\n".join((*parts, *((f"… and {n_more} more files",) if n_more > 0 else ())))
