"""Adds ``wait`` to commands whose result a test needs before it continues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

WAITED_FOR = frozenset(
    f"indwell.{name}"
    for name in ("accept", "reject", "resume", "fork", "rewind", "plan", "trust", "chat", "send")
)
_NEED_ONE = frozenset({"indwell.accept", "indwell.reject", "indwell.rewind"})


def patient(command: str, arguments: Sequence[object]) -> list[object]:
    """Return a command's arguments, with ``wait`` if the command accepts it."""
    if command not in WAITED_FOR or (not arguments and command in _NEED_ONE):
        return list(arguments)
    given = arguments[0] if arguments else {}
    if not isinstance(given, Mapping):
        return list(arguments)
    return [{"wait": True, **given}]
