"""Compaction that the user asks for: a turn of its own, with no words to the model (H32)."""

from __future__ import annotations

import re
from collections.abc import Collection

from indwell.agent.events import Listener
from indwell.agent.fit import fit
from indwell.agent.session import Session
from indwell.agent.turn_state import TurnState
from indwell.context.compaction.preset import Preset
from indwell.context.fullness import prompt_tokens
from indwell.policy.approvals import short_line
from indwell.sessions.records import Ending

COMPACT = "/compact"
_COMMAND = re.compile(r"\s*(/[a-zA-Z]+)(\s+\S)?")
_NAME_LIMIT = 40  # characters that are shown of a name that is none


def is_compact(words: str) -> bool:
    """Do these words ask for compaction, and for nothing else?"""
    return len(words) < 3 * len(COMPACT) and words.strip().lower() == COMPACT


def no_command(words: str, skills: Collection[str] = ()) -> str:
    """Why words that look like a command are none; empty for a command or a prompt.

    Only a single word does, such as ``/foo``: a path (``/usr/bin``) and a sentence are prompts.
    The name of one of ``skills`` calls that skill.
    """
    match = _COMMAND.match(words)
    if match is None:
        return ""
    name, has_more = match[1], match[2] is not None
    if has_more and name.lower() == COMPACT:
        return (
            f"`{COMPACT}` takes no words; send it alone, and say what should be kept in mind in a "
            "prompt of its own"
        )
    if words.strip() == name and name[1:].lower() not in {COMPACT[1:], *skills}:
        shown = short_line(name, _NAME_LIMIT)
        known = ", ".join(f"`/{one}`" for one in (COMPACT[1:], *skills))
        return f"there is no command {shown!r}; there is {known}, and all else is a prompt"
    return ""


def unshortened(preset: Preset) -> str:
    """The end of a sentence about what does not fit, if the settings are why it is so long."""
    if preset.rungs:
        return ""
    return f'; the setting `compaction = "{preset.name}"` is why nothing was shortened'


async def compact_now(session: Session, turn: TurnState, emit: Listener) -> tuple[Ending, str]:
    """Shorten the conversation from the lowest rung on, and say what came of it.

    The words are no prompt.
    """
    turn.draft = ""
    before = prompt_tokens(session.conversation)
    preset = session.parts.preset
    if not preset.rungs:
        return "done", (
            f'nothing is shortened with `compaction = "{preset.name}"`; choose another preset in '
            "the settings"
        )
    if not await fit(session, turn, 0, emit, force=True):
        return "done", (
            f"nothing can be shortened: the conversation has {before:,} tokens, and what is old in "
            "it is short already"
        )
    after = prompt_tokens(session.conversation)
    return "done", f"the conversation is shorter now: {after:,} tokens instead of {before:,}"
