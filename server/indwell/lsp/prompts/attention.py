"""Determines the user's selection and focused document from several sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from indwell.bounds.secrets import OtherNames
from indwell.context.attachments import OpenedFile, Problem, Selection
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Document, Documents, name_in
from indwell.policy.paths import matches_any
from indwell.service.mentions import is_chat
from indwell.settings.model import Settings

OURS = "indwell"  # the source name of Indwell's own diagnostics
_BEGIN, _END = "Change by Indwell, ", "; accept or reject it by code action"


def hint_words(described: str) -> str:
    """Return the text of an Indwell hint's diagnostic."""
    return f"{_BEGIN}{described}{_END}"


def is_hint(source: object, message: object) -> bool:
    """Return whether a diagnostic with this source and message is an Indwell hint."""
    if source == OURS:
        return True
    return isinstance(message, str) and message.startswith(_BEGIN) and message.endswith(_END)


def is_ours(diagnostic: types.Diagnostic) -> bool:
    """Return whether a diagnostic is an Indwell hint."""
    return is_hint(diagnostic.source, diagnostic.message)


RECENT_S = 120.0  # For 120 seconds, the range of a request counts as a guess of the selection.


class Marked(msgspec.Struct, frozen=True):
    """A range of a document at one version; ``at`` is in seconds of a monotonic clock."""

    uri: str
    version: int | None
    range: types.Range | sync.Range
    at: float


class Attention(msgspec.Struct):
    """Collects selections, focus and problems for prompts.

    Args:
        documents: The open documents.
        monotonic: Returns the time of a monotonic clock in seconds.
        display: Returns a document's displayed name.
        names: Finds files that a rule denies under another name, such as a hard link.
    """

    documents: Documents
    monotonic: Callable[[], float]
    display: Callable[[Document], str]
    names: OtherNames
    _focus: str | None = None
    _focus_is_known: bool = False
    _selected: Marked | None = None
    _selected_is_known: bool = False
    _recent: Marked | None = None
    # The document of the last request, and the document that was newest at that time.
    _named: tuple[str, str | None] | None = None
    _problems: dict[str, tuple[types.Diagnostic, ...]] = msgspec.field(default_factory=dict)

    def focus(self, uri: str | None) -> None:
        """Record the focused document, except for a chat or a plan."""
        if uri is not None and self._is_beside(uri):
            return
        self._focus, self._focus_is_known = uri, True

    def select(self, uri: str, version: int, ranges: Sequence[types.Range]) -> None:
        """Record a selection; if there are several ranges, only the largest counts."""
        if self._is_beside(uri):
            return
        self._selected_is_known = True
        filled = [one for one in ranges if one.start != one.end]
        largest = max(filled, key=_extent, default=None)
        self._selected = (
            None if largest is None else Marked(uri, version, largest, self.monotonic())
        )

    def request(self, uri: str, range_: sync.Range) -> None:
        """Record a request's range, which is a guess of the selection if no selection is known."""
        self.name(uri)
        document = self.documents.get(uri)
        if document is not None and range_.start != range_.end and not is_chat(uri):
            self._recent = Marked(uri, document.version, range_, self.monotonic())

    def name(self, uri: str) -> None:
        """Record the document of a request, because the user probably works in it."""
        if not is_chat(uri) and self.documents.get(uri) is not None:
            self._named = uri, self.documents.newest_where(_is_work)

    def report(self, uri: str, problems: Sequence[types.Diagnostic]) -> None:
        """Record all problems of a document, except Indwell's own hints."""
        self._problems[uri] = tuple(one for one in problems if not is_ours(one))

    def problems(self, uri: str) -> tuple[types.Diagnostic, ...]:
        """Return the last reported problems of a document."""
        return self._problems.get(uri, ())

    def all_problems(self) -> Mapping[str, tuple[types.Diagnostic, ...]]:
        """Return the last reported problems of each document."""
        return {uri: problems for uri, problems in self._problems.items() if problems}

    def _is_beside(self, uri: str) -> bool:
        return is_chat(uri) or uri in self.documents.beside

    def opened_uri(self) -> str | None:
        """Return the focused document, or else the document last opened or requested."""
        if self._focus_is_known:
            return self._focus
        newest = self.documents.newest_where(_is_work)
        if self._named is None or self._named[1] != newest:
            return newest
        return self._named[0] if self.documents.get(self._named[0]) is not None else newest

    def opened(self, settings: Settings) -> OpenedFile | None:
        """Return the file for ``<ide_opened_file>``, unless a setting or a rule excludes it."""
        uri = self.opened_uri()
        document = self.documents.get(uri) if uri else None
        if (
            document is None
            or not settings.attach_opened_file
            or self.is_denied(document, settings)
        ):
            return None
        return OpenedFile(
            path=self.display(document),
            language=document.language,
            size=len(document.text.encode("utf-8", "replace")),
            unsaved=document.dirt != "clean",
        )

    def selection(self, settings: Settings) -> Selection | None:
        """Return the present selection, from the most reliable source."""
        marked, note = self._selected, ""
        if not self._selected_is_known and self._recent is not None:
            age = self.monotonic() - self._recent.at
            if age <= RECENT_S:
                marked, note = self._recent, f"marked {age:.0f} s ago, perhaps no longer"
        if marked is None:
            return None
        document = self.documents.get(marked.uri)
        if document is None or document.version != marked.version:
            return None  # the lines may have moved, so the range is uncertain
        return self.at(document, marked.range, self.problems(marked.uri), settings, note=note)

    def at(
        self,
        document: Document,
        range_: types.Range | sync.Range,
        problems: Sequence[types.Diagnostic],
        settings: Settings,
        *,
        note: str = "",
    ) -> Selection | None:
        """Return the selection of a range with its exact text, or None if it may not be sent."""
        if not settings.attach_selection or self.is_denied(document, settings):
            return None
        first, last = lines_of(range_, document.body.n_lines)
        if range_.start == range_.end:
            text = document.body.line(first)
        else:
            encoding = self.documents.encoding
            start, end = (document.offset(one, encoding) for one in (range_.start, range_.end))
            text = document.text[start:end]
        touching = touching_problems(problems, first, last) if settings.attach_diagnostics else ()
        return Selection(
            path=self.display(document),
            first_line=first + 1,
            last_line=last + 1,
            text=text,
            unsaved=document.dirt != "clean",
            problems=touching,
            note=note,
        )

    def is_denied(self, document: Document, settings: Settings) -> bool:
        """Return whether a rule denies a document's written name, resolved name or hard link.

        A hard link counts as denied until ``look`` has checked the link.
        """
        names = (self.display(document), name_in(document.uri))
        if any(matches_any(name, settings.deny) for name in names):
            return True
        return document.path is not None and self.names.is_kept_back(document.path, settings)

    async def look(self, settings: Settings, *also: Document) -> None:
        """Check the hard links of the next prompt's documents and of ``also``."""
        uris = (self.opened_uri(), *(one.uri for one in (self._selected, self._recent) if one))
        documents = (*also, *(self.documents.get(uri) for uri in uris if uri))
        paths = (one.path for one in documents if one is not None and one.path is not None)
        await self.names.look(paths, settings)


def _is_work(uri: str) -> bool:
    return not is_chat(uri)


def lines_of(range_: types.Range | sync.Range, n_lines: int) -> tuple[int, int]:
    """Return the first and last line of a range, 0-based and inclusive.

    A range that ends at column 0 excludes that line. A range after the document's end (``n_lines``)
    is moved to the end.
    """
    first, last = range_.start.line, range_.end.line
    if last > first and range_.end.character == 0:
        last -= 1
    return min(first, n_lines - 1), min(last, n_lines - 1)


def touching_problems(
    problems: Sequence[types.Diagnostic], first: int, last: int
) -> tuple[Problem, ...]:
    """Return problems that touch the lines ``first`` to ``last`` (0-based), without hints."""
    touching = [
        one
        for one in problems
        if one.range.start.line <= last and one.range.end.line >= first and not is_ours(one)
    ]
    return tuple(problem_of(one) for one in touching)


def problem_of(diagnostic: types.Diagnostic) -> Problem:
    """Convert a diagnostic to a problem."""
    severity = diagnostic.severity or types.DiagnosticSeverity.Error
    return Problem(
        line=diagnostic.range.start.line + 1,
        last_line=diagnostic.range.end.line + 1,
        severity=types.DiagnosticSeverity(severity).name.lower(),
        message=diagnostic.message,
        source=diagnostic.source or "",
        code=str(diagnostic.code) if diagnostic.code is not None else "",
    )


def _extent(range_: types.Range) -> tuple[int, int]:
    return (
        range_.end.line - range_.start.line,
        range_.end.character - range_.start.character,
    )
