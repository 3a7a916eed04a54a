"""Describes the parts of the machine that MCP servers may see: folders, variables, logins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from indwell.mcp.definition import ServerDefinition
from indwell.mcp.offers import McpError
from indwell.policy.rules import Widening
from indwell.sandbox.confinement import Confinement
from indwell.secrets import Hider

Confine: TypeAlias = Callable[[Widening], Confinement | None]
"""Returns the sandbox for a command with this access, or None if there is no sandbox."""

OpenBounds: TypeAlias = Callable[[], tuple[Confine, Callable[[], None]]]
"""Opens the sandbox of one server; the second function closes the sandbox, and blocks briefly."""


def _no_login(_definition: ServerDefinition) -> Any:  # noqa: ANN401 - ``mcp.http.Auth`` or None
    return None


def _no_program(_definition: ServerDefinition) -> str:
    return ""


_NO_SANDBOX = (
    "this machine has no sandbox in which it could run; set `confined = false` in its definition "
    "to let it run with all your permissions"
)


@dataclass(frozen=True, slots=True)
class Surrounding:
    """The parts of the machine that the servers of a workspace may see.

    Attributes:
        roots: The trusted workspace folders.
        open_bounds: Opens the sandbox of a confined server, or None if there is no sandbox.
        variables: Returns the values of ``${NAME}`` in definitions.
        auth: Returns the object that adds a login's token to requests, or None if there is no
            login.
        inspect: Returns a digest of the server's program. Raises ``McpError`` if the user has not
            approved the program. Blocks.
        hide: Replaces secrets in a server's log.
    """

    roots: tuple[Path, ...]
    open_bounds: OpenBounds | None = None
    variables: Callable[[], Mapping[str, str]] = dict
    auth: Callable[[ServerDefinition], Any] = _no_login
    inspect: Callable[[ServerDefinition], str] = _no_program
    hide: Callable[[str], str] = Hider().hide

    def folder(self, written: str) -> Path:
        """Return the working directory of a server.

        Raises:
            McpError: No folder is open, and the definition names no folder.
        """
        if written:
            base = self.roots[0] if self.roots else Path.home()
            return base / Path(written).expanduser()
        if not self.roots:
            raise McpError("no folder is open in which it could run; set its `cwd`")
        return self.roots[0]

    @asynccontextmanager
    async def bounds(self, definition: ServerDefinition) -> AsyncIterator[Confinement | None]:
        """Open the sandbox for a server's program until the context ends, if there is a sandbox.

        Raises:
            McpError: The program must be confined, but this machine cannot confine it.
        """
        if not definition.is_confined:
            yield None
            return
        if self.open_bounds is None:
            raise McpError(_NO_SANDBOX)
        confine, close = self.open_bounds()
        try:
            held = confine(Widening(hosts=definition.hosts))
            if held is None:
                raise McpError(_NO_SANDBOX)
            yield held
        finally:
            await asyncio.to_thread(close)
