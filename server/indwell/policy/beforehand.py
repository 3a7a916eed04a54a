"""What a yes covers that the user gave before anybody was asked: ``run --allow-commands``. Pure.

It is for commands, and for what commands are let do with a yes at all times. What a person has to
have seen it does not cover: other files than commands change, secrets, protected files, what the
model asks for by itself, what would leave a sandbox, and what the user wants to be asked about.
"""

from __future__ import annotations

from indwell.policy.asked import Ask, Asked
from indwell.policy.commands.verdict import Part
from indwell.policy.paths import is_program, is_protected
from indwell.policy.widening import NOTHING_MORE

_USERS = ("ask:", "deny:")
_GUARDED = frozenset({"protected", "secret"})


def why_uncovered(asked: Asked, ask: Ask, *, is_held: bool) -> str:
    """Why such a yes is none to this question, in half a sentence; empty if it is one.

    Args:
        asked: The call.
        ask: Why it is asked.
        is_held: A sandbox of whatever kind holds commands here, so that one could leave it.
    """
    if asked.effect != "run":
        return "it is no command"
    if asked.wants != NOTHING_MORE:
        return "the model asks for more than commands have"
    if ask.by.startswith(_USERS) or any(part.rule.startswith(_USERS) for part in ask.risky):
        return "a rule of the user's asks about it each time"
    if any(map(_is_guarded, ask.risky)) or ask.by in _GUARDED:
        return "it touches protected files or secrets"
    if ask.widening.shows_secrets:
        return "it could read secret files"
    if ask.widening.writes_protected:
        return "it could change protected files"
    if is_held and ask.widening.unconfined:
        return "it would run outside the sandbox"
    return ""


def _is_guarded(part: Part) -> bool:
    return part.decision == "ask" and (
        part.rule in _GUARDED
        or any(is_protected(word) and not is_program(word) for word in part.words)
    )
