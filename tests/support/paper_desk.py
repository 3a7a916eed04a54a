"""Streams a turn into a chat of the fake editor, without a connection."""

from __future__ import annotations

from pathlib import Path

from indwell.agent.core import events
from indwell.lsp.chat.rendering import Rendering
from indwell.lsp.chat.stream import AnsweredPrompt, Paper, Plan, Stream, Writing
from indwell.lsp.workspace.documents import Document
from indwell.messages import Usage
from support.fake_editor.buffer import Buffer
from support.fake_editor.profiles import PLAIN, Profile
from support.near_editor import NearEditor

ASKED = "Fix it."
START = f"<!-- indwell: session s-1 -->\n\n## You\n\n{ASKED}"


def finished(draft: str = "", ending: str = "done", message: str = "") -> events.TurnFinished:
    return events.TurnFinished(
        turn=1,
        ending=ending,  # type: ignore[arg-type]
        message=message,
        answer="",
        draft=draft,
        rounds=1,
        usage=Usage(),
        cost=0.0,
        seconds=1.0,
    )


class PaperDesk:
    """One chat document that is open in the fake editor."""

    def __init__(
        self, folder: Path, profile: Profile = PLAIN, *, text: str = START, timeout_s: float = 10.0
    ) -> None:
        self.path = folder.resolve() / "a.chat.md"
        self.path.write_bytes(text.encode())
        self.editor = NearEditor(folder.resolve(), profile, apply_timeout_s=timeout_s)
        self.editor.open(self.path)
        self.said: list[str] = []
        self.gave = True  # The turn's prompt came from this document.
        self.put_on_disk: list[str] = []
        self.paper = Paper(self.editor.documents, self.editor.client, lambda: timeout_s)

    @property
    def buffer(self) -> Buffer:
        return self.editor.desk.buffers[self.path.as_uri()]

    @property
    def text(self) -> str:
        return self.buffer.text

    def type_text(self, at: int, text: str) -> None:
        self.editor.type_text(self.buffer, at, at, text)

    def stream(self, words: str = ASKED) -> Stream:
        return Stream(
            Rendering(1, lambda path, line: f"{path}#L{line}"),
            Writing(1, AnsweredPrompt(words, words), ""),
            words=words,
            given=lambda steered: steered if self.gave else "",
            opened=lambda: self.editor.documents.get(self.path.as_uri()),
            paper=self.paper,
            say=self.said.append,
            on_disk=self._on_disk,
        )

    async def _on_disk(self, document: Document, plan: Plan) -> None:
        self.put_on_disk.append(plan(document.text))
