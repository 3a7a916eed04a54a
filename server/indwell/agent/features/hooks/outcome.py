"""The outcome of a hook: text to add, or a stop with a reason. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from indwell.agent.features.hooks.payload import EventName
from indwell.context.injections import Kind
from indwell.lazy_pattern import lazy_pattern
from indwell.settings.model import Hook

BLOCKS = 2  # the exit code that means stop
MOST_ADDED = 10_000  # characters of one hook's text that the model reads
_TAIL = 2_000  # characters of these from the end
NO_REASON = "it gives no reason"
_KEYS = frozenset({"add", "block"})
_BEGINS = lazy_pattern(r'\{\s*"(?:add|block)"\s*:')
_CLOSED: frozenset[EventName] = frozenset({"prompt_submitted", "before_tool"})
_KINDS: Mapping[EventName, Kind] = {
    "prompt_submitted": "prompt_hook",
    "before_tool": "pre_tool_hook",
    "after_tool": "post_tool_hook",
    "edit_applied": "post_tool_hook",
    "turn_end": "prompt_hook",
    "compaction": "prompt_hook",
}


class HookOutcome(msgspec.Struct, frozen=True):
    """The outcome of a hook; without any field it has nothing to say.

    Attributes:
        add: Text for the model.
        block: The reason to stop.
        problem: Why it counts as broken, a clause.
    """

    add: str = ""
    block: str = ""
    problem: str = ""


def outcome_of(exit_code: int, output: str, errors: str) -> HookOutcome:
    """Interpret how a hook ended.

    Exit code 0: its output is text to add, or a JSON object with ``add`` or ``block``. Exit code 2:
        stop; the reason is its standard error, or else its output. Anything else is broken.
    """
    output, errors = output.strip(), errors.strip()
    if exit_code == BLOCKS:
        return HookOutcome(block=errors or output or NO_REASON)
    if exit_code:
        how = f"exit code {exit_code}" if exit_code > 0 else f"signal {-exit_code}"
        last = (errors or output).rpartition("\n")[2][:200]
        return HookOutcome(problem=f"it ended with {how}{f': {last}' if last else ''}")
    return _said(output)


def _said(output: str) -> HookOutcome:
    if not output.startswith("{"):
        return HookOutcome(add=output)
    try:
        said = msgspec.json.decode(output)
    except (msgspec.DecodeError, RecursionError):  # a RecursionError for thousands of brackets
        if _BEGINS.match(output):
            return HookOutcome(problem="it begins as JSON with 'add' or 'block', and is none")
        return HookOutcome(add=output)
    if not _KEYS & said.keys():
        return HookOutcome(add=output)  # JSON that is meant as text
    if not said.keys() <= _KEYS:
        other = next(key for key in said if key not in _KEYS)
        return HookOutcome(problem=f"its JSON has {other[:40]!r} besides 'add' and 'block'")
    if not all(isinstance(value, str) for value in said.values()):
        return HookOutcome(problem="'add' and 'block' of its JSON have to be texts")
    block = said["block"].strip() or NO_REASON if "block" in said else ""
    return HookOutcome(add=said.get("add", "").strip(), block=block)


def is_closed(hook: Hook) -> bool:
    """Does a broken hook stop what it was asked about?"""
    if hook.if_broken:
        return hook.if_broken == "block"
    return hook.event in _CLOSED


def kind_of(event: EventName, *, is_own: bool) -> Kind:
    """Return the tag of a hook's text; a project's text is never the user's word."""
    return _KINDS[event] if is_own else "project_hook"


def is_long(text: str, most: int = MOST_ADDED) -> bool:
    """Is the text longer than what the model reads?"""
    return len(text) > most


def shortened(text: str, path: str, most: int = MOST_ADDED) -> str:
    """Return head and tail of a long text, and where the whole text is."""
    tail = min(_TAIL, most // 4)
    left = len(text) - most
    note = f"[… {left:,} characters left out; all of it is in {path!r} …]"
    return f"{text[: most - tail]}\n{note}\n{text[-tail:]}"
