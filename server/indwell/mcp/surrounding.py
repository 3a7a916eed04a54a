"""What MCP servers of a workspace may see of the machine: folders, bounds, variables, logins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from indwell.mcp.definition import ServerDefinition
from indwell.mcp.offers import McpError
from indwell.policy.rules import Widening
from indwell.sandbox.confinement import Confinement

Confine: TypeAlias = Callable[[Widening], Confinement | None]
"""Returns the bounds of a command with this access; None if nothing can confine it here."""


def _no_login(_definition: ServerDefinition) -> Any:  # noqa: ANN401 - ``mcp.http.Auth`` or None
    return None


@dataclass(frozen=True, slots=True)
class Surrounding:
    """What the servers of a workspace may see of the machine.

    Attributes:
        roots: The trusted workspace folders.
        confine: Returns the bounds of a confined server; None if this machine has no sandbox.
        variables: Returns the values of ``${NAME}`` in definitions.
        auth: Returns what adds the token of a login to requests; None for no login.
    """

    roots: tuple[Path, ...]
    confine: Confine | None = None
    variables: Callable[[], Mapping[str, str]] = dict
    auth: Callable[[ServerDefinition], Any] = _no_login

    def folder(self, written: str) -> Path:
        """Return the working directory of a server.

        Raises:
            McpError: No folder is open, and the definition names none.
        """
        if written:
            base = self.roots[0] if self.roots else Path.home()
            return base / Path(written).expanduser()
        if not self.roots:
            raise McpError("no folder is open in which it could run; set its `cwd`")
        return self.roots[0]

    async def bounds(self, definition: ServerDefinition) -> Confinement | None:
        """Return the bounds of a server's program; None if the user wants none.

        Raises:
            McpError: It has to be confined, which this machine cannot.
        """
        if not definition.is_confined:
            return None
        held = self.confine(Widening(hosts=definition.hosts)) if self.confine else None
        if held is None:
            raise McpError(
                "this machine has no sandbox in which it could run; set `confined = false` in its "
                "definition to let it run with all your rights"
            )
        return held
