"""Handles commands that begin turns, fork and rewind, and those for background commands."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import get_args

import msgspec

from indwell.agent.features.background.board import BackgroundBoard, list_words
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError, UserError
from indwell.lsp.chat.chats import Chats
from indwell.lsp.chat.opening import ending_of, mark_rewound, show_fork
from indwell.lsp.host import Host
from indwell.lsp.messages import answers, documents, status, views
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.features import TASK_COMMANDS
from indwell.lsp.messages.lsprotocol_types import types
from indwell.lsp.messages.methods import (
    AskParams,
    CommitMessageArguments,
    CommitMessageResult,
    MemoryArguments,
    MemoryResult,
)
from indwell.lsp.wire.language_server import Server
from indwell.lsp.wire.routing import refused
from indwell.lsp.workspace.documents import path_of
from indwell.prompt.system import Task
from indwell.service.turns.queue import Ticket


def register_memory(server: Server, host: Host) -> None:
    """Register ``indwell.memory``."""

    @server.command("indwell.memory")
    async def memory(arguments: MemoryArguments) -> MemoryResult:
        path = await host.composition.memory_page(host.root, arguments.scope)
        shown = await host.client.show_document(path.as_uri())
        if not shown:
            words = f"Indwell: the remembered facts are in {path}; open it"
            host.client.show(types.MessageType.Info, words)
        return MemoryResult(path.as_uri(), str(path), shown)


def register_commit_message(server: Server, host: Host) -> None:
    """Register ``indwell.commitMessage``."""

    @server.command("indwell.commitMessage")
    async def commit_message(arguments: CommitMessageArguments) -> CommitMessageResult | None:
        if arguments.quiet:
            try:
                return await _commit_message(host, arguments)
            except UserError as error:
                raise refused(error, "") from error
        work = _shown_commit_message(host, arguments)
        return await host.answering.answer(work, wait=arguments.wait)


async def _commit_message(host: Host, arguments: CommitMessageArguments) -> CommitMessageResult:
    """Write a commit message for the changes that git would commit.

    Raises:
        UserError: There is nothing to commit, or the model sent no message.
    """
    await host.service.settle()
    folder = path_of(arguments.uri) if arguments.uri is not None else None
    made = await host.composition.commit_message(
        host.service.workspace, host.service.settings, folder
    )
    return CommitMessageResult(made.text, made.is_staged)


async def _shown_commit_message(
    host: Host, arguments: CommitMessageArguments
) -> CommitMessageResult:
    made = await _commit_message(host, arguments)
    about = "the staged changes" if made.staged else "the changes of the tree (nothing is staged)"
    words = f"Indwell: a message for {about}:"
    host.client.show(types.MessageType.Info, words, f"\n\n{made.message}")
    return made


TITLE_CHARACTERS = 40  # the limit of characters for a background command on a button
CLOSE = "Let them run"


async def commands_of(host: Host, params: status.CommandsParams) -> status.CommandsResult:
    """List a session's background commands, after stopping the one that the request names.

    A closed session has no commands, because commands end with their session.

    Raises:
        UserError: No running command has the id.
    """
    session = host.sessions.find(params.session or host.sessions.id)
    if session is None:
        if params.stop is not None:
            raise UserError("that session is not open, so none of its background commands runs")
        return status.CommandsResult(params.session, ())
    board = session.parts.features.door(BackgroundBoard)
    if params.stop is not None:
        await _stop(board, params.stop)
    rows = msgspec.to_builtins(board.event().commands)
    return status.CommandsResult(session.id, tuple(rows))


async def offer_stops(host: Host) -> None:
    """Show each running command with a stop button, for editors without a command list."""
    session = host.sessions.current
    board = (
        session.parts.features.door(BackgroundBoard) if session is not None else BackgroundBoard()
    )
    running = board.running
    if not running:
        host.client.show(types.MessageType.Info, "Indwell: no background commands run")
        return
    rows = [(one.id, one.state_words(board.now), one.text) for one in running]
    buttons = {f"Stop {one.id}: {short_line(one.text, TITLE_CHARACTERS)}": one for one in running}
    words = f"Indwell: these commands run in the background:\n{list_words(rows)}"
    titles = (CLOSE, *buttons)
    chosen = await host.client.choose(words, titles, host.settings.answer_timeout_s)
    if chosen in buttons:
        await board.stop(buttons[chosen], "user")


async def _stop(board: BackgroundBoard, name: str) -> None:
    try:
        one = board.get(name)
    except ToolError as error:
        raise UserError(str(error)) from error
    await board.stop(one, "user")


BEGIN_S = 2.0  # the time limit, in seconds, for a turn to begin if no question comes first


def register_tasks(server: Server, host: Host) -> None:
    """Register the command of each task, such as ``indwell.fix``."""
    for name in TASK_COMMANDS:
        task: Task = name.removeprefix("indwell.")  # type: ignore[assignment] # see the assert
        assert task in get_args(Task)
        server.command(name)(partial(_run, host, task))


async def _run(host: Host, task: Task, arguments: protocol.TaskArguments) -> object:
    if arguments.uri is not None:
        host.problems.offer(arguments.uri, arguments.diagnostics)
        host.attention.name(arguments.uri)
    if not arguments.wait:
        work = _begun(host, task, arguments)
        return await host.answering.answer(work, wait=False, within_s=BEGIN_S)
    ticket = await run_task(host, task, arguments)
    if ticket is None:
        return None
    try:
        return answers.turn_result(ticket, await ticket.wait())
    except asyncio.CancelledError:
        host.turns.abandon(ticket)
        raise


async def _begun(
    host: Host, task: Task, arguments: protocol.TaskArguments
) -> protocol.StartedResult | None:
    ticket = await run_task(host, task, arguments)
    return None if ticket is None else answers.started(ticket)


_QUESTIONS: dict[Task, str] = {
    "ask": "Ask about this",
    "refactor": "Refactor how",
    "edit": "Edit how",
}
"""The question to the user for each task that needs a text, if the task has none."""


async def run_task(host: Host, task: Task, arguments: protocol.TaskArguments) -> Ticket | None:
    """Send the prompt of a code action; return None if the user closed the question for text.

    Raises:
        UserError: The prompt cannot be sent.
    """
    host.service.check_usable()
    document = host.prompting.document(arguments.uri)
    words = arguments.text
    question = _QUESTIONS.get(task)
    if question is not None and not words and host.client.features.has("ask"):
        typed = await host.client.ask(AskParams(prompt=question), host.settings.answer_timeout_s)
        if typed is None:
            return None
        words = typed
    if task in {"ask", "edit"} and not words.strip():
        what = "question" if task == "ask" else "instruction"
        raise UserError(f"there is no {what}; give it as `text`, or in an editor that can ask")
    await host.prompting.look(document)
    prompt = host.prompting.task(task, document, arguments, words)
    is_answer = task in {"explain", "ask"}
    shown = host.turn_display.answer if is_answer else host.turn_display.summary
    ticket = host.turns.submit(host.service.waiting(prompt), shown)
    if ticket.waiting in host.turns.queue.waiting:
        host.turn_display.queued(host.turns.queue)
        if not arguments.wait:
            host.chores.begin(host.tell_error(ticket))
        return ticket
    try:
        await ticket.begun.wait()
    except asyncio.CancelledError:
        host.turns.abandon(ticket)
        raise
    if ticket.error is not None:
        raise ticket.error
    return ticket


async def take_up(host: Host, arguments: protocol.ResumeArguments) -> views.ResumeResult | None:
    """Switch to the named session; without a name, ask the user to choose a session.

    Raises:
        UserError: The session cannot be resumed.
    """
    host.service.check_usable()
    resumed = await host.service.commands.switch(
        arguments.session, arguments.model, keep=arguments.keep, is_beside=arguments.beside
    )
    if resumed is None:
        return None
    host.service.warn(resumed.notices)
    return answers.resume_result(resumed)


def register_branching(server: Server, host: Host, chats: Chats) -> None:
    """Register ``indwell.fork`` and ``indwell.rewind``."""

    @server.command("indwell.fork")
    async def fork(arguments: documents.ForkArguments) -> views.ResumeResult | None:
        return await host.answering.answer(forked(host, chats, arguments), wait=arguments.wait)

    @server.command("indwell.rewind")
    async def rewind(arguments: documents.RewindArguments) -> views.ResumeResult | None:
        return await host.answering.answer(rewound(host, chats, arguments), wait=arguments.wait)


async def forked(
    host: Host, chats: Chats, arguments: documents.ForkArguments
) -> views.ResumeResult:
    """Switch to a copy of a session's state at the end of a turn.

    Raises:
        UserError: The session or turn does not exist, or the session cannot be written.
    """
    host.service.check_usable()
    taken, notices, origin = await host.service.commands.fork_from(
        arguments.session,
        arguments.turn,
        arguments.model,
        keep=arguments.keep,
        is_beside=arguments.beside,
    )
    host.service.warn(taken.notices)
    await show_fork(host, chats, origin, taken.session.id, arguments.turn)
    return msgspec.structs.replace(answers.resume_result(taken), notices=(*notices, *taken.notices))


async def rewound(
    host: Host, chats: Chats, arguments: documents.RewindArguments
) -> views.ResumeResult:
    """Rewind a conversation to the end of a turn, and the files if the user wants that.

    Raises:
        UserError: The session or turn does not exist, or the session cannot be written. In both
            cases, nothing has changed.
    """
    host.service.check_usable()
    done = await host.service.commands.rewind(
        arguments.session,
        arguments.turn,
        files=arguments.files,
        model=arguments.model,
        is_beside=arguments.beside,
    )
    host.service.warn(done.session.notices)
    await mark_rewound(chats, done.session.session.id, arguments.turn)
    if not host.client.features.has("events"):
        words = "; ".join((f"rewound to {ending_of(arguments.turn)}", *done.files))
        host.client.show(types.MessageType.Info, f"Indwell: {words}")
    result = answers.resume_result(done.session)
    return msgspec.structs.replace(result, draft=done.draft, notices=(*done.notices, *done.files))
