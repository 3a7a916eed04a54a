"""The table of the tools that every session starts with."""

from __future__ import annotations

from indwell.tools.base import Registry
from indwell.tools.bash import Shell, make_bash
from indwell.tools.edit import make_edit_file
from indwell.tools.glob import make_glob
from indwell.tools.grep import make_grep
from indwell.tools.read import make_read_file
from indwell.tools.write import make_write_file


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
