"""A user's actions with a chat document in the fake editor."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lsprotocol import types

from indwell.lsp.chat.layout import draft_of
from support.editing import Editor
from support.fake_editor.buffer import Buffer
from support.loopback_endpoint import HANG, Answer


async def chat(editor: Editor) -> Buffer:
    """A new chat, open in the editor."""
    result = await editor.execute("indwell.chat")
    return opened(editor, Path(result["path"]))


def opened(editor: Editor, path: Path) -> Buffer:
    """A chat that is there, opened by the user."""

    async def applied(_edit: types.WorkspaceEdit) -> None:
        await editor._tell()  # also in an editor that never answers

    editor.moments.after = applied
    return editor.open(path, "markdown")


def write(editor: Editor, buffer: Buffer, words: str) -> None:
    """The user types at the end."""
    end = len(buffer.text)
    editor.type_text(buffer, end, end, words)


async def send(editor: Editor, buffer: Buffer, how: str = "auto") -> Any:
    """The user sends the written text."""
    return await editor.execute("indwell.send", {"uri": buffer.uri, "how": how})


def draft(buffer: Buffer) -> str:
    """The text that would be sent."""
    found = draft_of(buffer.text)
    assert found is not None, buffer.text
    return buffer.text[found.start : found.stop]


def is_over(buffer: Buffer, turn: int) -> bool:
    """Has a turn its receipt, and the user a place to write below it?"""
    _, heading, rest = buffer.text.partition(f"## Indwell · turn {turn}\n")
    return bool(heading) and " tokens in (" in rest and "\n## You\n" in rest


def held(answer: Answer, gate: asyncio.Event | None) -> Answer:
    """An answer that begins, and continues when the gate opens; without a gate it never does."""
    first, *rest = answer.parts
    parts = (first, gate, *rest) if gate is not None else (first, HANG)
    return Answer(parts, answer.status, answer.headers)
