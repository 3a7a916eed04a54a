"""Manages the to-do list of a session: the tool that writes the list, log, reminder.

Each change writes the complete list to the log, so a resumed, forked or rewound session has the
right list. The list is not part of the prompt prefix. The model sees the list in its own tool call.
After a compaction has cut the call, the list is sent at the end of a request.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from indwell.agent.core.events import TodoChanged
from indwell.agent.core.feature import DurableState, Feature, Moment, Reminder
from indwell.agent.core.session import Session
from indwell.context.injections import inject
from indwell.context.task_state import (
    TodoItem,
    TodoState,
    done_words,
    is_open,
    list_words,
    problem_of,
)
from indwell.context.untrusted_text import is_unseen, short_line
from indwell.errors import ToolError
from indwell.messages import Message, Text, ToolUse
from indwell.sessions.branches import todo_of
from indwell.sessions.records import TodoSet
from indwell.tools.arguments import Given, of_struct, renamed
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

NAME = "todo"
MOST_ITEMS = 50
ITEM_CHARACTERS = 200  # the limit of characters for a step, which is one line


class TodoList:
    """The to-do list of one session.

    Attributes:
        items: The steps as the model last wrote them.
        written_in: The turn in which the model wrote the steps, or 0 if an earlier process ran the
            turn.
        is_due: Whether compaction may have removed the list, so that the next request must check.
    """

    def __init__(self) -> None:
        self.items: tuple[TodoItem, ...] = ()
        self.is_due = False
        self.written_in = 0
        self._is_untold = False

    def write(self, items: tuple[TodoItem, ...], turn: int = 0) -> None:
        """Replace the to-do list."""
        self.written_in = turn
        self._is_untold |= items != self.items
        self.items = items

    def feature(self) -> Feature[Session]:
        """Return the list as a feature of its session."""
        return Feature(
            name=NAME,
            tools=(make_todo(self),),
            tell=self._tell,
            remind=self._remind,
            compacted=self._look_again,
            state=DurableState(
                read=lambda branch, _: todo_of(branch),
                now=lambda: self.items,
                restore=self._restore,
                inherit=self._inherit,
            ),
            for_child=lambda: TodoList().feature(),
        )

    async def _tell(self, moment: Moment[Session]) -> None:
        """Log a changed list, and emit the event for the list."""
        if not self._is_untold:
            return
        self._is_untold = False
        at = moment.session.timestamp()
        moment.session.parts.log.append(TodoSet(moment.turn, self.items, at))
        moment.emit(TodoChanged(moment.turn, self.items))

    async def _remind(self, moment: Moment[Session]) -> Reminder:
        """Return the list, if steps are open and the conversation no longer shows it.

        Before any compaction, the conversation surely contains the tool call that wrote the list.
        """
        blocks: tuple[Text, ...] = ()
        messages = moment.session.conversation.messages
        if self.is_due and is_open(self.items) and _shown(messages) != self.items:
            blocks = (inject("todo", list_words(self.items), turn=moment.turn),)
        return Reminder(blocks, self._told)

    def _told(self) -> None:
        self.is_due = False

    def _look_again(self) -> None:
        self.is_due = True

    def _restore(self, items: tuple[TodoItem, ...]) -> None:
        self.items, self.is_due = items, True

    def _inherit(self, items: tuple[TodoItem, ...]) -> None:
        """Copy the list of another session, unless this session already has a list."""
        if not self.items:
            self.write(items)
            self.is_due = True


def _shown(messages: tuple[Message, ...]) -> tuple[TodoItem, ...] | None:
    """Return the list of the newest tool call that the conversation still contains."""
    for message in reversed(messages):
        for block in reversed(message.blocks):
            if isinstance(block, ToolUse) and block.name == NAME:
                try:
                    return items_of(TODO.read(NAME, block.arguments)[0])
                except ToolError:
                    return None
    return None


class TodoStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One step of the to-do list."""

    text: str
    state: TodoState = "open"
    after: Annotated[tuple[int, ...], Meta(description="numbers of steps before it")] = ()


class TodoArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool that writes the to-do list."""

    items: tuple[TodoStep, ...]


_STATES = {"pending": "open", "in_progress": "doing", "completed": "done"}


def _understood(given: Given) -> Given:
    """Translate other agents' names for arguments (``todos``, ``plan``) and for states of steps."""
    ours = renamed(given, {"todos": "items", "plan": "items"})
    ours.pop("explanation", None)
    if isinstance(items := ours.get("items"), list):
        ours["items"] = [_item(one) if isinstance(one, dict) else one for one in items]
    return ours


def _item(given: Given) -> Given:
    names = {"content": "text", "step": "text", "status": "state"}
    ours = renamed({one: given[one] for one in given if one not in _UNUSED}, names)
    if isinstance(state := ours.get("state"), str):
        ours["state"] = _STATES.get(state, state)
    return ours


_UNUSED = ("activeForm", "id", "priority")
TODO = of_struct(TodoArguments, _understood)


def make_todo(todo: TodoList) -> Tool[TodoArguments]:
    """Make the tool with which the model writes the to-do list."""

    async def run(arguments: TodoArguments, context: ToolContext) -> Outcome:
        todo.write(items_of(arguments), context.turn)
        return Outcome(done_words(todo.items), figure=done_words(todo.items))

    return Tool(
        name=NAME,
        description="Show the user a list of steps, for work of three or more. Always send the "
        "whole list. Mark a step `doing` when you begin it, `done` as soon as it is.",
        arguments=TODO,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=_doing(given)),
        run=run,
    )


def _doing(arguments: TodoArguments) -> str:
    """Return the step in progress, or an empty text if no step is in progress."""
    doing = (one.text for one in arguments.items if one.state == "doing")
    return short_line(next(doing, ""), ITEM_CHARACTERS)


def items_of(arguments: TodoArguments) -> tuple[TodoItem, ...]:
    """Return the list as the session keeps it: each step on one line.

    Raises:
        ToolError: There are too many steps, a step is too long or empty, or the steps' order has a
            cycle.
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
            # One dependency more than allowed is kept, so that the check below fails.
            tuple(sorted(set(one.after)))[: MOST_ITEMS + 1],
        )
        for one in arguments.items
    )
    if problem := problem_of(items):
        raise ToolError(problem)
    return items
