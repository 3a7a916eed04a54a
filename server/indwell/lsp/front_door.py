"""The editor as a front door of the service."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from indwell.agent.core.events import Event, Notice, TurnFinished
from indwell.lsp.editor.client import Client
from indwell.lsp.editor.model_line import EditorModelLine
from indwell.lsp.editor.person import EditorPerson
from indwell.lsp.editor.progress import TurnProgress
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.questions import AskParams
from indwell.lsp.workspace.buffer_edits import clean_ones, save_ours
from indwell.lsp.workspace.documents import Documents
from indwell.policy.approvals import Approver
from indwell.settings.model import Settings

SECTION = "indwell"


class EditorDoor:
    """Implements ``FrontDoor``: standard LSP, and requests of our own where the client has them.

    Args:
        client: The editor.
        documents: What the editor has open.

    Attributes:
        line: The line to the client's own models.
        listeners: Each hears every event, with the id of its session.
    """

    trust_hint = "In the editor: the command `indwell.trust`."

    def __init__(self, client: Client, documents: Documents) -> None:
        self._client = client
        self._documents = documents
        self.line = EditorModelLine(client)
        self._progress: dict[str, TurnProgress] = {}  # of the running turns, by session
        self.listeners: list[Callable[[str, Event], None]] = []

    @property
    def has_section(self) -> bool:
        """Can the editor be asked for its settings?"""
        return self._client.features.configuration

    @property
    def leads_to_model(self) -> bool:
        """Does the client have a flow of its own?"""
        return self._client.features.has("firstRun")

    @property
    def can_type(self) -> bool:
        """Does the client have a box for a line of text?"""
        return self._client.features.has("ask")

    @property
    def asks_about_files(self) -> bool:
        """Does the client show events, and ask by them?"""
        return self._client.features.has("events")

    @property
    def models(self) -> EditorModelLine | None:
        """The line to the client's own models, if it has any to offer."""
        return self.line if self._client.features.has("models") else None

    def tell(self, words: str) -> None:
        """Show a message."""
        self._client.show(types.MessageType.Info, f"Indwell: {words}")

    def warn(self, words: str) -> None:
        """Show a warning."""
        self._client.show(types.MessageType.Warning, f"Indwell: {words}")

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Show a work-done progress."""
        progress = self._progress[session] = TurnProgress(self._client, token)
        await progress.begin(title)

    def event(self, session: str, seq: int, event: Event) -> None:
        """Send the event, and show the step, warning or end of the turn that it tells of."""
        try:
            self._client.event(session, seq, event)
        finally:
            for hear in self.listeners:
                hear(session, event)
        progress = self._progress.get(session)
        if progress is None:
            return
        if isinstance(event, TurnFinished):
            del self._progress[session]
            progress.end(event)
            return
        progress.follow(event)
        if isinstance(event, Notice) and event.level != "info":
            self._client.log(f"Indwell: {event.message}")

    def hold(self, is_held: bool) -> None:  # noqa: FBT001 - a listener's only argument
        """Show with the running turns whether a question waits until the user stops typing."""
        for progress in self._progress.values():
            progress.hold(is_held=is_held)

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask with a message that has buttons."""
        return await self._client.choose(question, titles, timeout_s)

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask with buttons; where keys choose, an answer that can do harm is confirmed."""
        return await self._client.allow(question, titles, timeout_s)

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """Let the client's own flow lead the user."""
        return await self._client.first_run(reason, timeout_s)

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Open the client's box for a line of text."""
        return await self._client.ask(AskParams(prompt=prompt, placeholder=placeholder), timeout_s)

    async def show_page(self, page: Path) -> bool:
        """Open a document."""
        return await self._client.show_document(page.as_uri())

    def model_hint(self, others: Sequence[str]) -> str:
        """By a model of the settings."""
        del others
        return "name a model of your settings to go on with it"

    @asynccontextmanager
    async def changing(self, paths: Iterable[Path]) -> AsyncIterator[None]:
        """Have the editor save those that the disk agreed with, and only we have changed since."""
        clean = clean_ones(self._documents.at, paths)
        yield
        await save_ours(self._client, clean)

    async def section(self) -> object:
        """The editor's section ``indwell``."""
        return await self._client.configuration(SECTION)

    def approver(self, settings: Settings, whose: Callable[[], str]) -> Approver:
        """The user, through the editor; answers the model's questions, too."""
        return EditorPerson(self._client, timeout_s=settings.answer_timeout_s, whose=whose)
