"""Shows proposed plans in the editor, and carries out the user's decisions about plans."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.features.plan import board_of, written_plan
from indwell.context.task_state import Plan, next_state
from indwell.errors import UserError
from indwell.lsp.chat.chats import Chats
from indwell.lsp.host import Host
from indwell.lsp.messages import answers
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.views import PlanArguments, PlanParams, PlanResult
from indwell.lsp.methods.methods import returning
from indwell.lsp.wire.language_server import Server
from indwell.service.turns.queue import Ticket, proposed_in, title_of
from indwell.settings.model import Mode

APPROVE, EDIT, NOT_NOW = "Approve", "Edit", "Not now"


class Planning:
    """Shows plans in one editor.

    Args:
        host: The editor's server.
        is_shown: Returns whether a chat document shows the session.
    """

    def __init__(self, host: Host, is_shown: Callable[[str], bool]) -> None:
        self._host = host
        self._is_shown = is_shown
        self._plans = host.service.plans
        self._plans.document = self._text
        host.documents.on_change(self._look)

    async def do(self, params: PlanParams) -> PlanResult:
        """Show, edit, approve or reject the plan of a session.

        Raises:
            UserError: The action is not possible; nothing is changed.
        """
        match params.action:
            case "show":
                return answers.plan_result(await self._plans.shown(params.session))
            case "edit":
                return self._result(await self._plans.edit(params.session, params.text))
            case "approve":
                return await self._approve(params.session, params.text)
            case "reject":
                begin = partial(self._begin, in_chat=params.session is not None)
                return self._result(await self._plans.reject(params.session, params.words, begin))

    async def open(self, session: str | None) -> PlanResult:
        """Show the plan's document; ask about the plan if no card or chat offers to approve it.

        Raises:
            UserError: The session has no plan.
        """
        plan = await self._plans.with_document(session)
        if not plan.text:
            next_state("none", "approve")  # this call raises an error with advice
        is_shown = await self._show(plan)
        if plan.state == "proposed" and not self._is_in_chat(session):
            self._host.chores.begin(self._ask(session, plan, is_shown=is_shown))
        elif not is_shown and plan.path:
            self._say_where(plan)
        return answers.plan_result(plan)

    def _is_in_chat(self, wanted: str | None) -> bool:
        """Return whether a card or the session's chat offers to approve the plan."""
        if self._host.client.features.has("events"):
            return True
        return wanted is not None and self._is_shown(wanted)

    def afterwards(self, ticket: Ticket) -> None:
        """In an editor without a panel, ask about a plan after the turn that proposed it."""
        session = ticket.session
        where = session.id if session is not None and ticket.in_chat else None
        if session is not None and proposed_in(ticket) and not self._is_in_chat(where):
            self._host.chores.begin(self._offer(session.id, board_of(session).plan))

    def actions(self, uri: str) -> list[dict[str, Any]] | None:
        """Return the code actions of a plan's document, or None for any other document."""
        session = self._host.sessions.current
        plan = Plan() if session is None else board_of(session).plan
        document = self._host.documents.get(uri)
        if document is None or not plan.path or document.path != Path(plan.path):
            return None
        if plan.state not in {"proposed", "rejected"}:
            return []
        command = {
            "title": "Approve the plan as written here",
            "command": "indwell.plan",
            "arguments": [{"action": "approve"}],
        }
        return [{"title": command["title"], "kind": "source.indwell", "command": command}]

    def _text(self, path: Path) -> str | None:
        document = self._host.documents.at(path)
        return None if document is None else document.text

    def _look(self, path: Path) -> None:
        """Store the user's changes when the plan's document is closed."""
        session = self._host.sessions.current
        if session is None or board_of(session).plan.path != str(path):
            return
        if self._host.documents.at(path) is None and not self._host.service.is_stopped:
            self._host.chores.begin(self._edited(session))

    async def _edited(self, session: Session) -> None:
        board = board_of(session)
        before = board.plan
        with suppress(UserError):  # an invalid plan is reported when the user approves the plan
            text = await asyncio.to_thread(written_plan, before)
            if board.plan is before and before.state == "proposed":
                board.rewrite(text)
                await self._told(session)

    async def _told(self, session: Session) -> None:
        await self._plans.tell(session)
        self._host.client.refresh_lenses()

    async def _approve(
        self, wanted: str | None, text: str | None, asked: Plan | None = None
    ) -> PlanResult:
        """Approve ``text``, or the document's text; ``asked`` is the plan in a question."""
        begin = partial(self._begin, in_chat=asked is None and wanted is not None)
        return self._result(await self._plans.approve(wanted, text, begin, asked))

    def _result(self, plan: Plan) -> PlanResult:
        self._host.client.refresh_lenses()
        return answers.plan_result(plan)

    def _begin(self, session: Session, words: str, mode: Mode | None, *, in_chat: bool) -> None:
        """Begin the turn; ``in_chat`` says if the user approved the plan in the session's chat."""
        prompt = Prompt(words, title=title_of(words))
        in_chat = in_chat and self._is_shown(session.id)
        self._host.begin(prompt, session.id, mode, is_shown=in_chat).in_chat = in_chat

    async def _offer(self, session: str, plan: Plan) -> None:
        await self._ask(session, plan, is_shown=await self._show(plan))

    async def _ask(self, session: str | None, plan: Plan, *, is_shown: bool) -> None:
        """Ask whether to approve the plan, to edit it, or to decide later.

        The question shows invisible characters of the plan.
        """
        words = "Indwell: Plan ready. Carry it out?"
        if not is_shown:
            words += f"\n\n{plan.text}"
        timeout_s = self._host.settings.answer_timeout_s
        # The harmless choice comes first, because a digit or Enter may be a typing mistake.
        titles = (NOT_NOW, APPROVE, EDIT)
        chosen = await self._host.client.choose(words, titles, timeout_s)
        if chosen == APPROVE:
            try:
                await self._approve(session, None, plan)
            except UserError as error:
                self._host.client.fail(error)
        elif chosen == EDIT:
            self._say_where(plan)

    async def _show(self, plan: Plan) -> bool:
        if not plan.path:
            return False
        uri = Path(plan.path).as_uri()
        self._host.documents.beside.add(uri)  # The user does not work in a plan's document.
        return await self._host.client.show_document(uri)

    def _say_where(self, plan: Plan) -> None:
        words = f"Indwell: the plan is in {plan.path}; change it there, then run `indwell.plan`"
        self._host.client.show(types.MessageType.Info, words)


def register_plan(server: Server, host: Host, chats: Chats) -> Planning:
    """Register ``indwell/plan`` and ``indwell.plan``."""
    planning = Planning(host, lambda session: chats.of_session(session) is not None)
    host.after_turn.append(planning.afterwards)

    @server.feature("indwell/plan")
    async def plan(params: PlanParams) -> PlanResult:
        with returning(params.words or ""):
            return await planning.do(params)

    @server.command("indwell.plan")
    async def plan_command(arguments: PlanArguments) -> PlanResult | None:
        if arguments.action == "open":
            work = planning.open(arguments.session)
        else:
            params = PlanParams(arguments.action, arguments.session, words=arguments.words)
            work = planning.do(params)
        return await host.answering.answer(work, wait=arguments.wait)

    return planning
