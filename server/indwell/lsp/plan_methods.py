"""Wires ``indwell/plan`` and ``indwell.plan`` to what answers them: nothing is decided here."""

from __future__ import annotations

from pygls.lsp.server import LanguageServer

from indwell.lsp.chat.chats import Chats
from indwell.lsp.host import Host
from indwell.lsp.planning import Planning
from indwell.lsp.protocol_plan import PlanArguments, PlanParams, PlanResult
from indwell.lsp.refusals import in_plain_words

TO_OPEN = PlanArguments()


def register_plan(server: LanguageServer, host: Host, chats: Chats) -> Planning:
    """The request and the command."""
    planning = Planning(host, lambda session: chats.of_session(session) is not None)
    host.after_turn.append(planning.afterwards)

    @server.feature("indwell/plan")
    async def plan(params: PlanParams) -> PlanResult:
        with in_plain_words(params.words or ""):
            return await planning.do(params)

    @server.command("indwell.plan")
    async def plan_command(arguments: PlanArguments = TO_OPEN) -> PlanResult | None:
        if arguments.action == "open":
            work = planning.open(arguments.session)
        else:
            params = PlanParams(arguments.action, arguments.session, words=arguments.words)
            work = planning.do(params)
        return await host.answering.answer(work, wait=arguments.wait)

    return planning
