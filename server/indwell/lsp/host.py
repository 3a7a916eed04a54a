"""What one server process holds: the editor, its documents, the session, the turns.

Each public method is what one request or command does; the handlers in ``server`` only translate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec
from lsprotocol import types

from indwell.agent import events
from indwell.agent.session import Prompt, Session
from indwell.context.ide import Problem, Selection
from indwell.errors import UserError
from indwell.lsp import protocol
from indwell.lsp.attention import Attention, lines_of, touching_problems
from indwell.lsp.client import Client
from indwell.lsp.documents import Document, Documents
from indwell.lsp.progress import summary
from indwell.lsp.turns import Running, Turns
from indwell.policy.approvals import Approver, one_line
from indwell.prompt.tasks import TITLES, Task, named, task_words
from indwell.settings.model import Mode, Settings
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display


class Configured(msgspec.Struct, frozen=True):
    """Settings, what was ignored in them, and why they cannot be used if they cannot."""

    settings: Settings
    notices: tuple[str, ...] = ()
    problem: str = ""


class Backend(Protocol):
    """What the composition root gives to the protocol layer."""

    def configure(self, options: Mapping[str, Any], roots: tuple[Path, ...]) -> Configured:
        """Read the settings; never raises for what is wrong in them."""
        ...

    def workspace(
        self, roots: tuple[Path, ...], documents: Documents, client: Client, settings: Settings
    ) -> Workspace:
        """The user's files through the editor."""
        ...

    def approver(self, client: Client, settings: Settings) -> Approver:
        """Who asks the user."""
        ...

    async def open_session(
        self, workspace: Workspace, approver: Approver, settings: Callable[[], Settings]
    ) -> Session:
        """Begin a session; ``settings`` gives those in force at the moment.

        Raises:
            UserError: There is no usable model, or no place for the log.
        """
        ...

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""
        ...


class Host:
    """One editor's server.

    Args:
        client: The editor.
        backend: Makes settings, workspace and sessions.
    """

    def __init__(self, client: Client, backend: Backend) -> None:
        self.client = client
        self.documents = Documents()
        self.turns = Turns(client)
        self.attention = Attention(self.documents, backend.monotonic, self.display)
        self._backend = backend
        self._configured = Configured(Settings())
        self._roots: tuple[Path, ...] = ()
        self._workspace: Workspace | None = None
        self._session: Session | None = None
        self._opening = asyncio.Lock()

    @property
    def settings(self) -> Settings:
        """Those in force."""
        return self._configured.settings

    def start(self, roots: tuple[Path, ...], options: Mapping[str, Any]) -> None:
        """The editor has said where it works and what it wants."""
        self._roots = roots
        self._configured = self._backend.configure(options, roots)
        self._workspace = self._backend.workspace(roots, self.documents, self.client, self.settings)

    def greet(self) -> None:
        """Say what was wrong in the settings, once the editor can show it."""
        notices = self._configured.notices
        if notices:
            self.client.show(types.MessageType.Warning, "Indwell: " + "\n".join(notices))
        if self._configured.problem:
            self.client.show(types.MessageType.Error, f"Indwell: {self._configured.problem}")

    def display(self, document: Document) -> str:
        """A document's name as people read it: relative to the first root that holds it."""
        if document.path is None:
            return one_line(document.uri)
        return display(document.path, self._roots)

    async def run_task(self, task: Task, arguments: protocol.TaskArguments) -> Running | None:
        """Begin the turn of a code action; None if the user closed the question it needs.

        Raises:
            UserError: It cannot begin, in plain words.
        """
        self._check_usable()
        document = self._document(arguments.uri)
        words = arguments.text
        if task in {"ask", "refactor"} and not words and self.client.features.has("ask"):
            question = "Ask about this" if task == "ask" else "Refactor how"
            typed = await self.client.ask(
                protocol.AskParams(prompt=question), self.settings.answer_timeout_s
            )
            if typed is None:
                return None
            words = typed
        if task == "ask" and not words.strip():
            raise UserError("there is no question; give it as `text`, or in an editor that can ask")
        prompt = self._task_prompt(task, document, arguments, words)
        shown = self._show_answer if task in {"explain", "ask"} else self._show_summary
        return self.turns.start(await self._current_session(), prompt, shown)

    async def prompt(self, params: protocol.PromptParams) -> Running:
        """Begin a turn with the user's own words.

        Raises:
            UserError: It cannot begin, in plain words.
        """
        self._check_usable()
        if not params.text.strip():
            raise UserError("the prompt is empty; write what should be done")
        current = self._session.id if self._session else None
        if params.session not in {None, "new", current}:
            raise UserError(
                f"there is no open session {params.session!r}; leave `session` out, or say 'new'"
            )
        if params.session == "new":
            self.turns.check_free()
            await self.new_session()
        session = await self._current_session()
        prompt = Prompt(
            words=params.text,
            title=" ".join(params.text.split())[:60],
            selection=self.attention.selection(self.settings),
            opened=self.attention.opened(self.settings),
        )
        return self.turns.start(session, prompt, self._show_nothing)

    async def new_session(self) -> None:
        """Let the next prompt begin a new session; a running turn is stopped first."""
        await self.turns.drain()
        if self._session is not None:
            old, self._session = self._session, None
            await old.close()

    async def set_mode(self, mode: Mode) -> None:
        """Choose how much is asked; from here it counts for the next call."""
        settings = msgspec.structs.replace(self.settings, mode=mode)
        self._configured = msgspec.structs.replace(self._configured, settings=settings)

    async def stop(self) -> None:
        """Stop what runs and write down what is not written yet."""
        await self.turns.drain()
        if self._session is not None:
            await self._session.close()

    def _check_usable(self) -> None:
        if self._configured.problem:
            raise UserError(self._configured.problem)
        if not self._roots:
            raise UserError("no folder is open; open the folder of the project, and try again")

    def _document(self, uri: str | None) -> Document:
        wanted = uri or self.attention.opened_uri()
        document = self.documents.get(wanted) if wanted else None
        if document is None:
            raise UserError(f"{wanted or 'the document'} is not open in the editor; open it first")
        return document

    def _task_prompt(
        self,
        task: Task,
        document: Document,
        arguments: protocol.TaskArguments,
        words: str,
    ) -> Prompt:
        settings = self.settings
        known = self.attention.problems(document.uri)
        problems = arguments.diagnostics or known
        if not settings.attach_diagnostics or self.attention.is_denied(document, settings):
            known = problems = ()
        selection: Selection | None = None
        # The name is the repository's, the words are the user's: an odd name stands in quotes.
        place = named(self.display(document))
        reported: tuple[Problem, ...] = ()
        if task == "fixAll":
            reported = touching_problems(known or problems, 0, len(document.lines))
        elif arguments.range is not None:
            note = ""
            if arguments.version is not None and arguments.version != document.version:
                note = "the document was changed since, so the lines may have moved"
            selection = self.attention.at(document, arguments.range, problems, settings, note=note)
            first, last = lines_of(arguments.range, len(document.lines))
            place += _lines_words(first + 1, last + 1)
            if selection is None:
                reported = touching_problems(problems, first, last)
        else:
            selection = self.attention.selection(settings)
            if selection is not None:
                place = named(selection.path) + _lines_words(
                    selection.first_line, selection.last_line
                )
        return Prompt(
            words=task_words(task, place=place, words=words),
            title=f"{TITLES[task]}: {place}",
            selection=selection,
            opened=self.attention.opened(settings),
            problems=reported,
        )

    async def _current_session(self) -> Session:
        async with self._opening:  # two prompts at once are for one session
            if self._session is None:
                assert self._workspace is not None
                approver = self._backend.approver(self.client, self.settings)
                self._session = await self._backend.open_session(
                    self._workspace, approver, lambda: self.settings
                )
            return self._session

    async def _show_nothing(self, session: Session, finished: events.TurnFinished) -> None:
        """The request's own answer says it."""

    async def _show_summary(self, session: Session, finished: events.TurnFinished) -> None:
        if self.client.features.has("events"):
            return
        if finished.ending == "done" and not finished.changes:
            await self._show_answer(session, finished)
            return
        is_good = finished.ending == "done"
        level = types.MessageType.Info if is_good else types.MessageType.Error
        self.client.show(level, f"Indwell: {summary(finished)}")

    async def _show_answer(self, session: Session, finished: events.TurnFinished) -> None:
        if self.client.features.has("events"):
            return
        if finished.ending != "done":
            self.client.show(types.MessageType.Error, f"Indwell: {finished.message}")
        if finished.answer:
            path = await session.parts.spill(f"answer-{finished.turn}.md", finished.answer)
            if not await self.client.show_document(path.as_uri()):
                self.client.show(types.MessageType.Info, finished.answer)


def _lines_words(first: int, last: int) -> str:
    return f", line {first}" if first == last else f", lines {first}-{last}"
