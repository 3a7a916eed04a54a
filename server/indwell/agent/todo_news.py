"""What the log, the client and the next request hear of the list of what is to be done."""

from __future__ import annotations

import msgspec

from indwell.agent.events import Listener, TodoChanged
from indwell.agent.session import Session
from indwell.agent.todo_tool import NAME, Arguments, items_of
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.context.todo import TodoItem, is_open, list_words
from indwell.errors import ToolError
from indwell.messages import Message, ToolUse
from indwell.sessions.told import TodoSet


def tell_todo(session: Session, turn: int, emit: Listener) -> None:
    """Write a changed list down, and tell of it."""
    board = session.parts.todo
    if board.take_news():
        session.parts.log.append(TodoSet(turn, board.items, session.timestamp()))
        emit(TodoChanged(turn, board.items))


def remind_of_todo(session: Session, turn: int) -> None:
    """Let the next request end with the list, if it is not done and no longer stands in it.

    Only looked for when something was cut: the call that wrote it shows it otherwise.
    """
    board = session.parts.todo
    if not board.is_due:
        return
    board.is_due = False
    if is_open(board.items) and _shown(session.conversation.messages) != board.items:
        block = inject("todo", list_words(board.items), turn=turn)
        session.conversation = talk.queue(session.conversation, (block,))


def _shown(messages: tuple[Message, ...]) -> tuple[TodoItem, ...] | None:
    """The list of the newest call that can still be read."""
    for message in reversed(messages):
        for block in reversed(message.blocks):
            if isinstance(block, ToolUse) and block.name == NAME:
                try:
                    return items_of(msgspec.json.decode(block.arguments, type=Arguments))
                except (msgspec.DecodeError, ToolError):
                    return None
    return None
