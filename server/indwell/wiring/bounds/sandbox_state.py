"""How well commands are held here, in words: for the doctor and a session's first turn."""

from __future__ import annotations

from collections.abc import Mapping

from indwell.sandbox.confinement import Level, Strength
from indwell.settings.model import Mode

_HELD = "what reads, builds, tests and works on the folder's files runs without a question"
_READS = "what only reads runs without a question, all else is asked for"
CONSEQUENCES: Mapping[Level, str] = {
    "S3": _HELD,
    "S3m": _HELD,
    "S2": _READS,
    "S1": "what surely only reads runs without a question, all else is asked for",
    "S0": "every command is asked for",
}
"""What may run unasked at each level; as ``decide`` has it."""


def state_words(held: Strength, *, mode: Mode = "review", is_restricted: bool = False) -> str:
    """One sentence: how commands are held, and what that means for questions.

    Args:
        held: How.
        mode: Of the settings.
        is_restricted: Is the folder not trusted that they would run in?
    """
    return (
        f"commands are {held.words or 'not sandboxed'}: {_consequence(held, mode, is_restricted)}"
    )


def _consequence(held: Strength, mode: Mode, is_restricted: bool) -> str:  # noqa: FBT001
    if is_restricted:
        return "none runs in this folder, which is restricted"
    is_whole = held.level in {"S3", "S3m"}
    if mode == "plan":
        tests = ", and builds and tests that then write nothing" if is_whole else ""
        return f"only what reads runs{tests}; the mode is `plan`"
    if mode == "ask" and is_whole:
        return f"{_READS}; the mode is `ask`"
    return CONSEQUENCES[held.level]


def home_words(held: Strength) -> str:
    """What no sandbox hides from commands, a sentence for the doctor; empty where one does."""
    if held.level not in {"S1", "S0"}:
        return ""
    return (
        "; nothing hides your home folder from a command that runs: it can read your keys there, "
        "and reach the network"
    )


def notice_of(held: Strength) -> str:
    """What the user is told before the first turn; empty where the sandbox is whole (SBX-16)."""
    if held.level in {"S3", "S3m"}:
        return ""
    reason = f" ({held.reason})" if held.reason else ""
    state = "sandbox: limited" if held.level == "S2" else "sandbox: off"
    return f"{state}{reason}; {state_words(held)}"
