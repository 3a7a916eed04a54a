"""Detects repeated tool calls: a hint to the model at three, the end at five (H64). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.context.pairing import tool_uses
from indwell.messages import Message

HINT_AT = 3
END_AT = 5
WAITS = "commands"  # polls background commands, which may take long
MORE_LOOKS = 15


def repeated_call(messages: Sequence[Message], turn: int) -> tuple[str, int]:
    """Name of the turn's last call, and how often in a row it was made with equal arguments."""
    last: tuple[str, str] | None = None
    times = 0
    for message in reversed(messages):
        if message.turn != turn:
            break
        for use in reversed(tool_uses(message)):
            call = (use.name, use.arguments)
            if last is None:
                last = call
            if call != last:
                return last[0], _counted(last[0], times)
            times += 1
    return (last[0], _counted(last[0], times)) if last else ("", 0)


def _counted(name: str, times: int) -> int:
    return max(1, times - MORE_LOOKS) if name == WAITS else times
