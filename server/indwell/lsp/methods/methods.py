"""Answers the requests ``indwell/*``: reads parameters, calls the service, converts results."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal, TypeVar, assert_never

import msgspec

from indwell import __version__
from indwell.agent.core.session import Session
from indwell.agent.features.tasks import rows_of
from indwell.errors import UserError
from indwell.lsp.chat.views import skill_rows
from indwell.lsp.host import Host
from indwell.lsp.messages import answers, status, views
from indwell.lsp.messages import context as next_request
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.methods import QueueParams
from indwell.lsp.messages.status import RenameResult, SkillsParams, SkillsResult
from indwell.lsp.messages.views import LoginParams
from indwell.lsp.methods.commands import commands_of
from indwell.lsp.virtual.texts import attached_rows, context_json
from indwell.lsp.wire.base_protocol import REQUEST_CANCELLED, RequestError
from indwell.lsp.wire.language_server import Server
from indwell.lsp.wire.routing import refused
from indwell.providers.catalogue import CATALOGUE
from indwell.providers.endpoint import LocalServer, LoginOutcome
from indwell.service.demo_project import is_demo, make_folder, project_in_editor
from indwell.service.turns import queue as line
from indwell.service.turns.queue import Queue
from indwell.settings.model import FREEDOM, Settings


@contextmanager
def returning(draft: str) -> Iterator[None]:
    """Add the user's text to an error answer, as the draft."""
    try:
        yield
    except UserError as error:
        raise refused(error, draft) from error


async def login(host: Host, params: LoginParams) -> LoginOutcome:
    """Test an endpoint and store its key.

    Raises:
        UserError: The key cannot be stored.
    """
    outcome = await host.service.endpoint.login(
        params.provider, params.key, params.url, params.model, by_client=params.keep == "client"
    )
    if outcome.ok:
        await host.service.read_settings()
    return outcome


T = TypeVar("T")

HELD_BY_USER = "you asked to wait"


def change_of(params: QueueParams, queue: Queue) -> Queue:
    """Return the queue after the change in ``params``; without a change, the same queue.

    Raises:
        UserError: The queue has changed, the prompt is not queued, or a field is missing.
    """
    if params.action == "list":
        return queue
    line.check_seq(queue, params.seq)
    match params.action:
        case "remove":
            return line.removed(queue, _given(params.id, params, "id"))
        case "move":
            return line.moved(
                queue, _given(params.id, params, "id"), _given(params.to, params, "to")
            )
        case "edit":
            return line.reworded(
                queue, _given(params.id, params, "id"), _given(params.text, params, "text")
            )
        case "hold":
            return line.held(queue, HELD_BY_USER)
        case "resume":
            return line.released(queue)
        case never:
            assert_never(never)


def _given(value: T | None, params: QueueParams, name: str) -> T:
    if value is None:
        raise UserError(f"{params.action!r} of the queue needs `{name}`; send it along")
    return value


async def status_of(host: Host, wanted: str | None = None) -> status.StatusResult:
    """Return the state of a session, by default the current one, without network or keyring."""
    (session, settings), workspace = _session_of(host, wanted), host.sessions.workspace
    roots = workspace.roots if workspace is not None else ()
    endpoint = host.service.endpoint
    lacking, standings, pictures, efforts, demo, unapproved = await asyncio.gather(
        endpoint.seems_lacking(),
        host.service.trust.look(roots),
        endpoint.pictures(settings),
        endpoint.efforts(settings),
        _demo_state(host),
        host.service.mcp.unapproved(),
    )
    # Read the state last, because a turn may have ended meanwhile and its end was already sent.
    session, settings = _session_of(host, wanted)
    return status.StatusResult(
        session=session.id if session is not None else wanted,
        title=session.title if session is not None else "",
        mode=settings.mode,
        modes=FREEDOM,
        model=_model(settings, session),
        lacking=host.service.configuration.problem or lacking,
        trusted=bool(roots) and all(one.state == "trusted" for one in standings),
        demo=demo,
        unapproved=unapproved,
        undecided=" and ".join(one.undecided for one in standings if one.undecided),
        running=host.turns.number_in(wanted) if wanted else host.turns.running_number,
        beside=tuple(
            status.RunningTurn(session=one.session.id, turn=one.number)
            for one in host.turns.beside
            if one.session is not None and one.finished is None
        ),
        version=__version__,
        pictures=pictures,
        effort=settings.effort,
        efforts=efforts,
        cost=session.spending.cost if session is not None else None,
    )


def _session_of(host: Host, wanted: str | None) -> tuple[Session | None, Settings]:
    """Return the session if it is open, and the settings that apply between its turns."""
    settings, current = host.service.configuration.settings, host.sessions.current
    if wanted is None or wanted == host.sessions.id:
        return current, settings
    session = host.sessions.find(wanted)
    own = host.sessions.settings_of(session) if session is not None else None
    return session, settings if own is None else own.between_turns


def _model(settings: Settings, session: Session | None) -> str:
    """Return the model of the next turn, or an empty text if no model is chosen."""
    held = session.conversation.config.model if session is not None else ""
    return settings.model or held or ("scripted" if settings.provider == "scripted" else "")


async def demo_of(host: Host) -> status.DemoResult:
    """Return the made-up project of this window, or write a new one.

    Raises:
        UserError: The project cannot be written.
    """
    roots = host.service.roots
    folder = roots[0] if is_demo(roots) else await asyncio.to_thread(make_folder)
    project = project_in_editor()
    return status.DemoResult(
        folder=str(folder),
        file=str(folder / project.path),
        first=project.first_line - 1,
        last=project.last_line - 1,
    )


async def _demo_state(host: Host) -> Literal["", "scripted", "connected"]:
    if not is_demo(host.service.roots):
        return ""
    return "scripted" if await host.service.endpoint.users_lack() else "connected"


async def providers_of(host: Host) -> status.ProvidersResult:
    """Return the model servers that run on this machine now, and the known providers."""
    endpoint = host.service.endpoint
    lacking, servers, editors = await asyncio.gather(
        endpoint.seems_lacking(), endpoint.local_servers(), endpoint.editor.look()
    )
    return status.ProvidersResult(
        lacking=lacking,
        local=tuple(map(_local, servers)),
        known=tuple(
            status.KnownRow(one.name, one.title, one.base_url, one.key_page)
            for one in CATALOGUE
            if one.port is None
        ),
        editor=tuple(one.name for one in editors),
    )


def _local(server: LocalServer) -> status.LocalRow:
    why = server.warning
    if server.needs_key:
        why = why or "it needs a key"
    elif not server.models:
        why = why or "it has no model loaded"
    return status.LocalRow(
        name=server.name,
        title=server.title,
        url=server.base_url,
        models=tuple(one.name for one in server.models),
        ready=server.is_ready,
        note=why,
    )


def register_methods(server: Server, host: Host) -> None:
    """Register all requests ``indwell/*``."""
    _prompting(server, host)
    _running_on(server, host)
    _looking_back(server, host)
    _models(server, host)
    _context(server, host)


def _prompting(server: Server, host: Host) -> None:
    @server.feature("indwell/prompt")
    async def prompt(params: protocol.PromptParams) -> protocol.TurnResult:
        with returning(params.text):
            ticket = await host.prompt(params)
            try:
                return answers.turn_result(ticket, await ticket.wait())
            except asyncio.CancelledError:
                # End the turn properly before the request is answered as cancelled.
                host.turns.abandon(ticket)
                await ticket.ended.wait()
                draft = ticket.finished.draft if ticket.finished else params.text
                raise RequestError("cancelled", REQUEST_CANCELLED, {"draft": draft}) from None

    @server.feature("indwell/steer")
    async def steer(params: protocol.SteerParams) -> protocol.SteerResult:
        with returning(params.text):
            return await host.steer(params)

    @server.feature("indwell/queue")
    def queue(params: protocol.QueueParams) -> views.QueueResult:
        return answers.queue_result(host.turns.change(partial(change_of, params)))


def _running_on(server: Server, host: Host) -> None:
    @server.feature("indwell/commands")
    async def background(params: status.CommandsParams) -> status.CommandsResult:
        return await commands_of(host, params)

    @server.feature("indwell/tasks")
    async def tasks(params: status.TasksParams) -> status.TasksResult:
        return await done_tasks(host, params.words)


async def done_tasks(host: Host, words: str) -> status.TasksResult:
    """Carry out a command for the tasks of the workspace, and return the tasks.

    Raises:
        UserError: The command is unknown or cannot be carried out.
    """
    runs = host.service.tasks
    answer = await runs.answer(words.strip())
    if answer is None:
        raise UserError(
            "that is no command for tasks; write `add TITLE`, or `show`, `run`, `stop`, `done`, "
            "`open`, `after`, `remove` with names such as t1, or `clear`"
        )
    rows = rows_of(await runs.listed(), runs.wanted)
    return status.TasksResult(answer, tuple(map(msgspec.to_builtins, rows)))


def _looking_back(server: Server, host: Host) -> None:
    @server.feature("indwell/sessions")
    async def sessions(params: views.SessionsParams) -> views.SessionsResult:
        limit = answers.page_size(params.limit)
        found, more = await host.service.stored.sessions(
            limit=limit, before=params.before, query=params.query
        )
        tasks = await host.service.stored.tasks_by_session()
        return answers.sessions_result(found, host.sessions.id, more=more, tasks=tasks)

    @server.feature("indwell/session")
    async def session(params: views.SessionParams) -> views.SessionResult:
        wanted = host.sessions.id_of(params.session)
        reading = await host.service.reading(wanted)
        return await asyncio.to_thread(
            answers.session_result,
            wanted,
            reading,
            before=params.before,
            limit=params.limit,
            translation=host.client.translation,
        )

    @server.feature("indwell/skills")
    async def skills(_params: SkillsParams | None) -> SkillsResult:
        return await skill_rows(host)

    @server.feature("indwell/rename")
    async def rename(params: status.RenameParams) -> status.RenameResult:
        title = await host.service.commands.retitle(params.session, params.title)
        return RenameResult(params.session, title)

    @server.feature("indwell/delete")
    async def delete(params: status.DeleteParams) -> status.DeleteResult:
        await host.service.commands.delete(params.session)
        return status.DeleteResult(deleted=True)

    @server.feature("indwell/events")
    def events(params: views.EventsParams) -> views.EventsResult:
        return answers.events_result(
            params.session,
            host.service.missed(params.session, params.after),
            host.client.translation,
        )


def _models(server: Server, host: Host) -> None:
    @server.feature("indwell/status")
    async def standing(params: status.StatusParams | None) -> status.StatusResult:
        return await status_of(host, params.session if params is not None else None)

    @server.feature("indwell/demo")
    async def demo(_params: status.DemoParams | None) -> status.DemoResult:
        return await demo_of(host)

    @server.feature("indwell/providers")
    async def providers(_params: status.ProvidersParams | None) -> status.ProvidersResult:
        return await providers_of(host)

    @server.feature("indwell/models")
    async def models(_params: views.ModelsParams | None) -> views.ModelsResult:
        offered = await host.service.endpoint.models()
        return answers.models_result(offered, host.service.configuration.settings.model)

    @server.feature("indwell/didChangeEditorModels")
    def did_change_editor_models(_params: status.DidChangeEditorModelsParams) -> None:
        host.service.endpoint.editor.forget()

    @server.feature("indwell/modelPieces")
    def model_pieces(params: status.ModelPiecesParams) -> None:
        host.model_connection.take(params)

    @server.feature("indwell/setModel")
    async def set_model(params: views.SetModelParams) -> views.SetModelResult:
        await host.service.configuration.want_model(params.model)
        return views.SetModelResult(model=host.service.configuration.settings.model)

    @server.feature("indwell/login")
    async def log_in(params: views.LoginParams) -> views.LoginResult:
        outcome = await login(host, params)
        return answers.login_result(outcome)


def _context(server: Server, host: Host) -> None:
    @server.feature("indwell/context")
    async def context(params: next_request.ContextParams | None) -> msgspec.Raw:
        return await context_json(host, params.session if params is not None else None)

    @server.feature("indwell/detach")
    def detach(params: next_request.DetachParams) -> next_request.DetachResult:
        host.prompting.detach(params.id)
        return next_request.DetachResult(attached_rows(host.prompting.attached()))
