"""The tools of a session, and the boards that those of the agent itself write on."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from indwell.agent.background.board import Board
from indwell.agent.background.tool import make_commands
from indwell.agent.compact_tool import Wish, make_compact
from indwell.agent.feature import Features
from indwell.agent.features.todo.todo import TodoList
from indwell.agent.plan_board import PlanBoard, Steps, make_plan
from indwell.agent.session import Session
from indwell.agent.skills.load_tool import make_load_skill
from indwell.agent.skills.shelf import Shelf
from indwell.agent.subagents.tool import Subagents, make_agent
from indwell.cli.remembering import Companion
from indwell.settings.model import Mode
from indwell.tools.base import Registry
from indwell.tools.commands.bash import Shell
from indwell.tools.table import standard_tools


class Boards(NamedTuple):
    """What the model writes on, and the rounds read: a wish, features, a plan, what runs on."""

    wish: Wish
    features: Features[Session]
    plan: PlanBoard
    background: Board


def empty_boards() -> Boards:
    """Those of a session that begins."""
    todo = TodoList()
    plan = PlanBoard(lambda: Steps(todo.items, todo.written_in))
    return Boards(Wish(), Features((todo.feature(),)), plan, Board())


def tools_of(
    shell: Shell,
    boards: Boards,
    shelf: Shelf,
    subagents: Subagents,
    companion: Companion,
    *,
    mode: Callable[[], Mode],
) -> Registry:
    """Those of files and commands, then those of the agent, in the order the model reads them."""
    (todo,) = boards.features.tools
    return standard_tools(
        shell,
        make_compact(boards.wish),
        todo,
        make_load_skill(shelf),
        make_agent(subagents),
        companion.ask_user,
        make_plan(boards.plan, mode),
        make_commands(boards.background),
        *companion.remember,
        background=boards.background,
    )
