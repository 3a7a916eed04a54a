"""Compaction on the user's command: a turn of its own that sends no words to the model (H32)."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from indwell.agent.compaction.fit import fit
from indwell.agent.core.events import Listener
from indwell.agent.core.prompt import CONTINUE
from indwell.agent.core.session import Session
from indwell.agent.core.turn_state import TurnState
from indwell.context.compaction.presets import Preset
from indwell.context.conversation import prompt_tokens
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.approvals import short_line
from indwell.sessions.records import Ending

COMPACT = "/compact"
_COMMAND = lazy_pattern(r"\s*(/[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)(?!\S)(\s+\S)?")
_NAME_LIMIT = 40  # characters of an unknown name in a message
_NEAR = 0.8  # similarity by difflib, from 0 to 1: one or two letters differ
_MOST_LOOKED_AT = 64  # characters of a name that are compared; no skill has a longer one


def is_compact(words: str) -> bool:
    """Are these words exactly the command for compaction?"""
    return len(words) < 3 * len(COMPACT) and words.strip().lower() == COMPACT


def no_command(words: str, skills: Collection[str] = ()) -> str:
    """Why words that look like a command are an unknown one; empty for a command or a prompt.

    A single word such as ``/foo`` looks like a command, and so does a word close to a known name. A
    path (``/usr/bin``) or any other sentence is a prompt. A name in ``skills`` calls that skill.
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
    """A hint for an error message if the settings keep compaction from shortening more."""
    if preset.rungs:
        return ""
    return f'; the setting `compaction = "{preset.name}"` is why nothing was shortened'


async def compact_now(session: Session, turn: TurnState, emit: Listener) -> tuple[Ending, str]:
    """Compact the conversation from the ladder's lowest rung on; return ending and message."""
    turn.draft = ""
    before = prompt_tokens(session.conversation)
    preset = session.parts.compaction.preset
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
