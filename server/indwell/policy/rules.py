"""Rules as the user writes them: ``deny`` before ``ask`` before ``allow``."""

from __future__ import annotations

import msgspec


class Rules(msgspec.Struct, frozen=True):
    """Patterns by what they do.

    A pattern is for commands, such as ``git push *`` (see ``commands.patterns``), or for a tool's
    files: ``edit: src/**``, ``read: docs/**``.
    """

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
