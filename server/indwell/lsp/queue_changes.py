"""From the params of ``indwell/queue`` to the queue's next value. Pure."""

from __future__ import annotations

from typing import TypeVar, assert_never

from indwell.errors import UserError
from indwell.lsp.protocol import QueueParams
from indwell.service.turns import queue as line
from indwell.service.turns.queue import Queue

T = TypeVar("T")

HELD_BY_USER = "you asked to wait"


def change_of(params: QueueParams, queue: Queue) -> Queue:
    """The queue after what ``params`` ask for; the same value if they only look.

    Raises:
        UserError: The queue was changed meanwhile, the prompt does not wait, or a field is missing.
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
