"""The table of the tools that every session starts with."""

from __future__ import annotations

from indwell.tools.base import Registry
from indwell.tools.commands.bash import Shell, make_bash
from indwell.tools.editing.edit import make_edit_file
from indwell.tools.editing.write import make_write_file
from indwell.tools.read import make_read_file
from indwell.tools.searching.glob import make_glob
from indwell.tools.searching.grep import make_grep


def standard_tools(shell: Shell) -> Registry:
    """Read, edit, write, glob, grep and bash; ``shell`` belongs to the agent that calls them."""
    return Registry(
        [
            make_read_file(),
            make_edit_file(),
            make_write_file(),
            make_glob(),
            make_grep(),
            make_bash(shell),
        ]
    )
