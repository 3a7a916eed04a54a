"""Creates workspace edits, including new and deleted files, and tracks unanswered edits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from indwell.errors import EditRefused, TextMoved, ToolError
from indwell.files.listing import exists
from indwell.lsp.editor.client import Client
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.wire.base_protocol import RequestError
from indwell.lsp.workspace.annotations import (
    NOT_CONFIRMED,
    Annotation,
    AnswerLimits,
    annotated,
)
from indwell.lsp.workspace.documents import Document, Documents, digested, unbroken
from indwell.workspace.base import UNMARKED, ChangeMarks, Snapshot, Workspace
from indwell.workspace.comparing.diff import TextEdit, line_edits

QUICK = 4_096  # longer texts are compared in a thread, because a comparison may take over 10 ms
LONG = 2_000_000  # longer texts are not compared, because other threads would have to wait
_SAMPLES = 16
_SAID = 8  # A comparison ignores lines with fewer than 8 characters.
MOST_EDITS = 200  # the limit of edits in one document, because editors are slow with thousands
# the time, in seconds, for the editor to cancel an edit after a stop, which must end within 0.2 s
GRACE_S = 0.1


def versioned_edit(
    document: Document,
    edits: Sequence[TextEdit],
    encoding: str,
    *,
    annotation: Annotation | None = None,
) -> types.WorkspaceEdit:
    """Return a workspace edit of a document for the document's exact version.

    Args:
        document: The document that the edits were computed for.
        edits: The edits by offsets, in ascending order.
        encoding: The negotiated position encoding.
        annotation: The change annotation, or None for an editor that shows no annotations.
    """
    sent: list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit] = []
    for start, stop, text in edits:
        range_ = types.Range(
            start=document.place(start, encoding), end=document.place(stop, encoding)
        )
        if annotation is not None:
            one = types.AnnotatedTextEdit(range=range_, new_text=text, annotation_id=annotation.id)
            sent.append(one)
        else:
            sent.append(types.TextEdit(range=range_, new_text=text))
    identifier = types.OptionalVersionedTextDocumentIdentifier(
        uri=document.uri, version=document.version
    )
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(text_document=identifier, edits=sent)],
        change_annotations=None if annotation is None else annotation.table,
    )


def creation(uri: str, annotation: Annotation | None = None) -> types.WorkspaceEdit:
    """Return a workspace edit that creates an empty file and keeps an existing file.

    Without ``ignoreIfExists`` Neovim 0.7 to 0.11 would empty an existing file.
    """
    operation = types.CreateFile(
        uri=uri,
        options=types.CreateFileOptions(ignore_if_exists=True),
        annotation_id=None if annotation is None else annotation.id,
    )
    return _operation(operation, annotation)


def deletion(uri: str, annotation: Annotation | None = None) -> types.WorkspaceEdit:
    """Return a workspace edit that deletes a file, if the file exists."""
    operation = types.DeleteFile(
        uri=uri,
        options=types.DeleteFileOptions(ignore_if_not_exists=True, recursive=False),
        annotation_id=None if annotation is None else annotation.id,
    )
    return _operation(operation, annotation)


def joined(before: str, edits: Sequence[TextEdit], most: int = MOST_EDITS) -> tuple[TextEdit, ...]:
    """Join the edits with the least text between them, until there are at most ``most``.

    Args:
        before: The text before the edits.
        edits: The edits, in ascending order and without overlap.
        most: The limit of edits, at least 1.
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
    """Return whether two long texts are too different for a useful comparison.

    The texts are too different if no line of a sample is in the other text. Short texts are always
    compared.
    """
    if len(old) + len(new) < LONG:
        return False
    lines = {_line_behind(old, n * len(old) // _SAMPLES) for n in range(_SAMPLES)}
    said = [line for line in lines if len(line.strip()) >= _SAID]
    return bool(said) and not any(line in new for line in said)


def _operation(
    operation: types.CreateFile | types.DeleteFile, annotation: Annotation | None
) -> types.WorkspaceEdit:
    return types.WorkspaceEdit(
        document_changes=[operation],
        change_annotations=None if annotation is None else annotation.table,
    )


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


MOST = 50  # the limit of remembered edits, each of which contains its texts


class SentEdit(msgspec.Struct, eq=False):
    """An edit that was sent.

    Attributes:
        document: The document.
        path: The document's file.
        edit: The edit as it was sent.
        version: The version that the edit is for.
        before: The text before the edit.
        expected: The text after the edit.
        answer: The editor's answer; waiting for it has a time limit.
        looked_at: The version of the document that was checked last.
        edits: The changes of the text, by offsets in ``before``.
        asks: Whether the editor asks the user, who may leave out some of the changes.
    """

    document: Document
    path: Path
    edit: types.WorkspaceEdit
    version: int
    before: str
    expected: str
    answer: asyncio.Future[types.ApplyWorkspaceEditResult | None]
    looked_at: int | None = None
    edits: tuple[TextEdit, ...] = ()
    asks: bool = False


class Unanswered:
    """Tracks edits that no caller awaits, after a time-out or because the turn was stopped.

    Args:
        documents: The open documents.
    """

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._asked: list[SentEdit] = []
        self._applied: dict[Path, None] = {}  # the files are in the order of their edits

    def add(self, asked: SentEdit) -> None:
        """Remember an edit that no caller awaits any longer."""
        self._asked = [*self._asked[1 - MOST :], asked]

    async def check(self, document: Document) -> None:
        """Check that no earlier edit of this document may still be applied.

        Raises:
            EditRefused: An earlier edit may still be applied.
        """
        await self._settle()
        for asked in self._asked:
            if asked.document is document:
                name = repr(asked.path.name)
                fate = f"has not answered an earlier edit of {name}"
                if asked.answer.done():
                    fate = f"took an earlier edit of {name}, but reported no change,"
                raise EditRefused(
                    f"the editor {fate} and may still apply it, so this one was not sent; go on "
                    "with something else, or let the user look what the editor waits for (closing "
                    "and opening the file ends it)"
                )

    async def applied(self) -> tuple[Path, ...]:
        """Return files to which an edit was applied late, each only once."""
        await self._settle()
        told, self._applied = self._applied, {}
        return tuple(told)

    async def _settle(self) -> None:
        """Determine the result of each edit, before its document is edited again."""
        for asked in tuple(self._asked):
            document = asked.document
            if self._documents.get(document.uri) is not document or _is_no(asked.answer):
                self._forget(asked)
                continue
            version, is_yes = document.version, asked.answer.done()
            if version == asked.version or (version == asked.looked_at and not is_yes):
                continue  # the edit may still be applied
            is_taken = await was_taken(asked, document.text)
            asked.looked_at = version
            if (is_taken or is_yes) and self._forget(asked) and is_taken:
                self._applied[asked.path] = None

    def _forget(self, asked: SentEdit) -> bool:
        """Forget an edit whose result is known; return False if it was forgotten already."""
        was_there = asked in self._asked
        self._asked = [one for one in self._asked if one is not asked]
        return was_there


async def was_taken(asked: SentEdit, now: str) -> bool:
    """Return whether a text in which the user also typed contains an edit that was sent.

    The answer is yes if the text is closer to the expected text than to the text before. (Neovim
    drops an edit for an older version, and answers that it was applied.) If unsure, return False:
    the caller then reads and merges again, so no edit is applied twice.
    """
    if now == asked.expected:
        return True
    if len(asked.before) + len(now) < QUICK:
        return _is_closer(asked.before, asked.expected, now)
    return await asyncio.to_thread(_is_closer, asked.before, asked.expected, now)


def _is_closer(before: str, expected: str, now: str) -> bool:
    taken_away, put_in = _difference(expected, now)
    if 10 * taken_away > 9 * len(expected):
        return False  # Too little of the edit's text is left to decide.
    return taken_away + put_in < sum(_difference(before, now))


def _difference(one: str, other: str) -> tuple[int, int]:
    """Return the numbers of characters to delete and to insert."""
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
    """Retrieve the error of an answer that no caller reads, so that asyncio does not log it."""
    if not answer.cancelled():
        answer.exception()


async def refusal(
    client: Client, edit: types.WorkspaceEdit, label: str, timeout_s: float
) -> str | None:
    """Return the editor's reason for a refusal, in parentheses, or None if there is no refusal.

    The reason may be empty. Without a refusal, the caller checks the disk.
    """
    answer = asyncio.ensure_future(client.apply_edit(edit, label))
    answer.add_done_callback(seen)
    try:
        await asyncio.wait({answer}, timeout=timeout_s)
    except asyncio.CancelledError:
        client.withdraw(edit)
        await asyncio.wait({answer}, timeout=GRACE_S)
        raise
    if not answer.done():
        client.withdraw(edit)
        answer.cancel()
        return None
    try:
        result = answer.result()
    except RequestError:
        return None
    if result is None or result.applied:
        return None
    return f" ({result.failure_reason})" if result.failure_reason else ""


class FileCreation:
    """Creates files.

    Args:
        client: The editor, which creates empty files if it can.
        disk: The files on disk.
        limits: The time limits for the editor's answer.
    """

    def __init__(self, client: Client, disk: Workspace, limits: AnswerLimits) -> None:
        self._client = client
        self._disk = disk
        self._limits = limits

    async def empty_file(
        self, path: Path, text: str, label: str, marks: ChangeMarks = UNMARKED
    ) -> Snapshot | None:
        """Ask the editor to create a file for ``text``; return None if the caller must create it.

        Raises:
            EditRefused: The file exists now, and was not overwritten; or the user did not confirm
                the new file when the editor asked.
            ToolError: The editor refused to create the file.
        """
        if not await self._is_for_the_editor(path, text):
            return None
        is_asked = await self._ask(path, label, marks)
        try:
            made = await self._disk.read(path)
        except ToolError:
            if is_asked:
                raise EditRefused(f"{path.name!r} was not created: {NOT_CONFIRMED}") from None
            return None  # the editor did not answer, or a declared capability does not work
        if made.text:
            raise EditRefused(
                f"{path.name!r} is not empty although it is new: the editor or somebody else has "
                "filled it; read_file it, and edit its current text"
            )
        return made

    async def _is_for_the_editor(self, path: Path, text: str) -> bool:
        """Return whether the editor can create this file, and the disk can take the text."""
        if not self._client.features.create_files:
            return False
        try:
            text.encode()
        except UnicodeEncodeError:
            return False  # the later write to the disk reports the reason
        # Some editors do not create folders.
        return await asyncio.to_thread(lambda: path.parent.is_dir() and not exists(path))

    async def _ask(self, path: Path, label: str, marks: ChangeMarks) -> bool:
        """Ask the editor to create the empty file; the caller checks the disk.

        Returns:
            Whether the editor asks the user.

        Raises:
            EditRefused: The user did not confirm the new file.
            ToolError: The editor refused to create the file.
        """
        annotation = annotated(self._client, marks, label)
        is_asked = annotation is not None and annotation.asks
        edit = creation(path.as_uri(), annotation)
        reason = await refusal(self._client, edit, label, self._limits.of(asks=is_asked))
        if reason is not None and is_asked:
            raise EditRefused(f"{path.name!r} was not created: {NOT_CONFIRMED}{reason}")
        if reason is not None:
            raise ToolError(f"the editor refused to create {path.name!r}{reason}")
        return is_asked


class FileDeletion:
    """Deletes files that the editor has open.

    Args:
        client: The editor, which deletes files if it can.
        disk: The files on disk.
        limits: The time limits for the editor's answer.
    """

    def __init__(self, client: Client, disk: Workspace, limits: AnswerLimits) -> None:
        self._client = client
        self._disk = disk
        self._limits = limits

    async def remove(
        self,
        document: Document,
        path: Path,
        base: Snapshot,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> Path | None:
        """Delete the file of an open document, after the caller compared the text with ``base``.

        Raises:
            TextMoved: The buffer or its file has another text.
            EditRefused: The editor refused to delete the file, or the user did not confirm it.
            ToolError: No copy can be saved, or the system refuses.
        """
        on_disk = await self._below(document, path)
        kept = await self._disk.keep(base)
        if self._client.features.delete_files and on_disk is not None:
            _check(document, path, base)
            is_asked = await self._ask(path, label, marks)
            if is_asked and await asyncio.to_thread(exists, path):
                raise EditRefused(f"{path.name!r} was not deleted: {NOT_CONFIRMED}")
        if not await asyncio.to_thread(exists, path):
            return kept
        _check(document, path, base)
        if on_disk is not None:
            await self._disk.remove(path, on_disk, label=label)
        return kept

    async def _below(self, document: Document, path: Path) -> Snapshot | None:
        """Return the file on disk, which has the buffer's present or original text, or None.

        Raises:
            TextMoved: Another program has changed the file.
        """
        try:
            on_disk = await self._disk.read(path)
        except ToolError:
            if await asyncio.to_thread(exists, path):
                raise
            return None
        known = await digested(on_disk.text, unbroken)
        if unbroken(on_disk.text) != unbroken(document.text) and known != await document.origin():
            raise TextMoved(
                f"{path.name!r} has another text on disk than in the editor; it was not deleted"
            )
        return on_disk

    async def _ask(self, path: Path, label: str, marks: ChangeMarks) -> bool:
        """Ask the editor to delete the file; the caller checks the disk.

        Returns:
            Whether the editor asks the user.

        Raises:
            EditRefused: The editor refused to delete the file.
        """
        kinds = marks.kinds | {"delete"}
        annotation = annotated(self._client, msgspec.structs.replace(marks, kinds=kinds), label)
        is_asked = annotation is not None and annotation.asks
        edit = deletion(path.as_uri(), annotation)
        reason = await refusal(self._client, edit, label, self._limits.of(asks=is_asked))
        if reason:  # if the editor gives no reason, the disk decides
            raise EditRefused(f"the editor refused to delete {path.name!r}{reason}")
        return is_asked


def _check(document: Document, path: Path, base: Snapshot) -> None:
    if document.text != base.text:
        raise TextMoved(f"{path.name!r} was changed in the editor meanwhile; it was not deleted")
