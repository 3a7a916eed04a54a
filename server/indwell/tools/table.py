"""The table of the tools that every session starts with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from indwell.tools.base import Tool, ToolTable
from indwell.tools.commands.background import NOWHERE, Background
from indwell.tools.commands.bash import Shell, make_bash
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.editing.write import make_write_file
from indwell.tools.read import make_read_file
from indwell.tools.searching.glob import make_glob
from indwell.tools.searching.grep import make_grep


def standard_tools(
    shell: Shell,
    *more: Tool[Any],
    background: Background = NOWHERE,
    late: Callable[[], Sequence[Tool[Any]]] = tuple,
) -> ToolTable:
    """Make the table of the tools for files and commands, followed by ``more``.

    Args:
        shell: Runs the commands of the agent that has these tools.
        more: Tools that follow them, in order.
        background: Keeps commands that run on after their call.
        late: Returns the tools that come and go, as they are at the moment.
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
