"""Encodes the JSON that a hook reads on standard input, and interprets its output. Pure.

The input is one JSON object. Secrets are removed from the input, as from texts for the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from indwell.context.injections import Kind
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.call_facts import Effect
from indwell.sessions.records import Ending
from indwell.settings.model import Mode
from indwell.settings.table_types import Hook

# the limit of characters for a result, a diff or an answer; arguments are never cut
MOST_CHARACTERS = 100_000


class _Payload(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """The fields of the payloads of all events.

    Attributes:
        session: The id of the session.
        turn: The turn's number in the session, from 1.
        cwd: The absolute path of the folder in which the hook runs.
        mode: The current mode.
        in_agent: Whether the event belongs to a sub-agent of the turn.
    """

    session: str
    turn: int
    cwd: str
    mode: Mode
    in_agent: bool


class PromptSubmitted(_Payload, frozen=True, kw_only=True, tag="prompt_submitted"):
    """The user has sent a prompt or a message.

    Attributes:
        words: The text as typed.
        attached: Labels of the attachments, a few words each.
        steering: Whether the text was sent to the running turn.
    """

    words: str
    attached: tuple[str, ...] = ()
    steering: bool = False


class BeforeTool(_Payload, frozen=True, kw_only=True, tag="before_tool"):
    """The model calls a tool; the policy has not decided yet.

    Attributes:
        call: The id of the call.
        tool: The name of the tool.
        effect: Whether the tool reads, edits or runs commands.
        arguments: The complete arguments as the model wrote them.
    """

    call: str
    tool: str
    effect: Effect
    arguments: Any


class AfterTool(_Payload, frozen=True, kw_only=True, tag="after_tool"):
    """A tool call has run.

    Attributes:
        call: The id of the call.
        tool: The name of the tool.
        arguments: The complete arguments as the model wrote them.
        result: The text for the model; cut if the text is long.
        is_error: Whether the call failed.
    """

    call: str
    tool: str
    arguments: Any
    result: str
    is_error: bool


class EditAppliedPayload(_Payload, frozen=True, kw_only=True, tag="edit_applied"):
    """A tool call has changed a file, in the editor and on disk.

    Attributes:
        call: The id of the call that changed the file.
        tool: The name of the tool.
        path: The path as shown to people, relative to the workspace folder.
        file: The absolute path.
        diff: The unified diff; cut if the diff is long.
        created: Whether the call created the file.
    """

    call: str
    tool: str
    path: str
    file: str
    diff: str
    created: bool


class TurnEnd(_Payload, frozen=True, kw_only=True, tag="turn_end"):
    """The model wants to end the turn, or the turn has reached a limit.

    Attributes:
        ending: The kind of ending, as in ``TurnFinished``.
        message: The reason, if the turn is not done.
        answer: The model's last text; cut if it is long.
        files: Paths of files that the turn has changed.
        again: Whether a hook has already asked the model to continue in this turn; hooks cannot ask
            twice.
    """

    ending: Ending
    message: str
    answer: str
    files: tuple[str, ...] = ()
    again: bool = False


class Compaction(_Payload, frozen=True, kw_only=True, tag="compaction"):
    """Older parts of the conversation were shortened.

    Attributes:
        before: The number of tokens before the compaction.
        after: The number of tokens after the compaction.
    """

    before: int
    after: int


Payload: TypeAlias = (
    PromptSubmitted | BeforeTool | AfterTool | EditAppliedPayload | TurnEnd | Compaction
)
EventName: TypeAlias = Literal[
    "prompt_submitted", "before_tool", "after_tool", "edit_applied", "turn_end", "compaction"
]


def event_of(payload: Payload) -> EventName:
    """Return the event's name in the settings."""
    name: EventName = payload.__struct_config__.tag  # type: ignore[assignment]
    return name


def encoded(payload: Payload) -> bytes:
    """Encode a payload as one line of JSON."""
    return msgspec.json.encode(payload) + b"\n"


def parsed(arguments: str) -> object:
    """Return a call's arguments as decoded JSON, or as text if the JSON is invalid."""
    try:
        return msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return arguments


def cut(text: str) -> str:
    """Cut a text to the limit of a payload."""
    if len(text) <= MOST_CHARACTERS:
        return text
    left = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}\n[… {left:,} characters left out …]"


BLOCKS = 2  # the exit code with which a hook stops an action
MOST_ADDED = 10_000  # the limit of characters for one hook's text that the model reads
_TAIL = 2_000  # the number of characters that are kept from the end of a long text
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
    """The outcome of a hook; without any field the hook has no effect.

    Attributes:
        add: Text for the model.
        block: The reason to stop.
        problem: A clause that says why the hook counts as broken.
    """

    add: str = ""
    block: str = ""
    problem: str = ""


def outcome_of(exit_code: int, output: str, errors: str) -> HookOutcome:
    """Interpret how a hook ended.

    With exit code 0, the output is text to add, or a JSON object with ``add`` or ``block``. Exit
    code 2 stops the action; the reason is the text on standard error, or the output. After any
    other exit code the hook counts as broken.
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
    # A RecursionError means thousands of nested brackets.
    except (msgspec.DecodeError, RecursionError):
        if _BEGINS.match(output):
            return HookOutcome(problem="it begins as JSON with 'add' or 'block', and is none")
        return HookOutcome(add=output)
    if not _KEYS & said.keys():
        # The output is JSON without the expected fields, so it counts as text.
        return HookOutcome(add=output)
    if not said.keys() <= _KEYS:
        other = next(key for key in said if key not in _KEYS)
        return HookOutcome(problem=f"its JSON has {other[:40]!r} besides 'add' and 'block'")
    if not all(isinstance(value, str) for value in said.values()):
        return HookOutcome(problem="'add' and 'block' of its JSON have to be texts")
    block = said["block"].strip() or NO_REASON if "block" in said else ""
    return HookOutcome(add=said.get("add", "").strip(), block=block)


def is_closed(hook: Hook) -> bool:
    """Return whether a fault in this hook stops the action."""
    if hook.if_broken:
        return hook.if_broken == "block"
    return hook.event in _CLOSED


def kind_of(event: EventName, *, is_own: bool) -> Kind:
    """Return the source for a hook's text; a project's hook never counts as the user."""
    return _KINDS[event] if is_own else "project_hook"


def is_long(text: str, most: int = MOST_ADDED) -> bool:
    """Return whether the text is longer than the limit for the model."""
    return len(text) > most


def shortened(text: str, path: str, most: int = MOST_ADDED) -> str:
    """Return the head and tail of a long text, with a note that names the file with the text."""
    tail = min(_TAIL, most // 4)
    left = len(text) - most
    note = f"[… {left:,} characters left out; all of it is in {path!r} …]"
    return f"{text[: most - tail]}\n{note}\n{text[-tail:]}"
