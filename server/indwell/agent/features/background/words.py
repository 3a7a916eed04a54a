"""Words for the model and the user about background commands. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.policy.approvals import short_line

COMMAND_CHARACTERS = 200  # characters of a command's text in a list


def started_words(name: str, text: str, *, is_held: bool) -> str:
    """Return the result of the call that started the command.

    Args:
        name: Such as ``b1``.
        text: Its output so far.
        is_held: Whether it runs in the sandbox.
    """
    held = "\n[nobody outside the sandbox can reach a port that it opens]" if is_held else ""
    return (
        f"{text}[{name} runs on in the background; `commands` shows what it writes from here on, "
        f"and stops it. It ends with the session.]{held}"
    )


def list_words(rows: Sequence[tuple[str, str, str]]) -> str:
    """List all commands: name, state, text."""
    if not rows:
        return "no background commands; bash starts one with `background`"
    return "\n".join(
        f"{name}: {state}: {short_line(command, COMMAND_CHARACTERS)}"
        for name, state, command in rows
    )


def ended_words(rows: Sequence[tuple[str, str]]) -> str:
    """Return a reminder of commands that ended by themselves; it never quotes their output."""
    said = "; ".join(f"{name}: {state}" for name, state in rows)
    one = "A background command has" if len(rows) == 1 else "Background commands have"
    return f"{one} ended ({said}). `commands` with its id shows what it wrote."


def untold_words(names: Sequence[str]) -> str:
    """Return a reminder of commands whose call was stopped before it was answered."""
    one = "A background command runs" if len(names) == 1 else "Background commands run"
    return f"{one} on, begun by a call that was interrupted: {', '.join(names)}."


def lost_words(names: Sequence[str]) -> str:
    """Return a reminder of commands that an earlier process or another branch had started."""
    listed = ", ".join(names)
    return (
        f"No background command runs any more: {listed} ended with the session that began "
        f"{'it' if len(names) == 1 else 'them'}. Start again what is still needed."
    )


def seconds_words(seconds: float) -> str:
    """Return a duration for people: ``12 s``, ``3 min``, ``2 h 5 min``."""
    if seconds < 100:  # noqa: PLR2004 - two digits
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004
