"""The hooks of a session, and the user's answers about those of a project."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from indwell.agent.features.hooks.payload import EventName
from indwell.policy.approvals import short_line
from indwell.settings.model import Hook

_SHOWN = 60  # characters of a command that name its hook


class FoundHook(msgspec.Struct, frozen=True):
    """A hook with its owner.

    Attributes:
        hook: The hook as the settings define it.
        is_own: Whether it is the user's own; otherwise it belongs to a trusted project.
    """

    hook: Hook
    is_own: bool

    @property
    def name(self) -> str:
        """Its name for people: its event, and the beginning of its command."""
        whose = "the hook" if self.is_own else "the project's hook"
        return f"{whose} {self.hook.event} ({short_line(self.hook.command, _SHOWN)})"


class MatchingHooks(msgspec.Struct, frozen=True):
    """The hooks of one moment.

    Attributes:
        hooks: The hooks in the order in which they run.
        folder: The folder in which they run; None if there is none.
    """

    hooks: tuple[FoundHook, ...] = ()
    folder: Path | None = None


def none_found() -> MatchingHooks:
    """Return no hook."""
    return MatchingHooks()


@dataclass(slots=True)
class HookBook:
    """The hooks of a session.

    Attributes:
        look: Finds them; blocks. Called once a turn, so that a turn keeps the same hooks to its
            end.
        answers: Standing answers: an exact rule that may run, or a command that may not.
        running: Held while a hook runs, so that its changes have one author.
        n_runs: Number of runs so far, for their ids.
        asked_in: The turn in which a hook asked the model to go on; none can do so again in it.
        told_in: The turn in which hooks were told that the model is content.
    """

    look: Callable[[], MatchingHooks] = none_found
    answers: dict[str, bool] = field(default_factory=dict)
    running: asyncio.Lock = field(default_factory=asyncio.Lock)
    n_runs: int = 0
    asked_in: int = 0
    told_in: int = 0
    _of: tuple[str, int] = ("", 0)
    _found: MatchingHooks = MatchingHooks()  # noqa: RUF009 - a frozen value, safe to share

    async def found(self, session: str, turn: int) -> MatchingHooks:
        """Return the hooks of this turn."""
        if self.look is none_found:
            return self._found
        if self._of != (session, turn):
            self._found = await asyncio.to_thread(self.look)
            self._of = session, turn
        return self._found

    def next_id(self, turn: int) -> str:
        """Return an id for one run; unique in the session's process."""
        self.n_runs += 1
        return f"hook-{turn}-{self.n_runs}"


def wanted(found: MatchingHooks, event: EventName, tool: str = "") -> tuple[FoundHook, ...]:
    """Return the hooks for this event, and for this tool if the event has one."""
    return tuple(
        one
        for one in found.hooks
        if one.hook.event == event
        and (not one.hook.tools or any(fnmatchcase(tool, glob) for glob in one.hook.tools))
    )
