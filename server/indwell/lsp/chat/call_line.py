"""A tool call in one line of a chat document: verb first. Pure."""

from __future__ import annotations

_OF_FILES = frozenset({"read_file", "edit_file", "write_file"})
_VERBS = {
    "read_file": "Read",
    "edit_file": "Edit",
    "write_file": "Write",
    "glob": "Look for",
    "grep": "Search",
    "bash": "Run",
    "todo": "Steps",
    "load_skill": "Skill",
    "plan": "Plan",
    "agent": "Sub-agent",
    "ask_user": "Ask",
    "remember": "Remember",
}


def call_line(name: str, target: str, figure: str, seconds: float | None) -> str:
    """What was done with what, how it went, and how long it took, where that is known."""
    verb = _VERBS.get(name, name)
    is_plain = name in _OF_FILES or not (target and figure)
    between = " " if is_plain else " · "  # a command has blanks of its own
    head = f"{verb} {target}{between}{figure}".rstrip()
    return head if seconds is None else f"{head} · {seconds_words(seconds)}"


def seconds_words(seconds: float) -> str:
    """A time as a chat shows it."""
    return f"{seconds:.1f} s"
