"""Edits open buffers: for an exact version, within a time limit, and checked afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from indwell.errors import EditMayCome, EditRefused, TextMoved
from indwell.lsp.editor.client import Client
from indwell.lsp.wire.base_protocol import RequestError
from indwell.lsp.workspace.annotations import (
    NOT_CONFIRMED,
    AnswerLimits,
    annotated,
    applied_edits,
    changes_most,
)
from indwell.lsp.workspace.documents import Document, Documents, digested, unbroken
from indwell.lsp.workspace.edits import (
    GRACE_S,
    QUICK,
    SentEdit,
    Unanswered,
    is_rewritten,
    joined,
    seen,
    versioned_edit,
    was_taken,
)
from indwell.workspace.base import UNMARKED, AppliedChange, ChangeMarks, TextStamp
from indwell.workspace.comparing.diff import TextEdit, line_edits
from indwell.workspace.comparing.matching import common_last_lines, common_lines

_ENDS = "\r\n"


def whole_lines(text: str, edits: Sequence[TextEdit]) -> tuple[TextEdit, ...]:
    """Extend edits of lines with non-ASCII characters, so that they end at line starts.

    Args:
        text: The text before the edits.
        edits: The edits, in ascending order and without overlap.
    """
    made: list[TextEdit] = []
    for start, stop, new in edits:
        first, last = _start_of(text, start), _stop_of(text, stop)
        wide = TextEdit(first, last, text[first:start] + new + text[stop:last])
        if made and made[-1].stop > wide.start:
            wide = _joined(text, made.pop(), wide, start)
        made.append(wide)
    return tuple(made)


def _joined(text: str, before: TextEdit, behind: TextEdit, start: int) -> TextEdit:
    """Join two overlapping edits; the second begins at ``start``, in the last line of the first.

    The first edit restores text of that line up to its stop, perhaps beyond ``start``; the text
    between both edits is kept. The second edit restores text between its original start and
    ``start``.
    """
    beyond = max(0, before.stop - start)
    kept = before.text[: len(before.text) - beyond] + text[before.stop : start]
    return TextEdit(before.start, behind.stop, kept + behind.text[start - behind.start :])


def _start_of(text: str, at: int) -> int:
    line = _line_start(text, at)
    return at if text[line:at].isascii() else line


def _stop_of(text: str, at: int) -> int:
    line = _line_start(text, at)
    if text[line:at].isascii():
        return at
    while at < len(text) and text[at] not in _ENDS:
        at += 1
    return at + 2 if text[at : at + 2] == "\r\n" else min(at + 1, len(text))


def _line_start(text: str, at: int) -> int:
    # Between CR and LF, the line has not ended yet.
    before = at - 1 if text[at - 1 : at + 1] == "\r\n" else at
    return max(text.rfind(end, 0, before) for end in _ENDS) + 1


# The limit in seconds, because editors delay change notifications: Neovim by 150 ms, and by 3 s
# while it redraws a message. A notification ends the wait early.
AFTER_CHECK_S = 8.0


class _Verdict(msgspec.Struct, frozen=True):
    """The editor's answer to an edit.

    Attributes:
        problem: The reason why the edit was not applied, as a clause, or empty if it was applied.
        is_silent: Whether the answer is missing, so that the edit may still be applied.
    """

    problem: str = ""
    is_silent: bool = False


class BufferEdits:
    """Sends edits to the editor; the caller sends one edit at a time to each document.

    Args:
        documents: The open documents.
        client: The editor.
        limits: The time limits for the editor's answer.
        after_check_s: The time limit for the change notification after the answer, in seconds.
    """

    def __init__(
        self,
        documents: Documents,
        client: Client,
        limits: AnswerLimits,
        *,
        after_check_s: float = AFTER_CHECK_S,
    ) -> None:
        self._documents = documents
        self._client = client
        self._limits = limits
        self._after_check_s = after_check_s
        self._unanswered = Unanswered(documents)

    async def late_edits(self) -> tuple[Path, ...]:
        """Return the files to which the editor applied an edit after the time-out, each once."""
        return await self._unanswered.applied()

    async def change(
        self,
        document: Document,
        path: Path,
        text: str,
        label: str,
        marks: ChangeMarks = UNMARKED,
    ) -> AppliedChange:
        """Change the buffer's text to ``text``; an editor that asks may apply a part of the change.

        Raises:
            TextMoved: The buffer was changed or closed first, and the edit was not applied.
            EditMayCome: The editor has not answered, and has not applied the edit so far.
            EditRefused: The editor did not apply the edit, or the user did not confirm it.
        """
        before = document.text
        if text == before:
            return AppliedChange(path=path, before=before, after=before, stamp=document.stamp)
        await self._unanswered.check(document)
        if document.text != before:
            raise TextMoved(_moved(path))
        version, was_clean = document.version, document.dirt != "user"
        edits = await _edits(before, text)
        self._check_unmoved(document, path, version)
        asked = self._ask(document, path, edits, label, text, marks=marks)
        # the digest is computed while the editor works
        knowing = asyncio.ensure_future(digested(text))
        document.n_edits += 1
        try:
            verdict = await self._verdict(asked)
            if self._documents.get(document.uri) is not document:
                raise _closed(path, verdict)
            if not before and unbroken(document.text) == unbroken(text) != "":
                text = document.text  # the editor has chosen the line ends of an empty buffer
                knowing.cancel()
                knowing = asyncio.ensure_future(digested(text))
            if document.text != text and asked.asks:
                return await self._as_chosen(asked, verdict, await knowing, was_clean=was_clean)
            if document.text != text:
                if document.version != asked.version:
                    self._documents.on_typing()  # the user made some of the changes
                return await self._not_as_proposed(asked, verdict, await knowing)
            document.dirt = "agent" if was_clean else "user"
            stamp = TextStamp(digest=await knowing, version=document.version)
            document.learn(text, stamp.digest)
        finally:
            knowing.cancel()
            document.n_edits -= 1
        return AppliedChange(path=path, before=before, after=text, stamp=stamp)

    def _check_unmoved(self, document: Document, path: Path, version: int) -> None:
        if self._documents.get(document.uri) is not document or document.version != version:
            raise TextMoved(_moved(path))

    def _ask(
        self,
        document: Document,
        path: Path,
        edits: tuple[TextEdit, ...],
        label: str,
        text: str,
        *,
        marks: ChangeMarks,
    ) -> SentEdit:
        before, encoding = document.text, self._documents.encoding
        if changes_most(before, edits):
            marks = msgspec.structs.replace(marks, kinds=marks.kinds | {"rewrite"})
        if not self._client.features.says_encoding:
            edits = whole_lines(before, edits)
        annotation = annotated(self._client, marks, label)
        edit = versioned_edit(document, edits, encoding, annotation=annotation)
        answer = asyncio.ensure_future(self._client.apply_edit(edit, label))
        answer.add_done_callback(seen)
        return SentEdit(
            document,
            path,
            edit,
            document.version,
            before,
            text,
            answer,
            edits=edits,
            asks=annotation is not None and annotation.asks,
        )

    async def _as_chosen(
        self, asked: SentEdit, verdict: _Verdict, known: str, *, was_clean: bool
    ) -> AppliedChange:
        """Decide the result of an edit of which the user left out some or all changes.

        Only the text decides, because editors also report an edit as applied if the user left out
        some of its changes.
        """
        document, name, now = asked.document, asked.path.name, asked.document.text
        is_same = document.version == asked.version
        chosen = await asyncio.to_thread(applied_edits, asked.before, asked.edits, now)
        if chosen is not None and any(chosen) and document.text == now:
            document.dirt = "agent" if was_clean else "user"
            stamp = TextStamp(digest=await digested(now), version=document.version)
            document.learn(now, stamp.digest)
            n_left_out = len(chosen) - sum(chosen)
            note = (
                f"the editor asked the user, who left out {n_left_out} of {len(chosen)} places; "
                "only the places in the diff were changed; do not repeat the other places unless "
                "the user wants them"
            )
            return AppliedChange(
                asked.path, asked.before, now, stamp, note=note, n_left_out=n_left_out
            )
        if not verdict.is_silent and (verdict.problem or not is_same):
            was = "untouched" if now == asked.before else "changed by others; read_file it again"
            raise EditRefused(f"{name!r} was not edited: {NOT_CONFIRMED}; its text is {was}")
        try:
            return await self._not_as_proposed(asked, verdict, known)
        except TextMoved as error:  # Another attempt would ask the user again.
            raise EditRefused(str(error)) from error

    async def _not_as_proposed(
        self, asked: SentEdit, verdict: _Verdict, known: str
    ) -> AppliedChange:
        """Decide the result of an edit after which the document has an unexpected text."""
        document, name, now = asked.document, asked.path.name, asked.document.text
        problem = verdict.problem
        if document.version == asked.version:
            if verdict.is_silent:
                raise EditMayCome(
                    f"{problem} and may still apply it; the text of {name!r} is untouched so far; "
                    "read_file it before anything else"
                )
            if problem:
                raise EditRefused(f"{problem}; the text of {name!r} is untouched")
            self._unanswered.add(asked)  # the notification may arrive after the time limit
            raise EditMayCome(
                "the editor accepted the edit, but reported no change; "
                f"read_file {name!r} before anything else"
            )
        if not await was_taken(asked, now):
            words = (
                f"{problem or 'the editor dropped the edit'}, and {name!r} was changed "
                "meanwhile; read_file it again"
            )
            raise EditMayCome(words) if verdict.is_silent else TextMoved(words)
        # The stamp describes the expected text, so the next edit requires a new read.
        return AppliedChange(
            path=asked.path,
            before=asked.before,
            after=now,
            stamp=TextStamp(digest=known, version=document.version),
            verified=False,
            note="the text now differs from the proposal: the user or the editor changed it at "
            "the same time; read_file it before the next edit",
        )

    async def _verdict(self, asked: SentEdit) -> _Verdict:
        """Wait until the text contains the edit, the editor refuses it, or the time is over."""
        answer, document, version = asked.answer, asked.document, asked.version
        limit_s = self._limits.of(asks=asked.asks)
        try:
            async with asyncio.timeout(limit_s):
                await self._first(asked)
            if document.text == asked.expected:
                answer.cancel()  # The text will be compared, and the answer is ignored.
                return _Verdict()
            result = answer.result()
        except TimeoutError:
            self._client.withdraw(asked.edit)
            self._unanswered.add(asked)
            words = f"the editor did not answer the edit within {limit_s:g} s"
            return _Verdict(words, is_silent=True)
        except RequestError as error:
            return _Verdict(f"the editor refused the edit ({error})")
        except asyncio.CancelledError:
            await self._let_go(asked)
            raise
        if result is not None and not result.applied:
            reason = f" ({result.failure_reason})" if result.failure_reason else ""
            return _Verdict(f"the editor refused the edit{reason}")
        await self._until_changed(document, asked.expected, version)
        return _Verdict()

    async def _let_go(self, asked: SentEdit) -> None:
        """Cancel the edit of a stopped turn, so that the editor does not apply it later."""
        self._client.withdraw(asked.edit)
        self._unanswered.add(asked)
        await asyncio.wait({asked.answer}, timeout=GRACE_S)

    async def _first(self, asked: SentEdit) -> None:
        """Wait until the editor answers, or the text is as expected."""
        while True:
            # Get the event before the check, because a change during the check sets the event.
            event = self._documents.next_change
            if asked.answer.done() or self._is_there(asked):
                return
            change = asyncio.ensure_future(event.wait())
            waiting: set[asyncio.Future[Any]] = {asked.answer, change}
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                change.cancel()

    def _is_there(self, asked: SentEdit) -> bool:
        document = asked.document
        return document.version != asked.version and document.text == asked.expected

    async def _until_changed(self, document: Document, expected: str, version: int) -> None:
        """Wait a moment for the change notification of an applied edit."""
        try:
            async with asyncio.timeout(self._after_check_s):
                while document.text != expected and document.version == version:
                    await self._documents.changed()
        except TimeoutError:
            return  # the caller compares the text


async def _edits(before: str, text: str) -> tuple[TextEdit, ...]:
    """Return the minimal edits between two texts, computed in a thread if they differ much."""
    limit = min(len(before), len(text))
    start = common_lines(before, text, limit)
    end = common_last_lines(before, text, limit - start)
    old, new = before[start : len(before) - end], text[start : len(text) - end]
    if len(old) + len(new) < QUICK:
        edits = _minimal(old, new)
    else:
        edits = await asyncio.to_thread(_minimal, old, new)
    return tuple(TextEdit(start + one.start, start + one.stop, one.text) for one in edits)


def _minimal(old: str, new: str) -> tuple[TextEdit, ...]:
    if is_rewritten(old, new):
        return (TextEdit(0, len(old), new),)
    return joined(old, line_edits(old, new))


def _moved(path: Path) -> str:
    return (
        f"{path.name!r} was changed in the editor meanwhile; nothing was edited; read_file it again"
    )


def _closed(path: Path, verdict: _Verdict) -> EditRefused:
    """Return the error for a closed document, to which the editor may still apply the edit."""
    if verdict.is_silent:
        return EditMayCome(
            f"{path.name!r} was closed in the editor while it was edited, so nobody can say "
            "whether the edit was taken; read_file it again"
        )
    return TextMoved(
        f"{path.name!r} was closed in the editor while it was edited; read_file it again"
    )


def clean_ones(
    document: Callable[[Path], Document | None], paths: Iterable[Path]
) -> tuple[Document, ...]:
    """Return the open documents of these files that have no unsaved changes."""
    found = (document(path) for path in paths)
    return tuple(one for one in found if one is not None and one.dirt == "clean")


async def save_ours(client: Client, clean: Sequence[Document]) -> None:
    """Ask the editor to save those documents that only Indwell has changed since."""
    uris = tuple(one.uri for one in clean if one.dirt == "agent")
    if uris and client.features.has("save"):
        await client.save(uris)
