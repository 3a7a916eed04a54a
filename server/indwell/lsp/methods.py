"""Wires the requests ``indwell/*`` to what answers them: nothing is decided here."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import msgspec
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from indwell.errors import UserError
from indwell.lsp import answers, protocol
from indwell.lsp import protocol_context as next_request
from indwell.lsp import protocol_views as views
from indwell.lsp.context_view import attached_rows
from indwell.lsp.host import Host
from indwell.lsp.queue_changes import change_of
from indwell.lsp.virtual.texts import context_json
from indwell.lsp.wire.envelope import REQUEST_CANCELLED

REQUEST_FAILED = -32803  # LSPErrorCodes.RequestFailed: understood, but it could not be done

GIVEN_BACK = 5_000_000  # characters of a draft in an error: 20 MB at most, of the wire's 32


@contextmanager
def _in_plain_words(draft: str = "") -> Iterator[None]:
    """What only the user can mend becomes an error with one sentence; no words are lost in it.

    A text that nobody typed is not sent back: whoever sent it has it, and a wire has its limits.
    """
    try:
        yield
    except UserError as error:
        data = {"draft": draft} if 0 < len(draft) <= GIVEN_BACK else None
        raise JsonRpcException(str(error), REQUEST_FAILED, data) from error


def register_methods(server: LanguageServer, host: Host) -> None:
    """All requests of ours."""
    _prompting(server, host)
    _looking_back(server, host)
    _models(server, host)
    _context(server, host)


def _prompting(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/prompt")
    async def prompt(params: protocol.PromptParams) -> protocol.TurnResult:
        with _in_plain_words(params.text):
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
        with _in_plain_words(params.text):
            return await host.steer(params)

    @server.feature("indwell/queue")
    def queue(params: protocol.QueueParams) -> views.QueueResult:
        with _in_plain_words():
            return answers.queue_result(host.turns.change(partial(change_of, params)))


def _looking_back(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/sessions")
    async def sessions(params: views.SessionsParams) -> views.SessionsResult:
        with _in_plain_words():
            limit = answers.page_size(params.limit)
            found, more = await host.backend.sessions(host.root, limit=limit, before=params.before)
        return answers.sessions_result(found, host.sessions.id, more=more)

    @server.feature("indwell/session")
    async def session(params: views.SessionParams) -> views.SessionResult:
        with _in_plain_words():
            wanted = host.sessions.id_of(params.session)
            reading = await host.backend.session(host.root, wanted)
        return await asyncio.to_thread(
            answers.session_result, wanted, reading, before=params.before, limit=params.limit
        )

    @server.feature("indwell/events")
    def events(params: views.EventsParams) -> views.EventsResult:
        with _in_plain_words():
            return answers.events_result(params.session, host.missed(params.session, params.after))


def _models(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/models")
    async def models(_params: views.ModelsParams | None) -> views.ModelsResult:
        with _in_plain_words():
            offered = await host.backend.models()
        return answers.models_result(offered, host.configuration.settings.model)

    @server.feature("indwell/setModel")
    def set_model(params: views.SetModelParams) -> views.SetModelResult:
        with _in_plain_words():
            host.configuration.choose_model(params.model)
        return views.SetModelResult(model=host.configuration.settings.model)

    @server.feature("indwell/login")
    async def login(params: views.LoginParams) -> views.LoginResult:
        with _in_plain_words():
            outcome = await host.login(params)
        return answers.login_result(outcome)


def _context(server: LanguageServer, host: Host) -> None:
    @server.feature("indwell/context")
    async def context(_params: next_request.ContextParams | None) -> msgspec.Raw:
        return await context_json(host)

    @server.feature("indwell/detach")
    def detach(params: next_request.DetachParams) -> next_request.DetachResult:
        with _in_plain_words():
            host.prompting.detach(params.id)
        return next_request.DetachResult(attached_rows(host.prompting.attached()))
