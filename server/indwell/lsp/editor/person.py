"""Asks the user at the editor: for permission, and for answers to the model's questions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from time import monotonic

import msgspec

from indwell.agent.features.questions import CLOSED, UserQuestion
from indwell.agent.features.questions import Answer as UserAnswer
from indwell.errors import UserError
from indwell.lsp.editor.client import Client
from indwell.lsp.messages import questions
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.questions import AskParams
from indwell.policy.approvals import Answer, Chosen, Question, Reply, short_line
from indwell.settings.model import DAY_S

NO = "No"
YES = "Yes"
ONCE = "Once"
REMEMBER = "Remember it"  # "once" makes no sense for what is stored
SESSION = "This session"
ALWAYS = "Always: "
BY_HUNK = "Hunk by hunk…"
TITLE_CHARACTERS = 60  # of the title of the session that asks
BUTTON_LIMIT = 100  # characters of a button; editors still show all of them

_ANSWERS: dict[str, Answer] = {"no": "no", "once": "once", "session": "session", "always": "always"}


class EditorApprover:
    """Implements ``Approver`` over the wire; no answer in time means no.

    Args:
        client: The editor.
        timeout_s: How long the user has to answer, in seconds.
        whose: Returns the title of the session that asks; empty for the current one.
    """

    def __init__(
        self, client: Client, *, timeout_s: float, whose: Callable[[], str] = lambda: ""
    ) -> None:
        self._client = client
        self._timeout_s = timeout_s
        self._whose = whose

    async def ask(self, question: Question) -> Reply:
        """Ask; the reply says if nobody answered in time.

        Editors show one message at a time, so questions of several turns wait for one another.
        """
        whose = short_line(self._whose(), TITLE_CHARACTERS)
        if whose:
            title = f"In the session “{whose}”: {question.title}"
            question = msgspec.structs.replace(question, title=title)
        is_rich = self._client.features.has("permission")
        async with nullcontext() if is_rich else self._client.asking:
            return await self._ask_in_time(question)

    async def _ask_in_time(self, question: Question) -> Reply:
        await self._client.ready()  # the time-out begins when the user can see the question
        began = monotonic()
        answer = await self._ask(question)
        late = monotonic() - began >= self._timeout_s
        return "unanswered" if answer == "no" and late else answer

    async def _ask(self, question: Question) -> Reply:
        """Ask by ``indwell/permission`` if the client has it, else by ``showMessageRequest``."""
        if self._client.features.has("permission"):
            said = await self._client.permission(_params(question), self._timeout_s)
            answer = _ANSWERS.get(said.answer, "no") if said is not None else "no"
            if said is not None and answer != "no" and said.hunks is not None:
                # A yes to some hunks counts once, because no rule can name hunks.
                return Chosen(said.hunks) if question.hunks else "no"
            return answer if question.rule or answer in {"no", "once"} else "no"
        return await self._ask_plainly(question)

    async def _ask_plainly(self, question: Question) -> Reply:
        always = f"{ALWAYS}{question.rule}"
        rule = ""
        if len(always) > BUTTON_LIMIT or "\n" in always:
            always, rule = f"{ALWAYS}the rule above", f"\n\nRule: {question.rule}"
        once = REMEMBER if question.keeps else ONCE
        titles: tuple[str, ...] = (NO, once)
        if question.rule:
            titles = (NO, once, SESSION, always)
        if question.hunks:
            titles = (*titles, BY_HUNK)
        notes = "".join(f"\n{note}" for note in question.notes)
        head = f"{question.title} ({question.reason})"
        message = f"{head}\n{marked(question.detail)}{notes}{rule}"
        chosen = await self._client.allow(message, titles, self._timeout_s)
        if chosen is None or chosen not in titles:
            return "no"
        if chosen == BY_HUNK:
            return await self._ask_by_hunk(question)
        by_title: dict[str, Answer] = {once: "once", SESSION: "session", always: "always"}
        return by_title.get(chosen, "no")

    async def _ask_by_hunk(self, question: Question) -> Reply:
        """Ask about each hunk; a closed or unanswered dialog means no for it and the rest."""
        allowed: list[str] = []
        for number, hunk in enumerate(question.hunks, 1):
            place = f"Hunk {number} of {len(question.hunks)}, {hunk.header}"
            message = f"{question.title} {place}\n{marked(hunk.text)}"
            chosen = await self._client.allow(message, (NO, YES), self._timeout_s)
            if chosen == YES:
                allowed.append(hunk.id)
            elif chosen != NO:
                break
        return Chosen(tuple(allowed)) if allowed else "no"


def marked(text: str) -> str:
    """Put a mark before each line, so that the text cannot imitate what follows it."""
    return "\n".join(f"│ {line}" for line in text.split("\n"))


def _params(question: Question) -> questions.PermissionParams:
    """The params of the permission request."""
    told = msgspec.structs.asdict(question)
    del told["uncovered"], told["keeps"]
    told["hunks"] = tuple(
        questions.HunkShown(id=one.id, header=one.header, text=one.text) for one in question.hunks
    )
    return questions.PermissionParams(**told)


IN_CHAT = "Answer in the chat"
IN_WORDS = "Answer in other words"
NO_ANSWER = "No answer"
HEAD = "Indwell: the model asks (an answer permits nothing)"


class EditorPerson(EditorApprover):
    """Implements ``Approver`` and ``Asker`` over the wire.

    Args:
        client: The editor.
        timeout_s: How long the user has to answer a permission question, in seconds.
        whose: The title of the session that asks; empty for the current one.
    """

    def __init__(
        self, client: Client, *, timeout_s: float, whose: Callable[[], str] = lambda: ""
    ) -> None:
        super().__init__(client, timeout_s=timeout_s, whose=whose)
        self._editor = client

    async def ready(self, question: UserQuestion) -> None:
        """Wait until the question may be shown; at once in a chat, which takes no key presses."""
        chat = self._editor.chat
        if chat is None or not chat.is_open(question.session):
            await self._editor.ready()

    async def answer(self, question: UserQuestion) -> UserAnswer:
        """Ask in the place where the user works; the caller ends the question after its time."""
        features, chat = self._editor.features, self._editor.chat
        if features.has("ask") and features.has("permission"):
            return await self._in_box(question)
        if chat is not None and chat.is_open(question.session):
            await asyncio.Event().wait()  # words that the user sends in the chat steer the turn
        if question.options or not features.has("ask"):
            return await self._in_message(question)
        return await self._in_box(question)

    async def _in_box(self, question: UserQuestion) -> UserAnswer:
        """Ask in the client's own box or card, which may show the options."""
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
        await asyncio.Event().wait()  # as above
        return CLOSED
