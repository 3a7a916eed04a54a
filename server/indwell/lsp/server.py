"""Connects requests, notifications and commands to the host, without own decisions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.sending import ask_for_chats, register_chat
from indwell.lsp.chat.views import ChatViews
from indwell.lsp.editor.client import Client
from indwell.lsp.front_door import SECTION
from indwell.lsp.host import Host
from indwell.lsp.messages import answers, status, views
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.features import features_of
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.methods.commands import (
    offer_stops,
    register_branching,
    register_commit_message,
    register_memory,
    register_tasks,
    take_up,
)
from indwell.lsp.methods.mcp import register_mcp
from indwell.lsp.methods.methods import done_tasks, register_methods, returning
from indwell.lsp.methods.planning import Planning, register_plan
from indwell.lsp.prompts import code_actions
from indwell.lsp.prompts.code_actions import titled
from indwell.lsp.prompts.diagnostics import all_of
from indwell.lsp.review.review import EditorReview, register_review
from indwell.lsp.virtual.opening import register_virtual
from indwell.lsp.wire import sync
from indwell.lsp.wire.handshake import ClientIdentity
from indwell.lsp.wire.language_server import Server
from indwell.lsp.workspace.documents import path_of
from indwell.own_path import own_path
from indwell.sandbox.login_path import look as look_for_path
from indwell.service.mentions import is_chat
from indwell.translation import translation_for
from indwell.wiring.service import Composition

AFTER_S = 0.05  # the time, in seconds, from the first sign of use to the preparation of a prompt
_MAX = 2**31 - 1  # the largest number of LSP's uinteger


def make_server(composition: Composition, opened: ClientIdentity) -> tuple[Server, Host]:
    """Return the server for an editor that has sent ``initialize``, ready for messages."""
    server = Server(translation_for(opened.locale))
    host = Host(Client(server), composition)
    host.client.features = features_of(opened.capabilities, opened.client)
    host.documents.encoding = opened.encoding
    roots = roots_of(opened)
    workspace = roots or (Path.cwd(),)
    # this call must precede the first library call that looks for a program
    own_path.keep_out(workspace)
    look_for_path(workspace)
    host.start(roots, opened.options)
    review = register_review(server, host)
    _lifecycle(server, host, review)
    _documents(server, host)
    warm_up = _first_sign(server, host)
    _attention(server, host, warm_up)
    chat = register_chat(server, host)
    planning = register_plan(server, host, chat.chats)
    _actions(server, host, warm_up, chat, review, planning=planning)
    _commands(server, host, chat.chats)
    register_methods(server, host)
    return server, host


def _first_sign(server: Server, host: Host) -> Callable[[], None]:
    """Return a function that prepares the first prompt in threads when first called."""
    begun: list[asyncio.TimerHandle | asyncio.Future[None]] = []

    def begin() -> None:
        if host.service.is_stopped:  # the threads may have ended already
            return
        host.service.warm_up()
        loop = asyncio.get_running_loop()
        begun.append(loop.run_in_executor(None, server.warm_up))

    def warm_up() -> None:
        if not begun:  # answer the request before the preparation
            begun.append(asyncio.get_running_loop().call_later(AFTER_S, begin))

    return warm_up


def _lifecycle(server: Server, host: Host, review: EditorReview) -> None:
    @server.feature("initialized")
    def initialized(_params: None) -> None:
        host.greet()
        review.start()
        host.chores.begin(ask_for_chats(host))

    @server.feature("shutdown")
    async def shutdown(_params: None) -> None:
        review.stop()
        await host.service.stop()

    @server.feature("window/workDoneProgress/cancel")
    def progress_cancel(params: types.WorkDoneProgressCancelParams) -> None:
        if not review.cancel(params.token):
            host.turns.cancel(params.token)

    @server.feature("workspace/didChangeWorkspaceFolders")
    async def did_change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Ignore added and removed folders: the agent keeps the folders of the start.

        No program may run from a folder that was added later.
        """
        added = filter(None, (path_of(one.uri) for one in params.event.added))
        await asyncio.to_thread(own_path.keep_out, tuple(added))

    @server.feature("workspace/didChangeConfiguration")
    async def did_change_configuration(params: sync.DidChangeConfiguration) -> None:
        settings = params.settings
        await host.reconfigure(settings.get(SECTION) if isinstance(settings, Mapping) else None)
        review.look_again()


def _documents(server: Server, host: Host) -> None:
    documents = host.documents

    @server.feature("textDocument/didOpen")
    def did_open(params: sync.DidOpen) -> None:
        documents.open(params.text_document)

    @server.feature("textDocument/didChange")
    def did_change(params: sync.DidChange) -> None:
        identifier = params.text_document
        documents.change(identifier.uri, identifier.version, params.content_changes)

    @server.feature("textDocument/didSave")
    def did_save(params: sync.DidSave) -> None:
        documents.saved(params.text_document.uri, params.text)

    @server.feature("textDocument/didClose")
    def did_close(params: sync.DidClose) -> None:
        documents.close(params.text_document.uri)

    notebooks = host.notebooks

    @server.feature("notebookDocument/didOpen")
    def did_open_notebook(params: sync.DidOpenNotebook) -> None:
        notebooks.open(params)

    @server.feature("notebookDocument/didChange")
    def did_change_notebook(params: sync.DidChangeNotebook) -> None:
        notebooks.change(params)

    @server.feature("notebookDocument/didSave")
    def did_save_notebook(params: sync.DidSaveNotebook) -> None:
        notebooks.saved(params.notebook_document.uri)

    @server.feature("notebookDocument/didClose")
    def did_close_notebook(params: sync.DidCloseNotebook) -> None:
        notebooks.close(params)

    @server.feature("workspace/didChangeWatchedFiles")
    def did_change_watched_files(params: sync.DidChangeWatchedFiles) -> None:
        documents.changed_on_disk(one.uri for one in params.changes)


def _attention(server: Server, host: Host, warm_up: Callable[[], None]) -> None:
    attention = host.attention

    @server.feature("indwell/didChangeSelection")
    def did_change_selection(params: protocol.DidChangeSelectionParams) -> None:
        warm_up()
        document = host.documents.get(params.uri)
        if document is None or not document.n_edits:
            host.stillness.typed()
        attention.select(params.uri, params.version, params.ranges)

    @server.feature("indwell/didFocus")
    def did_focus(params: protocol.DidFocusParams) -> None:
        warm_up()
        attention.focus(params.uri)

    @server.feature("indwell/didChangeDiagnostics")
    def did_change_diagnostics(params: protocol.DidChangeDiagnosticsParams) -> None:
        attention.report(params.uri, all_of(params))
        host.problems.report(params)


def _actions(
    server: Server,
    host: Host,
    warm_up: Callable[[], None],
    chat: ChatViews,
    review: EditorReview,
    *,
    planning: Planning,
) -> None:
    @server.feature("textDocument/codeAction")
    def code_action(params: sync.CodeAction) -> msgspec.Raw:
        uri = params.text_document.uri
        document = host.documents.get(uri)
        if document is None:
            return msgspec.Raw(b"[]")
        warm_up()
        if is_chat(uri):
            start = params.range.start
            return titled(chat.actions(uri, start.line, start.character), host.client.translation)
        if (of_plan := planning.actions(uri)) is not None:
            return titled(of_plan, host.client.translation)
        host.attention.request(uri, _range(params.range))
        place = code_actions.ActionPlace(
            uri=uri,
            version=document.version,
            can_ask=host.client.features.has("ask"),
            running=host.turns.running is not None,
            interrupted=host.sessions.is_interrupted,
            known=host.attention.problems(uri),
        )
        tasks = code_actions.offer(place, params.range, params.context)
        verdicts = review.actions(uri, params.range, params.context)
        shown = code_actions.menu(tasks, verdicts, params.context.only)
        return titled(shown, host.client.translation)

    @server.feature("textDocument/codeLens")
    async def code_lens(params: sync.CodeLens) -> msgspec.Raw:
        uri = params.text_document.uri
        found = chat.lenses(uri) if is_chat(uri) else await review.lenses(uri)
        return titled(found, host.client.translation)


def _commands(server: Server, host: Host, chats: Chats) -> None:
    register_tasks(server, host)

    @server.command("indwell.cancel")
    def cancel(arguments: protocol.CancelArguments) -> bool:
        return host.turns.cancel(session=arguments.session)

    _session_commands(server, host)
    register_branching(server, host, chats)
    register_virtual(server, host)
    register_memory(server, host)
    register_mcp(server, host)
    register_commit_message(server, host)

    @server.command("indwell.mode")
    def mode(arguments: protocol.ModeArguments) -> None:
        host.service.commands.set_mode(arguments.mode, arguments.session)
        host.turn_display.mode(arguments.mode)

    @server.command("indwell.effort")
    def effort(arguments: protocol.EffortArguments) -> None:
        host.service.commands.set_effort(arguments.effort, arguments.session)

    @server.command("indwell.tasks")
    async def tasks(arguments: protocol.TasksArguments) -> status.TasksResult | None:
        work = done_tasks(host, arguments.words)
        found = await host.answering.answer(work, wait=arguments.wait)
        if found is not None and not host.client.features.has("events"):
            host.client.show(types.MessageType.Info, "Indwell: tasks", f"\n{found.answer}")
        return found

    @server.command("indwell.trust")
    async def trust(arguments: protocol.TrustArguments) -> bool | None:
        return await host.answering.answer(host.sessions.ask_about_trust(), wait=arguments.wait)


def _session_commands(server: Server, host: Host) -> None:
    @server.command("indwell.newSession")
    async def new_session(arguments: protocol.NewSessionArguments) -> None:
        begun = host.service.commands.begin(arguments.inherit, keep=arguments.keep)
        await host.answering.answer(begun, wait=True)

    @server.command("indwell.compact")
    async def compact() -> protocol.StartedResult:
        return answers.started(host.service.compact(host.turn_display.summary))

    @server.command("indwell.continue")
    async def go_on() -> protocol.StartedResult:
        return answers.started(host.service.go_on(host.turn_display.summary))

    @server.command("indwell.commands")
    async def commands() -> None:
        await host.answering.answer(offer_stops(host), wait=False)

    @server.command("indwell.resume")
    async def resume(arguments: protocol.ResumeArguments) -> views.ResumeResult | None:
        if arguments.quiet:
            with returning(""):
                return await take_up(host, arguments)
        return await host.answering.answer(take_up(host, arguments), wait=arguments.wait)


def roots_of(opened: ClientIdentity) -> tuple[Path, ...]:
    """Return the folders of the workspace, as the editor named them."""
    paths = [path for path in map(path_of, opened.folder_uris) if path is not None]
    if not paths and opened.folder_path:
        paths = [Path(opened.folder_path).resolve()]
    return tuple(dict.fromkeys(paths))


def _range(range_: sync.Range) -> sync.Range:
    return sync.Range(start=_position(range_.start), end=_position(range_.end))


def _position(position: sync.Position) -> sync.Position:
    """Limit a position to the protocol's largest number."""
    return sync.Position(
        line=min(max(position.line, 0), _MAX), character=min(max(position.character, 0), _MAX)
    )
