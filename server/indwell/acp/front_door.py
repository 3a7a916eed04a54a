"""Connects a session to an ACP client: shows the session's events, and asks the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from acp import schema
from indwell.acp.client import AcpClient
from indwell.acp.updates import SessionUpdates, ended, text_content
from indwell.agent.core import events
from indwell.agent.features.questions import CLOSED, UserQuestion, answer_of
from indwell.agent.features.questions import Answer as UserAnswer
from indwell.policy.approvals import Answer, Approver, AskedKind, Chosen, Question, Reply
from indwell.service.front_door import AskingSession, translated_event
from indwell.settings.model import DAY_S, Settings
from indwell.translation import translation_from_environment

NO, YES, ONCE, REMEMBER = "No", "Yes", "Once", "Remember it"
SESSION, ALWAYS, BY_HUNK = "This session", "Always: ", "Hunk by hunk…"
OTHER_WORDS = "Answer in other words"
NO_ANSWER = "No answer: the model decides"
RULE_CHARACTERS = 100  # the longest rule on a button; a longer rule is shown in the question's text
ASKED = "The model asks (an answer permits nothing; never give it a password or a key)"
_ANSWERS: Mapping[str, Answer] = {
    "no": "no",
    "once": "once",
    "session": "session",
    "always": "always",
}
_KINDS: Mapping[AskedKind, schema.ToolKind] = {
    "command": "execute",
    "edit": "edit",
    "read": "read",
    "other": "other",
}


class AcpPerson:
    """Asks for permissions and answers in the client; implements ``Approver`` and ``Asker``.

    Args:
        door: The session's connection to the client.
        timeout_s: How long the user has to answer a permission question, in seconds.
    """

    def __init__(self, door: AcpDoor, *, timeout_s: float) -> None:
        self._door = door
        self._timeout_s = timeout_s

    async def ask(self, question: Question) -> Reply:
        """Show exactly the requested command or edit; a closed dialog means no."""
        say = self._door.translation.of
        once = say(REMEMBER if question.keeps else ONCE)
        options = [_option("no", say(NO), "reject_once"), _option("once", once, "allow_once")]
        rule = question.rule
        if rule:
            is_long = len(rule) > RULE_CHARACTERS or "\n" in rule
            always = say(f"{ALWAYS}{'the rule below' if is_long else rule}")
            options += [
                _option("session", say(SESSION), "allow_always"),
                _option("always", always, "allow_always"),
            ]
        if question.hunks:
            options.append(_option("hunks", say(BY_HUNK), "allow_once"))
        notes = [say(one) for one in (question.reason, *question.notes)]
        if rule:
            notes.append(say("Rule: …").removesuffix("…") + rule)
        words = f"{_shown(question.detail)}\n\n{_shown(chr(10).join(notes))}"
        chosen = await self._door.permission(
            question.title, words, options, self._timeout_s, _KINDS[question.kind], question.id
        )
        if chosen == "hunks" and question.hunks:
            return await self._ask_by_hunk(question)
        answer = _ANSWERS.get(chosen or "", "no")
        return answer if question.rule or answer in {"no", "once"} else "no"

    async def _ask_by_hunk(self, question: Question) -> Reply:
        """Ask about each hunk; a closed dialog rejects the shown hunk and all later hunks."""
        allowed: list[str] = []
        say = self._door.translation.of
        for number, hunk in enumerate(question.hunks, 1):
            title = f"Hunk {number} of {len(question.hunks)}, {hunk.header}"
            options = [
                _option("no", say(NO), "reject_once"),
                _option("yes", say(YES), "allow_once"),
            ]
            chosen = await self._door.permission(
                title, _shown(hunk.text, "diff"), options, self._timeout_s, "edit", question.id
            )
            if chosen is None:
                break
            if chosen == "yes":
                allowed.append(hunk.id)
        return Chosen(tuple(allowed)) if allowed else "no"

    async def ready(self, question: UserQuestion) -> None:
        """Return at once, because the client itself decides when to show a question."""
        del question

    async def answer(self, question: UserQuestion) -> UserAnswer:
        """Ask with buttons, or with a form where the client has forms."""
        say = self._door.translation.of
        if question.options:
            options = [
                _option(str(index), one, "allow_once") for index, one in enumerate(question.options)
            ]
            if self._door.client.has_forms:
                options.append(_option("words", say(OTHER_WORDS), "allow_once"))
            options.append(_option("none", say(NO_ANSWER), "reject_once"))
            chosen = await self._door.permission(
                ASKED, _shown(question.text), options, DAY_S, "think", question.id
            )
            if chosen is not None and chosen.isdecimal():
                return UserAnswer(chosen=int(chosen))
            if chosen != "words":
                return CLOSED
        elif not self._door.client.has_forms:
            head = f"{say('The model asks')}: {question.text}"
            self._door.remark(
                head,
                "This client has no form for an answer: stop the turn and write your answer, or "
                "let the model decide.",
            )
            return CLOSED
        typed = await self._door.type_line(f"{say(ASKED)}:\n{_shown(question.text)}", "", DAY_S)
        return CLOSED if typed is None else answer_of(question.options, typed)


class AcpDoor:
    """Shows one session in a client; implements ``FrontDoor``.

    Args:
        client: The client.
        root: The folder of the session.

    Attributes:
        client: The client.
        session: The session's id, or empty until the client knows the session. Until then,
            questions get no answer, and remarks are delayed.
        updates: Turns events into updates.
        n_open: The number of questions that the user has not answered yet.
        translation: The translation into the language that the environment names; the protocol
            names none.
    """

    has_section = False
    # The message about a missing model names the command that connects a model.
    leads_to_model = True
    trust_hint = "You can also decide with `indwell trust` in a terminal."
    asks_about_files = False
    models = None

    def __init__(self, client: AcpClient, root: Path) -> None:
        self.client = client
        self.session = ""
        self.updates = SessionUpdates(root)
        self._calls: dict[str, str] = {}
        self._remarks: list[str] = []
        self._n_questions = 0
        self.n_open = 0
        self.translation = translation_from_environment(os.environ)

    @property
    def can_type(self) -> bool:
        """Return whether the user can type an answer, because the client has forms."""
        return self.client.has_forms

    def open(self, session: str) -> None:
        """Begin to show the session under the id that the client now knows."""
        self.session = session

    def forget_remarks(self) -> None:
        """Discard the delayed remarks about a question that the client could not show."""
        self._remarks.clear()

    def show_remarks(self) -> None:
        """Show the remarks that were delayed until the client knew the session."""
        waiting, self._remarks = self._remarks, []
        for words in dict.fromkeys(waiting):
            self.client.update(self.session, self.updates.remark(words))

    def tell(self, words: str) -> None:
        """Show a sentence to the user."""
        self.remark("", words)

    def remark(self, head: str, words: str) -> None:
        """Show a sentence after a text that is never translated, such as one by the model."""
        self._remarks.append("\n".join(filter(None, (head, self.translation.of(words)))))
        if self.session:
            self.show_remarks()

    def warn(self, words: str) -> None:
        """Show a warning to the user."""
        self.tell(words)

    def event(self, session: str, seq: int, event: events.Event) -> None:
        """Show an event of the session."""
        del session, seq
        if isinstance(event, events.PermissionAsked):
            self._calls[event.question] = event.id
        for update in self.updates.of_event(translated_event(event, self.translation)):
            self.client.update(self.session, update)

    async def begin_turn(self, session: str, token: str, title: str) -> None:
        """Do nothing, because the client itself shows that its prompt runs."""
        del session, token, title

    async def choose(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask the user to choose a title; return None if the user does not choose."""
        return await self._choice(question, titles, timeout_s, first="allow_once")

    async def allow(self, question: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        """Ask the user to choose a title; the first title must be the harmless choice."""
        return await self._choice(question, titles, timeout_s, first="reject_once")

    async def _choice(
        self,
        question: str,
        titles: tuple[str, ...],
        timeout_s: float,
        *,
        first: schema.PermissionOptionKind,
    ) -> str | None:
        options = [
            _option(str(index), self.translation.of(title), first if index == 0 else "allow_once")
            for index, title in enumerate(titles)
        ]
        head, _, rest = self.translation.of(question).partition("\n")
        chosen = await self.permission(head, rest, options, timeout_s, "other", "")
        is_title = chosen is not None and chosen.isdecimal() and int(chosen) < len(titles)
        return titles[int(chosen)] if is_title and chosen is not None else None

    async def permission(  # noqa: PLR0917 - what the protocol's request consists of
        self,
        title: str,
        words: str,
        options: Sequence[schema.PermissionOption],
        timeout_s: float,
        kind: schema.ToolKind,
        about: str,
    ) -> str | None:
        """Ask the user with a permission request; return the id of the chosen option.

        Args:
            title: The question on one line.
            words: Details of the question, as Markdown; may be empty.
            options: The answers to choose from.
            timeout_s: How long the user has to answer, in seconds.
            kind: The kind of the tool call in the question.
            about: The id of the tool call, or an id for a question about no tool call.

        Returns:
            None if the user chose no option, or if the client does not know the session yet.
        """
        if not self.session:
            return None
        self._n_questions += 1
        call = self._calls.get(about) or about or f"question-{self._n_questions}"
        content: list[Any] | None = [text_content(words)] if words.strip() else None
        asked = schema.ToolCallUpdate(
            tool_call_id=call,
            title=self.translation.of(title),
            kind=kind,
            status="pending",
            content=content,
        )
        with self._open():
            chosen = await self.client.permission(self.session, asked, options, timeout_s)
        if call.startswith("question-"):
            self.client.update(self.session, ended(call))
        known = {one.option_id for one in options}
        return chosen if chosen in known else None

    async def type_line(self, prompt: str, placeholder: str, timeout_s: float) -> str | None:
        """Ask the user to type a line in a form; return None if the user does not answer."""
        del placeholder
        if not self.session or not self.client.has_forms:
            return None
        with self._open():
            return await self.client.typed(self.session, prompt, timeout_s)

    @contextmanager
    def _open(self) -> Iterator[None]:
        self.n_open += 1
        try:
            yield
        finally:
            self.n_open -= 1

    async def show_page(self, page: Path) -> bool:
        """Return False, because the protocol cannot open a page."""
        del page
        return False

    async def lead_to_model(self, reason: str, timeout_s: float) -> bool:
        """Return False, because the request's error already names the command for a model."""
        del reason, timeout_s
        return False

    def model_hint(self, others: Sequence[str]) -> str:
        """Return a sentence that says where the client offers other models."""
        name = next(iter(others), "another model")
        return f"choose another model, such as {name}, in the session's options"

    def changing(self, paths: Iterable[Path]) -> AbstractAsyncContextManager[None]:
        """Do nothing, because the client saves the files that it writes."""
        del paths
        return nullcontext()

    async def section(self) -> object:
        """Return nothing, because the protocol sends no settings of a client."""
        return None

    def approver(self, settings: Settings, whose: Callable[[], AskingSession]) -> Approver:
        """Return the approver that asks the user in the client."""
        del whose  # the client shows each question in the question's own session
        return AcpPerson(self, timeout_s=settings.answer_timeout_s)


def _option(
    identifier: str, name: str, kind: schema.PermissionOptionKind
) -> schema.PermissionOption:
    return schema.PermissionOption(option_id=identifier, name=name, kind=kind)


def _shown(text: str, language: str = "") -> str:
    """Return the exact text in a code fence that the text cannot close."""
    fence = "```"
    while fence in text:
        fence += "`"
    language = "diff" if "\n@@ " in text or text.startswith("@@ ") else language
    return f"{fence}{language}\n{text}\n{fence}"
