"""Asks sources questions about code, such as definitions and references, best source first."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.context.attachments import Problem

Action: TypeAlias = Literal["definition", "references", "hover", "symbols", "rename", "problems"]

_log = logging.getLogger(__name__)


class Texts(Protocol):
    """Reads the workspace's texts as the editor shows them, without hidden files."""

    async def read(self, path: Path) -> str | None:
        """Return the text of a file, or None if the file cannot be read or is not text."""
        ...

    def unsaved(self) -> Mapping[Path, str]:
        """Return the texts of unsaved buffers, by path."""
        ...

    async def containing(self, word: str) -> Sequence[Path]:
        """Return files that contain a word, in any case, up to a limit."""
        ...


class CodeQuestion(msgspec.Struct, frozen=True):
    """A question about code.

    Attributes:
        action: The kind of question.
        texts: The texts of the workspace.
        path: The file that the question is about, or None for the whole workspace.
        text: The text of the file at ``path``.
        line: The line of the symbol in the file, from 0.
        column: The symbol's first character in the line, from 0.
        symbol: The name of the symbol; for a search, a part of the name.
        new_name: The new name of a symbol.
    """

    action: Action
    texts: Texts
    path: Path | None = None
    text: str = ""
    line: int = 0
    column: int = 0
    symbol: str = ""
    new_name: str = ""


class CodePlace(msgspec.Struct, frozen=True, order=True):
    """A place in a file; lines count from 1, as in ``read_file``.

    Attributes:
        path: The absolute path of the file.
        line: The first line.
        end_line: The last line.
        name: The name of the symbol at this place, or empty if unknown.
        kind: The kind of symbol, such as ``function``, or empty if unknown.
        inside: The name of the enclosing symbol, or empty if unknown.
        is_definition: Whether the symbol is defined at this place.
    """

    path: Path
    line: int
    end_line: int = 0
    name: str = ""
    kind: str = ""
    inside: str = ""
    is_definition: bool = False


class ServerEdit(msgspec.Struct, frozen=True):
    """A replacement in a text: lines from 0, columns in units of the answer's encoding."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class CodeAnswer(msgspec.Struct, frozen=True):
    """The answer of one source.

    Attributes:
        source: The name of the source, for the model and for people.
        places: The places found; for an outline, all symbols in order.
        words: The text of a hover, or empty for other questions.
        changes: The changes of a rename, by absolute path.
        encoding: The unit of the columns in ``changes``: utf-8, utf-16 or utf-32.
        problems: The problems of a file, or None if the source knows nothing about the file.
        is_by_name: Whether the source only compared names, so that other symbols with equal names
            are included.
        refusal: Why the source refuses the request, such as an impossible new name.
    """

    source: str
    places: tuple[CodePlace, ...] = ()
    words: str = ""
    changes: Mapping[Path, tuple[ServerEdit, ...]] = {}
    encoding: str = "utf-16"
    problems: tuple[Problem, ...] | None = None
    is_by_name: bool = False
    refusal: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether the source has found nothing."""
        return not (
            self.places or self.words or self.changes or self.refusal or self.problems is not None
        )


class SourceFailed(Exception):
    """A source that should have answered has failed; the message is a clause."""


class CodeSource(Protocol):
    """A source that answers questions about code."""

    async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
        """Return an answer, which may be empty, or None if the source cannot answer such questions.

        Raises:
            SourceFailed: The source should know the answer, but failed.
        """
        ...


class Navigated(msgspec.Struct, frozen=True):
    """An answer, with notes for the model about the sources.

    Attributes:
        answer: The first answer that is not empty; if all are empty, the last one. None if no
            source can answer the question.
        notes: Sentences about failed sources, and about better sources that found nothing.
    """

    answer: CodeAnswer | None
    notes: tuple[str, ...] = ()


class Navigator:
    """Asks sources in order until a source has an answer; each session has a navigator.

    Args:
        sources: The sources after the editor, best first.

    Attributes:
        editor: The editor as the first source, or None if no editor can answer.
    """

    def __init__(self, sources: Sequence[CodeSource] = ()) -> None:
        self.editor: CodeSource | None = None
        self._sources = tuple(sources)
        self._told: set[str] = set()

    async def ask(self, question: CodeQuestion) -> Navigated:
        """Return the best answer."""
        empty: CodeAnswer | None = None
        notes: list[str] = []
        first = () if self.editor is None else (self.editor,)
        for source in (*first, *self._sources):
            try:
                answer = await source.ask(question)
            except SourceFailed as error:
                _log.warning("no answer about code: %s", error)
                # A source that stays broken is reported only once.
                if str(error) not in self._told:
                    self._told.add(str(error))
                    notes.append(str(error))
                continue
            if answer is None:
                continue
            if not answer.is_empty:
                if empty is not None and answer.is_by_name:
                    notes.append(f"{empty.source} found nothing")
                return Navigated(answer, tuple(notes))
            empty = empty or answer
        return Navigated(empty, tuple(notes))
