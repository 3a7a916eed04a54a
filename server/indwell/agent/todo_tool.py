"""The list of steps that the model keeps (H54); the tool acts on the agent, so it lives here.

The list is state of the session: the log has it whole each time, so a session that is resumed,
forked or rewound has it as it was. It stands in no prefix: the model sees it as its own call, and
once more at the end of a request if a compaction has cut that call.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.context.invisible import is_unseen
from indwell.context.todo import TodoItem, TodoState, done_words, problem_of
from indwell.errors import ToolError
from indwell.policy.approvals import short_line
from indwell.tools.base import Facts, Outcome, Tool, ToolContext

NAME = "todo"
MOST_ITEMS = 50
ITEM_CHARACTERS = 200  # a step is one line


class TodoBoard:
    """The list of one session, and what is still to be said of it.

    Attributes:
        items: As the model has written it last.
        written_in: The turn in which it did so; 0 if that was not in this process.
        is_due: The conversation may not show it any more; somebody has to look.
    """

    def __init__(self) -> None:
        self.items: tuple[TodoItem, ...] = ()
        self.is_due = False
        self.written_in = 0
        self._is_news = False

    def write(self, items: tuple[TodoItem, ...], turn: int = 0) -> None:
        """The model has a new list."""
        self.written_in = turn
        self._is_news |= items != self.items
        self.items = items

    def take_news(self) -> bool:
        """Was it changed since the last look?"""
        was_news, self._is_news = self._is_news, False
        return was_news


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step."""

    text: str
    state: TodoState = "open"
    after: Annotated[tuple[int, ...], Meta(description="numbers of steps before it")] = ()


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the model says."""

    items: Annotated[tuple[Item, ...], Meta(description="the whole list, in order")]


def make_todo(board: TodoBoard) -> Tool[Arguments]:
    """The tool of the session that ``board`` belongs to."""

    async def run(arguments: Arguments, context: ToolContext) -> Outcome:
        board.write(items_of(arguments), context.turn)
        return Outcome(done_words(board.items), figure=done_words(board.items))

    return Tool(
        name=NAME,
        description="Keep a list of steps that the user sees, for work of three steps or more. "
        "Send all of it each time: mark a step `doing` when you begin it, `done` as soon as it is.",
        arguments=Arguments,
        effect="read",
        facts=lambda given: Facts(tool=NAME, effect="read", subject=_doing(given)),
        run=run,
    )


def _doing(arguments: Arguments) -> str:
    """The step that is being done, if there is one."""
    doing = (one.text for one in arguments.items if one.state == "doing")
    return short_line(next(doing, ""), ITEM_CHARACTERS)


def items_of(arguments: Arguments) -> tuple[TodoItem, ...]:
    """The list as it is kept: each step on one line.

    Raises:
        ToolError: There are too many steps, one is too long or empty, or their order is none.
    """
    if len(arguments.items) > MOST_ITEMS:
        raise ToolError(
            f"{len(arguments.items)} steps are more than the {MOST_ITEMS} that the list takes; "
            "join some, or leave out what is done"
        )
    for one in arguments.items:
        if is_unseen(one.text):
            raise ToolError("a step has no words; say what is to be done")
        if len(one.text) > ITEM_CHARACTERS:
            raise ToolError(
                f"a step of {len(one.text)} characters is longer than the {ITEM_CHARACTERS} of a "
                f"line ({short_line(one.text, 40)!r}); say it shorter"
            )
    items = tuple(
        TodoItem(
            short_line(one.text, 2 * ITEM_CHARACTERS),
            one.state,
            tuple(sorted(set(one.after)))[: MOST_ITEMS + 1],  # one too many shows that it is wrong
        )
        for one in arguments.items
    )
    if problem := problem_of(items):
        raise ToolError(problem)
    return items
