"""Performs a user's actions with a chat document in the fake editor."""

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
    """Create a chat and open it in the editor; return the buffer."""
    result = await editor.execute("indwell.chat")
    return opened(editor, Path(result["path"]))


def opened(editor: Editor, path: Path) -> Buffer:
    """Open an existing chat in the editor; return the buffer."""

    async def applied(_edit: types.WorkspaceEdit) -> None:
        await editor._tell()

    editor.moments.after = applied
    return editor.open(path, "markdown")


def write(editor: Editor, buffer: Buffer, words: str) -> None:
    """Type ``words`` at the end of the buffer, as the user does."""
    end = len(buffer.text)
    editor.type_text(buffer, end, end, words)


async def send(editor: Editor, buffer: Buffer, how: str = "auto") -> Any:
    """Send the text that the user has written."""
    return await editor.execute("indwell.send", {"uri": buffer.uri, "how": how})


def draft(buffer: Buffer) -> str:
    """Return the text that the command "send" would send."""
    found = draft_of(buffer.text)
    assert found is not None, buffer.text
    return buffer.text[found.start : found.stop]


def is_over(buffer: Buffer, turn: int) -> bool:
    """Return whether the turn has a receipt, with an empty section for the user below."""
    _, heading, rest = buffer.text.partition(f"## Indwell · turn {turn}\n")
    return bool(heading) and " tokens in (" in rest and "\n## You\n" in rest


def held(answer: Answer, gate: asyncio.Event | None) -> Answer:
    """Return an answer that begins, and continues when the gate opens; without a gate, it hangs."""
    first, *rest = answer.parts
    parts = (first, gate, *rest) if gate is not None else (first, HANG)
    return Answer(parts, answer.status, answer.headers)
