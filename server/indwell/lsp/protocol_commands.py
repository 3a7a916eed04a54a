"""Typed messages of background commands: what runs on, and what is to be stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from indwell.lsp.values import Value


@attrs.frozen(eq=False, repr=False)
class CommandsParams(Value):
    """Asks for a session's background commands; ``stop`` is the id of one that is ended first.

    ``session`` is the current one if it is left out.
    """

    session: str | None = None
    stop: str | None = None


@attrs.frozen(eq=False, repr=False)
class CommandsResult(Value):
    """All background commands of a session, oldest first; null is no session yet.

    Each is what ``CommandsChanged`` tells of it, with the output of this moment.
    """

    session: str | None
    commands: tuple[Mapping[str, Any], ...]
