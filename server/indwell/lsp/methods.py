"""Wires the requests ``indwell/*`` to what answers them: nothing is decided here."""

from __future__ import annotations

import asyncio
from functools import partial

import msgspec
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from indwell.lsp import answers, protocol, shelf
from indwell.lsp import protocol_commands as commands
from indwell.lsp import protocol_context as next_request
from indwell.lsp import protocol_status as status
from indwell.lsp import protocol_views as views
from indwell.lsp.background import commands_of
from indwell.lsp.context_view import attached_rows
from indwell.lsp.host import Host
from indwell.lsp.logging_in import login
from indwell.lsp.protocol_skills import SkillsParams, SkillsResult
from indwell.lsp.queue_changes import change_of
from indwell.lsp.refusals import in_plain_words
from indwell.lsp.skills import skill_rows
from indwell.lsp.status import providers_of, status_of
from indwell.lsp.virtual.texts import context_json
from indwell.lsp.wire.envelope import REQUEST_CANCELLED


def register_methods(server: LanguageServer, host: Host) -> None:
    """All requests of ours."""
    _prompting(server, host)
    _running_on(server, host)
    _looking_back(server, host)
    _models(server, host)
    _context(server, host)


def _prompting(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/prompt")
    async def prompt(params: protocol.PromptParams) -> protocol.TurnResult:
        with in_plain_words(params.text):
            ticket = await host.prompt(params)
            try:
                return answers.turn_result(ticket, await ticket.wait())
            except asyncio.CancelledError:
                # Answered as cancelled, after the turn has left a valid history.
                host.turns.abandon(ticket)
                await ticket.ended.wait()
                draft = ticket.finished.draft if ticket.finished else params.text
                raise JsonRpcException("cancelled", REQUEST_CANCELLED, {"draft": draft}) from None

    @server.feature("indwell/steer")
    async def steer(params: protocol.SteerParams) -> protocol.SteerResult:
        with in_plain_words(params.text):
            return await host.steer(params)

    @server.feature("indwell/queue")
    def queue(params: protocol.QueueParams) -> views.QueueResult:
        with in_plain_words():
            return answers.queue_result(host.turns.change(partial(change_of, params)))


def _running_on(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/commands")
    async def background(params: commands.CommandsParams) -> commands.CommandsResult:
        with in_plain_words():
            return await commands_of(host, params)


def _looking_back(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/sessions")
    async def sessions(params: views.SessionsParams) -> views.SessionsResult:
        with in_plain_words():
            limit = answers.page_size(params.limit)
            found, more = await host.backend.sessions(
                host.root, limit=limit, before=params.before, query=params.query
            )
        return answers.sessions_result(found, host.sessions.id, more=more)

    @server.feature("indwell/session")
    async def session(params: views.SessionParams) -> views.SessionResult:
        with in_plain_words():
            wanted = host.sessions.id_of(params.session)
            reading = await host.reading(wanted)
        return await asyncio.to_thread(
            answers.session_result, wanted, reading, before=params.before, limit=params.limit
        )

    @server.feature("indwell/skills")
    async def skills(_params: SkillsParams | None) -> SkillsResult:
        with in_plain_words():
            return await skill_rows(host)

    @server.feature("indwell/rename")
    async def rename(params: status.RenameParams) -> status.RenameResult:
        with in_plain_words():
            return await shelf.retitle(host, params.session, params.title)

    @server.feature("indwell/delete")
    async def delete(params: status.DeleteParams) -> status.DeleteResult:
        with in_plain_words():
            await shelf.delete(host, params.session)
        return status.DeleteResult(deleted=True)

    @server.feature("indwell/events")
    def events(params: views.EventsParams) -> views.EventsResult:
        with in_plain_words():
            return answers.events_result(params.session, host.missed(params.session, params.after))


def _models(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/status")
    async def standing(_params: status.StatusParams | None) -> status.StatusResult:
        with in_plain_words():
            return await status_of(host)

    @server.feature("indwell/providers")
    async def providers(_params: status.ProvidersParams | None) -> status.ProvidersResult:
        with in_plain_words():
            return await providers_of(host)

    @server.feature("indwell/models")
    async def models(_params: views.ModelsParams | None) -> views.ModelsResult:
        with in_plain_words():
            offered = await host.backend.models()
        return answers.models_result(offered, host.configuration.settings.model)

    @server.feature("indwell/setModel")
    async def set_model(params: views.SetModelParams) -> views.SetModelResult:
        with in_plain_words():
            await host.configuration.want_model(params.model)
        return views.SetModelResult(model=host.configuration.settings.model)

    @server.feature("indwell/login")
    async def log_in(params: views.LoginParams) -> views.LoginResult:
        with in_plain_words():
            outcome = await login(host, params)
        return answers.login_result(outcome)


def _context(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/context")
    async def context(_params: next_request.ContextParams | None) -> msgspec.Raw:
        return await context_json(host)

    @server.feature("indwell/detach")
    def detach(params: next_request.DetachParams) -> next_request.DetachResult:
        with in_plain_words():
            host.prompting.detach(params.id)
        return next_request.DetachResult(attached_rows(host.prompting.attached()))
