"""How well commands are held here, in words: for the doctor and a session's first turn."""

from __future__ import annotations

from collections.abc import Mapping

from indwell.sandbox.confinement import Level, Strength

CONSEQUENCES: Mapping[Level, str] = {
    "S3": "what reads, builds and tests in the folder runs in it without a question",
    "S3m": "what reads, builds and tests in the folder runs in it without a question",
    "S2": "what only reads runs without a question, all else is asked for",
    "S1": "what surely only reads runs without a question, all else is asked for",
    "S0": "every command is asked for",
}
"""What may run unasked at each level; as ``decide`` has it."""


def state_words(held: Strength) -> str:
    """One sentence: how commands are held, and what that means for questions."""
    words = held.words or "not sandboxed"
    return f"commands are {words}: {CONSEQUENCES[held.level]}"


def notice_of(held: Strength) -> str:
    """What the user is told before the first turn; empty where the sandbox is whole (SBX-16)."""
    if held.level in {"S3", "S3m"}:
        return ""
    reason = f" ({held.reason})" if held.reason else ""
    state = "sandbox: limited" if held.level == "S2" else "sandbox: off"
    return f"{state}{reason}; {state_words(held)}"
