"""Holds the state of one editor's server: documents, selection, views, and the service.

Each public method carries out one request or command.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.features.attachments.state_mentions import StateMentions
from indwell.agent.features.checks.turn_checks import SessionChecks
from indwell.bounds.secrets import OtherNames
from indwell.edges import loop_time
from indwell.lsp.editor.answering import Answering, Stillness
from indwell.lsp.editor.client import Client
from indwell.lsp.editor.turn_display import TurnDisplay
from indwell.lsp.front_door import EditorDoor
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.prompts.attention import Attention
from indwell.lsp.prompts.code_source import EditorCode
from indwell.lsp.prompts.diagnostics import EditorProblems
from indwell.lsp.prompts.prompt_builder import Prompting, reported_problems
from indwell.lsp.workspace.documents import Document, Documents, shown_name
from indwell.lsp.workspace.editor_workspace import EditorWorkspace
from indwell.lsp.workspace.notebooks import Notebooks
from indwell.navigation.navigator import Navigator
from indwell.service.demo_project import is_demo
from indwell.service.turns.queue import Ticket
from indwell.settings.model import Mode, Settings
from indwell.wiring.service import Composition


class Host:
    """The state and the actions of one editor's server.

    Args:
        client: The editor.
        composition: Creates the service, and the workspace on disk.
    """

    def __init__(self, client: Client, composition: Composition) -> None:
        self.client = client
        self.composition = composition
        self.documents = Documents()
        self.notebooks = Notebooks(self.documents)
        self.door = EditorDoor(client, self.documents)
        self.service = service = composition.service(self.door)
        self.model_connection = self.door.model_connection
        self.sessions = service.sessions
        self.turns = service.turns
        self.review = service.review
        self.chores = service.chores
        names = OtherNames(lambda: service.roots)
        self.attention = Attention(self.documents, loop_time, self.display, names)
        self.problems = EditorProblems(client, self.documents, lambda: self.settings)
        self.code = EditorCode(client, self.problems)
        self.prompting = Prompting(self.documents, self.attention, lambda: self.settings)
        self.turn_display = TurnDisplay(client, lambda: self.settings)
        self.answering = Answering(client, self.chores)
        self.stillness = Stillness(
            loop_time,
            lambda: self.settings.question_pause_s,
            lambda words: client.show(types.MessageType.Info, words),
            self.door.hold,
        )
        client.still = self.stillness.wait
        self.documents.on_typing = self.stillness.typed
        service.on_session.append(self._give_problems)
        self.after_turn = service.after_turn
        self.after_turn.append(self._offer)

    @property
    def settings(self) -> Settings:
        """The settings in force in the current session."""
        return self.service.settings

    @property
    def root(self) -> Path:
        """The first folder of the workspace.

        Raises:
            UserError: No folder is open.
        """
        return self.service.root

    @property
    def workspace(self) -> EditorWorkspace:
        """The user's files with the editor's unsaved text."""
        workspace = self.service.workspace
        assert isinstance(workspace, EditorWorkspace)
        return workspace

    def start(self, roots: tuple[Path, ...], options: Mapping[str, Any]) -> None:
        """Set the workspace's folders and the options of ``initialize``, and start."""
        if is_demo(roots):
            self.composition.play_demo()
            self.service.play_demo(roots)
        elif self.client.features.is_restricted:
            self.service.trust.hold_back()
        elif self.client.features.claims_trust and self.composition.editor_asks_trust:
            self.service.trust.let_edit(roots, "your answer in the editor")
        self.service.start(roots, options)
        self.sessions.workspace = EditorWorkspace(
            self.documents,
            self.client,
            self.composition.disk(roots),
            apply_timeout_s=self.settings.apply_edit_timeout_s,
            confirm_timeout_s=self.settings.answer_timeout_s,
            notebooks=self.notebooks,
        )

    def greet(self) -> None:
        """Show problems of the settings as soon as the editor can show messages."""
        self.service.greet()
        problem = self.service.configuration.problem
        if problem:
            self.client.fail(problem)

    async def reconfigure(self, section: object) -> None:
        """Read the editor's changed settings; ``section`` is the part that the editor sent."""
        configuration = self.service.configuration
        is_asked = self.client.features.configuration
        self.service.warn(await (configuration.ask() if is_asked else configuration.take(section)))

    def display(self, document: Document) -> str:
        """Return a document's displayed name, relative to the first root that contains it."""
        return shown_name(document, self.service.roots)

    async def prompt(self, params: protocol.PromptParams) -> Ticket:
        """Send the user's prompt.

        Raises:
            UserError: The prompt cannot be sent.
        """
        await self.service.check_prompt(params.text, params.session)
        prompt = await self.prompting.with_attached(params, self.service.workspace)
        return await self.service.prompt(
            prompt,
            params.session,
            params.mode,
            self.turn_display.nothing,
            is_beside=params.beside,
        )

    async def steer(
        self, params: protocol.SteerParams, *, numbered: bool = False
    ) -> protocol.SteerResult:
        """Send a message to the running turn; ``numbered`` says whether options had numbers.

        Raises:
            UserError: No turn runs in the session, or too many messages are already waiting.
        """
        steered, outcome = await self.service.steer(params.text, params.session, numbered=numbered)
        assert steered.session is not None
        return protocol.SteerResult(
            session=steered.session.id,
            turn=steered.number,
            delivered=True,
            is_choice=outcome == "chosen",
            is_answered=outcome == "answered",
        )

    def begin(
        self, prompt: Prompt, session: str, mode: Mode | None = None, *, is_shown: bool = False
    ) -> Ticket:
        """Begin a turn by a button, before queued prompts; ``is_shown`` says if a chat shows it."""
        on_end = self.turn_display.nothing if is_shown else self.turn_display.summary
        ticket = self.service.begin(prompt, session, on_end, mode)
        self.chores.begin(self.tell_error(ticket))
        return ticket

    async def tell_error(self, ticket: Ticket) -> None:
        """Show why a prompt could not begin, if no request waits for the answer."""
        await ticket.ended.wait()
        if ticket.error is not None:
            self.client.fail(ticket.error)

    def _give_problems(self, session: Session) -> None:
        """Give the editor's problems and code answers to a session's features."""
        features = session.parts.features
        features.door(SessionChecks).source = self.problems
        features.door(Navigator).editor = self.code
        features.door(StateMentions).problems = lambda: reported_problems(
            self.attention.all_problems(), self.service.roots, self.settings
        )

    def _offer(self, ticket: Ticket) -> None:
        """After a turn, offer what the user can do about a failure, or about held prompts."""
        service = self.service
        self.chores.begin(
            self.turn_display.afterwards(
                ticket, self.turns, service.again, service.again_in_new_session
            )
        )
