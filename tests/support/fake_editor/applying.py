"""Applies ``workspace/applyEdit`` in the fake editor, by the behaviour of its profile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

from support.fake_editor.buffer import Buffer, spans_of
from support.fake_editor.desk import Desk
from support.fake_editor.profiles import Behaviour

REQUEST_FAILED = -32803

_Step: TypeAlias = types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile
Hook: TypeAlias = Callable[[types.WorkspaceEdit], Awaitable[None]]


async def _at_once(_edit: types.WorkspaceEdit) -> None:
    """Do nothing around an edit."""


async def _yes(_edit: types.WorkspaceEdit) -> bool:
    return True


@dataclass(slots=True)
class Moments:
    """Callbacks around an edit; a test may replace each.

    Attributes:
        before: Called before the editor checks an edit: the user may type.
        confirm: Asks the user, if the editor confirms edits.
        after: Called before the editor answers an edit: the user may type, or the answer may wait.
    """

    before: Hook = _at_once
    confirm: Callable[[types.WorkspaceEdit], Awaitable[bool]] = _yes
    after: Hook = _at_once


class NotAppliedError(Exception):
    """The editor did not apply an edit completely; the answer contains the reason."""


async def answer(
    desk: Desk, edit: types.WorkspaceEdit, moments: Moments
) -> types.ApplyWorkspaceEditResult | None:
    """Apply or refuse an edit as this editor does, and return the answer.

    Raises:
        JsonRpcException: The editor answers with an error.
    """
    await moments.before(edit)
    behaviour = desk.behaviour
    problem: str | None = None
    if not behaviour.takes:
        problem = behaviour.reason
    elif behaviour.confirms and not await moments.confirm(edit):
        problem = "the user said no"
    else:
        try:
            apply(desk, edit)
        except NotAppliedError as error:
            problem = str(error)
    await moments.after(edit)
    if problem is None:
        return await _done(behaviour)
    return await _not_done(behaviour, problem)


async def _done(behaviour: Behaviour) -> types.ApplyWorkspaceEditResult | None:
    if behaviour.answer == "never":
        await asyncio.Event().wait()
    if behaviour.answer == "error":
        raise JsonRpcException(behaviour.reason, REQUEST_FAILED)
    if behaviour.answer == "null":
        return None
    return types.ApplyWorkspaceEditResult(applied=True)


async def _not_done(behaviour: Behaviour, problem: str) -> types.ApplyWorkspaceEditResult | None:
    if behaviour.answer == "never":
        await asyncio.Event().wait()
    if behaviour.refusal == "error":
        raise JsonRpcException(problem, REQUEST_FAILED)
    if behaviour.answer == "null":
        return None
    if behaviour.refusal == "true":
        return types.ApplyWorkspaceEditResult(applied=True)
    return types.ApplyWorkspaceEditResult(applied=False, failure_reason=problem or None)


def apply(desk: Desk, edit: types.WorkspaceEdit) -> None:
    """Apply an edit at once: each document's part is one step of undo.

    Raises:
        NotAppliedError: A part failed. A transactional editor changed nothing. Other editors
            applied the parts before the failure; an editor that drops parts silently also applied
            the later parts.
    """
    steps = _steps(edit)
    if desk.behaviour.transactional:
        for step in steps:
            _check(desk, step)
    problems = []
    for step in steps:
        try:
            _check(desk, step)
            _take(desk, step)
        except NotAppliedError as error:
            if desk.behaviour.refusal != "true":
                raise
            problems.append(str(error))
    if problems:
        raise NotAppliedError(problems[0])


def _steps(edit: types.WorkspaceEdit) -> Sequence[_Step]:
    if edit.document_changes is not None:
        return edit.document_changes
    return [
        types.TextDocumentEdit(
            text_document=types.OptionalVersionedTextDocumentIdentifier(uri=uri), edits=edits
        )
        for uri, edits in (edit.changes or {}).items()
    ]


def _check(desk: Desk, step: _Step) -> None:
    match step:
        case types.TextDocumentEdit(text_document=identifier):
            buffer = desk.buffers.get(identifier.uri)
            if buffer is not None and not _fits(desk.behaviour, identifier.version, buffer):
                raise NotAppliedError(desk.behaviour.reason)
        case types.CreateFile(uri=uri, options=options) if desk.behaviour.creates:
            may = options is not None and (options.overwrite or options.ignore_if_exists)
            if _path(uri).exists() and not may and not desk.behaviour.clobbers:
                raise NotAppliedError(f"{uri} exists already")
        case types.DeleteFile(uri=uri, options=options) if desk.behaviour.creates:
            may = options is not None and options.ignore_if_not_exists
            if not _path(uri).exists() and not may:
                raise NotAppliedError(f"{uri} does not exist")
        case _:
            raise NotAppliedError(f"cannot {step.kind} files")


def _fits(behaviour: Behaviour, version: int | None, buffer: Buffer) -> bool:
    if version is None or behaviour.versions == "any":
        return True
    if behaviour.versions == "not older":
        return version >= buffer.version
    return version == buffer.version


def _take(desk: Desk, step: _Step) -> None:
    match step:
        case types.TextDocumentEdit(text_document=identifier):
            buffer = desk.buffers.get(identifier.uri) or desk.open(_path(identifier.uri))
            try:
                spans = spans_of(buffer.text, step, desk.encoding)
            except ValueError as error:
                raise NotAppliedError(str(error)) from error
            desk.replace(buffer, spans)
            if desk.behaviour.formats_after_edit:
                desk.format(buffer)
        case types.CreateFile(uri=uri, options=options):
            keeps = options is not None and options.ignore_if_exists and not options.overwrite
            desk.create(_path(uri), empty=not keeps)
        case types.DeleteFile(uri=uri):
            desk.delete(_path(uri))
        case _:
            raise AssertionError(step)  # The caller has checked the step.


def _path(uri: str) -> Path:
    path = to_fs_path(uri)
    assert path is not None, uri
    return Path(path).resolve()  # pygls writes a drive's letter in lower case.
