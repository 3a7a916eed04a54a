"""Names the sub-agent that an event or call belongs to, for people. Pure."""

from __future__ import annotations

import msgspec

from indwell.agent.core import events
from indwell.policy.approvals import short_line

NAME = "agent"  # the tool that starts a sub-agent
GENERAL = "general"  # the name of a sub-agent without a name
NAME_LIMIT = 40  # characters
SUBJECT_LIMIT = 200  # characters of a task that are shown while it runs


class _Begun(msgspec.Struct, frozen=True):
    """The arguments that people see."""

    task: str
    name: str = ""


def subject(name: str, task: str) -> str:
    """Describe a call for people: the sub-agent, and the beginning of its task."""
    return f"{short_line(name, NAME_LIMIT) or GENERAL}: {short_line(task, SUBJECT_LIMIT)}"


def subject_of(arguments: str) -> str:
    """Describe a call by its JSON arguments; empty if they are invalid."""
    try:
        begun = msgspec.json.decode(arguments, type=_Begun)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return subject(begun.name, begun.task)


def next_name(target: str, begun: dict[str, int]) -> str:
    """Return the name of the sub-agent that a call starts: the second is `explore 2`.

    Counts it in ``begun``, the number of sub-agents of each name in a turn.
    """
    name = target.partition(":")[0][:NAME_LIMIT]
    number = begun[name] = begun.get(name, 0) + 1
    return f"{name} {number}" if number > 1 else name


class Names:
    """Follows the events of a turn."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._begun: dict[str, int] = {}

    def of(self, event: events.Event) -> str:
        """Return the sub-agent's name; empty for the main agent. Pass each event, in order."""
        if isinstance(event, events.ToolStarted) and event.name == NAME and not event.agent:
            self._names[event.id] = next_name(event.target, self._begun)
        return self._names.get(event.agent, GENERAL) if event.agent else ""
