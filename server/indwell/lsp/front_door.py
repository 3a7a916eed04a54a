"""Connects the service to an editor: shows events, and asks the user in the editor."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.agent.core.events import Event, Notice, TurnFinished
from indwell.agent.features.questions import CLOSED, UserQuestion
from indwell.agent.features.questions import Answer as UserAnswer
from indwell.context.untrusted_text import short_line
from indwell.edges import loop_time
from indwell.errors import UserError
from indwell.lsp.editor.client import Client
from indwell.lsp.editor.editor_model_connection import EditorModelConnection
from indwell.lsp.editor.progress import TurnProgress
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.methods import AskParams
from indwell.lsp.workspace.buffer_edits import clean_ones, save_ours
from indwell.lsp.workspace.documents import Documents
from indwell.policy.approvals import Answer, Approver, Chosen, Question, Reply
from indwell.service.front_door import AskingSession
from indwell.settings.model import DAY_S, Settings

EventListener: TypeAlias = tuple[type | tuple[type, ...], Callable[[str, Event], None]]
"""The kinds of events, and a function that receives them with the id of their session."""

NO = "No"
YES = "Yes"
ONCE = "Once"
REMEMBER = "Remember it"  # replaces "once" when the user answers which rule to store
SESSION = "This session"
ALWAYS = "Always: "
BY_HUNK = "Hunk by hunk…"
TITLE_CHARACTERS = 60  # the limit of characters for the title of the session that asks
BUTTON_LIMIT = 100  # the limit of characters for a button, which editors still show as a whole

_ANSWERS: dict[str, Answer] = {"no": "no", "once": "once", "session": "session", "always": "always"}


class EditorApprover:
    """Asks for permissions in the editor; implements ``Approver``. A time-out means no.

    Args:
        client: The editor.
        timeout_s: How long the user has to answer, in seconds.
        whose: Returns the session that asks.
    """

    def __init__(
        self,
        client: Client,
        *,
        timeout_s: float,
        whose: Callable[[], AskingSession] = AskingSession,
    ) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._whose = whose

    async def ask(self, question: Question) -> Reply:
        """Ask the user; the reply says whether the user answered in time.

        Editors show one message at a time, so a question waits until earlier questions are
        answered.
        """
        whose = short_line(self._whose().title, TITLE_CHARACTERS)
        if whose:
            title = f"In the session “{whose}”: {question.title}"
            question = msgspec.structs.replace(question, title=title)
        is_rich = self._client.features.has("permission")
        async with nullcontext() if is_rich else self._client.asking:
            return await self._ask_in_time(question)

    async def _ask_in_time(self, question: Question) -> Reply:
        await self._client.ready()  # the time-out starts when the user can see the question
        began = loop_time()
        answer = await self._ask(question)
        late = loop_time() - began >= self._timeout_s
        return "unanswered" if answer == "no" and late else answer

    async def _ask(self, question: Question) -> Reply:
        """Ask with ``indwell/permission``, or with a message if the client lacks that request."""
        if self._client.features.has("permission"):
            said = await self._client.permission(
                _params(question, self._whose().id), self._timeout_s
            )
            answer = _ANSWERS.get(said.answer, "no") if said is not None else "no"
            if said is not None and answer != "no" and said.hunks is not None:
                # A yes to some hunks applies to this call only, because no rule can name hunks.
                return Chosen(said.hunks) if question.hunks else "no"
            return answer if question.rule or answer in {"no", "once"} else "no"
        return await self._ask_plainly(question)

    async def _ask_plainly(self, question: Question) -> Reply:
        # Each sentence is translated alone, so that no path or rule is taken for a sentence.
        say = self._client.translation.of
        always = f"{ALWAYS}{question.rule}"
        rule = ""
        if len(always) > BUTTON_LIMIT or "\n" in always:
            beginning = say("Rule: …").removesuffix("…")
            always, rule = f"{ALWAYS}the rule above", f"\n\n{beginning}{question.rule}"
        once = REMEMBER if question.keeps else ONCE
        titles: tuple[str, ...] = (NO, once)
        if question.rule:
            titles = (NO, once, SESSION, always)
        if question.hunks:
            titles = (*titles, BY_HUNK)
        notes = "".join(f"\n{say(note)}" for note in question.notes)
        head = f"{say(question.title)} ({say(question.reason)})"
        message = f"{head}\n{marked(question.detail)}{notes}{rule}"
        chosen = await self._client.allow(message, titles, self._timeout_s, is_told=True)
        if chosen is None or chosen not in titles:
            return "no"
        if chosen == BY_HUNK:
            return await self._ask_by_hunk(question)
        by_title: dict[str, Answer] = {once: "once", SESSION: "session", always: "always"}
        return by_title.get(chosen, "no")

    async def _ask_by_hunk(self, question: Question) -> Reply:
        """Ask about each hunk; without an answer, refuse the hunk and all later hunks."""
        allowed: list[str] = []
        say = self._client.translation.of
        for number, hunk in enumerate(question.hunks, 1):
            place = say(f"Hunk {number} of {len(question.hunks)}, {hunk.header}")
            message = f"{say(question.title)} {place}\n{marked(hunk.text)}"
            chosen = await self._client.allow(message, (NO, YES), self._timeout_s, is_told=True)
            if chosen == YES:
                allowed.append(hunk.id)
            elif chosen != NO:
                break
        return Chosen(tuple(allowed)) if allowed else "no"


def marked(text: str) -> str:
    """Put a sign before each line, so that the text cannot imitate a message by Indwell."""
    return "\n".join(f"│ {line}" for line in text.split("\n"))


def _params(question: Question, session: str) -> protocol.PermissionParams:
    """Return the params of the permission request."""
    told = msgspec.structs.asdict(question)
    del told["uncovered"], told["keeps"]
    told["hunks"] = tuple(
        protocol.HunkShown(id=one.id, header=one.header, text=one.text) for one in question.hunks
    )
    return protocol.PermissionParams(**told, session=session)


IN_CHAT = "Answer in the chat"
IN_WORDS = "Answer in other words"
NO_ANSWER = "No answer"
HEAD = "Indwell: the model asks (an answer permits nothing)"


class EditorPerson(EditorApprover):
    """Asks for permissions and answers in the editor; implements ``Approver`` and ``Asker``.

    Args:
        client: The editor.
        timeout_s: How long the user has to answer a permission question, in seconds.
        whose: Returns the session that asks.
    """

    def __init__(
        self,
        client: Client,
        *,
        timeout_s: float,
        whose: Callable[[], AskingSession] = AskingSession,
    ) -> None:
        super().__init__(client, timeout_s=timeout_s, whose=whose)
        self._editor = client

    async def ready(self, question: UserQuestion) -> None:
        """Wait until the question may be shown; in a chat, return at once."""
        chat = self._editor.chat
        if chat is None or not chat.is_open(question.session):
            await self._editor.ready()

    async def answer(self, question: UserQuestion) -> UserAnswer:
        """Ask in the chat, in the client's own box, or with a message, until the caller cancels."""
        features, chat = self._editor.features, self._editor.chat
        if features.has("ask") and features.has("permission"):
            return await self._in_box(question)
        if chat is not None and chat.is_open(question.session):
            # Wait until the call is cancelled, because a message in the chat steers the turn and so
            # ends the wait.
            await asyncio.Event().wait()
        if question.options or not features.has("ask"):
            return await self._in_message(question)
        return await self._in_box(question)

    async def _in_box(self, question: UserQuestion) -> UserAnswer:
        """Ask in an input box or a card of the client, which may also show the options."""
        params = AskParams(
            prompt=question.text,
            by="model",
            options=question.options,
            session=question.session,
            id=question.id,
        )
        given = await self._editor.answer(params, DAY_S)
        if given is None:
            return CLOSED
        if given.chosen is not None and 0 <= given.chosen < len(question.options):
            return UserAnswer(chosen=given.chosen)
        return UserAnswer(words=given.text or "")

    async def _in_message(self, question: UserQuestion) -> UserAnswer:
        options = tuple(f"{number}. {one}" for number, one in enumerate(question.options, 1))
        has_box = self._editor.features.has("ask")
        elsewhere = IN_WORDS if has_box else IN_CHAT
        titles = (*options, elsewhere, NO_ANSWER)
        message = f"{HEAD}:\n{marked(question.text)}"
        chosen = await self._editor.choose(message, titles, DAY_S)
        if chosen in options:
            return UserAnswer(chosen=options.index(chosen))
        if chosen != elsewhere:
            return CLOSED
        if has_box:
            return await self._in_box(question)
        chat = self._editor.chat
        if chat is None:
            return CLOSED
        try:
            await chat.lead_to(question)
        except UserError as error:
            self._editor.show(types.MessageType.Error, f"Indwell: {error}")
            return CLOSED
        await asyncio.Event().wait()  # a yes to some hunks counts once
        return CLOSED


SECTION = "indwell"


class EditorDoor:
    """Shows sessions in an editor with LSP and Indwell's requests; implements ``FrontDoor``.

    Args:
        client: The editor.
        documents: The open documents of the editor.

    Attributes:
        model_connection: The connection to the client's own models.
        listeners: The functions that receive events of given kinds.
    """

    trust_hint = "In the editor: the command `indwell.trust`."

    def __init__(self, client: Client, documents: Documents) -> None:
        self._client = client
        self._documents = documents
        self.model_connection = EditorModelConnection(client)
        # The progress displays of the running turns, by session.
        self._progress: dict[str, TurnProgress] = {}
        self.listeners: list[EventListener] = []

    @property
    def has_section(self) -> bool:
        """True if the editor can be asked for its settings."""
        return self._client.features.configuration

    @property
    def leads_to_model(self) -> bool:
        """True if the client has a dialog to connect a model."""
        return self._client.features.has("firstRun")

    @property
    def can_type(self) -> bool:
        """True if the client has a box for a line of text."""
        return self._client.features.has("ask")

    @property
    def asks_about_files(self) -> bool:
        """True if the client shows events, and asks the user the questions in the events."""
        return self._client.features.has("events")

    @property
    def models(self) -> EditorModelConnection | None:
        """The connection to the client's language models, or None if the client has no models."""
        return self.model_connection if self._client.features.has("models") else None

    def tell(self, words: str) -> None:
        """Show a message to the user."""
        self._client.show(types.MessageType.Info, f"Indwell: {words}")

    def warn(self, words: str) -> None:
        """Show a message to the user as a warning."""
        self._client.show(types.MessageType.Warning, f"Indwell: {words}")

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Show a work-done progress for a turn."""
        progress = self._progress[session] = TurnProgress(self._client, token)
        await progress.begin(title)

    def event(self, session: str, seq: int, event: Event) -> None:
        """Send the event, and show it as progress, as a warning, or as the end of the turn."""
        try:
            self._client.event(session, seq, event)
        finally:
            for kinds, hear in tuple(self.listeners):
                if isinstance(event, kinds):
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
        """Show whether a question waits until the user stops typing."""
        for progress in self._progress.values():
            progress.hold(is_held=is_held)

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask the user with a message that has buttons."""
        return await self._client.choose(question, titles, timeout_s)

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask with buttons; if the answer may be an accident, ask for a confirmation."""
        return await self._client.allow(question, titles, timeout_s)

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """Ask the client to connect a model with the user, in a dialog."""
        return await self._client.first_run(reason, timeout_s)

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Open the client's box for a line of text."""
        return await self._client.ask(AskParams(prompt=prompt, placeholder=placeholder), timeout_s)

    async def show_page(self, page: Path) -> bool:
        """Open a document in the editor."""
        return await self._client.show_document(page.as_uri())

    def model_hint(self, others: Sequence[str]) -> str:
        """Return a sentence that says how the user can name another model of the settings."""
        del others
        return "name a model of your settings to continue with it"

    @asynccontextmanager
    async def changing(self, paths: Iterable[Path]) -> AsyncIterator[None]:
        """Ask the editor to save files that were saved before and that only Indwell has changed."""
        clean = clean_ones(self._documents.at, paths)
        yield
        await save_ours(self._client, clean)

    async def section(self) -> object:
        """Return the editor's section ``indwell``."""
        return await self._client.configuration(SECTION)

    def approver(self, settings: Settings, whose: Callable[[], AskingSession]) -> Approver:
        """The approver that asks the user through the editor, also for the model's questions."""
        return EditorPerson(self._client, timeout_s=settings.answer_timeout_s, whose=whose)
