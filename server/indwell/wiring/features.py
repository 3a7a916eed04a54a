"""The features and tools of a session: one line for each feature, one for each tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

from indwell.agent.compaction.fit import make_compact
from indwell.agent.core.session import Session
from indwell.agent.core.session_features import Features
from indwell.agent.core.session_parts import CompactionWish
from indwell.agent.features.attachments.feature import attachments_feature
from indwell.agent.features.background.board import BackgroundBoard
from indwell.agent.features.background.feature import background_feature
from indwell.agent.features.checks.feature import checks_feature
from indwell.agent.features.checks.turn_checks import SessionChecks
from indwell.agent.features.hooks.feature import hooks_feature
from indwell.agent.features.hooks.session_hooks import HookBook
from indwell.agent.features.instructions.feature import Instructions
from indwell.agent.features.mcp.feature import ServerTools
from indwell.agent.features.memory import memory_feature
from indwell.agent.features.plan import PlanBoard, Steps, plan_feature
from indwell.agent.features.questions import questions_feature
from indwell.agent.features.review_news import ReviewNews
from indwell.agent.features.skills.feature import SkillCatalogue, skills_feature
from indwell.agent.features.subagents.feature import Subagents, subagents_feature
from indwell.agent.features.tasks import SharedTasks
from indwell.agent.features.time import time_feature
from indwell.agent.features.todo import TodoList
from indwell.agent.features.tool_features import LookingAhead, navigation_feature, web_feature
from indwell.agent.features.traces.feature import SessionTraces
from indwell.agent.features.worktrees import SharedWorktrees
from indwell.navigation.navigator import Navigator
from indwell.navigation.user_servers import UserServers
from indwell.policy.web_address import WebAddress
from indwell.settings.model import Mode, Settings
from indwell.tools.base import NOWHERE, Background, Tool, ToolTable
from indwell.tools.commands.bash import Shell, make_bash
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.editing.write import make_write_file
from indwell.tools.read import make_read_file
from indwell.tools.searching.glob import make_glob
from indwell.tools.searching.grep import make_grep
from indwell.tools.web import Fetched
from indwell.wiring.memory_and_questions import Companion

ORDER = (
    "compact",
    "todo",
    "load_skill",
    "agent",
    "ask_user",
    "plan",
    "commands",
    "remember",
    "navigate",
)
"""The features' tools in the model's order, after the tools for files and commands.

The order is part of every request, so a change of the order costs each session its prompt cache.
"""


class Boards(NamedTuple):
    """The state that the rounds of a turn share with the tools."""

    wish: CompactionWish
    background: BackgroundBoard


class FeatureInputs(NamedTuple):
    """The inputs of features from the disk, the settings and the user.

    Attributes:
        instructions: The instructions of the project and its folders.
        skill_catalogue: The skills.
        subagents: The parts of a session that a sub-agent needs.
        find_subagents: Returns a line for each sub-agent that the workspace defines.
        companion: The memory, and questions to the user.
        mode: Returns the mode in force.
        hooks: Commands that run at fixed points of a turn.
        checks: The known problems of files, and the commands that check them.
        navigator: Answers questions about code.
        servers: The language servers that the navigator asks.
        settings: Returns the settings in force.
        mcp: The MCP servers.
        let_go: A function that stops watching the workspace when the session ends; blocks for a
            moment.
    """

    instructions: Instructions
    skill_catalogue: SkillCatalogue
    subagents: Subagents
    find_subagents: Callable[[], Awaitable[tuple[str, ...]]]
    companion: Companion
    mode: Callable[[], Mode]
    hooks: HookBook
    checks: SessionChecks
    navigator: Navigator
    servers: UserServers
    settings: Callable[[], Settings]
    mcp: ServerTools
    let_go: Callable[[], None]


def boards_and_features(given: FeatureInputs) -> tuple[Boards, Features[Session]]:
    """Create the features of a new session; each line of the list is a feature."""
    companion = given.companion
    background, todo = BackgroundBoard(), TodoList()
    plan = PlanBoard(lambda: Steps(todo.items, todo.written_in))
    features = Features(
        (
            time_feature(),
            given.instructions.feature(),
            attachments_feature(),
            memory_feature(companion.memory, companion.remember),
            LookingAhead(given.let_go).feature(),
            background_feature(background),
            plan_feature(plan, given.mode),
            todo.feature(),
            SharedTasks().feature(),
            SharedWorktrees().feature(),
            subagents_feature(given.subagents, given.find_subagents),
            skills_feature(given.skill_catalogue),
            questions_feature(companion.questions, companion.ask_user),
            hooks_feature(given.hooks),
            given.mcp.feature(),
            checks_feature(given.checks),
            navigation_feature(given.navigator, given.servers),
            ReviewNews().feature(),
            web_feature(_fetched, given.settings),
            SessionTraces(given.settings).feature(),
        )
    )
    return Boards(CompactionWish(), background), features


async def _fetched(address: WebAddress, *, is_named: bool) -> Fetched:
    # The import is here, because only fetching a page needs it.
    from indwell.providers.http.web_pages import WebPages

    return await WebPages().fetch(address, is_named=is_named)


def _object(*required: str, **optional: str) -> Mapping[str, Any]:
    """Return the schema of text arguments: required names, and the types of the others."""
    properties = {**dict.fromkeys(required, "string"), **optional}
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": required,
    }


LEAN: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "read_file": (
        "Read a file. Each line has its number and a tab in front.",
        _object("path", offset="integer", limit="integer"),
    ),
    "edit_file": (
        "Replace old_string by new_string in a file that you have read.",
        _object("path", "old_string", "new_string"),
    ),
    "write_file": ("Write a whole file.", _object("path", "content")),
    "glob": ("List files, such as **/*.py.", _object("pattern", path="string")),
    "grep": ("Search in files by a regular expression.", _object("pattern", path="string")),
    "bash": (
        "Run a command in the project's folder. It reaches only hosts in `network`.",
        {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "network": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "hosts, such as github.com; the user is asked",
                },
            },
            "required": ["command"],
        },
    ),
}
"""The tools of a small model: what it reads of each. The order is that of ``standard_tools``."""


def tools_of(
    shell: Shell, boards: Boards, features: Features[Session], *, lean: bool = False
) -> ToolTable:
    """Return the tools in the model's order: files and commands, features, deferred tools.

    A small model gets deferred tools, and the tools for files and commands with short descriptions.
    """
    if lean:
        short = (tool.shortened(*LEAN[tool.spec.name]) for tool in standard_tools(shell).tools)
        return ToolTable(tuple(short), features.late_tools, is_lean=True)
    own = (
        *features.tools,
        make_compact(boards.wish),
    )
    in_order = sorted(own, key=lambda tool: ORDER.index(tool.spec.name))
    return standard_tools(shell, *in_order, background=boards.background, late=features.late_tools)


def standard_tools(
    shell: Shell,
    *more: Tool[Any],
    background: Background = NOWHERE,
    late: Callable[[], Sequence[Tool[Any]]] = tuple,
) -> ToolTable:
    """Create the table of the tools for files and commands, followed by ``more``.

    Args:
        shell: Runs the commands of the agent that has these tools.
        more: Further tools, in order.
        background: Keeps commands that continue after a call.
        late: Returns the deferred tools, which may come and go.
    """
    return ToolTable(
        [
            make_read_file(),
            make_edit_file(),
            make_write_file(),
            make_glob(),
            make_grep(),
            make_bash(shell, background),
            *more,
        ],
        late,
    )
