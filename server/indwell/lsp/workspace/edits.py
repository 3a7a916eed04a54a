"""Workspace edits as the protocol has them, and those that the editor has not answered yet."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from indwell.errors import EditRefused
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.workspace.documents import Document, Documents
from indwell.workspace.comparing.diff import TextEdit, line_edits

QUICK = 4_096  # characters; to compare more can take over 10 ms, so it is done in a thread
LONG = 2_000_000  # characters; to compare so many lines would keep everybody else waiting
_SAMPLES = 16
_SAID = 8  # characters that a line needs to say anything
MOST_EDITS = 200  # in one document; an editor takes long over thousands, and so do we
ANNOTATION = "indwell"
LABEL = "Indwell"


def versioned_edit(
    document: Document,
    edits: Sequence[TextEdit],
    encoding: str,
    *,
    annotated: bool = False,
    label: str = LABEL,
) -> types.WorkspaceEdit:
    """Edits of a document's text, bound to its exact version.

    Args:
        document: As the edits were made for.
        edits: By offsets, ascending.
        encoding: The negotiated position encoding.
        annotated: Say who wants it and why, for an editor that shows that.
        label: What it says.
    """
    sent: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
    for start, stop, text in edits:
        range_ = types.Range(
            start=document.place(start, encoding), end=document.place(stop, encoding)
        )
        if annotated:
            one = types.AnnotatedTextEdit(range=range_, new_text=text, annotation_id=ANNOTATION)
            sent.append(one)
        else:
            sent.append(types.TextEdit(range=range_, new_text=text))
    identifier = types.OptionalVersionedTextDocumentIdentifier(
        uri=document.uri, version=document.version
    )
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(text_document=identifier, edits=sent)],
        change_annotations=_annotations(label) if annotated else None,
    )


def creation(uri: str, *, annotated: bool = False, label: str = LABEL) -> types.WorkspaceEdit:
    """A new, empty file; nothing happens to one that exists.

    Without ``ignoreIfExists`` Neovim 0.7 to 0.11 empties a file that was made meanwhile.
    """
    operation = types.CreateFile(
        uri=uri,
        options=types.CreateFileOptions(ignore_if_exists=True),
        annotation_id=ANNOTATION if annotated else None,
    )
    return types.WorkspaceEdit(
        document_changes=[operation], change_annotations=_annotations(label) if annotated else None
    )


def deletion(uri: str, *, annotated: bool = False, label: str = LABEL) -> types.WorkspaceEdit:
    """A file that goes; nothing happens if it is gone already."""
    operation = types.DeleteFile(
        uri=uri,
        options=types.DeleteFileOptions(ignore_if_not_exists=True, recursive=False),
        annotation_id=ANNOTATION if annotated else None,
    )
    return types.WorkspaceEdit(
        document_changes=[operation], change_annotations=_annotations(label) if annotated else None
    )


def joined(before: str, edits: Sequence[TextEdit], most: int = MOST_EDITS) -> tuple[TextEdit, ...]:
    """At most ``most`` edits that do the same: those with the least text between them become one.

    Args:
        before: The text that they are of.
        edits: Ascending, without overlap.
        most: At least 1.
    """
    if len(edits) <= most:
        return tuple(edits)
    gaps = sorted(range(1, len(edits)), key=lambda n: edits[n].start - edits[n - 1].stop)
    closed = frozenset(gaps[: len(edits) - most])
    runs: list[list[TextEdit]] = []
    for number, edit in enumerate(edits):
        if number in closed:
            runs[-1].append(edit)
        else:
            runs.append([edit])
    return tuple(_one(before, run) for run in runs)


def is_rewritten(old: str, new: str) -> bool:
    """Are these two long texts so different that there is nothing to compare?

    If no line of a sample is in the other text. Short texts are better compared.
    """
    if len(old) + len(new) < LONG:
        return False
    lines = {_line_behind(old, n * len(old) // _SAMPLES) for n in range(_SAMPLES)}
    said = [line for line in lines if len(line.strip()) >= _SAID]
    return bool(said) and not any(line in new for line in said)


def _annotations(label: str) -> dict[types.ChangeAnnotationIdentifier, types.ChangeAnnotation]:
    """Nothing to confirm: whoever had to be asked was asked before."""
    return {ANNOTATION: types.ChangeAnnotation(label=label, needs_confirmation=False)}


def _line_behind(text: str, offset: int) -> str:
    start = text.find("\n", offset) + 1
    stop = text.find("\n", start)
    return text[start:stop][:1_000]


def _one(before: str, run: Sequence[TextEdit]) -> TextEdit:
    pieces, at = [], run[0].start
    for edit in run:
        pieces += [before[at : edit.start], edit.text]
        at = edit.stop
    return TextEdit(run[0].start, at, "".join(pieces))


MOST = 50  # that are remembered: each holds its texts


@dataclass(slots=True, eq=False)
class SentEdit:
    """An edit that was sent.

    Attributes:
        document: What it is of.
        path: Its file.
        edit: As it was sent.
        version: That it is bound to.
        before: The text that it is of.
        expected: The text that it makes.
        answer: Of the editor; nobody waits for it for ever.
        looked_at: The version of the document whose text was looked at last.
    """

    document: Document
    path: Path
    edit: types.WorkspaceEdit
    version: int
    before: str
    expected: str
    answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]
    looked_at: int | None = None


class Unanswered:
    """What was given up: the editor took too long, or told of no change; or the turn was stopped.

    Args:
        documents: What the editor has open.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._asked: list[SentEdit] = []
        self._applied: dict[Path, None] = {}  # in this order

    def add(self, asked: SentEdit) -> None:
        """Wait no more for this one, and remember it."""
        self._asked = [*self._asked[1 - MOST :], asked]

    async def check(self, document: Document) -> None:
        """Let an edit of this document pass, unless an earlier one may still be applied.

        Raises:
            EditRefused: It may.
        """
        await self._settle()
        for asked in self._asked:
            if asked.document is document:
                name = repr(asked.path.name)
                fate = f"has not answered an earlier edit of {name}"
                if asked.answer.done():
                    fate = f"took an earlier edit of {name}, but has told of no change,"
                raise EditRefused(
                    f"the editor {fate} and may still apply it, so this one was not sent; go on "
                    "with something else, or let the user look what the editor waits for (closing "
                    "and opening the file ends it)"
                )

    async def applied(self) -> tuple[Path, ...]:
        """Files whose text got an edit that was given up; each is told once."""
        await self._settle()
        told, self._applied = self._applied, {}
        return tuple(told)

    async def _settle(self) -> None:
        """See what became of each, before anybody edits its document again."""
        for asked in tuple(self._asked):
            document = asked.document
            if self._documents.get(document.uri) is not document or _is_no(asked.answer):
                self._forget(asked)
                continue
            version, is_yes = document.version, asked.answer.done()
            if version == asked.version or (version == asked.looked_at and not is_yes):
                continue  # it may still come
            is_taken = await was_taken(asked, document.text)
            asked.looked_at = version
            if (is_taken or is_yes) and self._forget(asked) and is_taken:
                self._applied[asked.path] = None

    def _forget(self, asked: SentEdit) -> bool:
        """Its fate is known; False if somebody else has seen to that while we looked."""
        was_there = asked in self._asked
        self._asked = [one for one in self._asked if one is not asked]
        return was_there


async def was_taken(asked: SentEdit, now: str) -> bool:
    """Does a text, to which an edit was sent and in which somebody typed, have the edit?

    It does if the proposed text is closer to it than the text before. (Neovim drops an edit of an
    older version than its own, and answers that it was applied.) In doubt the answer is no: then
    the text is read and merged again, which makes no edit twice.
    """
    if now == asked.expected:
        return True
    if len(asked.before) + len(now) < QUICK:
        return _is_closer(asked.before, asked.expected, now)
    return await asyncio.to_thread(_is_closer, asked.before, asked.expected, now)


def _is_closer(before: str, expected: str, now: str) -> bool:
    taken_away, put_in = _difference(expected, now)
    if 10 * taken_away > 9 * len(expected):
        return False  # too little of it is left to tell
    return taken_away + put_in < sum(_difference(before, now))


def _difference(one: str, other: str) -> tuple[int, int]:
    """How many characters have to be taken away, and put in."""
    edits = line_edits(one, other)
    return sum(edit.stop - edit.start for edit in edits), sum(len(edit.text) for edit in edits)


def _is_no(answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]) -> bool:
    if not answer.done():
        return False
    if answer.cancelled() or answer.exception() is not None:
        return True
    result = answer.result()
    return result is not None and not result.applied


def seen(answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]) -> None:
    """Where the text decides, an error in the answer is no matter."""
    if not answer.cancelled():
        answer.exception()
