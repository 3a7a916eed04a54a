"""Which sub-agent an event is of, by the name that people know it by. Pure."""

from __future__ import annotations

from indwell.agent import events

NAME = "agent"  # of the tool
GENERAL = "general"  # what one without a name is called
NAME_LIMIT = 40  # characters


class Names:
    """Follows the events of a turn."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._begun: dict[str, int] = {}  # of each name; the second is `explore 2`

    def of(self, event: events.Event) -> str:
        """The name; empty if the main one did it. Each event has to be asked for, in order."""
        if isinstance(event, events.ToolStarted) and event.name == NAME and not event.agent:
            name = event.target.partition(":")[0][:NAME_LIMIT]
            n_before = self._begun.get(name, 0)
            self._begun[name] = n_before + 1
            self._names[event.id] = f"{name} {n_before + 1}" if n_before else name
        return self._names.get(event.agent, GENERAL) if event.agent else ""
