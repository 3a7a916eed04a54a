"""The JSON object that a hook reads on standard input, for each event. Pure.

Texts are as the model gets them: without secrets.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from indwell.policy.call_facts import Effect
from indwell.sessions.records import Ending
from indwell.settings.model import Mode

MOST_CHARACTERS = 100_000  # characters of a result, a diff or an answer; arguments are never cut


class _Payload(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """The fields of all events.

    Attributes:
        session: The id of the session.
        turn: The turn of the session, from 1.
        cwd: The absolute path of the folder in which the hook runs.
        mode: The current mode.
        in_agent: Whether a sub-agent of the turn acts.
    """

    session: str
    turn: int
    cwd: str
    mode: Mode
    in_agent: bool


class PromptSubmitted(_Payload, frozen=True, kw_only=True, tag="prompt_submitted"):
    """The user has sent words.

    Attributes:
        words: The words as typed.
        attached: What goes with them, a few words each.
        steering: Whether they were sent to the running turn.
    """

    words: str
    attached: tuple[str, ...] = ()
    steering: bool = False


class BeforeTool(_Payload, frozen=True, kw_only=True, tag="before_tool"):
    """The model calls a tool; the policy has not decided yet.

    Attributes:
        call: The id of the call.
        tool: The name of the tool.
        effect: Whether it reads, edits or runs.
        arguments: The whole arguments as the model wrote them.
    """

    call: str
    tool: str
    effect: Effect
    arguments: Any


class AfterTool(_Payload, frozen=True, kw_only=True, tag="after_tool"):
    """A call has run.

    Attributes:
        call: The id of the call.
        tool: The name of the tool.
        arguments: The whole arguments as the model wrote them.
        result: What the model reads of it; cut if it is long.
        is_error: Whether it failed.
    """

    call: str
    tool: str
    arguments: Any
    result: str
    is_error: bool


class EditAppliedPayload(_Payload, frozen=True, kw_only=True, tag="edit_applied"):
    """A file has changed, in the editor and on disk.

    Attributes:
        call: The id of the call that changed it.
        tool: The name of the tool.
        path: The path as shown to people: relative to its folder of the workspace.
        file: The absolute path.
        diff: The unified diff; cut if it is long.
        created: Whether there was no such file before.
    """

    call: str
    tool: str
    path: str
    file: str
    diff: str
    created: bool


class TurnEnd(_Payload, frozen=True, kw_only=True, tag="turn_end"):
    """The model is content, or a limit is reached.

    Attributes:
        ending: As in ``TurnFinished``.
        message: The reason, if the turn is not done.
        answer: The model's last words; cut if they are long.
        files: Paths that the turn has changed.
        again: Whether a hook has already asked to go on in this turn; none can ask again.
    """

    ending: Ending
    message: str
    answer: str
    files: tuple[str, ...] = ()
    again: bool = False


class Compaction(_Payload, frozen=True, kw_only=True, tag="compaction"):
    """Older parts of the conversation were shortened.

    Attributes:
        before: Tokens of the conversation before.
        after: Tokens of the conversation now.
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
    """Return a call's arguments as JSON, or as text if invalid; the tool then refuses them."""
    try:
        return msgspec.json.decode(arguments or "{}")
    except (msgspec.DecodeError, RecursionError):
        return arguments


def cut(text: str) -> str:
    """Cut a text to what a payload holds."""
    if len(text) <= MOST_CHARACTERS:
        return text
    left = len(text) - MOST_CHARACTERS
    return f"{text[:MOST_CHARACTERS]}\n[… {left:,} characters left out …]"
