"""Compaction that the user asks for: a turn of its own, with no words to the model (H32)."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import get_close_matches

from indwell.agent.compaction.fit import fit
from indwell.agent.core.events import Listener
from indwell.agent.core.prompt import CONTINUE
from indwell.agent.core.session import Session
from indwell.agent.core.turn_state import TurnState
from indwell.context.compaction.presets import Preset
from indwell.context.conversation import prompt_tokens
from indwell.policy.approvals import short_line
from indwell.sessions.records import Ending

COMPACT = "/compact"
_COMMAND = re.compile(r"\s*(/[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)(?!\S)(\s+\S)?")
_NAME_LIMIT = 40  # characters that are shown of a name that is none
_NEAR = 0.8  # of 1, as difflib has it: a letter or two are wrong
_MOST_LOOKED_AT = 64  # characters of a name; no skill has a longer one


def is_compact(words: str) -> bool:
    """Do these words ask for compaction, and for nothing else?"""
    return len(words) < 3 * len(COMPACT) and words.strip().lower() == COMPACT


def no_command(words: str, skills: Collection[str] = ()) -> str:
    """Why words that look like a command are none; empty for a command or a prompt.

    A single word does, such as ``/foo``, and a word that is nearly a name: a path (``/usr/bin``)
    and any other sentence are prompts. The name of one of ``skills`` calls that skill.
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
    known = (COMPACT[1:], CONTINUE[1:], *skills)
    if name[1:].lower() in known:
        return ""
    shown = short_line(name, _NAME_LIMIT)
    near = get_close_matches(name[1 : _MOST_LOOKED_AT + 1].lower(), known, cutoff=_NEAR)
    if near:
        meant = " or ".join(f"`/{one}`" for one in near)
        return f"there is no command or skill {shown!r}; did you mean {meant}? Nothing was sent"
    if has_more:
        return ""
    names = ", ".join(f"`/{one}`" for one in known)
    return f"there is no command {shown!r}; there is {names}, and all else is a prompt"


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
