"""The commands of code actions, such as ``indwell.explain``: each begins a turn."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from indwell.errors import UserError
from indwell.lsp import answers, protocol
from indwell.lsp.host import Host
from indwell.lsp.names import TASK_COMMANDS
from indwell.lsp.protocol_asking import AskParams
from indwell.prompt.tasks import Task
from indwell.service.turns.tickets import Ticket

NOTHING = protocol.TaskArguments()
BEGIN_S = 2.0  # for a turn to begin, where nobody has to be asked before


def register_tasks(server: LanguageServer, host: Host) -> None:
    """A command for each task."""
    for name in TASK_COMMANDS:
        task: Task = name.removeprefix("indwell.")  # type: ignore[assignment] # see the assert
        assert task in get_args(Task)
        server.command(name)(_task_command(host, task))


def _task_command(host: Host, task: Task) -> Any:  # noqa: ANN401 - pygls reads its signature
    async def run(arguments: protocol.TaskArguments = NOTHING) -> object:
        try:
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
        except UserError as error:
            host.client.show(types.MessageType.Error, f"Indwell: {error}")
            return None

    return run


async def _begun(
    host: Host, task: Task, arguments: protocol.TaskArguments
) -> protocol.StartedResult | None:
    ticket = await run_task(host, task, arguments)
    return None if ticket is None else answers.started(ticket)


async def run_task(host: Host, task: Task, arguments: protocol.TaskArguments) -> Ticket | None:
    """Take the prompt of a code action; None if the user closed the question it needs.

    Raises:
        UserError: It cannot be taken, in plain words.
    """
    host.check_usable()
    document = host.prompting.document(arguments.uri)
    words = arguments.text
    if task in {"ask", "refactor"} and not words and host.client.features.has("ask"):
        question = "Ask about this" if task == "ask" else "Refactor how"
        typed = await host.client.ask(AskParams(prompt=question), host.settings.answer_timeout_s)
        if typed is None:
            return None
        words = typed
    if task == "ask" and not words.strip():
        raise UserError("there is no question; give it as `text`, or in an editor that can ask")
    await host.prompting.look(document)
    prompt = host.prompting.task(task, document, arguments, words)
    is_answer = task in {"explain", "ask"}
    shown = host.showing.answer if is_answer else host.showing.summary
    ticket = host.turns.submit(host.waiting(prompt), shown)
    if ticket.waiting in host.turns.queue.waiting:
        host.showing.queued(host.turns.queue)
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
